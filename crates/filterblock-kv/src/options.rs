//! The configuration of a store.

use super::cache::FilterResidence;
use super::error::Error;
use super::manifest::{HasherId, NUM_LEVELS};
use super::purpose::Purpose;
use filterblock::range::RangePolicy;
use filterblock::{FilterPolicy, FilterSize, KeyHasher, KeyTransform, Workload};
use std::time::Duration;

/// The number of tables in level 0 from which writers are slowed down, as a multiple of the number at which compaction
/// begins.
pub(crate) const SLOW_LEVEL0_FACTOR: usize = 2;
/// The transform of a store that was given no prefixes.
pub(crate) const NO_PREFIXES: KeyTransform = KeyTransform::FixedPrefix { len: 0 };

/// When a write becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// A write is durable before it is acknowledged. Writes of several threads share a sync.
    Always,
    /// A write is durable about this long after it was acknowledged. A crash of the machine may lose the last writes,
    /// but no write without all later ones; a crash of the process alone loses nothing.
    Interval(Duration),
    /// A write is durable when the memtable is full, or on [`Store::sync`](super::Store::sync). Crashes lose what they
    /// lose with [`Durability::Interval`].
    Never,
}

/// Which thread flushes and compacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Maintenance {
    /// A thread of the store.
    Background,
    /// The writing thread, between its writes, at moments that `seed` decides, for tests: the same writes produce the
    /// same files.
    Inline {
        /// The seed that decides when due work is done.
        seed: u64,
    },
}

/// The configuration of a store. Filters apply to tables written from now on; older tables keep theirs. A value outside
/// of its range is refused when a store is opened ([`Error::OutOfRange`]).
#[must_use]
#[derive(Clone, Debug)]
pub struct StoreOptions {
    pub(crate) filters: FilterOptions,
    pub(crate) hasher: Option<KeyHasher>,
    pub(crate) change_hash_key: bool,
    pub(crate) max_memtable_bytes: usize,
    pub(crate) durability: Durability,
    pub(crate) maintenance: Maintenance,
    pub(crate) cache_bytes: u64,
    pub(crate) filter_residence: FilterResidence,
    pub(crate) max_level0_tables: usize,
    pub(crate) level_bytes_base: u64,
    pub(crate) level_ratio: u32,
    pub(crate) max_table_bytes: u64,
    pub(crate) read_only: bool,
    pub(crate) create: bool,
}

/// The filters that tables get.
#[derive(Clone, Debug)]
pub(crate) struct FilterOptions {
    /// The policies by purpose. The last one, of ranges, is refused.
    everywhere: [Option<FilterPolicy>; Purpose::LOOKUPS.len()],
    /// The policies by level and purpose, for levels with a filter of their own, or none; they override `everywhere`.
    by_level: [[Option<Option<FilterPolicy>>; Purpose::LOOKUPS.len()]; NUM_LEVELS],
    /// The policies of range filters by level.
    pub(crate) ranges: [Option<RangePolicy>; NUM_LEVELS],
    pub(crate) prefixes: KeyTransform,
    pub(crate) budget_bytes: Option<u64>,
    /// The limit of the memory for filters with columns.
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) partition_bytes: Option<u64>,
}

impl FilterOptions {
    /// The budget of the columns that memory holds, if tables hold some only.
    pub(crate) fn column_budget(&self, residence: FilterResidence) -> Option<u64> {
        self.memory_bytes.filter(|_| residence == FilterResidence::Pinned)
    }

    /// The configured policy, before the budget resizes it.
    pub(crate) fn policy(&self, level: usize, purpose: Purpose) -> Option<FilterPolicy> {
        let of_level = self.by_level[level][purpose.index()].as_ref();
        let policy = of_level.unwrap_or(&self.everywhere[purpose.index()]).clone();
        policy.map(|policy| policy.with_level(level as u8).with_transform(purpose.transform(self.prefixes)))
    }

    fn policies(&self) -> impl Iterator<Item = &FilterPolicy> {
        let by_level = self.by_level.iter().flatten().flatten();
        self.everywhere.iter().chain(by_level).flatten()
    }
}

/// Checks that a policy's hasher is the store's, or one that the store may replace: seeds are the store's to set.
pub(crate) fn check_hasher(policy: &FilterPolicy, store: &KeyHasher) -> Result<(), Error> {
    let key_ids = [policy.hasher(), store].map(|hasher| HasherId::of(hasher).key_id());
    let is_unset = *policy.hasher() == KeyHasher::default();
    if is_unset || key_ids[0] == key_ids[1] { Ok(()) } else { Err(Error::ConflictingHashKeys { key_ids }) }
}

impl StoreOptions {
    /// No filters.
    pub const fn without_filters() -> Self {
        Self {
            filters: FilterOptions {
                everywhere: [const { None }; Purpose::LOOKUPS.len()],
                by_level: [const { [const { None }; Purpose::LOOKUPS.len()] }; NUM_LEVELS],
                ranges: [None; NUM_LEVELS],
                prefixes: NO_PREFIXES,
                budget_bytes: None,
                memory_bytes: None,
                partition_bytes: None,
            },
            hasher: None,
            change_hash_key: false,
            max_memtable_bytes: 8 << 20,
            durability: Durability::Always,
            maintenance: Maintenance::Background,
            cache_bytes: 32 << 20,
            filter_residence: FilterResidence::Pinned,
            max_level0_tables: 4,
            level_bytes_base: 64 << 20,
            level_ratio: 10,
            max_table_bytes: 16 << 20,
            read_only: false,
            create: true,
        }
    }

    /// Writes a filter for `purpose` into every table, or none. The store sets the policy's seed and transform, and the
    /// level of an [automatic](FilterPolicy::auto) one, which chooses a kind for each table; under a budget, for all
    /// tables of a level together. A policy [hashed](FilterPolicy::with_hasher) under a secret key gives the store that
    /// key, as [`StoreOptions::with_hasher`] does. For [`Purpose::Prefix`], use [`StoreOptions::with_prefix_filter`].
    /// For [`Purpose::Range`] such a policy is refused: use [`StoreOptions::with_range_filter`].
    pub fn with_filter(mut self, purpose: Purpose, policy: impl Into<Option<FilterPolicy>>) -> Self {
        self.filters.everywhere[purpose.index()] = policy.into();
        self
    }

    /// Writes a filter for `purpose` into every table of one level, 0 to 6, or none. This overrides
    /// [`StoreOptions::with_filter`], in any order of calls.
    ///
    /// Flushes write to level 0, whose tables are short-lived and are all probed by a lookup: a kind that is fast to
    /// build and to probe suits them. The deepest level holds nearly all keys: there the smallest kind pays. An
    /// automatic policy, such as the default one, chooses by these rules itself.
    ///
    /// # Errors
    /// [`Error::NoSuchLevel`] for a deeper level.
    pub fn with_level_filter(
        mut self,
        level: usize,
        purpose: Purpose,
        policy: impl Into<Option<FilterPolicy>>,
    ) -> Result<Self, Error> {
        let of_level = self.filters.by_level.get_mut(level).ok_or(Error::NoSuchLevel { level, max: NUM_LEVELS - 1 })?;
        of_level[purpose.index()] = Some(policy.into());
        Ok(self)
    }

    /// Writes a filter of the rows' first `len` bytes, at least 1, into every table. Scans whose rows must all start
    /// with the same `len` bytes probe it. Shorter rows are not entries, and it is never probed for them.
    pub fn with_prefix_filter(self, len: u16, policy: impl Into<Option<FilterPolicy>>) -> Self {
        self.with_prefixes(KeyTransform::FixedPrefix { len }, policy)
    }

    /// Writes a filter of the rows' prefixes, of one length or up to delimiters, into every table. A scan whose rows must
    /// all have one of them probes it for the longest: under `delimited:/`, a scan of a directory for the directory.
    ///
    /// ```
    /// use filterblock_engine::ledger::Outcome;
    /// use filterblock_kv::{Purpose, Store, StoreOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let policy: filterblock::FilterPolicy = "ribbon:16".parse()?;
    /// let options = StoreOptions::without_filters().with_prefixes("delimited:/".parse()?, policy);
    /// let store = Store::open_dir(dir.path(), options)?;
    /// (0..100).try_for_each(|page| store.put(format!("com.example/{page}/title").as_bytes(), b"", b"Example"))?;
    /// store.flush()?;
    /// for (prefix, num_rows) in [("com.example/7/", 1), ("com.example/77", 1), ("com.example/7x/", 0)] {
    ///     assert_eq!(store.scan_prefix(prefix.as_bytes()).count(), num_rows);
    /// }
    /// assert_eq!(store.ledger().of(Purpose::Prefix).count(Outcome::Avoided), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_prefixes(mut self, prefixes: KeyTransform, policy: impl Into<Option<FilterPolicy>>) -> Self {
        self.filters.prefixes = prefixes;
        self.with_filter(Purpose::Prefix, policy)
    }

    /// Writes a [range filter](filterblock::range) of the rows into every table, or none. Every scan queries it, and
    /// skips tables that have nothing between the scan's bounds, not even a tombstone. None unless set.
    ///
    /// ```
    /// use filterblock::range::RangePolicy;
    /// use filterblock_engine::ledger::Outcome;
    /// use filterblock_kv::{Purpose, Store, StoreOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let policy = RangePolicy::with_bits_per_key(14.0)?;
    /// let store = Store::open_dir(dir.path(), StoreOptions::default().with_range_filter(policy))?;
    /// (0..1000).try_for_each(|hour| store.put(format!("sensor/{:04}", 7 * hour).as_bytes(), b"", b"21 degrees"))?;
    /// store.flush()?;
    /// assert_eq!(store.scan(&b"sensor/0701"[..]..&b"sensor/0706"[..]).count(), 0);
    /// assert_eq!(store.ledger().of(Purpose::Range).count(Outcome::Avoided), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_range_filter(mut self, policy: impl Into<Option<RangePolicy>>) -> Self {
        self.filters.ranges = [policy.into(); NUM_LEVELS];
        self
    }

    /// Writes a range filter into every table of one level, 0 to 6, or none, in place of that of an earlier
    /// [`StoreOptions::with_range_filter`].
    ///
    /// # Errors
    /// [`Error::NoSuchLevel`] for a deeper level.
    pub fn with_level_range_filter(
        mut self,
        level: usize,
        policy: impl Into<Option<RangePolicy>>,
    ) -> Result<Self, Error> {
        let of_level = self.filters.ranges.get_mut(level).ok_or(Error::NoSuchLevel { level, max: NUM_LEVELS - 1 })?;
        *of_level = policy.into();
        Ok(self)
    }

    /// All filters of the store together take at most `bytes` bytes. Range filters count first, at their own size. The
    /// store then chooses the bits per key of the policies so that the sum of the false-positive rates that a lookup meets
    /// is least: levels with few keys get more bits per key. Solved for every table written, from the true numbers of
    /// entries. Kinds are those of the policies, all other settings the usual ones. Blocks count with their headers, and
    /// the indexes of partitioned filters; the padding to pages of 4 KiB in a file does not count.
    pub const fn with_filter_budget_bytes(mut self, bytes: u64) -> Self {
        self.filters.budget_bytes = Some(bytes);
        self
    }

    /// The filters that stay in memory take at most `bytes` bytes together. Filters with
    /// [columns](filterblock::FilterBlock::thin) hold only the first of them. Their number is chosen for each table
    /// such that the lookups counted so far would have caused the fewest wasted reads. Tables store all columns, so the
    /// choice follows the lookups without a rebuilt filter. It is solved again when tables have come or gone and after
    /// some ten thousands of lookups, as a job of maintenance; in a store that is open read-only, once, from the
    /// tables' sizes.
    ///
    /// A filter without a column in memory is not probed: lookups that reach its table read from it. That applies to
    /// all filters if `bytes` is less than the fewest columns take, headers included. Answers do not change.
    ///
    /// If a [partitioned](StoreOptions::with_partition_bytes) filter has columns, memory holds the same number of them for
    /// every partition, and no lookup loads one. Filters of other kinds and the indexes of partitioned filters have no
    /// columns; they count first, at their full size, and no column is held if they take more than `bytes`. Partitions
    /// of other kinds still come through the cache, whose memory [`StoreOptions::with_cache_bytes`] limits, and do not
    /// count. With [`FilterResidence::Cached`] this has no effect.
    pub const fn with_filter_memory_bytes(mut self, bytes: u64) -> Self {
        self.filters.memory_bytes = Some(bytes);
        self
    }

    /// Writes filters of more than `bytes` bytes, 256 to 2³⁰, as [partitions](filterblock::partition) of about that
    /// size; those of less than 4 KiB share pages of the file, and a lookup reads whole pages. Only their indexes stay
    /// in memory: a lookup loads the partition that it needs through the cache, under every
    /// [residence](StoreOptions::with_filter_residence) of filters, and a scan at most two of a range filter. Filters of a
    /// policy with a byte cap remain one block. Off unless set.
    pub const fn with_partition_bytes(mut self, bytes: u64) -> Self {
        self.filters.partition_bytes = Some(bytes);
        self
    }

    /// The seed of the hash for filters of a new store; an existing store keeps its own until its filters are rebuilt
    /// with another. Random unless set, as it should be wherever others choose the keys.
    pub const fn with_seed(self, seed: u64) -> Self {
        self.with_hasher(KeyHasher::new(seed))
    }

    /// The hasher of all filters but those of ranges, which hash no keys. With a [secret key](KeyHasher::keyed), a new
    /// store records the key's id, and from then on opens with this key only; with a seed as
    /// [`StoreOptions::with_seed`].
    ///
    /// ```
    /// use filterblock::KeyHasher;
    /// use filterblock_kv::{Error, Store, StoreOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let key = KeyHasher::keyed(*b"drawn at random!");
    /// Store::open_dir(dir.path(), StoreOptions::default().with_hasher(key.clone()))?.close()?;
    /// let refused = Store::open_dir(dir.path(), StoreOptions::default()).unwrap_err();
    /// assert!(matches!(refused, Error::HashKey { stored: Some(id), given: None } if id == key.seed()));
    /// # Ok(())
    /// # }
    /// ```
    pub const fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// Sets whether a store is opened although the secret key is another one than its own, is missing, or is given to a
    /// store that has none. Filters are then written with the given hasher, or with a random seed; those under the old
    /// key are ignored, with a warning each, until they are [rebuilt](super::Store::rebuild_filters). No data depends
    /// on a key, so that a lost one costs the filters only. Read-only, the store is left unchanged. False unless set.
    pub const fn with_key_change(mut self, change: bool) -> Self {
        self.change_hash_key = change;
        self
    }

    /// Checks that every value is within its range.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        let interval_ms = match self.durability {
            Durability::Interval(interval) => u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
            Durability::Always | Durability::Never => 0,
        };
        let has = |purpose: Purpose| {
            let mut of_levels = self.filters.by_level.iter().map(|level| &level[purpose.index()]);
            self.filters.everywhere[purpose.index()].is_some() || of_levels.any(|set| matches!(set, Some(Some(_))))
        };
        let prefixes_min = u64::from(has(Purpose::Prefix));
        let (len, levels) = match self.filters.prefixes {
            KeyTransform::FixedPrefix { len } => (len, prefixes_min),
            KeyTransform::DelimitedPrefix { levels, .. } => (1, levels.into()),
            _ => (0, prefixes_min),
        };
        let ranges = [
            ("max_memtable_bytes", self.max_memtable_bytes as u64, 1, u64::MAX),
            ("max_table_bytes", self.max_table_bytes, 1, u64::MAX),
            ("max_level0_tables", self.max_level0_tables as u64, 1, 1_000_000),
            ("level_bytes' base", self.level_bytes_base, 1, u64::MAX),
            ("level_bytes' ratio", self.level_ratio.into(), 2, u32::MAX.into()),
            ("cache_bytes", self.cache_bytes, 0, 1 << 44),
            ("partition_bytes", self.filters.partition_bytes.unwrap_or(256), 256, 1 << 30),
            ("prefix_filter's length", len.into(), prefixes_min, u16::MAX.into()),
            ("prefix_filter's levels", levels, prefixes_min, u8::MAX.into()),
            ("filter policies for ranges", has(Purpose::Range).into(), 0, 0),
            ("durability's interval in milliseconds", interval_ms, 0, 24 * 60 * 60 * 1000),
        ];
        match ranges.into_iter().find(|&(_, given, min, max)| !(min..=max).contains(&given)) {
            Some((option, given, min, max)) => Err(Error::OutOfRange { option, given, min, max }),
            None => Ok(()),
        }
    }

    /// The hasher that was given, by a policy or for all. A policy's seed gives none.
    ///
    /// # Errors
    /// [`Error::ConflictingHashKeys`].
    pub(crate) fn given_hasher(&self) -> Result<Option<KeyHasher>, Error> {
        let is_keyed = |hasher: &&KeyHasher| HasherId::of(hasher).key_id().is_some();
        let mut of_policies = self.filters.policies().map(FilterPolicy::hasher);
        let given = self.hasher.as_ref().or_else(|| of_policies.find(is_keyed));
        if let Some(hasher) = given {
            self.filters.policies().try_for_each(|policy| check_hasher(policy, hasher))?;
        }
        Ok(given.cloned())
    }

    /// The memtable is flushed when it takes about this many bytes of memory, at least 1. 8 MiB unless set. Up to two
    /// more memtables may be waiting to be flushed.
    pub const fn with_max_memtable_bytes(mut self, bytes: usize) -> Self {
        self.max_memtable_bytes = bytes;
        self
    }

    /// Sets when a write becomes durable, [`Durability::Always`] unless set. An interval is at most a day.
    pub const fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets which thread flushes and compacts, [`Maintenance::Background`] unless set.
    pub const fn with_maintenance(mut self, maintenance: Maintenance) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// Caches data blocks and filters in at most `bytes` bytes of memory, up to 2⁴⁴ (16 TiB). 32 MiB unless set; 0
    /// caches no data block.
    pub const fn with_cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Sets the place of filters, [`FilterResidence::Pinned`] unless set.
    pub const fn with_filter_residence(mut self, residence: FilterResidence) -> Self {
        self.filter_residence = residence;
        self
    }

    /// Level 0 is compacted when it has `tables` tables, 1 to 1 000 000. 4 unless set. Writes slow down at twice as
    /// many, and wait at six times as many.
    pub const fn with_max_level0_tables(mut self, tables: usize) -> Self {
        self.max_level0_tables = tables;
        self
    }

    /// Level 1 is compacted when its tables have `base` bytes, at least 1, each deeper level at `ratio` times, at least
    /// 2, the size of the level above. 64 MiB and 10 unless set.
    pub const fn with_level_bytes(mut self, base: u64, ratio: u32) -> Self {
        self.level_bytes_base = base;
        self.level_ratio = ratio;
        self
    }

    /// Compaction begins a new table when one has about `bytes` bytes, at least 1. 16 MiB unless set.
    pub const fn with_max_table_bytes(mut self, bytes: u64) -> Self {
        self.max_table_bytes = bytes;
        self
    }

    /// Opens the store without changing anything in its directory, as its manifest describes it then. Any number of
    /// readers may do so at once, also while another process, or this one, writes: they see what was written before,
    /// and nothing of what is written later. A writer removes tables that it has merged into others: a lookup that
    /// needs such a table fails if its file is not open any more ([`FileStorage`](super::FileStorage) holds a limited
    /// number of descriptors), and the store is to be opened again.
    pub const fn with_read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets whether a store is created where there is none. True unless set.
    pub const fn with_create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }
}

impl Default for StoreOptions {
    /// Filters of 10 bits per key for rows and for cells, of the kind that costs least at the table's level
    /// ([`Workload::with_level`]).
    fn default() -> Self {
        let policy = FilterPolicy::auto(FilterSize::MillibitsPerKey(10_000), Workload::default()).ok();
        Self::without_filters().with_filter(Purpose::Row, policy.clone()).with_filter(Purpose::RowColumn, policy)
    }
}
