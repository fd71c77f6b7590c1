//! The builder's last step: a finished filter is read from its root to its leaves, and compared with the keys.
//!
//! If each entry of each group has in common with the one before it what the keys have, and stores bits of its leaf's
//! first key, and if all keys of a leaf have these, then the search finds each key ([`search`](crate::ranges::cut::search::walk)).

use super::trie::Leaf;
use crate::cpu::Portable;
use crate::error::BuildError;
use crate::ranges::cut::bits::{Bits, Order, Stored};
use crate::ranges::cut::group::Group;
use crate::ranges::cut::layout::{GROUP_LEN, Layout};
use crate::ranges::cut::search::inner::Inner;
use crate::ranges::keys::Keys;

/// Compares the filter with `keys`, whose leaves are `leaves`.
pub(crate) fn check(keys: &Keys, leaves: &[Leaf], layout: &Layout, payload: &[u8]) -> Result<(), BuildError> {
    let checker = Checker { keys, leaves, layout, payload };
    let prefix = layout.prefix(payload);
    let has_prefix = [0, keys.len() - 1].iter().all(|&key| keys.get(key).starts_with(prefix));
    let mut first = Bits::ZEROS;
    if has_prefix {
        checker.encode(leaves[0].key as usize, &mut first);
    }
    if !has_prefix
        || leaves.len() as u64 != layout.levels.len(0)
        || !checker.all_begin_with(&layout.first_leaf(), 0, &first)
    {
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
        let (mut before, mut first) = (Bits::ZEROS, Bits::ZEROS);
        for entry in 0..len {
            let leaf = ((number * GROUP_LEN + u64::from(entry)) * span) as usize;
            let lacks = || Err(self.keys.lacks(self.leaves[leaf].key as usize, span));
            let stored = group.stored(self.layout, entry);
            self.encode(self.leaves[leaf].key as usize, &mut first);
            if entry > 0
                && (before.common_len(&first) != stored.from - 1 || !self.all_begin_with(&stored, leaf, &first))
            {
                return lacks();
            }
            before = first;
            if let Some(inner) = &inner {
                if !inner.has_mark(self.payload, entry, &before, &stored) {
                    return lacks();
                }
                let child = inner.child(self.payload, entry);
                self.check_group(level - 1, number * GROUP_LEN + u64::from(entry), child)?;
            }
        }
        Ok(())
    }

    fn encode(&self, key: usize, bits: &mut Bits) {
        self.layout.params.encode_key(&self.layout.code, self.keys.get(key), bits);
    }

    /// Returns whether all keys of a leaf begin with `stored`, from its first bit on; `first` are the bits of the first
    /// of them.
    fn all_begin_with(&self, stored: &Stored, leaf: usize, first: &Bits) -> bool {
        let last = self.leaves.get(leaf + 1).map_or(self.keys.len(), |next| next.key as usize) - 1;
        // Keys between the first and the last have what these have in common.
        let has_common = || {
            let mut last_bits = Bits::ZEROS;
            self.encode(last, &mut last_bits);
            first.common_len(&last_bits) >= stored.end
        };
        (last == self.leaves[leaf].key as usize || has_common()) && stored.compare(self.payload, first) == Order::Begins
    }
}
