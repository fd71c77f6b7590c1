//! The map that cuts keys where they differ from their neighbours.

mod bits;
mod bounds;
mod code;
mod gaps;
mod layout;
mod marks;
mod steps;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(feature = "std")]
mod write;

pub(super) use bounds::{Bounds, of_prefix, of_range};
pub(super) use layout::{Layout, Params};
pub(super) use marks::Groups;
#[cfg(feature = "std")]
pub(super) use write::{build, check};
