//! `report` and `scans`: what lookups of absent keys and empty scans cost on an object store, by kind of filter.

use crate::Shape;
use crate::scans::Set;
use anyhow::{Result, ensure};
use filterblock_slatedb::measure::{Caching, Database, FilterChoice, Location, Lookups, Reader, row};
use std::ops::Range;

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

/// The counts of scans. Filters of keys alone are not queried.
const RANGE_FILTERS: [&str; 4] = ["none", "blocked:10+range:10", "blocked:10+range:14", "blocked:10+range:18"];

/// The rows that are written, and the queries.
enum Load {
    AbsentKeys,
    EmptyScans(Set),
}

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

pub async fn lookups(location: &Location, shape: Shape, lookups: u64) -> Result<()> {
    println!("{} rows in {} tables of level 0, each over the whole range of keys.", grouped(shape.rows), shape.tables);
    head("Lookups of absent keys", lookups);
    Load::AbsentKeys.lines(location, &FILTERS, shape, lookups).await?;
    println!("{RIGHT}");
    Ok(())
}

pub async fn scans(location: &Location, shape: Shape, scans: u64) -> Result<()> {
    println!("{} rows in {} tables of level 0, in the order that they came.", grouped(shape.rows), shape.tables);
    head("Scans that find nothing", scans);
    for (number, set) in [Set::series, Set::sections, Set::sites].into_iter().enumerate() {
        let set = set(shape.rows, 2 * scans);
        println!("{}", set.name);
        let place = location.join(&format!("scans-{number}"));
        Load::EmptyScans(set).lines(&place, &RANGE_FILTERS, shape, scans).await?;
    }
    println!("{RIGHT}");
    Ok(())
}

/// What every line was checked for.
const RIGHT: &str = "\nAnswers right, and requests equal to SlateDB's own count: yes";

fn head(name: &str, num: u64) {
    println!("{name}: {} cold, as many warm, {} uncached.", grouped(num), grouped(num / SHARE_WITHOUT_CACHE));
    println!("Cold and warm: filters and indexes are cached once they were read, data blocks never.\n");
    println!("{:31} cold: filters and indexes to fetch          warm: fetched      no cache, each", "");
    println!(
        "{:19} bits/key  requests         bytes  reads avoided  requests       bytes  requests       bytes",
        "filters"
    );
}

impl Load {
    async fn fill(&self, database: &Database, Shape { rows, tables }: Shape) -> Result<()> {
        match self {
            Self::AbsentKeys => database.fill(rows, tables).await,
            Self::EmptyScans(set) => {
                let tables = set.keys.chunks(set.keys.len().div_ceil(tables as usize));
                database.fill_tables(tables.map(|keys| keys.iter().zip((0..).map(|i| row(i).value)))).await
            }
        }
    }

    /// Measures and prints a line for each of `filters`.
    async fn lines(&self, location: &Location, filters: &[&str], shape: Shape, lookups: u64) -> Result<()> {
        let mut reads_without = None;
        for (number, text) in filters.iter().enumerate() {
            let line = self.measure(&location.join(&number.to_string()), text.parse()?, shape, lookups).await?;
            let reads = line.cold.parts.data.num;
            let reads_without = *reads_without.get_or_insert(reads);
            line.print(1.0 - reads as f64 / reads_without as f64);
        }
        Ok(())
    }

    async fn ask(&self, reader: &Reader, numbers: Range<u64>) -> Result<Lookups> {
        let lookups = match self {
            Self::AbsentKeys => reader.look_up_absent(numbers).await?,
            Self::EmptyScans(set) => reader.scan(&set.scans[numbers.start as usize..numbers.end as usize]).await?,
        };
        checked(lookups)
    }

    /// The first `num` rows are there.
    async fn verify(&self, reader: &Reader, num: u64) -> Result<()> {
        let Self::EmptyScans(set) = self else { return reader.verify_in_parallel(0..num).await };
        let scans: Vec<_> = set.keys[..num as usize].iter().map(|key| key.clone()..[&key[..], &[0]].concat()).collect();
        let num_found = reader.scan(&scans).await?.num_found;
        ensure!(num_found == num, "{num_found} of {num} rows were found");
        Ok(())
    }

    async fn measure(&self, location: &Location, filters: FilterChoice, shape: Shape, lookups: u64) -> Result<Line> {
        let database = Database::at(location, filters)?;
        self.fill(&database, shape).await?;

        let reader = Reader::open(&database, Caching::Metadata).await?;
        let cold = self.ask(&reader, 0..lookups).await?;
        let warm = self.ask(&reader, lookups..2 * lookups).await?;
        self.verify(&reader, shape.rows.min(lookups)).await?;
        let bits_per_key = reader.filter_bytes() as f64 * 8.0 / shape.rows as f64;
        reader.close().await?;

        let reader = Reader::open(&database, Caching::Nothing).await?;
        let uncached = self.ask(&reader, 0..lookups / SHARE_WITHOUT_CACHE).await?;
        reader.close().await?;
        let filters = database.filters();
        let outcomes =
            [filters.blocks().map(|policy| policy.outcomes()), filters.ranges().map(|policy| policy.outcomes())];
        let ignored: u64 = outcomes.iter().flatten().map(|outcomes| outcomes.ignored()).sum();
        ensure!(ignored == 0, "{ignored} filters of {filters} were ignored");
        Ok(Line { filters: filters.to_string(), bits_per_key, cold, warm, uncached })
    }
}

/// Two independent counts of the same requests must be equal, and nothing absent may be found.
fn checked(lookups: Lookups) -> Result<Lookups> {
    let (ours, theirs) = (lookups.parts.sum().num, lookups.counters.range_requests);
    ensure!(ours == theirs, "{ours} requests were counted in front of the object store, {theirs} by SlateDB");
    ensure!(lookups.num_found == 0, "{} absent rows were found", lookups.num_found);
    Ok(lookups)
}

impl Line {
    fn print(&self, avoided: f64) {
        let (cold, warm, uncached) = (self.cold.parts.sum(), self.warm.parts.sum(), self.uncached.parts.sum());
        println!(
            "{:<19} {:>8.2}  {:>8}  {:>12}  {:>11.2} %  {:>8}  {:>10}  {:>8.2}  {:>10}",
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

/// An integer in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}
