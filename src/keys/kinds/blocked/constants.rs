//! The constants that the probes of x86-64 read besides a line, for vectors of every width.

use super::lanes::MULTIPLIERS;
use super::{MAX_SALT_BITS, Params, SALT_MULTIPLIER, WORDS};

/// The number of words of a vector of AVX2. AVX-512 takes one word and repeats it.
const LANES: usize = 4;

#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Constants {
    multipliers: [u64; WORDS],
    salt_multiplier: [u64; LANES],
    /// The number of positions of a word.
    positions: [u64; LANES],
    /// The lowest bit of each word.
    lowest: [u64; LANES],
}

/// The places that assembly takes for granted.
const _: () = {
    assert!(core::mem::offset_of!(Constants, multipliers) == 0);
    assert!(core::mem::offset_of!(Constants, salt_multiplier) == 64);
    assert!(core::mem::offset_of!(Constants, positions) == 96);
    assert!(core::mem::offset_of!(Constants, lowest) == 128);
};

/// The constants for each number of salt bits.
static CONSTANTS: [Constants; MAX_SALT_BITS as usize + 1] = {
    const NONE: Constants = Constants {
        multipliers: MULTIPLIERS,
        salt_multiplier: [SALT_MULTIPLIER as u64; LANES],
        positions: [0; LANES],
        lowest: [1; LANES],
    };
    let (mut all, mut salt_bits) = ([NONE; MAX_SALT_BITS as usize + 1], 0);
    while salt_bits < all.len() {
        all[salt_bits].positions = [(u64::BITS as usize - salt_bits) as u64; LANES];
        salt_bits += 1;
    }
    all
};

impl Constants {
    pub(super) fn of(params: Params) -> &'static Self {
        &CONSTANTS[usize::from(params.salt_bits)]
    }
}
