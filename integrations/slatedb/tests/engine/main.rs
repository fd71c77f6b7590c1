//! Filter blocks inside SlateDB, on local files. Every test counts; none measures time.

mod damage;
mod keys_found;
mod migration;
mod prefixes;
mod ranges;
mod reads_saved;

use anyhow::Result;
use filterblock_slatedb::measure::{Database, FilterChoice, Scratch};

/// The database in a scratch directory.
fn database(scratch: &Scratch, filters: &str) -> Result<Database> {
    Database::at(&scratch.location(), filters.parse::<FilterChoice>()?)
}

/// One policy of each kind, 10 bits a key.
fn policies() -> impl Iterator<Item = String> {
    filterblock::FilterKind::ALL.iter().map(|kind| format!("{kind}:10,seed=7"))
}
