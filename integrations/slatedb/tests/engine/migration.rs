//! Filters of one policy, read and compacted by processes with another.

use super::{database, looked_up, policies};
use anyhow::Result;

const ROWS: u64 = 20_000;
const TABLES: u64 = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_policy_leaves_stored_filters_in_use() -> Result<()> {
    for written in policies() {
        let (_scratch, writer) = database(&written)?;
        writer.fill(ROWS, TABLES).await?;
        let database = writer.with_filters("fuse:fpr=0.1%,seed=9".parse()?);
        for compacted in [false, true] {
            if compacted {
                database.compact(64 << 20).await?;
            }
            let lookups = looked_up(&database, ROWS, ROWS).await?;
            let tables = if compacted { 1 } else { TABLES };
            assert!(
                lookups.counters.negatives > ROWS * tables * 98 / 100,
                "{written}, compacted: {compacted}: {lookups:?}"
            );
        }
        let outcomes = database.filters().blocks().expect("filter blocks").outcomes();
        assert_eq!((outcomes.built, outcomes.ignored()), (1, 0), "{written}");
        // By the reader, and by the compactor's table after it.
        assert_eq!(outcomes.opened, TABLES + 1, "{written}");
    }
    Ok(())
}

/// Names keep them apart: neither takes the other's filters for its own, and tables without a known filter are read.
#[tokio::test(flavor = "multi_thread")]
async fn databases_change_between_slatedbs_own_filter_and_filter_blocks() -> Result<()> {
    for (written, read) in [("slatedb:10", "blocked:10"), ("blocked:10", "slatedb:10"), ("none", "golomb:10")] {
        let (_scratch, writer) = database(written)?;
        writer.fill(ROWS, TABLES).await?;
        let database = writer.with_filters(read.parse()?);
        let lookups = looked_up(&database, ROWS, 1000).await?;
        assert_eq!((lookups.num_found, lookups.counters.negatives), (0, 0), "{written} read as {read}");
        // A compaction gives its tables the filters of the new policy.
        database.compact(64 << 20).await?;
        let lookups = looked_up(&database, ROWS, 1000).await?;
        assert_eq!(lookups.num_found, 0, "{written} compacted as {read}");
        assert!(lookups.counters.negatives > 970, "{written} compacted as {read}: {lookups:?}");
    }
    Ok(())
}
