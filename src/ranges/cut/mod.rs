//! The map that cuts keys where they differ from their neighbours.

mod bits;
mod bounds;
mod code;
#[cfg(all(test, feature = "std"))]
mod even;
mod group;
mod layout;
mod search;
#[cfg(feature = "std")]
mod write;

pub(super) use bounds::{Bounds, of_prefix, of_range};
pub(super) use layout::{Layout, Params};
pub(super) use search::{Engine, Place, Range, Step};
#[cfg(feature = "std")]
pub(super) use write::{build, check};
#[cfg(all(test, feature = "std"))]
pub(super) use {layout::MAX_LEVELS, search::inner::CHILD_BITS};
