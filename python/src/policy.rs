//! Policies as text, secret keys, and what a reader expects by them.

use crate::error::PolicyError;
use filterblock::{EntryHasher, FilterPolicy, KeyHasher, KeyTransform, OpenOptions, ParsePolicyError};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

/// Parses a policy. Its entries are whole keys: `open` would refuse a block of any other.
pub fn parse(text: &str, secret_key: Option<&Bound<'_, PyAny>>) -> PyResult<FilterPolicy> {
    let policy: FilterPolicy =
        text.parse().map_err(|error: ParsePolicyError| PolicyError::new_err(error.to_string()))?;
    if policy.transform() != KeyTransform::WholeKey {
        let transform = policy.transform();
        let text = format!("transform={transform}: this package makes and reads filters of whole keys only");
        return Err(PolicyError::new_err(text));
    }
    match hasher(secret_key)? {
        None => Ok(policy),
        Some(_) if *policy.hasher() != KeyHasher::default() => Err(PolicyError::new_err(format!(
            "seed={} beside a secret key, which takes its place",
            policy.hasher().seed()
        ))),
        Some(hasher) => Ok(policy.with_hasher(hasher)),
    }
}

/// Returns the hasher of a secret key, if there is one.
fn hasher(secret_key: Option<&Bound<'_, PyAny>>) -> PyResult<Option<KeyHasher>> {
    let Some(object) = secret_key else { return Ok(None) };
    let key = match (object.cast::<PyBytes>(), object.cast::<PyByteArray>()) {
        (Ok(bytes), _) => bytes.as_bytes().to_vec(),
        (_, Ok(bytes)) => bytes.to_vec(),
        _ => {
            let name = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a secret key is bytes, not {name}")));
        }
    };
    match <[u8; 16]>::try_from(key.as_slice()) {
        Ok(key) => Ok(Some(KeyHasher::keyed(key))),
        Err(_) => Err(PyValueError::new_err(format!("a secret key has 16 bytes, not {}", key.len()))),
    }
}

/// Returns the hasher that a reader expects; `None` if it takes the seed that is stored.
pub fn expected_hasher(policy: Option<&str>, secret_key: Option<&Bound<'_, PyAny>>) -> PyResult<Option<KeyHasher>> {
    match policy {
        Some(policy) => Ok(Some(parse(policy, secret_key)?.hasher().clone())),
        None => hasher(secret_key),
    }
}

/// Returns the hasher of a seed, or under a secret key, which takes its place; `None` for neither.
pub fn hasher_of(seed: Option<u64>, secret_key: Option<&Bound<'_, PyAny>>) -> PyResult<Option<KeyHasher>> {
    match (seed, hasher(secret_key)?) {
        (Some(seed), Some(_)) => {
            Err(PolicyError::new_err(format!("seed={seed} beside a secret key, which takes its place")))
        }
        (seed, hasher) => Ok(hasher.or(seed.map(KeyHasher::new))),
    }
}

/// Returns the options by which a block is opened.
pub fn options(policy: Option<&str>, secret_key: Option<&Bound<'_, PyAny>>, context: u64) -> PyResult<OpenOptions> {
    let options = OpenOptions::new().with_context(context);
    Ok(match expected_hasher(policy, secret_key)? {
        Some(hasher) => options.expect(&EntryHasher::new(hasher, KeyTransform::WholeKey)),
        None => options.expect_transform(KeyTransform::WholeKey),
    })
}

/// Parses a policy of range filters.
pub fn parse_ranges(text: &str) -> PyResult<filterblock::range::RangePolicy> {
    text.parse().map_err(|error: ParsePolicyError| PolicyError::new_err(error.to_string()))
}
