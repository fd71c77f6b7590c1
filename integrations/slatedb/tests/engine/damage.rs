//! A damaged filter never changes an answer.

use super::{database, looked_up, policies};
use anyhow::Result;
use filterblock_slatedb::measure::{Caching, Database, FilterChoice, Reader, absent_key, fill, row};
use slatedb::{Filter, FilterBuilder, FilterPolicy, RowEntry};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: u64 = 4_000;
const TABLES: u64 = 4;

/// What becomes of a filter's bytes between its building and SlateDB's checksum.
type Damage = fn(&mut Vec<u8>, usize);

const DAMAGES: [(&str, Damage); 5] = [
    ("a bit of the header", |bytes, i| bytes[i % 64] ^= 1 << (i % 8)),
    ("a bit of the payload", |bytes, i| {
        let len = bytes.len();
        bytes[64 + i * 97 % (len - 64)] ^= 1 << (i % 8);
    }),
    ("cut", |bytes, i| bytes.truncate(bytes.len() * (i + 1) / 5)),
    ("zeros", |bytes, _| bytes.fill(0)),
    ("nothing left", |bytes, _| bytes.clear()),
];

/// Stores the filters of a policy damaged, with SlateDB's checksum over the damaged bytes.
struct DamagingPolicy {
    policy: Arc<dyn FilterPolicy>,
    damage: Damage,
    num_built: Arc<AtomicUsize>,
}

impl FilterPolicy for DamagingPolicy {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn builder(&self) -> Box<dyn FilterBuilder> {
        let (policy, num_built) = (self.policy.clone(), self.num_built.clone());
        Box::new(DamagingBuilder { builder: policy.builder(), policy, damage: self.damage, num_built })
    }

    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        self.policy.decode(data)
    }

    fn estimate_size(&self, num_keys: usize) -> usize {
        self.policy.estimate_size(num_keys)
    }
}

struct DamagingBuilder {
    builder: Box<dyn FilterBuilder>,
    policy: Arc<dyn FilterPolicy>,
    damage: Damage,
    num_built: Arc<AtomicUsize>,
}

impl FilterBuilder for DamagingBuilder {
    fn add_entry(&mut self, entry: &RowEntry) {
        self.builder.add_entry(entry);
    }

    /// The filter of damaged bytes, which are stored as they are.
    fn build(&mut self) -> Arc<dyn Filter> {
        let mut stored = Vec::new();
        self.builder.build().encode(&mut stored);
        (self.damage)(&mut stored, self.num_built.fetch_add(1, Ordering::Relaxed));
        self.policy.decode(&stored)
    }
}

/// The database's policies with counts of their own, which store damaged filters.
fn damaging(database: &Database, damage: Damage) -> Result<Vec<Arc<dyn FilterPolicy>>> {
    let damaging =
        |policy| Arc::new(DamagingPolicy { policy, damage, num_built: Arc::default() }) as Arc<dyn FilterPolicy>;
    let own: FilterChoice = database.filters().to_string().parse()?;
    Ok(own.policies().into_iter().map(damaging).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_damaged_before_slatedbs_checksum_change_no_answer() -> Result<()> {
    for filters in policies() {
        for (what, damage) in DAMAGES {
            let (_scratch, database) = database(&filters)?;
            let db = database.open_uncompacted_with(damaging(&database, damage)?).await?;
            fill(&db, ROWS, TABLES).await?;
            db.close().await?;

            let lookups = looked_up(&database, ROWS, 1000).await?;
            assert_eq!((lookups.num_found, lookups.counters.negatives), (0, 0), "{filters}, {what}");
            let policy = database.filters().blocks().expect("filter blocks");
            let outcomes = policy.outcomes();
            assert_eq!((outcomes.opened, outcomes.ignored()), (0, TABLES), "{filters}, {what}: {outcomes:?}");
            assert!(policy.first_failure().is_some(), "{filters}, {what}");

            // A compaction reads no filters, and writes sound ones.
            database.compact(64 << 20).await?;
            let lookups = looked_up(&database, ROWS, 1000).await?;
            assert!(lookups.counters.negatives > 970, "{filters}, {what}: {lookups:?}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_range_filters_change_no_scan() -> Result<()> {
    let only = |key: [u8; 16]| key.to_vec()..[&key[..], &[0]].concat();
    let (rows, absent): (Vec<_>, Vec<_>) = (0..ROWS).map(|i| (only(row(i).key), only(absent_key(i)))).unzip();
    for (what, damage) in DAMAGES {
        let (_scratch, database) = database("blocked:10+range:14")?;
        let db = database.open_uncompacted_with(damaging(&database, damage)?).await?;
        fill(&db, ROWS, TABLES).await?;
        db.close().await?;
        let outcomes = || database.filters().ranges().expect("range filters").outcomes();

        let reader = Reader::open(&database, Caching::Metadata).await?;
        let (found, none) = (reader.scan(&rows).await?, reader.scan(&absent).await?);
        reader.close().await?;
        assert_eq!((found.num_found, found.counters.range_negatives), (ROWS, 0), "{what}");
        assert_eq!((none.num_found, none.counters.range_negatives), (0, 0), "{what}");
        assert_eq!((outcomes().opened, outcomes().ignored()), (0, TABLES), "{what}");

        // A compaction asks the filters for everything, and writes sound ones.
        database.compact(64 << 20).await?;
        assert_eq!((outcomes().opened, outcomes().ignored()), (0, 2 * TABLES), "{what}");
        let reader = Reader::open(&database, Caching::Metadata).await?;
        let (found, none) = (reader.scan(&rows).await?, reader.scan(&absent).await?);
        reader.close().await?;
        assert_eq!((found.num_found, found.counters.range_negatives), (ROWS, 0), "{what}");
        assert!(none.num_found == 0 && none.counters.range_negatives > ROWS / 2, "{what}: {none:?}");
        assert_eq!((outcomes().opened, outcomes().ignored()), (1, 2 * TABLES), "{what}");
    }
    Ok(())
}

/// SlateDB's own checksum of the filter fails: it reports an error for the lookup, and never a wrong answer.
#[tokio::test(flavor = "multi_thread")]
async fn bits_flipped_in_stored_objects_change_no_answer() -> Result<()> {
    const FLIPS: u64 = 16;
    for filters in policies() {
        let (scratch, database) = database(&filters)?;
        database.fill(ROWS, 1).await?;
        let manifest = database.manifest().await?;
        let table = manifest.all_sst_views().next().expect("one table");
        let path = object(scratch.path(), &format!("{}.sst", table.sst.id.value()))?;
        let sound = std::fs::read(&path)?;
        let (offset, len) = (table.sst.info.filter_offset, table.sst.info.filter_len);
        let mut refused = 0;
        for flip in 0..FLIPS {
            let mut damaged = sound.clone();
            damaged[(offset + flip * (len - 1) / (FLIPS - 1)) as usize] ^= 1 << (flip % 8);
            std::fs::write(&path, damaged)?;
            refused += refused_lookups(&database).await?;
        }
        assert_eq!(refused, FLIPS * 200, "{filters}");
        std::fs::write(&path, sound)?;
        assert_eq!(refused_lookups(&database).await?, 0, "{filters}");
    }
    Ok(())
}

/// 100 present and as many absent keys: each answer is right, or an error. The number of errors.
async fn refused_lookups(database: &Database) -> Result<u64> {
    let reader = Reader::open(database, Caching::Everything).await?;
    let mut refused = 0;
    for i in 0..100 {
        match reader.db().get(row(i).key).await {
            Ok(found) => assert_eq!(found.map(Vec::from), Some(row(i).value.to_vec())),
            Err(_) => refused += 1,
        }
        match reader.db().get(absent_key(i)).await {
            Ok(found) => assert_eq!(found, None),
            Err(_) => refused += 1,
        }
    }
    reader.close().await?;
    Ok(refused)
}

/// The file of an object beneath `dir`.
fn object(dir: &Path, name: &str) -> Result<PathBuf> {
    Ok(dir.join("db").join("compacted").join(name))
}
