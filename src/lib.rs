//! The filter block of an LSM storage engine.
//!
//! A table writer passes the keys of one table to a [`FilterBlockBuilder`] and gets a block of bytes: self-describing,
//! checksummed, the same on every machine. A [`FilterBlockReader`] answers from those bytes whether the table may
//! contain a key. *No* is always right and saves a disk read; *maybe* is wrong at a rate that the writer chose.
//!
//! ```
//! use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
//! let mut builder = FilterBlockBuilder::new(&policy);
//! for key in ["com.example/", "com.example/about", "org.example/"] {
//!     builder.add_key(key.as_bytes());
//! }
//! let block: Vec<u8> = builder.finish()?; // store these bytes in the table
//!
//! let filter = OpenOptions::new().expect(&policy).open(&block)?;
//! assert!(filter.may_contain(b"org.example/"));
//! if !filter.may_contain(b"org.example/absent") {
//!     // No need to read the table.
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # The three rules of embedding
//!
//! 1. **Every error means *maybe*.** A [`DecodeError`] states what is wrong with the bytes; the engine counts it,
//!    reports it once, and reads the table as if there were no filter. An empty or short slice is an error, never "no
//!    entries".
//! 2. **Hash once.** All tables of a store share a seed and a transform; [`FilterPolicy::entry_hasher`] makes the
//!    [`KeyHash`] of a lookup, and with it [`FilterBlock::may_contain_hash`] or [`probe_tables`] queries any number of
//!    tables.
//! 3. **Bind the block to its place.** With a context ([`FilterBlockBuilder::set_context`],
//!    [`OpenOptions::with_context`]) a block that was read from elsewhere is an error. With [`OpenOptions::expect`] so
//!    is one of another seed, secret key or transform.
//!
//! # Keys and entries
//!
//! A filter holds *entries*: what a [`KeyTransform`] makes of keys. Calls named after keys
//! ([`add_key`](FilterBlockBuilder::add_key), [`may_contain`](FilterBlock::may_contain)) apply the block's transform, and so
//! does [`may_match`](FilterBlock::may_match), which takes any [`Query`]; calls named after entries or hashes take what
//! the engine has transformed or hashed itself. A key that has no entry is *maybe*.
//!
//! # Names of settings
//!
//! Values, such as policies and options, are changed by `with_*(self) -> Self` before they are used. Builders in use are
//! changed by `set_*(&mut self) -> &mut Self`, table after table. A getter has the setting's name alone.
//!
//! # Kinds
//!
//! [`Blocked`](FilterKind::Blocked) has the fastest queries, [`Ribbon`](FilterKind::Ribbon) the smallest blocks,
//! [`Fuse`](FilterKind::Fuse) few bits and fast queries on any processor, [`Golomb`](FilterKind::Golomb) few bits that
//! are built in little memory, [`Bloom`](FilterKind::Bloom) union, intersection and cardinality. `docs/kinds.md` compares
//! them.
//!
//! [`FilterPolicy::auto`] leaves the kind open: each block has the one that costs least under a [`Workload`].
//!
//! A table whose filter is too large for one block has a partitioned filter: [`partition`]. Scans are answered by a range
//! filter: [`range`].
//!
//! # Features
//!
//! - `std` (default): builder and policies. Without it the crate is a `no_std` reader that never allocates.
//! - `rayon`: with [`set_parallel(true)`](FilterBlockBuilder::set_parallel), large blocks are built on all cores (except
//!   `golomb` and `fuse`); the bytes are the same.
//! - `serde`: policies and transforms are serialised as their text.
//! - `huge-pages`: [`AlignedBytes`] in pages of 2 MiB. Has an effect on Linux only.
//!
//! Other packages have a ledger of what filters save and a memory budget for them (`filterblock-engine`), the library
//! for C (`filterblock-capi`), the filters of many files in one object (`filterblock-set`), a small row/column store
//! (`filterblock-kv`) and the command-line tool (`filterblock-cli`).
//!
//! The bytes are specified in `format-spec.md`.
//!
//! # Stability
//!
//! - The crate follows semantic versioning; raising the oldest supported compiler is a minor version. Enums and structs
//!   that will grow are `non_exhaustive`. Variants of error enums gain fields in minor versions: match fields with `..`.
//!   The texts of messages and of `Debug` are not covered, nor are features and `cfg`s that are not listed above.
//! - The format has a version of its own ([`FORMAT_VERSION`]). Every block ever written as a version that was released
//!   stays readable. A later writer may choose other parameters for the same policy: the changelog lists such changes
//!   under *Format*.
//! - No type of a dependency is part of an interface; `serde`'s traits are implemented.
//! - All types are `Send`, `Sync`, `Unpin` and unwind-safe, if the values that the caller puts into them are.
//! - The message of an error includes that of the error it wraps, which is a field of its variant; so `source` returns
//!   `None`.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(not(feature = "std"), expect(dead_code, reason = "what only the writer calls"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod bits;
#[cfg(feature = "std")]
mod build;
mod bytes;
mod codes;
mod cpu;
mod error;
mod frame;
mod hash;
mod keys;
mod kind;
mod math;
pub mod partition;
mod query;
#[cfg(all(test, feature = "std"))]
mod random;
mod ranges;

pub use cpu::detected_engines;
#[cfg(feature = "std")]
pub use error::ParsePolicyError;
pub use error::{BuildError, DecodeError, DecodeErrorClass, NotIntegers, TransformId};
pub use frame::{FORMAT_VERSION, HEADER_LEN, MAGIC, OpenOptions};
pub use hash::{CustomTransform, EntryHasher, KeyHash, KeyHasher, KeyTransform};
#[cfg(feature = "std")]
pub use keys::kinds::size::FilterSize;
#[cfg(feature = "std")]
pub use keys::policy::{Choice, FilterPolicy, KindCost, Workload};
#[cfg(feature = "std")]
pub use keys::{AlignedBytes, CombineError, FilterBlockBuilder};
pub use keys::{CompactFrameReader, FilterBlock, FilterBlockReader, ThinError, probe_tables};
pub use kind::{BlockKind, FilterKind, UnknownKindName};
pub use query::Query;

pub mod range {
    //! Filters of ranges: whether a table may have a key between two bounds, or with a prefix.
    pub use crate::ranges::*;
}

/// The README's example, compiled and run.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the calls.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../docs/library.md")]
struct Library;

/// The examples for engines' authors.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../EMBEDDING.md")]
struct Embedding;
