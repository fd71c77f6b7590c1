//! The map that cuts keys where they differ from their neighbours.

mod bits;
mod bounds;
mod code;
mod gaps;
mod marks;
mod params;
mod steps;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(feature = "std")]
mod write;

pub(super) use bounds::{Bounds, of_span};
pub(super) use marks::Groups;
pub(super) use params::Params;
#[cfg(feature = "std")]
pub(super) use write::{build, build_exact, check};
