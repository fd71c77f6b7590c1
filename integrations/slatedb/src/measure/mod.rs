//! Counts of what filters save on an object store.
//!
//! [`CountingStore`] counts below SlateDB, in front of the object store; [`Counters`] reads what SlateDB counts itself.

mod choice;
mod counters;
mod database;
mod location;
mod reader;
mod requests;
mod rows;
mod scratch;
mod watched;

use slatedb::object_store;

pub use choice::FilterChoice;
pub use counters::Counters;
pub use database::{Database, fill, flush};
pub use location::Location;
pub use reader::{Caching, Lookups, Reader};
pub use requests::{CountingStore, Parts, Requests, TableReads};
pub use rows::{Row, absent_key, row};
pub use scratch::Scratch;
pub use watched::{Watch, Watched};
