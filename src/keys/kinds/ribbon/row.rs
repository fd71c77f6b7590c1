//! The equation of a hash in a layer: one linear equation over its slots.

use crate::hash::{fast_range, mix};

/// The number of coefficients of a row, and of slots of a block.
pub(super) const WIDTH: u64 = 64;

/// A multiplier: the two halves of the hash's product with it make the coefficients.
const COEFFICIENT_MULTIPLIER: u64 = 0xd134_2543_de82_ef95;
/// A multiplier: the upper half of the lower word of the hash's product with it is the fingerprint.
const FINGERPRINT_MULTIPLIER: u64 = 0xa24b_aed4_963e_e407;
/// A multiplier that makes the hashes of one layer independent of another layer's.
const LAYER_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The sum (XOR) of the solution's rows at `start` + *i*, for each bit *i* set in `coefficients`, is `fingerprint`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) start: u64,
    /// The coefficients, of which the first is 1: the slot at `start` always counts.
    pub(super) coefficients: u64,
    /// The fingerprint, of which bit *c* belongs to column *c*.
    pub(super) fingerprint: u32,
}

impl Row {
    /// Returns the equation of `hash` in a layer whose rows start in its first `num_starts` slots.
    #[inline(always)]
    pub(super) const fn new(hash: u64, num_starts: u64) -> Self {
        let product = hash as u128 * COEFFICIENT_MULTIPLIER as u128;
        Self {
            start: fast_range(hash, num_starts),
            coefficients: ((product >> 64) as u64 ^ product as u64) | 1,
            fingerprint: (hash.wrapping_mul(FINGERPRINT_MULTIPLIER) >> 32) as u32,
        }
    }
}

/// Returns the hash in the layer that it enters with `steps`: 1 for a further layer, and one more for each seed that
/// failed there.
#[inline(always)]
pub(super) const fn rehashed(hash: u64, steps: u8) -> u64 {
    match steps {
        0 => hash,
        _ => mix(hash ^ LAYER_MULTIPLIER.wrapping_mul(steps as u64)),
    }
}
