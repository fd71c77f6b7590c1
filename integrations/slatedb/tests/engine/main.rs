//! Filter blocks inside SlateDB, on local files. Every test counts; none measures time.

mod damage;
mod keys_found;
mod migration;
mod prefixes;
mod ranges;
mod reads_saved;

use anyhow::Result;
use filterblock_slatedb::measure::{Caching, Database, Lookups, Reader, Scratch};

/// A database in a directory of its own.
fn database(filters: &str) -> Result<(Scratch, Database)> {
    let scratch = Scratch::new()?;
    let database = Database::at(&scratch.location(), filters.parse()?)?;
    Ok((scratch, database))
}

/// Finds all rows, and looks up absent keys.
async fn looked_up(database: &Database, rows: u64, absent: u64) -> Result<Lookups> {
    let reader = Reader::open(database, Caching::Everything).await?;
    reader.verify_in_parallel(0..rows).await?;
    let lookups = reader.look_up_absent(0..absent).await?;
    reader.close().await?;
    Ok(lookups)
}

/// One policy of each kind, 10 bits a key.
fn policies() -> impl Iterator<Item = String> {
    filterblock::FilterKind::ALL.iter().map(|kind| format!("{kind}:10,seed=7"))
}
