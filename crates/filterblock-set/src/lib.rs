//! Filters of many files in one object: a few small reads answer which files of a table may have a key.
//!
//! A table in an open format is thousands of files on object storage. Minimum and maximum skip few of them where keys
//! are not sorted, and a filter inside each file costs a request to be read. A *set* has the filters of all files, and a
//! reader that has fetched its index knows in which few ranges of it a key's bits lie, of all files. At a rate of 1 % a
//! lookup costs three requests, and none once the bits are in memory.
//!
//! ```
//! use filterblock::KeyHasher;
//! use filterblock_set::{FilterSet, SetBuilder, SetColumn, Sizing, Value, ValueClass, file_identity};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The writer: all values of a column are added, file after file.
//! let sizing = Sizing::new(1000, 0.01).ok_or("too many keys")?;
//! let mut builder = SetBuilder::new(&KeyHasher::new(7), &[SetColumn::new("user", ValueClass::Number, sizing)])?;
//! let identity = |name: &str| file_identity(&[name.as_bytes(), b"etag 1"]);
//! for (name, first) in [("a.parquet", 0), ("b.parquet", 1000)] {
//!     let mut file = builder.file(name, identity(name))?;
//!     (first..first + 1000).for_each(|user| assert!(file.add(0, Value::Int(user))));
//!     file.finish()?;
//! }
//! let mut object = Vec::new();
//! builder.finish(&mut object)?; // one object beside the files
//!
//! // The reader: which of the table's files, as they are now, may have the key?
//! let fetch = |range: std::ops::Range<u64>| {
//!     Ok::<_, std::io::Error>(&object[range.start as usize..range.end as usize]) // a request to the object storage
//! };
//! let set = FilterSet::fetch_index(object.len() as u64, None, fetch)?;
//! let files = set.select(["a.parquet", "b.parquet", "new.parquet"].map(|name| (name, identity(name))));
//! assert_eq!((files.num_known(), files.num_changed(), files.num_unknown()), (2, 0, 1));
//! let query = set.query(b"user", [Value::Int(123)]);
//! let mut lookup = set.lookup(&query, &files);
//! lookup.load(64 << 10, fetch)?;
//! // The third file is not in the set, so it must be read.
//! assert!(lookup.any().iter().eq([0, 2]));
//! # Ok(())
//! # }
//! ```
//!
//! An asynchronous engine calls [`FilterSet::open`], [`plan`](SetLookup::plan) and [`give`](SetLookup::give), which do no
//! input or output, in place of [`fetch_index`](FilterSet::fetch_index) and [`load`](SetLookup::load).
//!
//! # A row is never lost
//!
//! The caller states the files that its table has, each with an *identity* that changes when the file does. *No* is
//! answered only for a file of that name and identity, in a column whose values are of the query's class, by units of
//! bits whose checksum is bound to all of these. Everything else is *maybe*: a file that the set does not know, or
//! knows in another state; a value without a canonical [entry](Value); a column or a class that is unknown; a unit that
//! was not read, or is damaged, as far as the units of other parts do not deny; an index that does not open, for all.
//! What an index states of a group is bound to its units: an index with a wrong offset, shape, identity or order of files
//! leads to units that do not check, even if its checksums are right.
//!
//! What a set cannot notice: a writer that leaves out values, an identity that stays the same when a file changes, a list
//! of files that is older than the files, and a reader that shows other values than a file has, such as a default in place
//! of null or of a column that the file does not have: look nothing up in such a column. `EMBEDDING.md` of the repository
//! lists all of these mistakes.
//!
//! # Two writers
//!
//! A continuation is appended to the set whose index its writer has read. If another was appended meanwhile, or the
//! same one twice, then its groups are not where its writer expected them; the index states the length of the continued
//! set, so that a reader finds them. The set has the files that the last writer knew, and [`FilterSet::foreign_append`]
//! reports the others, which compaction takes over. Files that the last writer has dropped or replaced come back with
//! them: a file whose filter was wrong is dropped by a writer whose put is conditional, or is left out there.
//!
//! ```
//! # use filterblock::KeyHasher;
//! # use filterblock_set::{FilterSet, Opening, SetBuildError, SetBuilder, SetColumn, Sizing, Value, ValueClass};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let hasher = KeyHasher::new(7);
//! # let columns = [SetColumn::new("user", ValueClass::Number, Sizing::new(10, 0.01).ok_or("too many keys")?)];
//! # let file = |name: &str| -> Result<SetBuilder, SetBuildError> {
//! #     let mut builder = SetBuilder::new(&hasher, &columns)?;
//! #     let mut file = builder.file(name, filterblock_set::file_identity(&[name.as_bytes()]))?;
//! #     file.add(0, Value::Int(7));
//! #     file.finish().map(|_| builder)
//! # };
//! # let open = |object: &[u8]| match FilterSet::open(object.len() as u64, object, None) {
//! #     Ok(Opening::Ready(set)) => *set,
//! #     _ => unreachable!("an intact set"),
//! # };
//! let mut object = Vec::new();
//! file("a.parquet")?.finish(&mut object)?;
//! let set = open(&object);
//! // Two writers have read it, and both append.
//! file("b.parquet")?.finish_append(&set, |_| false, &mut object)?;
//! file("c.parquet")?.finish_append(&set, |_| false, &mut object)?;
//! let set = open(&object);
//! assert_eq!(set.files().map(|(name, _)| name).collect::<Vec<_>>(), [b"a.parquet", b"c.parquet"]);
//!
//! let mut compacted = SetBuilder::new(&hasher, &columns)?;
//! let fetch = |range: std::ops::Range<u64>| Ok(&object[range.start as usize..range.end as usize]);
//! compacted.absorb(&set, |_| true, fetch)?;
//! if let Some(foreign) = set.foreign_append() {
//!     let first = open(&object[..foreign.end as usize]);
//!     let is_new = |name: &[u8]| set.files().all(|(known, _)| known != name);
//!     compacted.absorb(&first, is_new, fetch)?; // again, if that set has a foreign append, too
//! }
//! let mut joined = Vec::new();
//! compacted.finish(&mut joined)?;
//! assert_eq!(open(&joined).files().count(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! # Layout, and why
//!
//! Groups, then the index, then a footer of 64 bytes; `format/set.md` states the bytes. A *group* is a table of bits: a lane
//! for each of its files, and rows that the probes of a hash select, the same for all files. The answers for all files
//! are the AND of the rows that a hash probes, 64 files a word.
//!
//! - **The index is at the end**, so that a writer streams groups, and a set is continued by appending. A file costs 16
//!   bytes, its name, and 4 bytes a column.
//! - **Appending** adds groups, and reads none: so each append adds its requests to a lookup, three for each size of files
//!   at 1 %. A hundred appends are 300 requests, until the set is compacted; an append does not do that by itself.
//! - **Dropping a file** empties its name in a new index; **compaction** joins groups of like files, bits beside bits
//!   ([`SetBuilder::absorb`]), in about 8 ns a key. Neither needs keys.
//! - **Memory** is bounded: the writer's by [`SetBuilder::with_scratch`], whatever the number of files (11 MB in all
//!   for 10 000 files of 100 000 keys), the reader's by [`FilterSet::with_max_held_bytes`], beside the index and what
//!   lookups use that run.
//!
//! # Between lines and bits
//!
//! Were a key's probes anywhere (a Bloom filter a file, *bits side by side*), each would take a request of one row. Were
//! all of them in one line of 512 bits (*lines side by side*), then one request would do, of 64 bytes a file. What lies
//! between is one family: a hash visits a page in each of c parts, and in this page probes a row in each of t bands of B
//! rows. Both ends are members of it: c = k, t = B = 1, and c = 1, t · B = 512.
//!
//! With two bands of eight rows a page has 16 rows. For 10 000 files at 1 % that is 3 requests of 20 KB, for 8 % more
//! bits than rows anywhere, which take 7 requests, of 1.3 KB; a line takes 640 KB, and a filter in each file 10 000
//! requests. Where requests are not made at once, or cost by the piece, the fewer win; where a page of very many files
//! takes a second to read, a shape with fewer rows does ([`Shape`]).
//!
//! Bands are apart, and so are parts: whether a visit passes depends on nothing that another visit sees, and rows of one
//! page never coincide. So the rate of a file of n keys is known exactly ([`Table::rate`]), whatever the shape.
//!
//! # Why no file is lost
//!
//! A unit of pages has a checksum, bound to the identities of all files of the group, in their order, to the column, the
//! hash, the shape, and its place ([`Group`]). Rows of a unit that was not read, or whose check fails, are all ones. What
//! is joined without keys keeps its bits; a unit that does not check is joined as ones.
//!
//! BitFunnel (SIGIR 2017) and COBS (SPIRE 2019) store bits of documents side by side; *register blocked* and cache-line
//! filters (Putze, Sanders, Singler 2007) are the other end.
//!
//! # Chosen keys
//!
//! With a seed that is known, keys can be chosen that visit one page, or that a filter passes. They cost answers for the
//! files that have them, in that page; lanes are apart, so that the answers for other files stay as they are, and a lookup
//! reads as many units as for any other key. A [secret key](filterblock::KeyHasher::keyed) prevents it.
//!
//! # As a Puffin blob
//!
//! Iceberg's Puffin files carry blobs of any type. A set needs no more than that: its bytes are the blob, uncompressed,
//! of the type `filterblock-set-v1`, and the blob's `offset` and `length` in Puffin's footer are where this
//! crate's offsets begin and the set's length. `fields` lists the columns' field ids, `snapshot-id` and
//! `sequence-number` the snapshot that the set covers; a property with the index's length saves the guess of the tail.
//! Columns are named by field ids in decimal, as names may change, and files by their paths. Iceberg itself writes no path
//! twice, but files that a table takes in (`add_files`, `migrate`) may be written anew by others: the identity is of the
//! path, the length and the file's sequence number in its manifest entry. Files of later snapshots are not in the set, and
//! *maybe*. Deleted rows do no harm.
#![forbid(unsafe_code)]

mod builder;
mod bytes;
mod error;
mod footer;
mod format;
mod group;
mod index;
mod join;
mod lookup;
mod mask;
mod query;
mod set;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod writer;

pub use builder::{FileWriter, SetBuilder, SetColumn};
pub use error::{FetchError, SetBuildError};
pub use format::{FOOTER_LEN, SET_MAGIC, SET_VERSION, file_identity};
pub use group::{Group, Record};
pub use lookup::SetLookup;
pub use mask::FileMask;
pub use query::{Query, Selection};
pub use set::{FilterSet, Opening};
pub use table::{Shape, Sizing, Table};
pub use value::{EntryBuffer, TimeUnit, Value, ValueClass};

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
