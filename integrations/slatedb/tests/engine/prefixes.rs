//! Scans of a prefix: skipped tables by SlateDB's counters, and the same rows as without filters.

use super::database;
use anyhow::Result;
use filterblock_slatedb::measure::{Caching, Counters, Reader, flush};

const TABLES: u64 = 4;
const GROUPS: u64 = 400;
const PER_GROUP: u64 = 50;

/// Scans of all groups and of as many that are absent: rows in order, and SlateDB's counts.
async fn scans(filters: &str) -> Result<(Vec<String>, Counters)> {
    let (_scratch, database) = database(filters)?;
    let db = database.open_uncompacted().await?;
    for table in 0..TABLES {
        for group in (table..GROUPS).step_by(TABLES as usize) {
            for i in 0..PER_GROUP {
                db.put(format!("{:04}/{i:03}", 2 * group), b"value").await?;
            }
        }
        flush(&db).await?;
    }
    db.close().await?;
    let reader = Reader::open(&database, Caching::Metadata).await?;
    let mut rows = Vec::new();
    for group in 0..2 * GROUPS {
        // Of the filters' prefix length, longer, and shorter.
        for prefix in [format!("{group:04}"), format!("{group:04}/00"), format!("{:03}", group / 10)] {
            let mut scan = reader.db().scan_prefix(&prefix, ..).await?;
            while let Some(found) = scan.next().await? {
                rows.push(format!("{prefix}: {}", String::from_utf8_lossy(&found.key)));
            }
        }
    }
    let counters = reader.counters();
    reader.close().await?;
    Ok((rows, counters))
}

#[tokio::test(flavor = "multi_thread")]
async fn scans_find_the_same_rows_in_fewer_tables() -> Result<()> {
    let (rows, without) = scans("none").await?;
    assert_eq!((without.prefix_positives, without.prefix_negatives), (0, 0));
    assert!(rows.len() as u64 > GROUPS * PER_GROUP, "{}", rows.len());

    // Filters of whole keys are not even fetched for scans.
    let (same, whole_keys) = scans("blocked:10").await?;
    assert_eq!(same, rows);
    assert_eq!((whole_keys.prefix_positives, whole_keys.prefix_negatives), (0, 0));

    for filters in ["blocked:10,transform=prefix:4", "ribbon:fpr=1%,transform=whole-key+prefix:4"] {
        let (same, with) = scans(filters).await?;
        assert_eq!(same, rows, "{filters}");
        // A group that is there lies in one of four tables, an absent one in none; the third prefix rules nothing out.
        let scans = 2 * 2 * GROUPS;
        let at_most = scans * TABLES - scans / 2;
        assert!(with.prefix_negatives <= at_most, "{filters}: {with:?}");
        assert!(with.prefix_negatives > at_most * 98 / 100, "{filters}: {with:?}");
    }
    Ok(())
}
