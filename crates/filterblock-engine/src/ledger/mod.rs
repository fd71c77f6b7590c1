//! The account of every lookup in every table of an engine: the reads that filters saved, the absent keys that they
//! passed, and the cost.
//!
//! An engine opens an account for each table ([`Accounts::open`]) and counts how each lookup in the table ends: in
//! exactly one [`Outcome`]. Counting takes two relaxed atomic additions and no lock. [`Accounts::report`] has the sums
//! by table, by level and kind of filter, and in all, beside the false positives that the filters predict; as text
//! (`Display`) and for programs (`serde::Serialize`). The identities among the sums are checked by
//! [`LedgerReport::check`]: one that does not hold is a defect of the engine. [`LedgerReport::verdict`] reports filters
//! that are in use and pay from those that are never queried, never opened or never deny.
//!
//! ```
//! use filterblock_engine::ledger::{Accounts, FilterFacts, LookupClass, Outcome, TableCounters};
//! use filterblock::{FilterBlock, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
//! use std::{collections::BTreeMap, sync::Arc};
//!
//! struct Table {
//!     filter: FilterBlock<Vec<u8>>,
//!     cells: BTreeMap<Vec<u8>, Vec<u8>>, // on the disk
//!     counters: Arc<TableCounters>,
//! }
//!
//! impl Table {
//!     fn get(&self, key: &[u8]) -> Option<&Vec<u8>> {
//!         let lookup = self.counters.of(KEYS).begin();
//!         if !self.filter.may_contain(key) {
//!             lookup.end(Outcome::Avoided);
//!             return None;
//!         }
//!         lookup.blocks().note_read(4096);
//!         let found = self.cells.get(key);
//!         lookup.end(if found.is_some() { Outcome::TruePositive } else { Outcome::FalsePositive });
//!         found
//!     }
//! }
//!
//! /// The one filter that a table has.
//! const KEYS: usize = 0;
//! static CLASSES: [LookupClass; 1] = [LookupClass::point("key")];
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
//! let mut builder = FilterBlockBuilder::new(&policy);
//! builder.add_key(b"present");
//! let filter = OpenOptions::new().expect(&policy).open_owned(builder.finish()?)?;
//! let accounts = Accounts::new(&CLASSES);
//! let counters = accounts.open(1, 0, [Some(FilterFacts::of(&filter))]);
//! let table = Table { filter, cells: BTreeMap::from([(b"present".to_vec(), b"value".to_vec())]), counters };
//! assert!(table.get(b"present").is_some() && table.get(b"absent").is_none());
//!
//! let report = accounts.report();
//! report.check()?;
//! assert_eq!((report.total.of(KEYS).lookups, report.total.data_block_reads()), (2, 1));
//! println!("{report}");
//! # Ok(())
//! # }
//! ```
//!
//! # Classes
//!
//! A table may have several filters: of keys, of prefixes, of rows. The engine lists what they answer as
//! [`LookupClass`]es, and each lookup counts under the class of the filter that answers it.
//!
//! A positive is true or false by what the filter could know. A filter of rows that passes the lookup of a cell is
//! right if the table has the row, with or without the cell, and a filter of prefixes if a key with the prefix is
//! there, in the range of a scan or not. If such a lookup finds nothing, [`Tally::entry_only`] counts it, because it
//! costs a read that only a finer filter would save. Lookups without a usable filter are counted as such, and those
//! that find their key also in [`Tally::unfiltered_found`]: a filter could have saved the others.
//!
//! Data blocks that a lookup reads until it has its outcome count under its class, those that a scan reads afterwards
//! under scans. Reads are reads of storage; blocks found in a cache are hits.
//!
//! | file | |
//! |---|---|
//! | `class`, `outcome` | the classes of lookups, and their outcomes |
//! | `tally`, `sums` | sums of one class, of all, and their identities |
//! | `counters` | the live counters of a table, without locks |
//! | `accounts` | an account for each open table, and the sums of closed ones |
//! | `verdict` | whether the filters are in use, and what they save |
//! | `text`, `serialize` | a report for people, and for programs |

mod accounts;
mod class;
mod counters;
mod outcome;
mod serialize;
mod sums;
mod tally;
#[cfg(test)]
mod tests;
mod text;
mod verdict;
#[cfg(test)]
mod verdict_tests;

pub use accounts::{Account, Accounts, ClassKind, LedgerReport, LevelTally};
pub use class::LookupClass;
pub use counters::{BlockCounters, FilterFacts, Lookup, LookupCounters, TableCounters};
pub use outcome::Outcome;
pub use sums::{Imbalance, Ledger};
pub use tally::Tally;
pub use verdict::{Finding, MIN_LOOKUPS, MIN_PASSED, MIN_SIGMAS, MIN_TIMES_PREDICTED, Savings, Verdict};
