//! What filters save, by SlateDB's own counters and by a count in front of the object store.

use super::{database, policies};
use anyhow::Result;
use filterblock::FilterPolicy;
use filterblock_slatedb::measure::{Caching, Lookups, Reader};

const ROWS: u64 = 200_000;
const TABLES: u64 = 4;
const LOOKUPS: u64 = 100_000;

async fn absent_lookups(filters: &str) -> Result<Lookups> {
    let (_scratch, database) = database(filters)?;
    database.fill(ROWS, TABLES).await?;
    let reader = Reader::open(&database, Caching::Metadata).await?;
    let lookups = reader.look_up_absent(0..LOOKUPS).await?;
    reader.close().await?;
    assert_eq!((lookups.num_tables, lookups.num_found), (TABLES, 0), "{filters}");
    assert_eq!(lookups.parts.sum().num, lookups.counters.range_requests, "{filters}: two counts of the same requests");
    if let Some(policy) = database.filters().blocks() {
        let outcomes = policy.outcomes();
        assert_eq!((outcomes.built, outcomes.opened, outcomes.ignored()), (TABLES, TABLES, 0), "{filters}");
    }
    Ok(lookups)
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_avoid_99_of_100_reads_for_absent_keys() -> Result<()> {
    let without = absent_lookups("none").await?;
    // Each table covers nearly the whole range of keys, so that its bounds rule next to nothing out.
    assert!(without.parts.data.num > LOOKUPS * TABLES * 999 / 1000, "{without:?}");
    assert_eq!((without.parts.filters.num, without.counters.negatives), (0, 0));

    for filters in policies() {
        let with = absent_lookups(&filters).await?;
        let (saved, counters) = (&with.parts, &with.counters);
        assert_eq!((saved.filters.num, saved.indexes.num, saved.others.num), (TABLES, TABLES, 0), "{filters}");
        assert_eq!(counters.false_positives, counters.positives, "{filters}: no key is there");
        assert_eq!((saved.data.num, counters.data_blocks), (counters.positives, counters.positives), "{filters}");
        assert_eq!(
            counters.positives + counters.negatives,
            without.parts.data.num,
            "{filters}: each lookup is answered"
        );
        assert!(saved.data.num * 100 <= without.parts.data.num, "{filters}: {} reads", saved.data.num);

        // As many false positives as the policy predicts, within four standard errors.
        let policy: FilterPolicy = filters.parse()?;
        let rate = policy.expected_false_positive_rate(ROWS / TABLES)?;
        let probes = (counters.positives + counters.negatives) as f64;
        let (expected, found) = (probes * rate, counters.positives as f64);
        let standard_error = (expected * (1.0 - rate)).sqrt();
        assert!(
            (found - expected).abs() <= 4.0 * standard_error,
            "{filters}: {found} wasted reads, {expected} expected"
        );
        println!("counted: {filters}: {} of {} data-block reads avoided", counters.negatives, without.parts.data.num);
    }
    Ok(())
}

/// A filter that rules a table out needs one request instead of two, and fetches itself instead of index and block.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_cache_each_lookup_fetches_the_filters() -> Result<()> {
    const FEW: u64 = 500;
    let mut bytes = Vec::new();
    for filters in ["none", "blocked:10", "ribbon:fpr=1%"] {
        let (_scratch, database) = database(filters)?;
        database.fill(ROWS / 10, TABLES).await?;
        let reader = Reader::open(&database, Caching::Nothing).await?;
        let lookups = reader.look_up_absent(0..FEW).await?;
        let parts = lookups.parts;
        let num_filters = if filters == "none" { 0 } else { lookups.counters.positives + lookups.counters.negatives };
        assert_eq!(parts.filters.num, num_filters, "{filters}");
        assert_eq!((parts.indexes.num, parts.others.num), (parts.data.num, 0), "{filters}");
        if let Some(policy) = database.filters().blocks() {
            assert_eq!(policy.outcomes().opened, num_filters, "{filters}: decoded for each lookup");
        }
        bytes.push(parts.filters.bytes);
        reader.close().await?;
    }
    assert!(bytes[0] == 0 && bytes[2] * 100 < bytes[1] * 75, "the smaller filters cost less: {bytes:?}");
    Ok(())
}
