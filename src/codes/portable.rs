//! The definition, in plain code: compiled once more for each engine that falls back on it.

use super::{Layout, View};
use crate::cpu::Portable;
use crate::hash::KeyHash;

#[inline(always)]
pub(super) fn may_contain(_: Portable, layout: &Layout, payload: &[u8], hash: KeyHash) -> bool {
    let view = View { layout, payload };
    let (bucket, sought) = view.layout.params.buckets.locate(hash);
    match view.bucket(bucket) {
        Some(bucket) => bucket.contains(&view.layout.tuning, sought),
        None => true,
    }
}
