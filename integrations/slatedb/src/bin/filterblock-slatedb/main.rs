//! Fills, compacts and reads a SlateDB database whose tables have filter blocks, each in a process of its own, and
//! counts what filters save. See README.md.

mod report;
mod scans;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use filterblock_slatedb::measure::{Caching, Database, FilterChoice, Location, Reader};
use serde_json::json;

/// SlateDB with filter blocks: what filters save on an object store
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write rows to tables of level 0
    Fill {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        shape: Shape,
    },
    /// Run a standalone compactor until level 0 is empty
    Compact {
        #[command(flatten)]
        place: Place,
        /// Most bytes of a table
        #[arg(long, default_value_t = 8 << 20)]
        max_table_bytes: usize,
    },
    /// Look up every row, and absent keys, and print the counts as a line of JSON
    Read {
        #[command(flatten)]
        place: Place,
        /// Rows, which must all be there
        #[arg(long, default_value_t = 0)]
        rows: u64,
        /// Absent keys
        #[arg(long, default_value_t = 0)]
        absent: u64,
        /// What is kept in memory
        #[arg(long, default_value = "everything")]
        caching: Caching,
    },
    /// Requests and bytes of absent lookups, by kind of filter
    Report {
        /// Where to put the databases: a directory, or s3://BUCKET/PREFIX
        location: Location,
        #[command(flatten)]
        shape: Shape,
        /// Lookups of absent keys
        #[arg(long, default_value_t = 10_000)]
        lookups: u64,
    },
    /// Requests and bytes of scans that find nothing, by size of range filter
    Scans {
        /// Where to put the databases: a directory, or s3://BUCKET/PREFIX
        location: Location,
        #[command(flatten)]
        shape: Shape,
        /// Scans
        #[arg(long, default_value_t = 10_000)]
        scans: u64,
    },
}

/// A database.
#[derive(Args)]
struct Place {
    /// A directory, or s3://BUCKET/PREFIX
    location: Location,
    /// none, slatedb:BITS for SlateDB's own filter, or a policy such as ribbon:fpr=1%, with +range:14 or without
    #[arg(long, default_value = "blocked:10")]
    filters: FilterChoice,
}

impl Place {
    fn database(self) -> Result<Database> {
        Database::at(&self.location, self.filters)
    }
}

/// The contents of a database.
#[derive(Args, Clone, Copy)]
struct Shape {
    /// Rows
    #[arg(long, default_value_t = 400_000)]
    rows: u64,
    /// Tables; each covers the whole range of keys
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    tables: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Fill { place, shape } => place.database()?.fill(shape.rows, shape.tables).await,
        Command::Compact { place, max_table_bytes } => place.database()?.compact(max_table_bytes).await,
        Command::Read { place, rows, absent, caching } => read(&place.database()?, rows, absent, caching).await,
        Command::Report { location, shape, lookups } => report::lookups(&location, shape, lookups).await,
        Command::Scans { location, shape, scans } => report::scans(&location, shape, scans).await,
    }
}

async fn read(database: &Database, rows: u64, absent: u64, caching: Caching) -> Result<()> {
    let reader = Reader::open(database, caching).await?;
    reader.verify_in_parallel(0..rows).await?;
    let lookups = reader.look_up_absent(0..absent).await?;
    let outcomes = database.filters().blocks().map(|policy| policy.outcomes()).unwrap_or_default();
    println!(
        "{}",
        json!({
            "level_0_tables": reader.manifest().l0().len(),
            "tables": reader.manifest().all_sst_views().count(),
            "filter_bytes": reader.filter_bytes(),
            "rows_found": rows,
            "absent_found": lookups.num_found,
            "ruled_out": lookups.counters.negatives,
            "false_positives": lookups.counters.false_positives,
            "requests": lookups.parts.sum().num,
            "bytes": lookups.parts.sum().bytes,
            "filters_opened": outcomes.opened,
            "filters_ignored": outcomes.ignored(),
        })
    );
    reader.close().await
}
