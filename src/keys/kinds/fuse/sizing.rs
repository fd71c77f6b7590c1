//! Binary fuse filters: fingerprints from a rate, slots from a number of entries.
//!
//! With fingerprints of *f* bits an absent key passes with probability 2⁻ᶠ, and each slot takes *f* bits. A million
//! entries need 1.07 slots each, fewer entries more: the shares of slots that are lost at both ends of the table and to
//! luck are larger.
//!
//! The form of the segments' length is that of T. M. Graf, D. Lemire, *Binary Fuse Filters: Fast and Smaller Than Xor
//! Filters*, ACM JEA 27, 2022, section 4; its constants and the number of slots are measured for this hash, with entries
//! set aside.

use crate::math::float::pow2;

/// The greatest number of bits of a fingerprint: a rate of 2⁻³².
pub(crate) const MAX_FINGERPRINT_BITS: u32 = 32;

/// The greatest logarithm of a segment's slots: three offsets are taken from 64 bits.
pub(crate) const MAX_LOG2_SEGMENT_LEN: u32 = 18;

/// The number of seeds that the format knows.
pub(crate) const MAX_SEEDS: u32 = 64;
/// The number of seeds that are tried for a remapped set. A seed fails most often for four entries, in 38 of 100 cases:
/// all of these seeds fail for fewer than one set in 10¹³.
pub(super) const TRIED_SEEDS: u32 = 32;

/// The greatest number of entries for which a segment has twice the slots of the formula for more.
const MAX_FEW: u64 = 170;
/// The slots an entry in tables of more than 350 000 entries: hardly any is set aside. (With 1.057 some 60 of a million
/// are, and a build takes twice the time, as its tables are in no cache.)
const MIN_SLOTS_PER_KEY: f64 = 1.07;
/// The greatest number of slots an entry, in tables of few.
const MAX_SLOTS_PER_KEY: f64 = 2.0;

/// Returns the base-2 logarithm of a segment's slots and the number of segments in which hashes start, for
/// `num_entries` (at least 1) entries. At least one seed in three suits them.
pub(super) fn dimensions(num_entries: u64) -> (u32, u64) {
    use crate::math::float::ln;
    let (log, entries) = (ln(num_entries as f64), num_entries as f64);
    // A negative number becomes 0.
    let log2_segment_len = (log / ln(2.91) + if num_entries <= MAX_FEW { 0.5 } else { -0.8 }) as u32;
    // The slots at hand stay in a level-2 cache, but more of them need longer segments.
    let log2_segment_len = log2_segment_len.min((num_entries.ilog2() / 2).clamp(12, MAX_LOG2_SEGMENT_LEN));
    let slots_per_key = (1.2475 - 0.0139 * log + 10.0 / entries).clamp(MIN_SLOTS_PER_KEY, MAX_SLOTS_PER_KEY);
    let num_slots = (entries * slots_per_key) as u64;
    let num_segments = num_slots.saturating_add(1 << log2_segment_len >> 1) >> log2_segment_len;
    (log2_segment_len, num_segments.saturating_sub(super::ARITY as u64 - 1).max(1))
}

/// The fewest bits of a fingerprint, 1 to `MAX_FINGERPRINT_BITS`, whose rate is at most `rate`; the most if none is.
#[must_use]
pub(crate) fn fingerprint_bits_for_false_positive_rate(rate: f64) -> u32 {
    (1..MAX_FINGERPRINT_BITS).find(|&bits| false_positive_rate(bits) <= rate).unwrap_or(MAX_FINGERPRINT_BITS)
}

/// The rate at which absent keys pass fingerprints of `fingerprint_bits` bits, at most `MAX_FINGERPRINT_BITS`: 2⁻ᶠ.
#[must_use]
pub(crate) fn false_positive_rate(fingerprint_bits: u32) -> f64 {
    pow2(-(fingerprint_bits.min(MAX_FINGERPRINT_BITS) as i32))
}
