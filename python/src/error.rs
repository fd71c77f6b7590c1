//! Typed exceptions.

use filterblock::DecodeErrorClass;
use filterblock_set::SetBuildError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyMemoryError, PyTypeError};
use pyo3::prelude::*;

create_exception!(filterblock, FilterBlockError, PyException, "The base of this package's exceptions.");
create_exception!(filterblock, PolicyError, FilterBlockError, "A policy or a setting that does not exist.");
create_exception!(filterblock, BuildError, FilterBlockError, "A filter that could not be built.");
create_exception!(filterblock, DecodeError, FilterBlockError, "Bytes that are not used as a filter: *maybe*.");
create_exception!(filterblock, DamagedError, DecodeError, "Bytes that no writer wrote: rebuild the filter.");
create_exception!(filterblock, NewerError, DecodeError, "Bytes of a later version: upgrade this package.");
create_exception!(filterblock, MismatchError, DecodeError, "An intact filter, but not the expected one.");

/// Adds the exceptions to the module.
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

/// Returns the exception for bytes that are not used as a filter, by the class of the error.
pub fn of_decode(error: filterblock::DecodeError) -> PyErr {
    match error.class() {
        DecodeErrorClass::Damaged => DamagedError::new_err(error.to_string()),
        DecodeErrorClass::Newer => NewerError::new_err(error.to_string()),
        DecodeErrorClass::Mismatch => MismatchError::new_err(error.to_string()),
        _ => DecodeError::new_err(error.to_string()),
    }
}

/// Returns the exception for a filter that could not be built.
pub fn of_build(error: filterblock::BuildError) -> PyErr {
    match error {
        filterblock::BuildError::Empty => empty(),
        error => BuildError::new_err(error.to_string()),
    }
}

/// Returns the exception for a filter that would deny every key, though the caller did not state that the table has no
/// keys.
pub fn empty() -> PyErr {
    BuildError::new_err(
        "no key was given: an iterator that was used before gives none. A filter without keys denies every key; \
         allow_empty=True makes one for a table without keys",
    )
}

/// Returns the exception for keys of which only some came, though their number was stated.
pub fn of_part(num_given: usize) -> PyErr {
    let text = "keys came, fewer than their len(): a filter would deny those that were taken before; if len() is an \
                estimate, give a list";
    BuildError::new_err(format!("{num_given} {text}"))
}

/// Returns the exception for a set that could not be built.
pub fn of_set_build(error: SetBuildError) -> PyErr {
    match error {
        SetBuildError::Decode(error) => of_decode(error),
        SetBuildError::Io(error) => error.into(),
        error => BuildError::new_err(error.to_string()),
    }
}

/// Returns whether an exception of another library is due to the keys that it was given.
pub fn is_of_keys(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyException>(py) && !error.is_instance_of::<PyMemoryError>(py)
}

/// Returns the exception for bytes that cannot be allocated.
pub fn memory(num_bytes: usize) -> PyErr {
    PyMemoryError::new_err(format!("no memory for {num_bytes} bytes"))
}

/// The longest representation of a value in a message, in characters.
const MAX_REPR: usize = 60;

/// Returns the exception for a key that no filter can have, with its position, value and type.
pub fn of_key(position: usize, key: &Bound<'_, PyAny>) -> PyErr {
    let name = key.get_type().fully_qualified_name().map_or_else(|_| "object".into(), |name| name.to_string());
    let text = key.repr().map_or_else(|_| "?".into(), |text| text.to_string_lossy().into_owned());
    let text: String = match text.char_indices().nth(MAX_REPR) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    PyTypeError::new_err(format!("key {position}, {text}, of type {name}, {WITHOUT_ENTRY}"))
}

/// Returns the exception for a value without an entry, of an array whose type has entries.
pub fn of_array_key(position: usize, keys: &Bound<'_, PyAny>) -> PyErr {
    let type_name = ["type", "dtype"].into_iter().find_map(|name| keys.getattr(name).ok()?.str().ok());
    let type_name = type_name.map_or_else(|| "?".into(), |name| name.to_string_lossy().into_owned());
    PyTypeError::new_err(format!(
        "key {position} of an array of type {type_name} has no entry: text is UTF-8, a number has at most 128 bits, and \
         a date whole days"
    ))
}

/// Returns the exception for an array none of whose values a filter can have.
pub fn of_type(type_name: &str) -> PyErr {
    PyTypeError::new_err(format!("an array of type {type_name} {WITHOUT_ENTRY}"))
}

const WITHOUT_ENTRY: &str = "has no entry, and a filter without it would deny it: the README lists what is taken";
