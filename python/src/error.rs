//! Typed exceptions.

use filterblock::DecodeErrorClass;
use filterblock_set::SetBuildError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(filterblock, FilterBlockError, PyException, "The base of this package's exceptions.");
create_exception!(filterblock, PolicyError, FilterBlockError, "A policy or a setting that does not exist.");
create_exception!(filterblock, BuildError, FilterBlockError, "A filter that could not be built.");
create_exception!(filterblock, DecodeError, FilterBlockError, "Bytes that are not used as a filter: *maybe*.");
create_exception!(filterblock, DamagedError, DecodeError, "Bytes that no writer wrote: rebuild the filter.");
create_exception!(filterblock, NewerError, DecodeError, "Bytes of a later version: upgrade this package.");
create_exception!(filterblock, MismatchError, DecodeError, "An intact filter, but not the expected one.");

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("FilterBlockError", py.get_type::<FilterBlockError>())?;
    module.add("PolicyError", py.get_type::<PolicyError>())?;
    module.add("BuildError", py.get_type::<BuildError>())?;
    module.add("DecodeError", py.get_type::<DecodeError>())?;
    module.add("DamagedError", py.get_type::<DamagedError>())?;
    module.add("NewerError", py.get_type::<NewerError>())?;
    module.add("MismatchError", py.get_type::<MismatchError>())
}

pub fn of_decode(error: filterblock::DecodeError) -> PyErr {
    match error.class() {
        DecodeErrorClass::Damaged => DamagedError::new_err(error.to_string()),
        DecodeErrorClass::Newer => NewerError::new_err(error.to_string()),
        DecodeErrorClass::Mismatch => MismatchError::new_err(error.to_string()),
        _ => DecodeError::new_err(error.to_string()),
    }
}

pub fn of_build(error: filterblock::BuildError) -> PyErr {
    BuildError::new_err(error.to_string())
}

pub fn of_set_build(error: SetBuildError) -> PyErr {
    match error {
        SetBuildError::Decode(error) => of_decode(error),
        error => BuildError::new_err(error.to_string()),
    }
}

/// Parses a policy.
pub fn policy(text: &str) -> PyResult<filterblock::FilterPolicy> {
    text.parse().map_err(|error: filterblock::ParsePolicyError| PolicyError::new_err(error.to_string()))
}
