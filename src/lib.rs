//! The filter block of an LSM storage engine.
#![cfg_attr(not(feature = "std"), no_std)]

mod bits;
mod block;
mod bytes;
mod error;
mod filter;
mod hash;
mod kind;
#[cfg(feature = "kv")]
pub mod kv;
mod policy;
pub mod sizing;

#[cfg(feature = "std")]
pub use block::{CombineError, FilterBlockBuilder};
pub use block::{FORMAT_VERSION, FilterBlockReader, HEADER_LEN, MAGIC, OpenOptions};
pub use error::{BuildError, DecodeError, DecodeErrorClass};
pub use hash::{KeyHash, KeyHasher};
pub use kind::{FilterKind, UnknownKindName};
pub use policy::KeyTransform;
#[cfg(feature = "std")]
pub use policy::{FilterPolicy, FilterSize};
