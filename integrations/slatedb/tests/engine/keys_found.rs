//! No key is missed: after reopening, after compaction, and where newer tables hide what older ones hold.

use super::{database, policies};
use anyhow::Result;
use filterblock_slatedb::measure::{Caching, Database, Reader, absent_key, flush, row};

const TABLES: u64 = 8;

/// Small enough for several tables in a sorted run.
const MAX_TABLE_BYTES: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_million_keys_are_found_after_reopening_and_after_compaction() -> Result<()> {
    const ROWS: u64 = 1_000_000;
    found_twice("ribbon:10,seed=7", ROWS, 16 * MAX_TABLE_BYTES).await?;
    println!("counted: 0 of {} present keys missed, twice: after reopening and after compaction", ROWS);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_found_under_every_kind() -> Result<()> {
    for filters in policies() {
        found_twice(&filters, 50_000, MAX_TABLE_BYTES).await?;
    }
    Ok(())
}

/// All rows of a new database, after reopening and after compaction.
async fn found_twice(filters: &str, rows: u64, max_table_bytes: usize) -> Result<()> {
    let (_scratch, database) = database(filters)?;
    database.fill(rows, TABLES).await?;
    found(&database, rows, TABLES).await?;
    database.compact(max_table_bytes).await?;
    let tables = database.manifest().await?.all_sst_views().count() as u64;
    assert!(tables > 1, "{filters}: {tables} tables in the sorted run");
    found(&database, rows, tables).await
}

/// All rows, through the filters of `tables` tables.
async fn found(database: &Database, rows: u64, tables: u64) -> Result<()> {
    let blocks = database.filters().blocks().expect("filter blocks");
    let before = blocks.outcomes();
    let reader = Reader::open(database, Caching::Everything).await?;
    reader.verify_in_parallel(0..rows).await?;
    let counters = reader.counters();
    let is_level_0 = !reader.manifest().l0().is_empty();
    reader.close().await?;
    assert_eq!(blocks.outcomes().opened - before.opened, tables, "{blocks}");
    assert_eq!(blocks.outcomes().ignored(), 0, "{blocks}");

    // Each row passes the filter of one table, so that the other positives are false. SlateDB's own count has not all
    // of these: it probes some older tables in advance, and does not read them once the row is found.
    assert!(counters.positives >= rows + counters.false_positives, "{blocks}: {counters:?}");
    let (in_vain, passed) = (counters.positives + counters.negatives - rows, counters.positives - rows);
    if is_level_0 {
        // Half of the other tables are newer than a row's.
        assert!(in_vain * 100 > rows * (tables - 1) * 49, "{blocks}: {counters:?}");
    } else {
        assert_eq!(in_vain, 0, "{blocks}: a sorted run has one table for a row: {counters:?}");
    }
    let rate = blocks.policy().expected_false_positive_rate(rows / tables)?;
    let expected = in_vain as f64 * rate;
    let standard_error = (expected * (1.0 - rate)).sqrt();
    assert!((passed as f64 - expected).abs() <= 4.0 * standard_error, "{blocks}: {passed} passed, {expected} expected");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_and_overwrites_in_newer_tables_are_seen() -> Result<()> {
    const ROWS: u64 = 10_000;
    for filters in policies() {
        let (_scratch, database) = database(&filters)?;
        let db = database.open_uncompacted().await?;
        for i in 0..ROWS {
            db.put(row(i).key, row(i).value).await?;
        }
        flush(&db).await?;
        for i in (0..ROWS).step_by(2) {
            db.delete(row(i).key).await?;
        }
        flush(&db).await?;
        for i in (0..ROWS).step_by(3) {
            db.put(row(i).key, b"newer").await?;
        }
        flush(&db).await?;
        db.close().await?;
        for compacted in [false, true] {
            if compacted {
                database.compact(MAX_TABLE_BYTES).await?;
            }
            let reader = Reader::open(&database, Caching::Everything).await?;
            for i in 0..ROWS {
                let expected = match (i % 2, i % 3) {
                    (_, 0) => Some(b"newer".to_vec()),
                    (0, _) => None,
                    _ => Some(row(i).value.to_vec()),
                };
                assert_eq!(reader.db().get(row(i).key).await?.map(Vec::from), expected, "{filters}: row {i}");
                assert_eq!(reader.db().get(absent_key(i)).await?, None, "{filters}");
            }
            reader.close().await?;
        }
    }
    Ok(())
}
