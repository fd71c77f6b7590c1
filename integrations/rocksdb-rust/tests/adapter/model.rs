//! A database and a map are given the same random calls, and must give the same answers.

use crate::{Random, compact};
use filterblock_rocksdb::{Error, Filters, RangeFilters, set_filter_policy, set_range_filters};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::statistics::Ticker;
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, DB, DBCompactionStyle, Direction, IteratorMode, Options,
    ReadOptions, SliceTransform, SstFileWriter,
};
use std::collections::BTreeMap;
use tempfile::TempDir;

const NUM_STEPS: u64 = 60;
const NUM_KEYS: u64 = 4_000;
const PREFIX_LEN: usize = 5;

/// How users set the tables of a database.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tables {
    Full,
    /// Partitioned indexes and filters, in a small cache.
    Partitioned,
    Prefixes,
    /// Prefixes without whole keys.
    PrefixesOnly,
    /// Partitioned, with prefixes.
    PartitionedPrefixes,
    Universal,
}

impl Tables {
    fn options(self, cache: &Cache) -> Options {
        let mut options = crate::fresh();
        let mut table = BlockBasedOptions::default();
        table.set_block_size(512);
        table.set_format_version(5);
        if matches!(self, Self::Partitioned | Self::PartitionedPrefixes) {
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
            table.set_metadata_block_size(256);
            table.set_cache_index_and_filter_blocks(true);
            table.set_block_cache(cache);
        }
        if matches!(self, Self::Prefixes | Self::PrefixesOnly | Self::PartitionedPrefixes) {
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(PREFIX_LEN));
            options.set_memtable_prefix_bloom_ratio(0.1);
        }
        table.set_whole_key_filtering(self != Self::PrefixesOnly);
        if self == Self::Universal {
            options.set_compaction_style(DBCompactionStyle::Universal);
        }
        options.set_write_buffer_size(64 << 10);
        options.set_target_file_size_base(32 << 10);
        options.set_max_bytes_for_level_base(128 << 10);
        options.set_block_based_table_factory(&table);
        options
    }
}

struct Run {
    random: Random,
    options: Options,
    filters: Filters,
    ranges: RangeFilters,
    directory: TempDir,
    db: Option<DB>,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
    num_files: u64,
}

impl Run {
    fn new(policies: &str, tables: Tables, seed: u64) -> Self {
        let mut options = tables.options(&Cache::new_lru_cache(64 << 10));
        let filters = set_filter_policy(&mut options, &policies.parse().unwrap()).unwrap();
        let ranges = set_range_filters(&mut options, &"range:14".parse().unwrap()).unwrap();
        filters.check(&options).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let db = Some(DB::open(&options, directory.path().join("db")).unwrap());
        Self { random: Random(seed), options, filters, ranges, directory, db, model: BTreeMap::new(), num_files: 0 }
    }

    fn db(&self) -> &DB {
        self.db.as_ref().unwrap()
    }

    /// Keys of three lengths, some shorter than the prefix; only even ones are ever stored.
    fn key(&mut self, stored: bool) -> Vec<u8> {
        let number = self.random.below(NUM_KEYS) * 2 + u64::from(!stored);
        match number % 5 {
            0 => format!("{:02}", number % 100 / 2 * 2 + u64::from(!stored)).into_bytes(),
            1 => format!("{number:05}").into_bytes(),
            _ => format!("{number:05}{}", "tail".repeat((number % 3) as usize)).into_bytes(),
        }
    }

    fn write(&mut self) {
        for _ in 0..self.random.below(400) {
            let key = self.key(true);
            if self.random.below(4) == 0 {
                self.db().delete(&key).unwrap();
                self.model.remove(&key);
            } else {
                let value = self.random.number().to_le_bytes().to_vec();
                self.db().put(&key, &value).unwrap();
                self.model.insert(key, value);
            }
        }
    }

    fn ingest(&mut self) {
        let num_rows = 1 + self.random.below(200);
        let rows: BTreeMap<_, _> = (0..num_rows).map(|_| (self.key(true), b"ingested".to_vec())).collect();
        self.num_files += 1;
        let path = self.directory.path().join(format!("{}.sst", self.num_files));
        let mut writer = SstFileWriter::create(&self.options);
        writer.open(&path).unwrap();
        for (key, value) in &rows {
            writer.put(key, value).unwrap();
        }
        writer.finish().unwrap();
        self.db().ingest_external_file(vec![path]).unwrap();
        self.model.extend(rows);
    }

    fn reopen(&mut self) {
        self.db = None;
        self.db = Some(DB::open(&self.options, self.directory.path().join("db")).unwrap());
    }

    fn step(&mut self) {
        self.write();
        match self.random.below(7) {
            0 | 1 => self.db().flush().unwrap(),
            2 => compact(self.db()),
            3 => self.reopen(),
            4 => self.ingest(),
            5 => self.checkpoint(),
            _ => {}
        }
        let keys: Vec<Vec<u8>> = (0..200).map(|i| self.key(i % 2 == 0)).collect();
        self.get(self.db(), &keys);
        for _ in 0..10 {
            let (from, to) = (self.key(false), self.key(false));
            self.scan(&from, &to);
            // Nothing is between an odd number and the next one.
            self.scan(&from, &[&from[..], b"~"].concat());
        }
    }

    fn get(&self, db: &DB, keys: &[Vec<u8>]) {
        for (key, found) in keys.iter().zip(db.multi_get(keys)) {
            assert_eq!(found.unwrap().as_ref(), self.model.get(key), "{key:?}");
            assert_eq!(db.get(key).unwrap().as_ref(), self.model.get(key), "{key:?}");
        }
    }

    fn scan(&self, from: &[u8], to: &[u8]) {
        let rows = |direction| -> Result<Vec<_>, Error> { self.ranges.scan(self.db(), from..to, direction).collect() };
        let (ascending, mut descending) = (rows(Direction::Forward).unwrap(), rows(Direction::Reverse).unwrap());
        descending.reverse();
        assert_eq!(ascending, descending);
        let expected = self.model.iter().filter(|(key, _)| from <= &key[..] && &key[..] < to);
        let rows = ascending.iter().map(|(key, value)| (&key[..], &value[..]));
        assert!(rows.eq(expected.map(|(key, value)| (&key[..], &value[..]))), "{from:?} to {to:?}");
    }

    /// Everything, by RocksDB's own iterators as by scans.
    fn compare_all(&self, db: &DB) {
        let mut read = ReadOptions::default();
        read.set_total_order_seek(true);
        let rows = db.iterator_opt(IteratorMode::Start, read).map(|row| row.unwrap());
        assert!(rows.map(|(key, value)| (key.to_vec(), value.to_vec())).eq(self.model.clone()));
        let scanned: Result<Vec<_>, Error> = self.ranges.scan(db, .., Direction::Forward).collect();
        assert!(scanned.unwrap().into_iter().map(|(key, value)| (key.to_vec(), value.to_vec())).eq(self.model.clone()));
        self.get(db, &self.model.keys().cloned().collect::<Vec<_>>());
    }

    fn checkpoint(&mut self) {
        self.num_files += 1;
        let path = self.directory.path().join(format!("checkpoint{}", self.num_files));
        Checkpoint::new(self.db()).unwrap().create_checkpoint(&path).unwrap();
        let copy = DB::open(&self.options, &path).unwrap();
        assert!(self.filters.in_use(&copy).findings.is_empty());
        self.compare_all(&copy);
    }

    fn run(mut self) {
        for _ in 0..NUM_STEPS {
            self.step();
        }
        compact(self.db());
        self.reopen();
        self.compare_all(self.db());
        // Keys below the last one, of which none is stored.
        let absent: Vec<Vec<u8>> = (0..2_000).map(|_| self.key(false)).collect();
        self.get(self.db(), &absent);

        let in_use = self.filters.in_use(self.db());
        assert_eq!(in_use.findings, []);
        assert!(in_use.tables.is_some_and(|(tables, without)| tables > 0 && without == 0), "{in_use:?}");
        let counts = self.filters.counts();
        assert!(counts.built > 0);
        assert_eq!([counts.unfinished, counts.damaged, counts.newer, counts.mismatch, counts.not_built], [0; 5]);
        let [useful, prefix_useful] = [Ticker::BloomFilterUseful, Ticker::BloomFilterPrefixUseful]
            .map(|ticker| self.options.get_ticker_count(ticker));
        assert!(useful + prefix_useful > 1_000, "{useful} and {prefix_useful}");
        let verdict = self.filters.verdict(&self.options).unwrap();
        assert!(verdict.is_fine, "{verdict}");
        let ranges = self.ranges.counts();
        assert!(ranges.built > 0 && ranges.skipped > 0 && ranges.unusable + ranges.unfinished == 0, "{ranges:?}");
    }
}

use Tables::{Full, Partitioned, PartitionedPrefixes, Prefixes, PrefixesOnly, Universal};
const ALL: [Tables; 6] = [Full, Partitioned, Prefixes, PrefixesOnly, PartitionedPrefixes, Universal];

#[test]
fn answers_are_the_models_with_the_default_policies() {
    for (seed, tables) in (1..).zip(ALL) {
        println!("{tables:?}, seed {seed}");
        Run::new("blocked:10/ribbon:10", tables, seed).run();
    }
}

#[test]
fn answers_are_the_models_with_every_kind() {
    let policies =
        ["bloom:10", "blocked:6", "golomb:fpr=1%", "ribbon:fpr=0.1%", "fuse:fpr=0.4%", "auto:10,queries=100000"];
    for (seed, (policies, tables)) in (100..).zip(policies.into_iter().zip(ALL)) {
        println!("{policies}, {tables:?}, seed {seed}");
        Run::new(policies, tables, seed).run();
    }
}
