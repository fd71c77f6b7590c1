//! The extension module of the Python package `filterblock`; `package/filterblock/__init__.pyi` documents it.

mod arrow;
mod batch;
mod buffer;
mod column;
mod error;
mod filter;
mod keys;
mod mask;
mod memory;
mod numpy;
mod ordered;
mod partitions;
mod policy;
mod ranges;
mod scalar;
mod set;
mod set_builder;

use pyo3::{PyClass, prelude::*};

// Nothing here relies on the interpreter's lock, so builds without one need none.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::add(module)?;
    add_class::<filter::Filter>(module)?;
    add_class::<partitions::PartitionedFilter>(module)?;
    add_class::<partitions::PartitionedRangeFilter>(module)?;
    add_class::<ranges::RangeFilter>(module)?;
    add_class::<set::FilterSet>(module)?;
    add_class::<set_builder::FilterSetBuilder>(module)?;
    module.add_function(wrap_pyfunction!(filter::build, module)?)?;
    module.add_function(wrap_pyfunction!(filter::open, module)?)?;
    module.add_function(wrap_pyfunction!(partitions::build_partitions, module)?)?;
    module.add_function(wrap_pyfunction!(partitions::open_partitions, module)?)?;
    module.add_function(wrap_pyfunction!(partitions::build_range_partitions, module)?)?;
    module.add_function(wrap_pyfunction!(partitions::open_range_partitions, module)?)?;
    module.add_function(wrap_pyfunction!(ranges::build_ranges, module)?)?;
    module.add_function(wrap_pyfunction!(ranges::open_ranges, module)?)?;
    module.add_function(wrap_pyfunction!(set::file_identity, module)?)
}

/// Adds a class to the module. Python's objects are aligned to 16 bytes, also where a value of Rust demands more.
fn add_class<T: PyClass>(module: &Bound<'_, PyModule>) -> PyResult<()> {
    const { assert!(align_of::<T>() <= 16) };
    module.add_class::<T>()
}
