//! What the tests and the fuzz targets of several packages share.
//!
//! - [`oracle`], [`range_oracle`], [`integer_oracle`]: filters as the document states them, without the library's code.
//! - [`rules`]: the checks that the document requires of a reader, each by itself.
//! - [`assembled`], [`trailers`]: frames from parameters, without the library's builder.
//! - [`material`], [`random`], [`harness`]: keys, policies and blocks; partitioned filters in a file of bytes.
//! - [`policies`]: policies from the whole grammar of their texts.
//! - [`specification`]: the document and its vectors.
//! - [`kit`]: the library as a reader of the conformance kit, and random frames as cases of it.
//! - [`mistakes`]: tables of plausible mistakes, and the list in EMBEDDING.md.
//! - [`extent`], [`exchange`]: how much a test tries; files that other machines wrote.
//! - [`store`]: the store's files, and a disk that fails and forgets.

pub mod assembled;
#[cfg(feature = "std")]
pub mod exchange;
pub mod extent;
#[cfg(feature = "std")]
pub mod harness;
#[expect(
    clippy::big_endian_bytes,
    clippy::little_endian_bytes,
    reason = "keys have the order of numbers; the number of a block is hashed as the document says"
)]
pub mod integer_oracle;
#[cfg(feature = "kit")]
pub mod kit;
pub mod material;
pub mod mistakes;
pub mod oracle;
pub mod policies;
pub mod random;
pub mod range_oracle;
pub mod readers;
pub mod rules;
pub mod specification;
#[cfg(feature = "store")]
pub mod store;
pub mod trailers;
