//! [`Reader`]: a database opened for reading, with everything counted.

use super::{Counters, CountingStore, Database, Parts, absent_key, row};
use anyhow::{Result, bail, ensure};
use slatedb::config::DbReaderOptions;
use slatedb::db_cache::SplitCache;
use slatedb::db_cache::foyer::{FoyerCache, FoyerCacheOptions};
use slatedb::{DbReader, DbReaderMode, VersionedManifest};
use slatedb_common::metrics::DefaultMetricsRecorder;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// The parts of tables that a reader keeps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Caching {
    /// Nothing: each lookup fetches the filters that it needs.
    Nothing,
    /// Filters and indexes, as where the data is many times the memory.
    Metadata,
    /// Data blocks, too.
    Everything,
}

/// Lookups, and what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookups {
    /// Keys looked up, or ranges scanned.
    pub num_keys: u64,
    /// Tables that each was looked for in, at most.
    pub num_tables: u64,
    /// Rows found.
    pub num_found: u64,
    /// Requests for tables that reached the object store.
    pub parts: Parts,
    /// SlateDB's own counts.
    pub counters: Counters,
}

/// A database opened for reading.
pub struct Reader {
    db: Arc<DbReader>,
    store: CountingStore,
    recorder: Arc<DefaultMetricsRecorder>,
    manifest: VersionedManifest,
}

/// Rows that are looked up at a time, where several are.
const TASKS: u64 = 8;

/// The capacity of a cache in bytes: more than the measured databases have.
const CACHE_BYTES: u64 = 1 << 30;

fn cache() -> Option<Arc<dyn slatedb::db_cache::DbCache>> {
    Some(Arc::new(FoyerCache::new_with_opts(FoyerCacheOptions { max_capacity: CACHE_BYTES, shards: 1 })))
}

impl Reader {
    /// Opens `database` as it is; what is written later is not seen.
    ///
    /// # Errors
    /// SlateDB's.
    pub async fn open(database: &Database, caching: Caching) -> Result<Self> {
        let store = CountingStore::new(database.store.clone());
        let recorder = Arc::new(DefaultMetricsRecorder::new());
        // Requests in the background would count as requests of lookups.
        let options = DbReaderOptions {
            skip_wal_replay: true,
            manifest_poll_interval: Duration::from_secs(1 << 20),
            checkpoint_lifetime: Duration::from_secs(1 << 22),
            ..DbReaderOptions::default()
        };
        let builder = DbReader::builder(database.path.clone(), Arc::new(store.clone()))
            .with_reader_mode(DbReaderMode::FollowLatest)
            .with_options(options)
            .with_metrics_recorder(recorder.clone())
            .with_filter_policies(database.filters.policies());
        let builder = match caching {
            Caching::Nothing => builder.with_db_cache_disabled(),
            Caching::Metadata => builder.with_db_cache(Arc::new(SplitCache::new().with_meta_cache(cache())), 0),
            Caching::Everything => {
                let caches = SplitCache::new().with_meta_cache(cache()).with_block_cache(cache());
                builder.with_db_cache(Arc::new(caches), 0)
            }
        };
        let db = Arc::new(builder.build().await?);
        let manifest = db.manifest();
        Ok(Self { db, store, recorder, manifest })
    }

    /// SlateDB's reader.
    pub fn db(&self) -> &DbReader {
        &self.db
    }

    /// The tables that it reads.
    pub fn manifest(&self) -> &VersionedManifest {
        &self.manifest
    }

    /// Bytes of all tables' filters, as they are stored.
    pub fn filter_bytes(&self) -> u64 {
        self.manifest.all_sst_views().map(|view| view.sst.info.filter_len).sum()
    }

    /// SlateDB's own counts until now.
    pub fn counters(&self) -> Counters {
        Counters::of(&self.recorder)
    }

    /// Looks up the absent keys of these numbers.
    ///
    /// # Errors
    /// SlateDB's.
    pub async fn look_up_absent(&self, numbers: Range<u64>) -> Result<Lookups> {
        let keys = numbers.end - numbers.start;
        self.count(keys, numbers, async |i| Ok(u64::from(self.db.get(absent_key(i)).await?.is_some()))).await
    }

    /// Scans ranges, each to its end.
    ///
    /// # Errors
    /// SlateDB's.
    pub async fn scan(&self, ranges: &[Range<Vec<u8>>]) -> Result<Lookups> {
        let scan = async |range: &Range<Vec<u8>>| {
            let (mut rows, mut num_found) = (self.db.scan(range.clone()).await?, 0);
            while rows.next().await?.is_some() {
                num_found += 1;
            }
            Ok(num_found)
        };
        self.count(ranges.len() as u64, ranges, scan).await
    }

    /// Asks for each, and sums up the numbers of rows found.
    async fn count<T>(
        &self,
        num_keys: u64,
        asked: impl IntoIterator<Item = T>,
        ask: impl AsyncFn(T) -> Result<u64>,
    ) -> Result<Lookups> {
        let before = self.counters();
        self.store.take(&self.manifest);
        let mut num_found = 0;
        for one in asked {
            num_found += ask(one).await?;
        }
        Ok(Lookups {
            num_keys,
            num_tables: (self.manifest.l0().len() + self.manifest.compacted().len()) as u64,
            num_found,
            parts: self.store.take(&self.manifest),
            counters: self.counters().since(&before),
        })
    }

    /// Looks up the rows of these numbers, one after the other. Each must be there.
    ///
    /// # Errors
    /// SlateDB's, and at a row that is missed or has another value.
    pub async fn verify(&self, numbers: Range<u64>) -> Result<()> {
        verify(&self.db, numbers).await
    }

    /// Verifies like [`Reader::verify`], several rows at a time.
    ///
    /// # Errors
    /// As [`Reader::verify`].
    pub async fn verify_in_parallel(&self, numbers: Range<u64>) -> Result<()> {
        let mut tasks = JoinSet::new();
        for first in numbers.start..numbers.end.min(numbers.start + TASKS) {
            let (db, numbers) = (self.db.clone(), (first..numbers.end).step_by(TASKS as usize));
            tasks.spawn(async move { verify(&db, numbers).await });
        }
        while let Some(verified) = tasks.join_next().await {
            verified??;
        }
        Ok(())
    }

    /// Closes the database.
    ///
    /// # Errors
    /// SlateDB's.
    pub async fn close(self) -> Result<()> {
        Ok(self.db.close().await?)
    }
}

async fn verify(db: &DbReader, numbers: impl Iterator<Item = u64>) -> Result<()> {
    for i in numbers {
        let row = row(i);
        match db.get(row.key).await? {
            Some(value) => ensure!(value == row.value[..], "row {i} has another value"),
            None => bail!("row {i} is missed"),
        }
    }
    Ok(())
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({:?})", self.store)
    }
}
