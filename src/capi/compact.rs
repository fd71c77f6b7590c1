//! Compact frames, for engines with a small filter for every few kilobytes: built and queried in one call each, as
//! LevelDB's policies are.

use super::border::{array, bytes, caught_or, put, required, required_bytes, run};
use super::builder::Builder;
use super::counters::Counters;
use super::finish::Frame;
use super::memory::Allocator;
use super::policy::Policy;
use super::status::{Error, Failure, Status};
use crate::{CompactFrameReader, KeyHash};
use core::ffi::c_void;
use core::ptr;
use std::sync::Arc;

/// Builds the compact frame of `num_keys` keys, `key_lens[i]` bytes at `keys[i]`, in memory of the caller's allocator,
/// and gives it to the caller: `*len` bytes at `*out`. On an error `*out` is null; then a frame of no bytes is one that
/// answers *maybe*. `counters` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_compact_build(
    policy: Option<&Policy>,
    keys: *const *const c_void,
    key_lens: *const usize,
    num_keys: usize,
    counters: Option<&Counters>,
    allocator: Option<&Allocator>,
    out: *mut *mut c_void,
    len: *mut usize,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe {
        put(out, ptr::null_mut());
        put(len, 0);
        run(error, || {
            if out.is_null() || len.is_null() {
                return Err(Failure::argument("out"));
            }
            let (policy, allocator) = (required(policy, "policy")?, required(allocator, "allocator")?);
            let keys = required(array(keys, num_keys), "keys")?;
            let key_lens = required(array(key_lens, num_keys), "key_lens")?;
            let mut builder = Builder::new(policy);
            builder.counts = counters.map(|counters| Arc::clone(&counters.0));
            let (memory, frame_len) = builder.finish(|builder| {
                builder.try_reserve(num_keys)?;
                for (&key, &key_len) in keys.iter().zip(key_lens) {
                    builder.add_key(required_bytes(key, key_len, "keys")?);
                }
                Frame::Compact.finish_with(builder, allocator)
            })?;
            put(out, memory);
            put(len, frame_len);
            Ok(())
        })
    }
}

/// Queries a frame under the policy that it was written with; what cannot be answered is *maybe*.
///
/// # Safety
/// Rule 1 of the interface.
unsafe fn answer(
    policy: Option<&Policy>,
    frame: *const c_void,
    frame_len: usize,
    counters: Option<&Counters>,
    query: impl FnOnce(&CompactFrameReader<'_>) -> bool,
) -> bool {
    // SAFETY: the caller's promise.
    let given = policy.zip(unsafe { bytes(frame, frame_len) });
    caught_or(true, || {
        let Some((policy, frame)) = given else { return true };
        match CompactFrameReader::open(frame, policy.0.hasher(), policy.0.key_transform()) {
            Ok(reader) => query(&reader),
            Err(error) => {
                if let Some(counters) = counters {
                    counters.0.note_open(Failure::from(error).status);
                }
                true
            }
        }
    })
}

/// Whether a compact frame, written under `policy`, may hold a key; false is certain. Opens the frame, in constant
/// time, and never fails: a frame that cannot be read is *maybe*, and counted. `counters` may be null; frames that can
/// be read are not counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_compact_may_contain(
    policy: Option<&Policy>,
    frame: *const c_void,
    frame_len: usize,
    key: *const c_void,
    key_len: usize,
    counters: Option<&Counters>,
) -> bool {
    // SAFETY: rule 1 of the interface.
    let Some(key) = (unsafe { bytes(key, key_len) }) else { return true };
    // SAFETY: rule 1 of the interface.
    unsafe { answer(policy, frame, frame_len, counters, |frame| frame.may_contain(key)) }
}

/// As `filterblock_compact_may_contain`, by the hash of an entry from `filterblock_policy_hash_key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_compact_may_contain_hash(
    policy: Option<&Policy>,
    frame: *const c_void,
    frame_len: usize,
    hash: u64,
    counters: Option<&Counters>,
) -> bool {
    // SAFETY: rule 1 of the interface.
    unsafe { answer(policy, frame, frame_len, counters, |frame| frame.may_contain_hash(KeyHash::from_raw(hash))) }
}
