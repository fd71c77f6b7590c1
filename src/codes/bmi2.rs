//! The portable search compiled for processors that count ones and shift by registers in one instruction.

use super::{Layout, portable};
use crate::cpu::{Portable, bmi2};
use crate::hash::KeyHash;

bmi2! {
    pub(super) fn may_contain(_proof, layout: &Layout, payload: &[u8], hash: KeyHash) -> bool {
        portable::may_contain(Portable, layout, payload, hash)
    }
}
