//! Filter blocks inside RocksDB, by the crate [`rocksdb`](https://docs.rs/rocksdb) and without patches: a filter policy for
//! point lookups, and range filters for iterators.
//!
//! ```
//! use filterblock_rocksdb::set_filter_policy;
//! use rocksdb::{DB, Options};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let directory = tempfile::tempdir()?;
//!     let mut options = Options::default();
//!     options.create_if_missing(true);
//!     options.enable_statistics();
//!     let filters = set_filter_policy(&mut options, &"blocked:10/ribbon:10".parse()?)?;
//!     let db = DB::open(&options, directory.path())?;
//!     db.put(b"apple", b"red")?;
//!     db.flush()?;
//!     assert_eq!(db.get(b"melon")?, None);
//!     println!("{}", filters.verdict(&options)?);
//! #   assert!(filters.verdict(&options)?.is_fine);
//!     assert!(filters.in_use(&db).findings.is_empty());
//!     Ok(())
//! }
//! ```
//!
//! The adapter is the one in C++ of `integrations/rocksdb`, which the build script compiles with the headers of the RocksDB
//! that `librocksdb-sys` has compiled. A filter that cannot be used is *maybe*; no damage changes an answer. RocksDB has many
//! ways to leave filters unused without a word: [`Filters::check`] finds those that show in the options,
//! [`Filters::in_use`] those that show in a database, and [`Filters::verdict`] those that show in its counters.

mod error;
#[expect(unsafe_code, reason = "it calls the bridge in C++")]
mod ffi;
mod policy;
mod ranges;

pub use error::{Error, Finding};
pub use policy::{
    Counts, Filters, InUse, Policies, Verdict, register, set_filter_policy, set_filter_policy_of_equal_keys,
};
pub use ranges::{RangeCounts, RangeFilters, Row, Scan, set_range_filters, set_verified_range_filters};

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
