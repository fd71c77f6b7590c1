//! Filter blocks of many files in one object: one small read answers which files of a table may have a key.
//!
//! A table in an open format is thousands of files on object storage. Minimum and maximum skip few of them where keys
//! are not sorted, and a filter inside each file costs a request to be read. A *set* has the filters of all files, and a
//! reader that has fetched its index knows in which range of it a key's filters lie. A lookup costs two requests, and
//! none once the filters are in memory.
//!
//! ```
//! use filterblock_set::{FilterSet, SetBuilder, SetColumn, Value, ValueClass, file_identity};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The writer: all values of a column are added, file after file.
//! let columns = [SetColumn::new("user", ValueClass::Number)];
//! let mut builder = SetBuilder::new(&"ribbon:fpr=1%,seed=7".parse()?, &columns)?;
//! let identity = file_identity(&[b"a.parquet", b"etag 1"]);
//! let mut file = builder.file("a.parquet", identity)?;
//! (0..1000).for_each(|user| assert!(file.add(0, Value::Int(user))));
//! file.finish()?;
//! let object: Vec<u8> = builder.finish()?; // one object beside the files
//!
//! // The reader: which of the table's files, as they are now, may have the key?
//! let fetch = |range: std::ops::Range<u64>| {
//!     Ok::<_, std::io::Error>(&object[range.start as usize..range.end as usize]) // a request to the object storage
//! };
//! let set = FilterSet::fetch_index(object.len() as u64, None, fetch)?;
//! let files = set.select([("a.parquet", identity), ("b.parquet", 5)]);
//! let query = set.query(b"user", [Value::Int(123_456)]);
//! set.load(&query, &files, 64 << 10, fetch)?;
//! assert_eq!((files.num_known(), files.num_changed(), files.num_unknown()), (1, 0, 1));
//! // The second file is not in the set, so it must be read.
//! assert_eq!(set.answer(&query, &files).of_key(0), [false, true]);
//! # Ok(())
//! # }
//! ```
//!
//! An asynchronous engine calls [`FilterSet::open`], [`plan`](FilterSet::plan) and [`give`](FilterSet::give), which do
//! no input or output, in place of [`fetch_index`](FilterSet::fetch_index) and [`load`](FilterSet::load).
//!
//! # A row is never lost
//!
//! The caller states the files that its table has, each with an *identity* that changes when the file does. *No* is
//! answered only for a file of that name and identity, in a column whose values are of the query's class, by a block
//! that opens under a context made of all of these. Everything else is *maybe*: a file that the set does not know, or
//! knows in another state; a value without a canonical [entry](Value); a column or a class that is unknown; a block that
//! was not read, or is damaged, for its file alone; an index that does not open, for all. What an index states of a
//! block is bound to the block: an index with a wrong offset, name, identity or number of slices leads to blocks that do
//! not open, even if its checksums are right.
//!
//! What a set cannot notice: a writer that leaves out values, an identity that stays the same when a file changes, a list
//! of files that is older than the files, and a reader that shows other values than a file has, such as a default in place
//! of null or of a column that the file does not have: look nothing up in such a column. `EMBEDDING.md` of the repository
//! lists all of these mistakes.
//!
//! # Two writers
//!
//! A continuation is appended to the set whose index its writer has read. If another was appended meanwhile, or the
//! same one twice, then its blocks are not where its writer expected them; the index states the length of the continued
//! set, so that a reader finds them. The set has the files that the last writer knew, and [`FilterSet::foreign_append`]
//! reports the others, which compaction takes over:
//!
//! ```
//! # use filterblock_set::{FilterSet, Opening, SetBuildError, SetBuilder, SetColumn, Value, ValueClass};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let columns = [SetColumn::new("user", ValueClass::Number)];
//! # let policy = "ribbon:fpr=1%,seed=7".parse()?;
//! # let file = |name: &str| -> Result<SetBuilder, SetBuildError> {
//! #     let mut builder = SetBuilder::new(&policy, &columns)?;
//! #     let mut file = builder.file(name, 1)?;
//! #     file.add(0, Value::Int(7));
//! #     file.finish().map(|_| builder)
//! # };
//! # let open = |object: &[u8]| match FilterSet::open(object.len() as u64, object, None) {
//! #     Ok(Opening::Ready(set)) => *set,
//! #     _ => unreachable!("an intact set"),
//! # };
//! let mut object = file("a.parquet")?.finish()?;
//! let set = open(&object);
//! // Two writers have read it, and both append.
//! object.extend(file("b.parquet")?.finish_append(&set, |_| false)?);
//! object.extend(file("c.parquet")?.finish_append(&set, |_| false)?);
//! let set = open(&object);
//! assert_eq!(set.files().map(|(name, _)| name).collect::<Vec<_>>(), [b"a.parquet", b"c.parquet"]);
//!
//! let mut compacted = SetBuilder::new(&policy, &columns)?;
//! compacted.absorb(&object, |_| true)?;
//! if let Some(foreign) = set.foreign_append() {
//!     let is_new = |name: &[u8]| set.files().all(|(known, _)| known != name);
//!     compacted.absorb(&object[..foreign.end as usize], is_new)?; // again, if that set has a foreign append, too
//! }
//! assert_eq!(open(&compacted.finish()?).files().count(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! # Layout, and why
//!
//! Blocks, then the index, then a footer of 64 bytes; `format/set.md` states the bytes.
//!
//! - **The index is at the end**, so that a writer streams blocks, and a set is continued by appending. A reader fetches
//!   the last [256 KiB](FilterSet::TAIL_LEN) without knowing the index's length; a file costs 12 bytes, its name, and 4
//!   bytes a block, and the index of 650 files and 24 slices 84 KB.
//! - **Slices.** A lookup in n files reads n blocks. To read less, each file's keys are divided by hash, and the blocks
//!   of one slice lie together for all files: one range, with one part in `num_slices` of the filters, answers for all
//!   files ([`SetColumn::with_slices`]). More slices make smaller blocks, whose headers weigh more, and a longer index.
//!   One block a file (one slice) lets the files' own blocks be taken over.
//! - **Blocks as they are.** Nothing about a block is special: its kind and size are the policy's, any reader of the
//!   format queries it, compaction copies it, and damage to it is its own.
//! - **One hash and seed for the set**, so that a key is hashed once for all files.
//! - **Dropping a file** empties its name in a new index; **compaction** copies the blocks that are left
//!   ([`SetBuilder::absorb`]). Neither needs keys.
//!
//! # As a Puffin blob
//!
//! Iceberg's Puffin files carry blobs of any type. A set needs no more than that: its bytes are the blob, uncompressed,
//! of a type such as `filterblock-set-v1`, and the blob's `offset` and `length` in Puffin's footer are where this
//! crate's offsets begin and the set's length. `fields` lists the columns' field ids, `snapshot-id` and
//! `sequence-number` the snapshot that the set covers; a property with the index's length saves the guess of the tail.
//! Columns are named by field ids in decimal, as names may change, and files by their paths. Data files never change
//! under Iceberg, so the path alone is an identity; files of later snapshots are not in the set, and *maybe*. Deleted
//! rows do no harm.
#![forbid(unsafe_code)]

mod builder;
mod bytes;
mod format;
mod index;
mod query;
mod reader;
mod value;

pub use builder::{FileWriter, SetBuildError, SetBuilder, SetColumn};
pub use format::{FOOTER_LEN, SET_MAGIC, SET_VERSION, file_identity};
pub use query::{Answers, Query, Selection};
pub use reader::{BadBlock, FetchError, FilterSet, Opening, SetBlock};
pub use value::{EntryBuffer, TimeUnit, Value, ValueClass};

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
