//! Bumped ribbon retrieval: columns from a rate, slots from a number of entries.
//!
//! With *r* columns an absent key passes with probability 2⁻ʳ, and each slot takes *r* bits. The slots of the first
//! layer are a setting, `MIN_MILLISLOTS` to `MAX_MILLISLOTS` thousandths of a slot an entry: with fewer of them
//! more entries are bumped to the next layer, and a build takes longer. From some .95 slots an entry on down, further
//! bumped entries need as much room in the next layer as the first one saves, so the least size is there.
//!
//! Source: P. C. Dillinger, L. Hübschle-Schneider, P. Sanders, S. Walzer, *Fast Succinct Retrieval and Approximate
//! Membership using Ribbon*, SEA 2022. No formula is known for the share of bumped entries: `bumped_share` is
//! measured.

use crate::math::float::pow2;

/// The greatest number of columns, and bits of a fingerprint: a rate of 2⁻³².
pub(crate) const MAX_COLUMNS: u32 = 32;
/// The fewest thousandths of a slot an entry.
pub(crate) const MIN_MILLISLOTS: u32 = 950;
/// The most thousandths of a slot an entry.
pub(crate) const MAX_MILLISLOTS: u32 = 1_200;
/// The default of the thousandths of a slot an entry: 1.1 % above the least possible size, and faster queries, as few
/// entries are bumped.
pub(crate) const DEFAULT_MILLISLOTS: u32 = 995;

/// The number of seeds that are tried in the last layer.
pub(crate) const MAX_SEEDS: u32 = 32;
/// The number of slots of a stretch, which is solved apart from others.
pub(super) const STRETCH: u64 = 1 << 17;
/// The greatest number of entries for which a layer that bumps none is the smaller one.
pub(super) const MAX_ENTRIES_OF_LAST: u64 = 4096;
/// The thousandths of a slot an entry that a layer needs if it bumps none: one seed in two solves it, up to
/// [`MAX_ENTRIES_OF_LAST`] entries. Measured: 200 sets for each of 33 numbers of entries.
const MILLISLOTS_OF_LAST: u32 = 1_024;
/// The number of seeds that are tried before a last layer gets more blocks.
pub(super) const SEEDS_OF_A_SIZE: u32 = 16;
/// The fewest seeds that are tried for hashes that were not remapped: all of them fail for fewer than one set in ten.
pub(super) const MIN_KNOWN_SEEDS: u32 = 3;

/// The number of slots of a block.
const WIDTH: u64 = super::WIDTH;

/// Returns the number of blocks of a layer that bumps, including the last, into which rows only reach.
pub(super) fn num_blocks(num_entries: u64, millislots: u32) -> u64 {
    let num_slots = u128::from(num_entries) * u128::from(millislots) / 1000;
    (num_slots.div_ceil(u128::from(WIDTH)) as u64).max(2)
}

/// Returns the number of blocks of the last layer, including the one into which rows only reach. After
/// [`SEEDS_OF_A_SIZE`] seeds it grows with each seed, to three times the blocks with the last one.
pub(super) fn num_blocks_of_last(num_entries: u64, millislots: u32, seed: u32) -> u64 {
    let millislots = u128::from(millislots.max(MILLISLOTS_OF_LAST));
    let num_slots = (u128::from(num_entries) * millislots).div_ceil(1000);
    let least = (num_slots.div_ceil(u128::from(WIDTH)) as u64).max(2);
    let more = u64::from((seed + 1).saturating_sub(SEEDS_OF_A_SIZE));
    least + (least * more).div_ceil(u64::from(MAX_SEEDS - SEEDS_OF_A_SIZE) / 2)
}

/// Returns the number of blocks of the first layer, which is the last where entries are few.
pub(super) fn num_blocks_of_first(num_entries: u64, millislots: u32) -> u64 {
    if num_entries <= MAX_ENTRIES_OF_LAST {
        return num_blocks_of_last(num_entries, millislots, 0);
    }
    num_blocks(num_entries, millislots)
}

/// The number of entries out of a million that are bumped, with .95 slots an entry and each .01 more, measured with
/// three sets of a million.
const BUMPED_OF_A_MILLION: [u32; 15] =
    [50_750, 40_900, 31_700, 23_270, 16_030, 10_180, 5_860, 2_990, 1_490, 730, 310, 80, 30, 10, 0];

/// The share of a layer's entries that are bumped to the next one if the layer has `millislots` thousandths of a slot
/// an entry; linear between measured points, 0 from 1.09 slots on.
#[must_use]
pub(crate) fn bumped_share(millislots: u32) -> f64 {
    let above = f64::from(millislots.clamp(MIN_MILLISLOTS, MAX_MILLISLOTS) - MIN_MILLISLOTS) / 10.0;
    let at = |index: usize| BUMPED_OF_A_MILLION.get(index).copied().map_or(0.0, f64::from);
    let index = above as usize;
    (at(index) + (at(index + 1) - at(index)) * (above - index as f64)) / 1e6
}

/// The columns whose rate is at most `rate`: the number that all entries have, and the share of entries that have one
/// more, in units of 2⁻³², rounded up.
///
/// A share *a* of one column more gives the rate 2⁻ʳ (1 − a/2). At least 1 column; with [`MAX_COLUMNS`] none has more.
#[must_use]
pub(crate) fn columns_for_false_positive_rate(rate: f64) -> (u32, u32) {
    let (mut columns, mut scaled) = (0, rate);
    while columns < MAX_COLUMNS && scaled <= 0.5 {
        scaled *= 2.0;
        columns += 1;
    }
    if columns == MAX_COLUMNS {
        return (MAX_COLUMNS, 0);
    }
    if columns == 0 {
        return (1, 0);
    }
    // Twice the rate of one column more is `scaled`, above a half; NaN is the strictest target.
    let share = 2.0 * (1.0 - scaled) * pow2(32);
    let rounded = share as u64;
    let rounded = rounded + u64::from((rounded as f64) < share);
    match u32::try_from(rounded) {
        Ok(share) => (columns, share),
        Err(_) => (columns + 1, 0),
    }
}

/// The rate at which absent keys pass: 2⁻ʳ (1 − a/2), where *r* is `columns`, and *a*, the share of the slots that have
/// one column more, is `wide_per_2_32` / 2³².
#[must_use]
pub(crate) fn false_positive_rate(columns: u32, wide_per_2_32: u32) -> f64 {
    pow2(-(columns.min(MAX_COLUMNS) as i32)) * (1.0 - f64::from(wide_per_2_32) / pow2(33))
}

/// The size of all layers of a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    /// The number of slots of all layers: the bits of a column.
    pub(super) num_slots: u64,
    /// The bytes of thresholds and numbers of blocks.
    pub(super) other_bytes: u64,
}

/// Returns the average size of the layers of `num_entries` (at least 1) entries.
pub(super) fn expected(num_entries: u64, millislots: u32) -> Expected {
    use super::{BUCKET, MAX_LAYERS, NUM_BLOCKS_LEN};
    let bumped = bumped_share(millislots);
    let (mut num_slots, mut other_bytes, mut entering) = (0u64, 0, num_entries);
    for index in 0..MAX_LAYERS {
        other_bytes += NUM_BLOCKS_LEN as u64;
        if entering <= MAX_ENTRIES_OF_LAST || index + 1 == MAX_LAYERS {
            let num_blocks = num_blocks_of_last(entering, millislots, 0);
            num_slots = num_slots.saturating_add(num_blocks.saturating_mul(WIDTH));
            break;
        }
        let num_starts = (num_blocks(entering, millislots) - 1).saturating_mul(WIDTH);
        num_slots = num_slots.saturating_add(num_starts).saturating_add(WIDTH);
        // A cut bumps the bucket before it.
        let cuts = (num_starts - 1) / STRETCH;
        entering = (entering as f64 * bumped) as u64 + cuts * BUCKET;
        if entering == 0 {
            break;
        }
        other_bytes += num_starts.div_ceil(BUCKET).div_ceil(4);
    }
    Expected { num_slots, other_bytes }
}
