//! The builder's last step: a finished filter is read from its root to its leaves, and compared with the keys.
//!
//! If each entry of each group has in common with the one before it what the keys have, and stores bits of its leaf's
//! first key, and if all keys of a leaf have these, then the search finds each key ([`search`](crate::ranges::cut::search::walk)).

use super::plan::Leaf;
use crate::cpu::Portable;
use crate::error::BuildError;
use crate::ranges::cut::bits::{Bits, Order, Stored};
use crate::ranges::cut::code::Side;
use crate::ranges::cut::group::Group;
use crate::ranges::cut::layout::{GROUP_LEN, Layout};
use crate::ranges::cut::search::inner::Inner;
use crate::ranges::keys::Keys;

/// Compares the filter with `keys`, whose leaves are `leaves`.
pub(crate) fn check(keys: &Keys, leaves: &[Leaf], layout: &Layout, payload: &[u8]) -> Result<(), BuildError> {
    let checker = Checker { keys, leaves, layout, payload };
    let prefix = layout.prefix(payload);
    let has_prefix = [0, keys.len() - 1].iter().all(|&key| keys.get(key).starts_with(prefix));
    let first = Stored { offset: layout.first, from: 0, end: layout.first_len, zero: None };
    if !has_prefix || leaves.len() as u64 != layout.levels.len(0) || !checker.has_first(&first) {
        return Err(keys.lacks(0, keys.len() as u64));
    }
    checker.check_group(layout.levels.num - 1, 0, layout.root)
}

struct Checker<'a> {
    keys: &'a Keys,
    leaves: &'a [Leaf],
    layout: &'a Layout,
    payload: &'a [u8],
}

impl Checker<'_> {
    /// Checks group `number` of `level`, and all below it.
    fn check_group(&self, level: usize, number: u64, place: u64) -> Result<(), BuildError> {
        let len = self.layout.levels.len_of_group(level, number);
        let mut group = Group::EMPTY;
        let inner = (level > 0).then(|| Inner::read(self.payload, place, len));
        match &inner {
            None => group.read_leaves(Portable, self.payload, place, &self.layout.params, len),
            Some(inner) => inner.unpack(Portable, self.payload, &mut group),
        }
        // The number of leaves below an entry.
        let span = GROUP_LEN.pow(level as u32);
        let (mut before, mut string) = (Bits::ZEROS, Bits::ZEROS);
        self.encode_first(number * GROUP_LEN * span, &mut before);
        for entry in 0..len {
            let leaf = (number * GROUP_LEN + u64::from(entry)) * span;
            if entry > 0 {
                let stored = group.stored(self.layout, entry);
                self.encode_first(leaf, &mut string);
                if before.common_len(&string) != stored.from - 1 || !self.has(leaf, &string, &stored) {
                    return Err(self.keys.lacks(self.leaves[leaf as usize].key as usize, span));
                }
                core::mem::swap(&mut before, &mut string);
            }
            if let Some(inner) = &inner {
                if !inner.has_mark(self.payload, entry, &before, &group.stored(self.layout, entry)) {
                    return Err(self.keys.lacks(self.leaves[leaf as usize].key as usize, span));
                }
                let child = inner.child(self.payload, entry);
                self.check_group(level - 1, number * GROUP_LEN + u64::from(entry), child)?;
            }
        }
        Ok(())
    }

    fn has_first(&self, stored: &Stored) -> bool {
        let mut string = Bits::ZEROS;
        self.encode_first(0, &mut string);
        self.has(0, &string, stored)
    }

    /// Encodes the first key of a leaf.
    fn encode_first(&self, leaf: u64, string: &mut Bits) {
        self.encode(self.leaves[leaf as usize].key as usize, string);
    }

    fn encode(&self, key: usize, string: &mut Bits) {
        let (key, depth) = (self.keys.get(key), self.layout.params.depth);
        let rest = &key[usize::from(self.layout.params.prefix_len)..];
        self.layout.code.encode(rest, depth.into(), Side::Lower, string);
    }

    /// Returns whether all keys of a leaf, the first of which is `first`, begin with `stored`, as far as that goes.
    fn has(&self, leaf: u64, first: &Bits, stored: &Stored) -> bool {
        let leaf = leaf as usize;
        let last = self.leaves.get(leaf + 1).map_or(self.keys.len(), |next| next.key as usize) - 1;
        if last != self.leaves[leaf].key as usize {
            // Keys between the first and the last have what these have in common.
            let mut string = Bits::ZEROS;
            self.encode(last, &mut string);
            if first.common_len(&string) < stored.end {
                return false;
            }
        }
        stored.compare(self.payload, first) == Order::Begins
    }
}
