//! Compact frames, for engines with a small filter for every few kilobytes: built and queried in one call each, as
//! LevelDB's policies are.

use crate::border::{Keys, bytes, caught, required, run};
use crate::builder::{Frame, Notes, Places};
use crate::counters::Counters;
use crate::memory::Allocator;
use crate::policy::Policy;
use crate::status::{Error, Failure, Status};
use crate::versioned;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use filterblock::{CompactFrameReader, FilterBlockBuilder};

/// The message of a build without keys.
const NO_KEYS: &str = "no keys were given; the frame of none, which denies every key, is FILTERBLOCK_COMPACT_EMPTY";

/// Builds the compact frame of `num_keys` keys, `key_lens[i]` bytes at `keys[i]`: 2 to 20 bytes more than its payload,
/// without checksum, seed, transform, context and number of entries, for engines that keep these themselves. It is
/// given to the caller in memory of the caller's allocator, as by `filterblock_builder_finish_with`. After an error
/// store one byte 0, which answers *maybe*: engines such as LevelDB take no bytes for an empty filter, and deny. No keys
/// are an error, `FILTERBLOCK_STATUS_NOT_BUILT`: see `FILTERBLOCK_COMPACT_EMPTY`. `counters` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_compact_build(
    policy: Option<&Policy>,
    keys: *const *const c_void,
    key_lens: *const usize,
    num_keys: usize,
    counters: Option<&Counters>,
    allocator: *const Allocator,
    memory: Option<&mut MaybeUninit<*mut c_void>>,
    len: Option<&mut MaybeUninit<usize>>,
    capacity: Option<&mut MaybeUninit<usize>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    run(error, || {
        let places = Places::new(memory, len, capacity)?;
        // SAFETY: `allocator` is null, or valid for as many bytes as its size states (rule 1).
        let allocator = unsafe { versioned::read(allocator, "allocator") }?;
        // SAFETY: `keys` and `key_lens` are valid for `num_keys` keys, and each key for its length (rule 1).
        let keys = required(unsafe { Keys::new(keys, key_lens, num_keys) }, "keys")?;
        let mut builder = FilterBlockBuilder::new(&required(policy, "policy")?.0);
        places.put(Notes::new(counters).finish(|| {
            if num_keys == 0 {
                return Err(Failure::new(Status::NotBuilt, NO_KEYS));
            }
            builder.try_reserve(num_keys)?;
            for key in keys.iter() {
                builder.add_key(required(key, "keys")?);
            }
            // SAFETY: the functions of `allocator` keep to its documentation (rule 4).
            unsafe { Frame::Compact.finish_with(&mut builder, &allocator) }
        })?);
        Ok(())
    })
}

/// Returns whether a compact frame, written under `policy`, may hold a key; false is certain. Opens the frame, in
/// constant time, and never fails: a frame that cannot be read is *maybe*, and counted. `counters` may be null; frames
/// that can be read are not counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_compact_may_contain(
    policy: Option<&Policy>,
    frame: *const c_void,
    frame_len: usize,
    key: *const c_void,
    key_len: usize,
    counters: Option<&Counters>,
) -> bool {
    // SAFETY: `frame` is valid for `frame_len` bytes, and `key` for `key_len` (rule 1).
    let (frame, key) = unsafe { (bytes(frame, frame_len), bytes(key, key_len)) };
    let answer = caught(|| {
        let Policy(policy) = required(policy, "policy")?;
        let frame = CompactFrameReader::open(required(frame, "frame")?, policy)?;
        Ok(key.is_none_or(|key| frame.may_contain(key)))
    });
    answer.unwrap_or_else(|failure| {
        if let Some(counters) = counters {
            counters.note_open(failure.status);
        }
        true
    })
}
