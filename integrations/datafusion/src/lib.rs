//! Parquet files that DataFusion does not open, as a [filter set](filterblock_set) denies what a query looks for.
//!
//! ```no_run
//! use datafusion::prelude::*;
//! use datafusion::datasource::listing::{ListingTable, ListingTableConfig, ListingTableUrl};
//! use datafusion::object_store::ObjectStoreExt;
//! use filterblock::KeyHasher;
//! use filterblock_datafusion::{FileFilter, FilteredTable, SetWriter};
//! use filterblock_set::Sizing;
//! use futures::TryStreamExt;
//! use std::sync::Arc;
//!
//! # async fn example(config: ListingTableConfig) -> Result<(), Box<dyn std::error::Error>> {
//! let context = SessionContext::new();
//! let table = ListingTable::try_new(config)?; // as without a set
//! let url = ListingTableUrl::parse("file:///lake/events/")?;
//! let store = context.runtime_env().object_store(&url)?;
//!
//! // Once: the set of the files that are there. A writer of files calls `keys`, `add` and `add_file` instead.
//! let sizing = Sizing::new(100_000, 0.001).ok_or("too many keys")?; // of a file, usually; the rate of each file at most
//! let schema = datafusion::catalog::TableProvider::schema(&table);
//! let mut writer = SetWriter::new(&KeyHasher::new(7), &schema, &["user"], sizing)?;
//! let files: Vec<_> = store.list(Some(url.prefix())).try_collect().await?;
//! for file in &files {
//!     writer.index_file(store.clone(), file).await?;
//! }
//! let (set_path, mut set) = ("lake/events.set".into(), Vec::new());
//! writer.finish(&mut set)?;
//! store.put(&set_path, set.into()).await?;
//!
//! // Then: files in which the filters of a query find nothing are left out of the plan.
//! let filter = Arc::new(FileFilter::new(store, set_path));
//! let events = context.read_table(Arc::new(FilteredTable::new(table, filter.clone())))?;
//! events.filter(col("user").eq(lit(4711_i64)))?.show().await?;
//! println!("{:?}, {:?}", filter.outcomes(), filter.first(filterblock_datafusion::Doubt::Set));
//! filter.outcomes().verdict().iter().for_each(|finding| println!("{finding}")); // nothing, if the set is of use
//! # Ok(())
//! # }
//! ```
//!
//! # No row is lost
//!
//! A file is left out of the plan, or not opened when a join has made a filter, if it is in the set under its name and
//! entity tag, and rows of its column that were read and pass their check deny all values of an equality or a list. All
//! else is *maybe*: the file is read, and DataFusion checks every row. What was *maybe* for want of an answer is counted,
//! and the first of each [`Doubt`] logged and kept.
//!
//! DataFusion converts the values of a file to the type of the table's column. A conversion that changes values, such as
//! from milliseconds to seconds, would make rows equal to a literal that the filter has never seen. So the filters of a
//! column of numbers, times or timestamps are named after its decimal places, and a file that has more of them gets none:
//! a table with another number of places finds no filter, nor does it in a set whose writer names such columns plainly.
//! Timestamps in INT96 get none: DataFusion's option `coerce_int96` cuts them first.
//!
//! A table with an `expr_adapter_factory` of its own, which may give a default in place of null, is read as a whole.
//!
//! What is not noticed: a writer that leaves out rows, an entity tag that stays when the file changes, and a list of files
//! that is older than the files. The set answers for the states of the files that the table lists: if a file was written
//! anew since, and the list still has its old tag, a value that only the new file has is not found.
//! Nor that a column's name was given to another field: columns are found by their names in the files.

mod doubt;
mod filter;
mod late;
mod predicate;
mod table;
mod value;
mod verdict;
mod writer;

pub use doubt::{Counts, Doubt, Outcomes};
pub use filter::FileFilter;
pub use table::FilteredTable;
pub use verdict::Finding;
pub use writer::{FileKeys, SetWriter, WriteError};

use datafusion::object_store::ObjectMeta;

/// Tags that say nothing: the second and the third are what MinIO gives for files whose metadata it lacks.
const NO_TAGS: [&str; 3] = ["", "00000000000000000000000000000000", "00000000000000000000000000000000-1"];

/// Returns the entity tag without what stores add to it: Azure quotes the tags of objects, but not those of lists.
fn stated_tag(object: &ObjectMeta) -> Option<&str> {
    let tag = object.e_tag.as_deref()?.trim_start_matches("W/").trim_matches(['"', ' ']);
    (!NO_TAGS.contains(&tag)).then_some(tag)
}

/// Returns the identity of an object as it is now, of its name, its length and its entity tag. `None` without a tag, with
/// an empty one or with one of 32 zeros, which is a placeholder: such a file is always *maybe*.
pub fn identity(object: &ObjectMeta) -> Option<u64> {
    let tag = stated_tag(object).and(object.e_tag.as_deref())?;
    let (name, len) = (object.location.as_ref(), object.size.to_string());
    Some(filterblock_set::file_identity(&[name.as_bytes(), len.as_bytes(), tag.as_bytes()]))
}
