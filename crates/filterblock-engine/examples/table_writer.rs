//! The table writer and the table reader of a small engine: each table's filter is partitioned and stored with it, a
//! lookup skips the tables that cannot have the key, partitions stay opened in a cache, and a ledger counts what that
//! saves.
//!
//! ```sh
//! cargo run -p filterblock-engine --example table_writer [POLICY]
//! ```

use filterblock::partition::{
    OpenedPartition, PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder,
};
use filterblock::{FilterBlock, FilterPolicy, OpenOptions, Query};
use filterblock_engine::ledger::{Accounts, FilterFacts, LookupClass, Outcome, TableCounters};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::{Arc, Mutex};

/// The objects of lookups, each with a filter of its own: here keys.
static CLASSES: [LookupClass; 1] = [LookupClass::point("key")];
const KEYS: usize = 0;

/// A value, or none where the key was deleted.
type Row = Option<String>;

/// A partition that was opened once.
type Opened = Arc<OpenedPartition<FilterBlock<Vec<u8>>>>;

/// The opened partitions, by table and number. An engine's cache evicts them, and charges `block_len()` and
/// 256 bytes for each.
type Cache = Mutex<HashMap<(u64, u32), Opened>>;

struct Table {
    number: u64,
    /// Stand for data blocks: a search of them is a read.
    rows: BTreeMap<String, Row>,
    /// The stored part of the filter: its partitions, one after the other.
    partitions: Vec<u8>,
    /// None where it could not be built or opened: then every key is *maybe*.
    filter: Option<PartitionedFilter<Vec<u8>>>,
    counters: Arc<TableCounters>,
}

/// Writes the partitions of a filter while its keys pass. Returns them and their index.
fn write_filter<'a>(
    policy: FilterPolicy,
    number: u64,
    keys: impl Iterator<Item = &'a String>,
) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let mut stored = Vec::new();
    let mut store = |block: &[u8]| {
        let offset = stored.len() as u64;
        stored.extend_from_slice(block);
        Ok::<_, std::io::Error>(offset) // an engine's write may fail
    };
    let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::Bytes(4096))?;
    builder.set_context(number);
    for key in keys {
        builder.add_key(key.as_bytes(), &mut store)?;
    }
    let index = builder.finish(&mut store)?;
    Ok((stored, index))
}

impl Table {
    /// Writes and opens a table. Deleted keys are in its filter, too: they hide those of older tables.
    fn write(number: u64, rows: BTreeMap<String, Row>, policy: FilterPolicy, accounts: &Accounts) -> Self {
        let written = write_filter(policy.clone(), number, rows.keys());
        let (partitions, index) = written.unwrap_or_else(|error| {
            eprintln!("table {number} has no filter: {error}");
            accounts.note_filter_not_built();
            Default::default()
        });
        let options = OpenOptions::new().with_context(number).expect(&policy);
        let opened = PartitionedFilter::open(index, options);
        let filter = opened.map_err(|error| eprintln!("filter of table {number} ignored: {error}")).ok();
        let facts = filter.as_ref().and_then(|filter| {
            let keys_of_each = rows.len() / filter.partitions().len().max(1);
            let rate = policy.expected_false_positive_rate(keys_of_each as u64).ok()?;
            Some(FilterFacts::new(policy.kind().unwrap_or_default(), rate))
        });
        Self { number, rows, partitions, filter, counters: accounts.open(number, 0, [facts]) }
    }

    /// Returns a partition from the cache; it is read, verified and opened only if it is not there.
    fn load(
        &self,
        filter: &PartitionedFilter<Vec<u8>>,
        partition: PartitionHandle,
        cache: &Cache,
    ) -> Result<Opened, Box<dyn Error>> {
        let place = (self.number, partition.number);
        if let Some(opened) = cache.lock().map_err(|error| error.to_string())?.get(&place) {
            return Ok(Arc::clone(opened));
        }
        self.counters.filter_blocks().note_read(partition.len as usize);
        let stored = self.partitions.get(partition.offset as usize..).unwrap_or_default();
        let block = stored.get(..partition.len as usize).ok_or("the file is cut")?;
        let opened = Arc::new(filter.open_partition_owned(partition, block.to_vec())?);
        cache.lock().map_err(|error| error.to_string())?.insert(place, Arc::clone(&opened));
        Ok(opened)
    }

    fn get(&self, key: &str, cache: &Cache) -> Option<&Row> {
        let lookup = self.counters.of(KEYS).begin();
        let answer = self.filter.as_ref().map(|filter| {
            // An error is *maybe*.
            filter.may_match(Query::Key(key.as_bytes()), |partition| self.load(filter, partition, cache))
        });
        if matches!(answer, Some(Ok(false))) {
            lookup.end(Outcome::Avoided);
            return None;
        }
        lookup.blocks().note_read(4096);
        let found = self.rows.get(key);
        match (answer, found) {
            (None, _) => lookup.end_unfiltered(Outcome::NoFilter, found.is_some()),
            (Some(Err(_)), _) => lookup.end_unfiltered(Outcome::FilterUnusable, found.is_some()), // log it once
            (_, Some(Some(_))) => lookup.end(Outcome::TruePositive),
            (_, Some(None)) => lookup.end(Outcome::Tombstone),
            (_, None) => lookup.end(Outcome::FalsePositive),
        }
        found
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::args().nth(1).unwrap_or("ribbon:fpr=0.5%,seed=7".to_owned());
    let policy: FilterPolicy = text.parse()?;
    let accounts = Accounts::new(&CLASSES);
    let row = |table: u64, i: u64| (format!("{i:06} of table {table}"), Some(format!("value {i}")));
    let mut tables: Vec<Table> = Vec::new(); // the newest first
    for number in 0..5 {
        let mut rows: BTreeMap<_, _> = (0..20_000).map(|i| row(number, i)).collect();
        rows.insert(format!("{:06} of table 0", 7), (number == 0).then(|| "deleted later".to_owned()));
        tables.insert(0, Table::write(number, rows, policy.clone(), &accounts));
    }
    tables[2].partitions[100] ^= 1; // the keys of its first partition are *maybe* from now on

    let cache = Cache::default();
    let get = |key: &str| tables.iter().find_map(|table| table.get(key, &cache)).and_then(Option::as_ref);
    for (key, value) in (0..20_000).map(|i| row(2, i)) {
        assert_eq!(get(&key), value.as_ref());
        assert_eq!(get(&format!("{key}, absent")), None);
    }
    assert_eq!(get("000007 of table 0"), None, "deleted in a newer table");
    accounts.report().check()?;
    println!("{}", accounts.report());
    Ok(())
}
