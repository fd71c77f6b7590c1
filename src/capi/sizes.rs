//! Sizes for numbers of entries, and numbers of entries for sizes.

use super::border::{caught_or, put, required, run};
use super::policy::Policy;
use super::status::{Error, Failure, Status};
use crate::{BuildError, FilterPolicy};

/// Writes what `compute` makes of a policy to `out`.
///
/// # Safety
/// `out` and `error` are null or valid for writes.
unsafe fn compute<T: Default>(
    policy: Option<&Policy>,
    out: *mut T,
    error: *mut Error,
    compute: impl FnOnce(&FilterPolicy) -> Result<T, BuildError>,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        put(out, T::default());
        run(error, || {
            if out.is_null() {
                return Err(Failure::argument("out"));
            }
            put(out, compute(&required(policy, "policy")?.0)?);
            Ok(())
        })
    }
}

/// The length in bytes to be expected of a block of `num_entries` distinct entries: exact, or the average for the kinds
/// whose length depends on the keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_block_len(
    policy: Option<&Policy>,
    num_entries: u64,
    out: *mut u64,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { compute(policy, out, error, |policy| policy.expected_block_len(num_entries)) }
}

/// Bytes that suffice for a block of `num_entries` distinct entries, whatever they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_max_block_len(
    policy: Option<&Policy>,
    num_entries: u64,
    out: *mut u64,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { compute(policy, out, error, |policy| policy.max_block_len(num_entries)) }
}

/// Bytes that suffice for a compact frame of `num_entries` distinct entries, whatever they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_max_compact_len(
    policy: Option<&Policy>,
    num_entries: u64,
    out: *mut u64,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { compute(policy, out, error, |policy| policy.max_compact_len(num_entries)) }
}

/// The false-positive rate to be expected of a block of `num_entries` distinct entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_false_positive_rate(
    policy: Option<&Policy>,
    num_entries: u64,
    out: *mut f64,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe { compute(policy, out, error, |policy| policy.expected_false_positive_rate(num_entries)) }
}

/// The most entries whose block is expected to have at most `block_len` bytes: the inverse of
/// `filterblock_policy_block_len`. 0 if not even one entry fits, and of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_policy_num_entries(policy: Option<&Policy>, block_len: u64) -> u64 {
    caught_or(0, || policy.map_or(0, |policy| policy.0.expected_num_entries(block_len)))
}
