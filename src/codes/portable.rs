//! The definition, in plain code: compiled once more for each engine that falls back on it.

use super::{Layout, View};
use crate::cpu::Portable;

#[inline(always)]
pub(super) fn may_have(_: Portable, layout: &Layout, payload: &[u8], bucket: u64, from: u64, to: u64) -> bool {
    match (View { layout, payload }).bucket(bucket) {
        Some(bucket) => bucket.has_within(&layout.tuning, from, to),
        None => true,
    }
}

#[inline(always)]
pub(super) fn may_contain(_: Portable, layout: &Layout, payload: &[u8], bucket: u64, offset: u64) -> bool {
    may_have(Portable, layout, payload, bucket, offset, offset)
}
