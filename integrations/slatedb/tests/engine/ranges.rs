//! Scans of ranges: skipped tables by SlateDB's counters, and the same rows as without filters.

use super::database;
use anyhow::Result;
use filterblock_slatedb::measure::{Caching, Counters, Database, FilterChoice, Reader, flush};
use slatedb::IterationOrder;
use slatedb::config::ScanOptions;
use std::ops::Bound;

const TABLES: usize = 4;
const ROWS: usize = 8_000;

fn key(number: usize) -> Vec<u8> {
    format!("series/{:02}/{:05}", number / 1_000, number % 1_000 * 7).into_bytes()
}

/// Writes each table with the filters that `writers` has for it: every fourth hundred of rows, and deletions of rows of
/// the table before it.
async fn fill(database: &Database, writers: [&str; TABLES]) -> Result<()> {
    for (table, filters) in writers.into_iter().enumerate() {
        let filters: FilterChoice = filters.parse()?;
        let db = database.open_uncompacted_with(filters.policies()).await?;
        for number in (0..ROWS).filter(|number| number / 100 % TABLES == table) {
            db.put(key(number), b"value").await?;
            if table > 0 && number % 10 == 0 {
                db.delete(key(number - 100)).await?;
            }
        }
        flush(&db).await?;
        db.close().await?;
    }
    Ok(())
}

/// Scans between rows, beside rows and over several, with every form of bound, in both orders, and of prefixes: the rows,
/// and SlateDB's counts.
async fn scans(database: &Database) -> Result<(Vec<Vec<u8>>, Counters)> {
    let reader = Reader::open(database, Caching::Metadata).await?;
    let (mut found, descending) = (Vec::new(), ScanOptions::default().with_order(IterationOrder::Descending));
    for i in 0..400 {
        let from = key(i * 37 % ROWS);
        let (beside, to) = ([&from[..], b"!"].concat(), key((i * 37 + i % 5) % ROWS));
        let (above, below) = (Bound::Excluded(from.clone()), Bound::Excluded(to.clone()));
        // Of a hundred: the row below is in another table.
        let first = i % 79 * 100 + 100;
        let ranges = [
            (Bound::Included([&key(first - 1)[..], b"~"].concat()), Bound::Included(key(first))),
            (Bound::Included(from.clone()), Bound::Included(from.clone())),
            (above.clone(), Bound::Excluded([&from[..], b"~"].concat())),
            (Bound::Included(beside), Bound::Excluded([&from[..], b"~"].concat())),
            (Bound::Included(from.clone()), below.clone()),
            (above, Bound::Included(to)),
            // Above the rows of a series.
            (Bound::Included([&from[..10], b"8"].concat()), Bound::Excluded([&from[..10], b"9"].concat())),
            (Bound::Unbounded, Bound::Excluded(key(i % 3))),
            (Bound::Excluded(key(ROWS - 1 - i % 3)), Bound::Unbounded),
        ];
        for range in ranges.into_iter().filter(is_not_reversed) {
            let (mut rows, mut reversed) = (Vec::new(), Vec::new());
            let mut scan = reader.db().scan(range.clone()).await?;
            while let Some(row) = scan.next().await? {
                rows.push(row.key.to_vec());
            }
            let mut scan = reader.db().scan_with_options(range, &descending).await?;
            while let Some(row) = scan.next().await? {
                reversed.insert(0, row.key.to_vec());
            }
            assert_eq!(rows, reversed, "the same rows from the last to the first");
            found.append(&mut rows);
            found.push(Vec::new());
        }
        let mut scan = reader.db().scan_prefix(&from[..from.len() - 1], ..).await?;
        while let Some(row) = scan.next().await? {
            found.push(row.key.to_vec());
        }
    }
    let counters = reader.counters();
    reader.close().await?;
    Ok((found, counters))
}

/// SlateDB refuses ranges whose start is not below their end.
fn is_not_reversed((from, to): &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> bool {
    match (from, to) {
        (Bound::Included(from), Bound::Included(to)) => from <= to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from < to,
        _ => true,
    }
}

/// The rows without filters.
async fn expected() -> Result<Vec<Vec<u8>>> {
    let (_scratch, database) = database("none")?;
    fill(&database, ["none"; TABLES]).await?;
    let (rows, counters) = scans(&database).await?;
    assert_eq!((counters.range_positives, counters.range_negatives), (0, 0));
    assert!(rows.iter().filter(|row| !row.is_empty()).count() > 1_000);
    Ok(rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn scans_find_the_same_rows_in_fewer_tables() -> Result<()> {
    let rows = expected().await?;
    for (filters, shares) in
        [("blocked:10", None), ("blocked:10+range:14", Some([0.6, 0.2])), ("blocked:10+range:3", Some([0.5, 0.1]))]
    {
        let (_scratch, database) = database(filters)?;
        fill(&database, [filters; TABLES]).await?;
        for compacted in [false, true] {
            if compacted {
                database.compact(64 << 20).await?;
            }
            let (same, with) = scans(&database).await?;
            assert!(same == rows, "{filters}, compacted: {compacted}");
            let asked = with.range_positives + with.range_negatives;
            match shares {
                // Filters of keys are not asked.
                None => assert_eq!(asked, 0),
                Some(shares) => {
                    let least = shares[usize::from(compacted)] * asked as f64;
                    assert!(asked > 1_000 && with.range_negatives as f64 >= least, "{filters}: {with:?}");
                }
            }
        }
        let outcomes = database.filters().ranges().map(|ranges| ranges.outcomes());
        assert_eq!(outcomes.map_or(0, |outcomes| outcomes.ignored()), 0, "{filters}");
    }
    Ok(())
}

/// Tables with range filters of several sizes, beside filters of keys of other policies or SlateDB's, and without any.
#[tokio::test(flavor = "multi_thread")]
async fn tables_and_readers_of_different_policies_go_together() -> Result<()> {
    let rows = expected().await?;
    let prefixes = "ribbon:10,transform=whole-key+prefix:9+range:16";
    let (_scratch, written) = database("none")?;
    fill(&written, ["slatedb:10", "blocked:10", "none", prefixes]).await?;
    for filters in ["none", "slatedb:10", "blocked:10", "golomb:10+range:3", prefixes] {
        let database = written.with_filters(filters.parse()?);
        let (same, with) = scans(&database).await?;
        assert!(same == rows, "{filters}");
        // The last table's filters are asked, and those of keys of the second one, in vain.
        assert_eq!(with.range_negatives > 500, database.filters().ranges().is_some(), "{filters}: {with:?}");
        if let Some(ranges) = database.filters().ranges() {
            assert_eq!((ranges.outcomes().opened, ranges.outcomes().ignored()), (1, 0), "{filters}");
        }
    }
    Ok(())
}
