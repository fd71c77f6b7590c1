//! [`Database`]: a database that is filled and compacted.

use super::{FilterChoice, Location, row};
use anyhow::{Context, Result, ensure};
use slatedb::admin::Admin;
use slatedb::config::{CompactionWorkerOptions, CompactorOptions, FlushOptions, FlushType, Settings};
use slatedb::object_store::ObjectStore;
use slatedb::object_store::path::Path;
use slatedb::{CompactorBuilder, Db, FilterPolicy, VersionedManifest, WriteBatch};
use std::sync::Arc;
use std::time::Duration;

/// The greatest time of a compaction.
const PATIENCE: Duration = Duration::from_secs(600);

/// The interval at which background tasks look for work.
const POLL: Duration = Duration::from_millis(100);

/// A database's place and its filters.
#[derive(Clone)]
pub struct Database {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) path: Path,
    pub(super) filters: FilterChoice,
}

impl Database {
    /// A database at `location`, which need not exist.
    ///
    /// # Errors
    /// As [`Location::open`].
    pub fn at(location: &Location, filters: FilterChoice) -> Result<Self> {
        let (store, path) = location.open()?;
        Ok(Self { store, path, filters })
    }

    /// Returns the same database, read and written with other filters.
    #[must_use]
    pub fn with_filters(&self, filters: FilterChoice) -> Self {
        Self { filters, ..self.clone() }
    }

    /// The database's filters.
    pub fn filters(&self) -> &FilterChoice {
        &self.filters
    }

    /// Opens it for writing, with SlateDB's defaults: a compactor and a garbage collector in this process.
    ///
    /// # Errors
    /// SlateDB's.
    pub async fn open(&self) -> Result<Db> {
        self.open_with(Settings::default(), self.filters.policies()).await
    }

    /// Opens it for writing. A table ends where it is flushed, and nothing compacts it.
    ///
    /// # Errors
    /// SlateDB's.
    pub async fn open_uncompacted(&self) -> Result<Db> {
        self.open_uncompacted_with(self.filters.policies()).await
    }

    /// Opens the database like [`Database::open_uncompacted`], with other filters than its own.
    ///
    /// # Errors
    /// SlateDB's.
    pub async fn open_uncompacted_with(&self, policies: Vec<Arc<dyn FilterPolicy>>) -> Result<Db> {
        let settings = Settings {
            l0_sst_size_bytes: 1 << 30,
            max_unflushed_bytes: 2 << 30,
            l0_max_ssts: 64,
            l0_max_ssts_per_key: 64,
            compactor_options: None,
            garbage_collector_options: None,
            ..Settings::default()
        };
        self.open_with(settings, policies).await
    }

    async fn open_with(&self, settings: Settings, policies: Vec<Arc<dyn FilterPolicy>>) -> Result<Db> {
        let builder = Db::builder(self.path.clone(), self.store.clone()).with_settings(settings);
        Ok(builder.with_filter_policies(policies).build().await?)
    }

    /// Writes rows 0 to `num_rows` to `num_tables` tables of level 0, which all cover the whole range of keys.
    ///
    /// # Errors
    /// SlateDB's.
    pub async fn fill(&self, num_rows: u64, num_tables: u64) -> Result<()> {
        let db = self.open_uncompacted().await?;
        fill(&db, num_rows, num_tables).await?;
        Ok(db.close().await?)
    }

    /// Writes tables of level 0, of keys and their values.
    ///
    /// # Errors
    /// SlateDB's.
    pub async fn fill_tables<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        tables: impl Iterator<Item = impl Iterator<Item = (K, V)>>,
    ) -> Result<()> {
        let db = self.open_uncompacted().await?;
        write_tables(&db, tables).await?;
        Ok(db.close().await?)
    }

    /// The newest manifest.
    ///
    /// # Errors
    /// SlateDB's, and if there is no database.
    pub async fn manifest(&self) -> Result<VersionedManifest> {
        self.admin().read_manifest(None).await?.with_context(|| format!("no database at {}", self.path))
    }

    /// Runs a standalone compactor, as a process beside the writer would, until level 0 is empty: one compaction of all
    /// its tables. The new tables have at most `max_table_bytes` bytes.
    ///
    /// # Errors
    /// SlateDB's, if level 0 has a single table, and if the compaction does not end.
    pub async fn compact(&self, max_table_bytes: usize) -> Result<()> {
        let num_sources = self.manifest().await?.l0().len();
        ensure!(num_sources != 1, "a single table of level 0 is not compacted");
        let worker = CompactionWorkerOptions {
            max_sst_size: max_table_bytes,
            compactions_poll_interval: POLL,
            // Only the size divides tables.
            max_subcompactions: 1,
            ..CompactionWorkerOptions::default()
        };
        // A compaction needs at least two sources: a single sorted run would be rewritten until the compactor is
        // stopped.
        let sources = num_sources.max(2).to_string();
        let scheduler = [("min_compaction_sources", &sources), ("max_compaction_sources", &sources)];
        let options = CompactorOptions {
            poll_interval: POLL,
            commit_compacted_interval: POLL,
            scheduler_options: scheduler.map(|(key, value)| (key.to_owned(), value.clone())).into(),
            worker: Some(worker),
            ..CompactorOptions::default()
        };
        let compactor = CompactorBuilder::new(self.path.clone(), self.store.clone())
            .with_options(options)
            .with_filter_policies(self.filters.policies())
            .build();
        let running = tokio::spawn({
            let compactor = compactor.clone();
            async move { compactor.run().await }
        });
        let emptied = tokio::time::timeout(PATIENCE, async {
            while !self.manifest().await?.l0().is_empty() {
                ensure!(!running.is_finished(), "the compactor has ended before its work");
                tokio::time::sleep(POLL).await;
            }
            anyhow::Ok(())
        });
        let emptied = emptied.await.context("the compaction takes too long");
        compactor.stop().await?;
        running.await??;
        emptied?
    }

    fn admin(&self) -> Admin {
        Admin::builder(self.path.clone(), self.store.clone()).build()
    }
}

/// Writes what [`Database::fill`] writes to a database that is open.
///
/// # Errors
/// SlateDB's.
pub async fn fill(db: &Db, num_rows: u64, num_tables: u64) -> Result<()> {
    let rows = |table| (table..num_rows).step_by(num_tables as usize).map(row);
    write_tables(db, (0..num_tables).map(|table| rows(table).map(|row| (row.key, row.value)))).await
}

async fn write_tables<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    db: &Db,
    tables: impl Iterator<Item = impl Iterator<Item = (K, V)>>,
) -> Result<()> {
    const BATCH: usize = 1000;
    for table in tables {
        let mut rows = table.peekable();
        while rows.peek().is_some() {
            let mut batch = WriteBatch::new();
            rows.by_ref().take(BATCH).for_each(|(key, value)| batch.put(key, value));
            db.write(batch).await?;
        }
        flush(db).await?;
    }
    Ok(())
}

/// Ends a table of level 0.
///
/// # Errors
/// SlateDB's.
pub async fn flush(db: &Db) -> Result<()> {
    Ok(db.flush_with_options(FlushOptions { flush_type: FlushType::MemTable }).await?)
}
