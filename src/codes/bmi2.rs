//! The portable search compiled for processors that count ones and shift by registers in one instruction: .94 to .97 of
//! the time on a Zen 5.

use super::{Layout, portable};
use crate::cpu::{Portable, bmi2};

bmi2! {
    pub(super) fn may_contain(_proof, layout: &Layout, payload: &[u8], bucket: u64, offset: u64) -> bool {
        portable::may_have(Portable, layout, payload, bucket, offset, offset)
    }
}

bmi2! {
    pub(super) fn may_have(_proof, layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
        portable::may_have(Portable, layout, payload, bucket, from, to)
    }
}
