//! The slots of a hash, and its fingerprint.

use super::sizing::MAX_LOG2_SEGMENT_LEN;
use super::{ARITY, Params};
use crate::hash::{fast_range, mix};

/// A multiplier: the two halves of the hash's product with it make the offsets.
const OFFSET_MULTIPLIER: u64 = 0xd134_2543_de82_ef95;
/// A multiplier: the upper half of the lower word of the hash's product with it is the fingerprint.
const FINGERPRINT_MULTIPLIER: u64 = 0xa24b_aed4_963e_e407;
/// A multiplier that makes the hashes under one seed independent of those under another.
const SEED_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The dimensions that determine a hash's slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    /// The number of slots of the segments in which a hash may start.
    num_starts: u64,
    segment_len: u64,
    /// The number that is mixed into hashes; 0 for seed 0, which leaves them as they are.
    seed: u64,
}

impl Slots {
    pub(super) const fn new(params: &Params) -> Self {
        Self {
            num_starts: (params.num_segments as u64) << params.log2_segment_len,
            segment_len: 1 << params.log2_segment_len,
            seed: SEED_MULTIPLIER.wrapping_mul(params.seed as u64),
        }
    }

    pub(super) const fn segment_len(&self) -> usize {
        self.segment_len as usize
    }

    /// Returns the number of slots in which a hash may start.
    pub(super) const fn num_starts(&self) -> u64 {
        self.num_starts
    }

    /// Returns the first of the four slots of a hash under the seed.
    #[inline(always)]
    pub(super) const fn start(&self, seeded: u64) -> u64 {
        fast_range(seeded, self.num_starts)
    }

    /// Returns the hash under the seed.
    #[inline(always)]
    pub(super) const fn seeded(&self, hash: u64) -> u64 {
        match self.seed {
            0 => hash,
            seed => mix(hash ^ seed),
        }
    }

    /// Returns the four slots of a hash under the seed, one in each of four neighbouring segments.
    #[inline(always)]
    pub(super) fn of(&self, seeded: u64) -> [u64; ARITY] {
        let product = u128::from(seeded) * u128::from(OFFSET_MULTIPLIER);
        let offsets = (product >> 64) as u64 ^ product as u64;
        let start = self.start(seeded);
        let in_segment = |index: u64| {
            let offset = offsets >> ((index - 1) * u64::from(MAX_LOG2_SEGMENT_LEN)) & (self.segment_len - 1);
            (start + index * self.segment_len) ^ offset
        };
        [start, in_segment(1), in_segment(2), in_segment(3)]
    }
}

/// Returns the fingerprint of a hash under the seed. Only the lower `fingerprint_bits` bits count.
#[inline(always)]
pub(super) const fn fingerprint(seeded: u64) -> u32 {
    (seeded.wrapping_mul(FINGERPRINT_MULTIPLIER) >> 32) as u32
}
