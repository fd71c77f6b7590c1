//! Filter blocks inside SlateDB, an LSM engine on object storage.
//!
//! [`FilterBlockPolicy`] makes the filters of SlateDB's tables from a filterblock policy. The writer, the readers and a
//! standalone compactor are given it alike:
//!
//! ```
//! use filterblock_slatedb::FilterBlockPolicy;
//! use slatedb::Db;
//! use slatedb::object_store::memory::InMemory;
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let policy = Arc::new("ribbon:fpr=1%,seed=7".parse::<FilterBlockPolicy>()?);
//! let db = Db::builder("db", Arc::new(InMemory::new())).with_filter_policies(vec![policy.clone()]).build().await?;
//! db.put(b"key", b"value").await?;
//! assert_eq!(db.get(b"absent").await?, None);
//! db.close().await?;
//! assert_eq!(policy.outcomes().ignored(), 0);
//! println!("{}", policy.verdict()); // are the filters in use, and do they deny anything?
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! A block states its kind, size, seed and transform itself. Therefore all policies have one name, and the policy may
//! be changed at any time: filters that were written before stay in use. A [`RangeBlockPolicy`] beside it makes range
//! filters, for scans.
//!
//! [`measure`] has what the program and the tests share: a store that counts requests, and how databases are filled,
//! compacted and read there.

mod builder;
mod filter;
pub mod measure;
mod outcomes;
mod policy;
mod ranges;
mod verdict;

pub use outcomes::Outcomes;
pub use policy::{FilterBlockPolicy, PolicyError};
pub use ranges::RangeBlockPolicy;
pub use verdict::{Finding, MIN_QUERIES, Verdict};
