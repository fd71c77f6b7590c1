//! The payload of sorted keys.

use super::plan::{self, Plan, width};
use super::trie::Leaf;
use crate::ranges::cut::bits::{Bits, MAX_DEPTH};
use crate::ranges::cut::code::ByteCode;
use crate::ranges::cut::group::{Commons, HEAD_BITS, Kept, to_head};
use crate::ranges::cut::layout::{FIRST_LEN_BITS, GROUP_LEN, Levels, Params};
use crate::ranges::cut::search::inner::{CHILD_BITS, MARK_BITS, cut_mark};
use crate::ranges::keys::Keys;
use std::vec;
use std::vec::Vec;

/// A payload's parameters and leaves.
pub(crate) struct Built {
    pub(crate) params: Params,
    pub(crate) leaves: Vec<Leaf>,
}

/// Appends the payload of `keys`, sorted and at least one, of about `max_len` bytes.
pub(crate) fn build(keys: &Keys, max_len: u64, out: &mut Vec<u8>) -> Built {
    let start = out.len();
    let prefix_len = keys.common_prefix_len().min(u16::MAX.into());
    let (code, table, end_len) = plan::byte_code(keys, prefix_len);
    out.extend_from_slice(&keys.get(0)[..prefix_len]);
    out.extend(table.iter().flatten());
    let other_len = prefix_len + table.map_or(0, |table| table.len());
    let budget = 8 * max_len.saturating_sub(other_len as u64);
    // Without a table no key has more bits than the longest one: only zeros would follow.
    let longest = if table.is_some() { usize::MAX } else { 8 * (keys.extent().1 - prefix_len) };
    let limit = longest.clamp(1, MAX_DEPTH as usize) as u32;
    let plan = plan::choose(plan::leaves(keys, prefix_len, &code), budget, limit);
    let params = Params {
        extra: plan.extra as u8,
        has_table: table.is_some(),
        has_joined: plan.leaves.iter().any(|leaf| leaf.is_joined),
        end_len,
        least: plan.least as u16,
        longer: plan.longer as u16,
        depth: plan.depth as u16,
        prefix_len: prefix_len as u16,
        num_leaves: plan.leaves.len() as u32,
    };
    Writer { keys, code, params, plan: &plan, stream: Stream::new(start, out) }.write();
    Built { params, leaves: plan.leaves }
}

struct Writer<'a> {
    keys: &'a Keys,
    code: ByteCode,
    params: Params,
    plan: &'a Plan,
    stream: Stream<'a>,
}

/// A column's least number, and the width of its numbers less that.
#[derive(Clone, Copy, Debug)]
struct Column {
    least: u32,
    width: u32,
}

impl Column {
    /// Returns the column of `numbers`.
    fn of(numbers: impl Iterator<Item = u32>) -> Self {
        let (least, most) = numbers.fold((u32::MAX, 0), |(least, most), number| (least.min(number), most.max(number)));
        match least <= most {
            true => Self { least, width: width(most - least) },
            false => Self { least: 0, width: 0 },
        }
    }
}

/// A group above the leaves, before it is written.
struct InnerGroup {
    /// The number of bytes of the groups below, up to each of them.
    ends: Vec<u64>,
    /// For each entry after the first, its number of bits in common with the one before.
    commons: Vec<u32>,
    /// For each entry after the first, its number of stored bits.
    lens: Vec<u32>,
    num_bytes: u64,
}

impl Writer<'_> {
    /// Returns the number of leading bits that a leaf has in common with the one before it; 0 after the last leaf.
    fn common(&self, leaf: usize) -> u16 {
        self.plan.leaves.get(leaf).map_or(0, |leaf| leaf.common)
    }

    fn commons(&self, leaf: usize) -> Commons {
        Commons { before: self.common(leaf), next: self.common(leaf + 1) }
    }

    /// Returns the number of bits that are kept of a leaf.
    fn kept(&self, leaf: usize) -> u16 {
        let (commons, kept) = (self.commons(leaf), Kept::new(&self.params));
        match self.plan.leaves[leaf].is_joined {
            // All keys are one leaf: no bit is needed to distinguish it.
            true if self.plan.leaves.len() == 1 => self.params.least,
            true => kept.of_several(commons),
            false => kept.of_one((leaf % GROUP_LEN as usize) as u16, commons),
        }
    }

    /// Fills in the bits of the first key of a leaf.
    fn encode(&self, leaf: usize, bits: &mut Bits) {
        self.params.encode_key(&self.code, self.keys.get(self.plan.leaves[leaf].key as usize), bits);
    }

    /// Writes the first leaf and the groups of all levels.
    fn write(mut self) {
        let leaves: &[Leaf] = &self.plan.leaves;
        let levels = Levels::of(leaves.len() as u64);
        // The number of bytes of each group, by level, from the leaves on.
        let mut sizes: Vec<u64> =
            (0..leaves.len()).step_by(GROUP_LEN as usize).map(|first| self.num_bits(first).div_ceil(8)).collect();
        // The groups of each level above the leaves.
        let mut inner: Vec<Vec<InnerGroup>> = Vec::new();
        let mut span = GROUP_LEN as usize;
        for _ in 1..levels.num {
            let groups: Vec<InnerGroup> = sizes
                .chunks(GROUP_LEN as usize)
                .enumerate()
                .map(|(number, sizes)| self.inner_group(number * GROUP_LEN as usize, span, sizes))
                .collect();
            sizes = groups.iter().map(|group| group.num_bytes).collect();
            inner.push(groups);
            span *= GROUP_LEN as usize;
        }
        self.write_first();
        // Each level begins where the one above it ends.
        let mut end = self.stream.place() + sizes.iter().sum::<u64>();
        let mut span = span / GROUP_LEN as usize;
        for groups in inner.iter().rev() {
            let mut first = 0;
            for group in groups {
                self.write_inner(group, end, first, span);
                end += group.ends.last().copied().unwrap_or(0);
                first += GROUP_LEN as usize * span;
            }
            span /= GROUP_LEN as usize;
        }
        for first in (0..leaves.len()).step_by(GROUP_LEN as usize) {
            self.write_leaves(first);
        }
    }

    /// Returns the leaves of the group that begins with `first`.
    fn group(&self, first: usize) -> core::ops::Range<usize> {
        first..(first + GROUP_LEN as usize).min(self.plan.leaves.len())
    }

    /// Returns the column of the group of leaves that begins with `first`.
    fn column(&self, first: usize) -> Column {
        Column::of(self.group(first).map(|leaf| self.common(leaf + 1).into()))
    }

    /// Returns the number of bits of the group of leaves that begins with `first`.
    fn num_bits(&self, first: usize) -> u64 {
        let group = self.group(first);
        let columns = u64::from(self.column(first).width + u32::from(self.params.has_joined)) * group.len() as u64;
        let stored = group.skip(1).map(|leaf| u64::from(self.commons(leaf).num_stored(self.kept(leaf))));
        HEAD_BITS + columns + stored.sum::<u64>()
    }

    /// Returns the group whose entries begin with number `first` of their level, `span` leaves each, above groups of
    /// these sizes.
    fn inner_group(&self, first: usize, span: usize, sizes: &[u64]) -> InnerGroup {
        let ends: Vec<u64> = sizes
            .iter()
            .scan(0, |end, size| {
                *end += size;
                Some(*end)
            })
            .collect();
        let entries = first + 1..first + sizes.len();
        let commons: Vec<u32> = entries
            .clone()
            .map(|entry| {
                (entry * span - span + 1..=entry * span).map(|leaf| self.common(leaf)).min().unwrap_or(0).into()
            })
            .collect();
        let lens: Vec<u32> =
            entries.zip(&commons).map(|(entry, common)| u32::from(self.kept(entry * span)) - common - 1).collect();
        let num_stored = lens.len() as u64;
        let child_width = u64::from(child_width(&ends));
        let widths = Column::of(commons.iter().copied()).width + Column::of(lens.iter().copied()).width;
        let num_bits = CHILD_BITS
            + 2 * HEAD_BITS
            + num_stored * (MARK_BITS + child_width + u64::from(widths))
            + lens.iter().map(|&len| u64::from(len)).sum::<u64>();
        InnerGroup { ends, commons, lens, num_bytes: num_bits.div_ceil(8) }
    }

    /// Writes the first leaf, whole.
    fn write_first(&mut self) {
        let len = self.kept(0);
        self.stream.push(FIRST_LEN_BITS, len.into());
        let mut string = Bits::ZEROS;
        self.encode(0, &mut string);
        self.stream.push_bits(&string, 0, len.into());
        self.stream.align();
    }

    /// Writes a group whose first entry is leaf `first`, `span` leaves each, above groups from byte `first_child` on.
    fn write_inner(&mut self, group: &InnerGroup, first_child: u64, first: usize, span: usize) {
        let child_width = child_width(&group.ends);
        self.stream.push(CHILD_BITS as u32, first_child | u64::from(child_width) << 40);
        let (commons, lens) = (Column::of(group.commons.iter().copied()), Column::of(group.lens.iter().copied()));
        self.write_head(commons);
        self.write_head(lens);
        let mut strings = vec![Bits::ZEROS; group.lens.len()];
        (1..).zip(&mut strings).for_each(|(entry, string)| self.encode(first + entry * span, string));
        for ((string, &common), &len) in strings.iter().zip(&group.commons).zip(&group.lens) {
            self.stream.push(MARK_BITS as u32, cut_mark(string, commons.least, common + 1 + len).into());
        }
        group.ends[..group.lens.len()].iter().for_each(|&end| self.stream.push(child_width, end));
        group.commons.iter().for_each(|&common| self.stream.push(commons.width, (common - commons.least).into()));
        group.lens.iter().for_each(|&len| self.stream.push(lens.width, (len - lens.least).into()));
        for ((string, &common), &len) in strings.iter().zip(&group.commons).zip(&group.lens) {
            self.stream.push_bits(string, common + 1, common + 1 + len);
        }
        self.stream.align();
    }

    fn write_head(&mut self, column: Column) {
        self.stream.push(HEAD_BITS as u32, to_head(column.least, column.width));
    }

    /// Writes the group of leaves that begins with `first`.
    fn write_leaves(&mut self, first: usize) {
        let column = self.column(first);
        self.write_head(column);
        for leaf in self.group(first) {
            self.stream.push(column.width, (u32::from(self.common(leaf + 1)) - column.least).into());
        }
        if self.params.has_joined {
            self.group(first).for_each(|leaf| self.stream.push(1, self.plan.leaves[leaf].is_joined.into()));
        }
        let mut string = Bits::ZEROS;
        for leaf in self.group(first).skip(1) {
            let (commons, kept) = (self.commons(leaf), self.kept(leaf));
            self.encode(leaf, &mut string);
            let mut from = u32::from(commons.before) + 1;
            if commons.implies_zero(kept) {
                self.stream.push_bits(&string, from, commons.next.into());
                from = u32::from(commons.next) + 1;
            }
            self.stream.push_bits(&string, from, kept.into());
        }
        self.stream.align();
    }
}

/// Returns the width of the places of the groups after the first, relative to it.
fn child_width(ends: &[u64]) -> u32 {
    let last = ends.len().checked_sub(2).map_or(0, |index| ends[index]);
    64 - last.leading_zeros()
}

/// Bits that are appended to bytes, lowest first.
struct Stream<'a> {
    out: &'a mut Vec<u8>,
    /// The length of the bytes before the payload.
    start: usize,
    /// The last bits, fewer than eight between calls, and their number.
    word: u64,
    held: u32,
}

impl<'a> Stream<'a> {
    fn new(start: usize, out: &'a mut Vec<u8>) -> Self {
        Self { start, out, word: 0, held: 0 }
    }

    /// Returns the number of whole bytes of the payload so far.
    fn place(&self) -> u64 {
        (self.out.len() - self.start) as u64
    }

    /// Appends `width` bits, at most 57.
    #[inline]
    fn push(&mut self, width: u32, value: u64) {
        debug_assert!(value >> width == 0);
        self.word |= value << self.held;
        self.held += width;
        while self.held >= 8 {
            self.out.push(self.word as u8);
            self.word >>= 8;
            self.held -= 8;
        }
    }

    /// Appends the bits `from..end` of a string.
    fn push_bits(&mut self, bits: &Bits, mut from: u32, end: u32) {
        while from < end {
            let width = (end - from).min(56);
            self.push(width, bits.at(from) & ((1 << width) - 1));
            from += width;
        }
    }

    /// Goes on at the next byte.
    fn align(&mut self) {
        self.push((8 - self.held) % 8, 0);
    }
}
