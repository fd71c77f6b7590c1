//! The conformance kit's protocol: the library as its reader, the document's frames as cases, and random frames with the
//! answers that a reader must give.

#[cfg(feature = "std")]
pub mod corpus;
#[cfg(feature = "std")]
pub mod expected;
#[cfg(feature = "std")]
pub mod frames;
pub mod library;
#[cfg(feature = "std")]
#[expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]
pub mod ranges;
pub mod vectors;

#[cfg(feature = "std")]
pub use expected::Expected;
