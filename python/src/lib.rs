//! The extension module of the Python package `filterblock`; `package/filterblock/__init__.pyi` documents it.

mod batch;
mod buffer;
mod column;
mod error;
mod filter;
mod keys;
mod scalar;
mod set;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::add(module)?;
    module.add_class::<filter::Filter>()?;
    module.add_class::<set::FilterSet>()?;
    module.add_class::<set::FilterSetBuilder>()?;
    module.add_function(wrap_pyfunction!(filter::build, module)?)?;
    module.add_function(wrap_pyfunction!(filter::open, module)?)?;
    module.add_function(wrap_pyfunction!(set::file_identity, module)?)
}
