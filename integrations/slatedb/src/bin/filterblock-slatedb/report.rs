//! `report`: what lookups of absent keys cost on an object store, by kind of filter.

use crate::Shape;
use crate::figures::grouped;
use anyhow::{Result, ensure};
use filterblock_slatedb::measure::{Caching, Database, FilterChoice, Location, Lookups, Reader};

/// No filter first: the others are compared with it.
const FILTERS: [&str; 10] = [
    "none",
    "slatedb:10",
    "blocked:10",
    "golomb:10",
    "ribbon:10",
    "fuse:10",
    "blocked:fpr=1%",
    "golomb:fpr=1%",
    "ribbon:fpr=1%",
    "fuse:fpr=1%",
];

/// Lookups without a cache are fewer: each fetches all filters.
const SHARE_WITHOUT_CACHE: u64 = 10;

/// One line of the table.
struct Line {
    filters: String,
    bits_per_key: f64,
    cold: Lookups,
    warm: Lookups,
    uncached: Lookups,
}

pub async fn run(location: &Location, shape: Shape, lookups: u64) -> Result<()> {
    let Shape { rows, tables } = shape;
    println!("{} rows in {tables} tables of level 0, each over the whole range of keys.", grouped(rows));
    println!(
        "Lookups of absent keys: {} cold, as many warm, {} uncached.",
        grouped(lookups),
        grouped(lookups / SHARE_WITHOUT_CACHE)
    );
    println!("Cold and warm: filters and indexes are cached once they were read, data blocks never.\n");
    println!(
        "                            cold: filters and indexes to fetch          warm: fetched      no cache, a lookup"
    );
    println!(
        "filters         bits/key  requests         bytes  reads avoided  requests       bytes  requests       bytes"
    );
    let mut reads_without = None;
    for (number, text) in FILTERS.iter().enumerate() {
        let filters: FilterChoice = text.parse()?;
        let line = measure(&location.join(&number.to_string()), filters, shape, lookups).await?;
        let reads = line.cold.parts.data.num;
        let reads_without = *reads_without.get_or_insert(reads);
        line.print(1.0 - reads as f64 / reads_without as f64);
    }
    println!("\nAnswers right, and requests equal to SlateDB's own count: yes");
    Ok(())
}

async fn measure(location: &Location, filters: FilterChoice, shape: Shape, lookups: u64) -> Result<Line> {
    let database = Database::at(location, filters)?;
    database.fill(shape.rows, shape.tables).await?;

    let reader = Reader::open(&database, Caching::Metadata).await?;
    let cold = checked(reader.look_up_absent(0..lookups).await?)?;
    let warm = checked(reader.look_up_absent(lookups..2 * lookups).await?)?;
    reader.verify_in_parallel(0..shape.rows.min(lookups)).await?;
    let bits_per_key = reader.filter_bytes() as f64 * 8.0 / shape.rows as f64;
    reader.close().await?;

    let reader = Reader::open(&database, Caching::Nothing).await?;
    let uncached = checked(reader.look_up_absent(0..lookups / SHARE_WITHOUT_CACHE).await?)?;
    reader.close().await?;
    let ignored = database.filters().blocks().map_or(0, |policy| policy.outcomes().ignored());
    ensure!(ignored == 0, "{ignored} filters of {} were ignored", database.filters());
    Ok(Line { filters: database.filters().to_string(), bits_per_key, cold, warm, uncached })
}

/// Two independent counts of the same requests must be equal, and no absent key may be found.
fn checked(lookups: Lookups) -> Result<Lookups> {
    let (ours, theirs) = (lookups.parts.sum().num, lookups.counters.range_requests);
    ensure!(ours == theirs, "{ours} requests were counted in front of the object store, {theirs} by SlateDB");
    ensure!(lookups.num_found == 0, "{} absent keys were found", lookups.num_found);
    Ok(lookups)
}

impl Line {
    fn print(&self, avoided: f64) {
        let (cold, warm, uncached) = (self.cold.parts.sum(), self.warm.parts.sum(), self.uncached.parts.sum());
        println!(
            "{:<15} {:>8.2}  {:>8}  {:>12}  {:>11.2} %  {:>8}  {:>10}  {:>8.2}  {:>10}",
            self.filters,
            self.bits_per_key,
            grouped(cold.num),
            grouped(cold.bytes),
            100.0 * avoided,
            grouped(warm.num),
            grouped(warm.bytes),
            uncached.num as f64 / self.uncached.num_keys as f64,
            grouped(uncached.bytes / self.uncached.num_keys.max(1)),
        );
    }
}
