//! Policies: the settings of filters, the hashes of keys, and the sizes to be expected.

use crate::border::{bytes, caught_or, put_text, required, run, text};
use crate::status::{Error, Status};
use crate::versioned::{self, Versioned};
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use filterblock::{FilterPolicy, KeyHash, KeyHasher};

/// The settings of a filter: its kind, its size, a seed or secret key, and the transform from keys to entries. A policy
/// is small; builders copy it.
pub struct Policy(pub(crate) FilterPolicy);

/// A policy from its text, such as "blocked:10", "ribbon:fpr=0.1%,seed=7" or "auto:10,level=3,transform=prefix:4". To
/// be freed by `filterblock_policy_free`. On an error `*policy` is null.
///
/// Give all tables of a store one seed, random and secret where strangers choose keys. A transform is "whole-key",
/// "row", "row+column", "prefix:LEN", "whole-key+prefix:LEN", "delimited:BYTE", "delimited:BYTE:LEVELS" (prefixes up to
/// each delimiter, as "delimited:/") or "custom:ID:PARAM". The library has no code of a custom one: hash its entries under
/// a policy of whole keys with the same seed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_from_text(
    policy_text: *const c_char,
    policy: Option<&mut MaybeUninit<Option<Box<Policy>>>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    run(error, || {
        let policy = required(policy, "policy")?.write(None);
        // SAFETY: `policy_text` is null or ends with NUL (rule 1).
        let text = unsafe { text(policy_text, "policy_text") }?;
        *policy = Some(Box::new(Policy(text.parse()?)));
        Ok(())
    })
}

/// The policy for tables of a level, where it chooses the kind ("auto"); others are the same at all levels. To be freed
/// by itself; null of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_policy_at_level(policy: Option<&Policy>, level: u8) -> Option<Box<Policy>> {
    policy.map(|policy| Box::new(Policy(policy.0.clone().with_level(level))))
}

/// Frees a policy. Builders and readers that were made with it remain. A null pointer is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_policy_free(policy: Option<Box<Policy>>) {
    drop(policy);
}

/// Hashes entries under a secret key, the 16 bytes at `secret_key`, for keys that an adversary may choose. Blocks
/// identify the key and do not contain it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_set_secret_key(
    policy: Option<&mut Policy>,
    secret_key: *const c_void,
) -> Status {
    run(None, || {
        let policy = required(policy, "policy")?;
        // SAFETY: `secret_key` is null or valid for 16 bytes (rule 1, with the length above).
        let key = unsafe { bytes(secret_key, 16) }.and_then(|key| key.try_into().ok());
        policy.0 = policy.0.clone().with_hasher(KeyHasher::keyed(required(key, "secret_key")?));
        Ok(())
    })
}

/// Writes the policy's text and a NUL to the `out_len` bytes at `out`, truncated if they are too few. Returns the
/// length of the whole text, without its NUL. A secret key is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_text(policy: Option<&Policy>, out: *mut c_char, out_len: usize) -> usize {
    let text = policy.and_then(|policy| caught_or(None, || Some(policy.0.to_string()))).unwrap_or_default();
    // SAFETY: `out` is null or valid for `out_len` bytes (rule 1).
    unsafe { put_text(&text, out, out_len) }
}

/// The hash of the entry that answers for a key, for readers of this policy, and for builders unless its transform is
/// `whole-key+prefix` or `delimited`, under which a key has more entries. False if the key has none: it is *maybe* in
/// every table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_hash_key(
    policy: Option<&Policy>,
    key: *const c_void,
    key_len: usize,
    hash: Option<&mut MaybeUninit<u64>>,
) -> bool {
    // SAFETY: `key` is valid for `key_len` bytes (rule 1).
    let given = policy.zip(unsafe { bytes(key, key_len) });
    let hashed = caught_or(None, || given.and_then(|(policy, key)| policy.0.entry_hasher().hash_key(key)));
    hash.is_some_and(|hash| {
        hash.write(hashed.map_or(0, KeyHash::get));
        hashed.is_some()
    })
}

/// The block to be expected for a number of entries. Later versions append fields.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Prediction {
    /// The size, set to `sizeof(filterblock_prediction)` by the caller. An older library lowers it to what it has
    /// written.
    size: usize,
    /// The length in bytes: exact, or the average for the kinds whose length depends on the keys.
    block_len: u64,
    /// A number of bytes that suffices, whatever the entries are.
    max_block_len: u64,
    /// The rate at which absent keys pass.
    false_positive_rate: f64,
}

// SAFETY: `repr(C)`, begins with its size, and has nothing but numbers.
unsafe impl Versioned for Prediction {
    const MIN_SIZE: usize = size_of::<Self>();
}

/// Predicts the block of `num_entries` distinct entries. Set `prediction->size` before. After an error the rest of it
/// is unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_policy_predict(
    policy: Option<&Policy>,
    num_entries: u64,
    prediction: *mut Prediction,
    error: Option<&mut MaybeUninit<Error>>,
) -> Status {
    run(error, || {
        let policy = &required(policy, "policy")?.0;
        let predicted = Prediction {
            size: 0,
            block_len: policy.expected_block_len(num_entries)?,
            max_block_len: policy.max_block_len(num_entries)?,
            false_positive_rate: policy.expected_false_positive_rate(num_entries)?,
        };
        // SAFETY: `prediction` is null, or valid for as many bytes as its size states (rule 1).
        unsafe { versioned::write(prediction, predicted, "prediction") }
    })
}

/// The most entries whose block is expected to have at most `block_len` bytes: the inverse of
/// `filterblock_policy_predict`. 0 if not even one entry fits, and of a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn filterblock_policy_num_entries(policy: Option<&Policy>, block_len: u64) -> u64 {
    caught_or(0, || policy.map_or(0, |policy| policy.0.expected_num_entries(block_len)))
}
