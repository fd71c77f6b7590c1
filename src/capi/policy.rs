//! Policies: what a builder needs to know, and how keys are hashed.

use super::border::{bytes, caught_or, hash_key, put, put_text, required, run, text};
use super::status::{Error, Failure, Status};
use crate::{BuildError, FilterKind, FilterPolicy, KeyHasher, KeyTransform, Workload};
use core::ffi::{c_char, c_void};
use core::ptr;
use std::boxed::Box;
use std::string::ToString;

/// What a builder needs to know: a kind, a size, a seed or secret key, and what entries are made from. Small; builders
/// copy it.
pub struct Policy(pub(super) FilterPolicy);

/// The kind that is named by a number of the header, or `None` for `FILTERBLOCK_KIND_AUTO`.
fn kind_of(kind: u32) -> Result<Option<FilterKind>, Failure> {
    match u8::try_from(kind) {
        Ok(0) => Ok(None),
        Ok(tag) => FilterKind::from_tag(tag).map(Some).ok_or_else(|| Failure::argument("kind")),
        Err(_) => Err(Failure::argument("kind")),
    }
}

/// Gives the policy away, if there is one.
///
/// # Safety
/// `policy` is null or valid for writes.
unsafe fn give(policy: *mut *mut Policy, made: Result<FilterPolicy, Failure>) -> Result<(), Failure> {
    if policy.is_null() {
        return Err(Failure::argument("policy"));
    }
    // SAFETY: the caller's promise.
    unsafe {
        put(policy, ptr::null_mut());
        put(policy, Box::into_raw(Box::new(Policy(made?))));
    }
    Ok(())
}

/// A policy from its text, such as "blocked:10", "ribbon:fpr=0.1%,seed=7" or "auto:10,level=3,transform=prefix:4". To
/// be freed by `filterblock_policy_free`. On an error `*policy` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_from_text(
    policy_text: *const c_char,
    policy: *mut *mut Policy,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe {
        run(error, || {
            let made = text(policy_text, "policy_text").and_then(|text| Ok(text.parse::<FilterPolicy>()?));
            give(policy, made)
        })
    }
}

/// A filter of `bits_per_key` bits for each distinct entry, 2 to 64. `kind` is one of `FILTERBLOCK_KIND_*`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_with_bits_per_key(
    kind: u32,
    bits_per_key: f64,
    policy: *mut *mut Policy,
    error: *mut Error,
) -> Status {
    let make = |kind: Option<FilterKind>| {
        let named = FilterPolicy::with_bits_per_key(kind.unwrap_or_default(), bits_per_key)?;
        if kind.is_some() { Ok(named) } else { FilterPolicy::auto(named.size(), Workload::default()) }
    };
    // SAFETY: rule 1 of the interface.
    unsafe { run(error, || give(policy, made(kind, make))) }
}

/// The smallest filter whose expected false-positive rate is at most `rate`; 0.01 is one per cent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_with_false_positive_rate(
    kind: u32,
    rate: f64,
    policy: *mut *mut Policy,
    error: *mut Error,
) -> Status {
    let make = |kind: Option<FilterKind>| match kind {
        Some(kind) => FilterPolicy::with_false_positive_rate(kind, rate),
        None => FilterPolicy::auto(crate::FilterSize::FalsePositiveRate(rate), Workload::default()),
    };
    // SAFETY: rule 1 of the interface.
    unsafe { run(error, || give(policy, made(kind, make))) }
}

/// The lowest expected rate that fits into `max_bytes` bytes, header included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_with_max_bytes(
    kind: u32,
    max_bytes: u64,
    policy: *mut *mut Policy,
    error: *mut Error,
) -> Status {
    let make = |kind: Option<FilterKind>| match kind {
        Some(kind) => FilterPolicy::with_max_bytes(kind, max_bytes),
        None => FilterPolicy::auto(crate::FilterSize::MaxBytes(max_bytes), Workload::default()),
    };
    // SAFETY: rule 1 of the interface.
    unsafe { run(error, || give(policy, made(kind, make))) }
}

fn made(
    kind: u32,
    make: impl FnOnce(Option<FilterKind>) -> Result<FilterPolicy, BuildError>,
) -> Result<FilterPolicy, Failure> {
    Ok(make(kind_of(kind)?)?)
}

/// A copy, to be freed by itself; null of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_policy_copy(policy: Option<&Policy>) -> *mut Policy {
    policy.map_or(ptr::null_mut(), |policy| Box::into_raw(Box::new(Policy(policy.0))))
}

/// Frees a policy. Builders and readers that were made with it remain. A null pointer is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_free(policy: *mut Policy) {
    if !policy.is_null() {
        // SAFETY: from `Box::into_raw`, and not freed before, by rule 1 of the interface.
        drop(unsafe { Box::from_raw(policy) });
    }
}

/// Changes a policy to what `change` makes of it.
///
/// # Safety
/// `error` is null or valid for writes.
unsafe fn change(
    policy: Option<&mut Policy>,
    error: *mut Error,
    change: impl FnOnce(FilterPolicy) -> Result<FilterPolicy, Failure>,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let policy = required(policy, "policy")?;
            policy.0 = change(policy.0)?;
            Ok(())
        })
    }
}

/// Hashes entries with this seed. Give all tables of a store the same; make it random and secret where strangers choose
/// keys.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_policy_set_seed(policy: Option<&mut Policy>, seed: u64) -> Status {
    // SAFETY: null.
    unsafe { change(policy, ptr::null_mut(), |policy| Ok(policy.seed(seed))) }
}

/// Hashes entries under a secret key, the 16 bytes at `secret_key`, for keys that an adversary may choose. Blocks
/// identify the key and do not contain it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_set_secret_key(
    policy: Option<&mut Policy>,
    secret_key: *const c_void,
) -> Status {
    // SAFETY: rule 1 of the interface; 16 bytes, by the documentation.
    unsafe {
        change(policy, ptr::null_mut(), |policy| {
            let key = bytes(secret_key, 16).and_then(|key| key.try_into().ok());
            Ok(policy.hashed_by(KeyHasher::keyed(required(key, "secret_key")?)))
        })
    }
}

/// What entries are made from: "whole-key", "row", "row+column", "prefix:LEN", "whole-key+prefix:LEN" or
/// "custom:ID:PARAM". Of a custom transform the library has no code: give builders and readers entries or hashes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_set_transform(
    policy: Option<&mut Policy>,
    transform_text: *const c_char,
    error: *mut Error,
) -> Status {
    // SAFETY: rule 1 of the interface.
    unsafe {
        change(policy, error, |policy| {
            let transform: KeyTransform = text(transform_text, "transform_text")?.parse()?;
            Ok(policy.transform(transform))
        })
    }
}

/// For tables of this level, where the policy chooses the kind; other policies are the same at all levels.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_policy_set_level(policy: Option<&mut Policy>, level: u8) -> Status {
    // SAFETY: null.
    unsafe { change(policy, ptr::null_mut(), |policy| Ok(policy.at_level(level))) }
}

/// Whether a finished block is queried for every entry that it was built from. On unless set.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_policy_set_self_check(policy: Option<&mut Policy>, self_check: bool) -> Status {
    // SAFETY: null.
    unsafe { change(policy, ptr::null_mut(), |policy| Ok(policy.self_check(self_check))) }
}

/// Writes the policy's text and a NUL to the `out_len` bytes at `out`, truncated if they are too few. Returns the
/// length of the whole text, without its NUL. A secret key is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_text(policy: Option<&Policy>, out: *mut c_char, out_len: usize) -> usize {
    let text = policy.and_then(|policy| caught_or(None, || Some(policy.0.to_string()))).unwrap_or_default();
    // SAFETY: rule 1 of the interface.
    unsafe { put_text(&text, out, out_len) }
}

/// The name of a kind, as `filterblock_policy_text`; empty for a number that is no kind of this version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_kind_name(kind: u32, out: *mut c_char, out_len: usize) -> usize {
    let name = kind_of(kind).ok().flatten().map_or("", FilterKind::name);
    // SAFETY: rule 1 of the interface.
    unsafe { put_text(name, out, out_len) }
}

/// The hash of the entry that answers for a key, for probes of many tables of this policy. False if the key has none:
/// it is *maybe* in every table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_hash_key(
    policy: Option<&Policy>,
    key: *const c_void,
    key_len: usize,
    hash: *mut u64,
) -> bool {
    // SAFETY: rule 1 of the interface.
    unsafe { hash_key(policy.map(|policy| policy.0.entry_hasher()), key, key_len, hash) }
}
