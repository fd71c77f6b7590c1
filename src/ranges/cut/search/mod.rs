//! The search for a range in the groups, by the engines of a processor.

#[cfg(simd_x86_64)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
mod avx2;
#[cfg(simd_avx512)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
#[expect(clippy::incompatible_msrv, reason = "compiled only where build.rs found a newer compiler")]
mod avx512;
mod engine;
pub(super) mod inner;
mod portable;
mod query;
mod walk;

pub(crate) use engine::Engine;
pub(crate) use query::Range;
pub(crate) use walk::{Place, Step};
