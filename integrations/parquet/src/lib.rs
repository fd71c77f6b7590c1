//! Parquet's [split-block Bloom filter][spec]: the bitset of a column chunk's filter, made from values, exported as the
//! bytes that a file stores, imported from a file, and probed.
//!
//! Parquet fixes every bit of it: XXH64 with seed 0 of a value's plain encoding, blocks of 256 bits, eight salts. There
//! is no policy to choose and nothing to check it by: the bitset has no checksum, and its length is stored beside it,
//! in the header that the file's writer adds. Where an engine writes tables of its own, filter blocks answer better
//! from the same number of bits; this package is for the files that others read.
//!
//! ```
//! use filterblock_parquet::{SplitBlockFilter, Value};
//!
//! # fn main() -> Result<(), filterblock_parquet::Error> {
//! let mut filter = SplitBlockFilter::with_rate(2, 0.01)?;
//! filter.insert(Value::ByteArray(b"apple"));
//! filter.insert(Value::ByteArray(b"grape"));
//! let bitset: Vec<u8> = filter.into_bitset(); // follows the header in the file
//!
//! // With the length that the header declares, and the one that the chunk's metadata state of header and bitset:
//! let filter = SplitBlockFilter::from_bitset(bitset.len() as i32, Some(15 + bitset.len() as i32), &bitset)?;
//! assert!(filter.may_contain(Value::ByteArray(b"grape")));
//! # Ok(())
//! # }
//! ```
//!
//! # Never a false exclusion
//!
//! An [`Error`] of a filter that was read means *maybe*: read the column chunk as if it had no filter.
//!
//! Values that are equal but encoded differently have different hashes. 0 and -0 are equal: inserting one inserts
//! both, so that readers which probe for one of them find it, and a probe for one is a probe for both. Two NaNs may be
//! equal for an engine with any bits: a probe for one is always *maybe*. The caller handles what a probe cannot know:
//! the physical type that the column stores, in which alone *no* is certain; decimals in byte arrays of several
//! lengths, or strings under a collation, must be probed for every encoding of an equal value.
//!
//! [spec]: https://github.com/apache/parquet-format/blob/master/BloomFilter.md

mod error;
mod filter;
pub mod sizing;
mod value;

pub use error::Error;
pub use filter::SplitBlockFilter;
pub use value::{Value, hash};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
