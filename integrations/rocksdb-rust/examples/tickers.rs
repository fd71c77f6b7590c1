//! RocksDB's own tickers for lookups of absent keys, without filters, with RocksDB's filters, and with those of this package:
//! `cargo run --example tickers [KEYS]`.

use filterblock_rocksdb::{Filters, set_filter_policy};
use rocksdb::statistics::Ticker;
use rocksdb::{BlockBasedOptions, BottommostLevelCompaction, Cache, CompactOptions, DB, Options};
use std::error::Error;
use std::time::SystemTime;

const NUM_TABLES: u64 = 4;

enum Policy {
    None,
    Bloom,
    Ribbon,
    Ours(&'static str),
}

const POLICIES: [(&str, Policy); 6] = [
    ("no filters", Policy::None),
    ("RocksDB's Bloom(10)", Policy::Bloom),
    ("RocksDB's Ribbon(10)", Policy::Ribbon),
    ("`blocked:10`", Policy::Ours("blocked:10")),
    ("`ribbon:10`", Policy::Ours("blocked:10/ribbon:10")),
    ("`ribbon:fpr=0.95%`", Policy::Ours("blocked:10/ribbon:fpr=0.95%")),
];

/// A key of 16 bytes. Odd numbers are never stored.
fn key(number: u64) -> [u8; 16] {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed.rotate_left(32).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

fn options(policy: &Policy, cache_len: usize) -> Result<(Options, Option<Filters>), Box<dyn Error>> {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(cache_len));
    match policy {
        Policy::Bloom => table.set_bloom_filter(10.0, false),
        Policy::Ribbon => table.set_ribbon_filter(10.0),
        Policy::None | Policy::Ours(_) => {}
    }
    let mut options = Options::default();
    options.create_if_missing(true);
    options.enable_statistics();
    options.set_block_based_table_factory(&table);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_disable_auto_compactions(true);
    options.set_write_buffer_size(1 << 30);
    let filters = match policy {
        Policy::Ours(text) => Some(set_filter_policy(&mut options, &text.parse()?)?),
        _ => None,
    };
    Ok((options, filters))
}

fn main() -> Result<(), Box<dyn Error>> {
    let num_keys: u64 = std::env::args().nth(1).map_or(Ok(100_000), |text| text.parse())?;
    println!("{num_keys} keys in the bottommost level, as many lookups of absent keys, in processor time");
    println!("| | filters, bits a key | filter useful | false positives | data blocks read | a lookup |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (name, policy) in POLICIES {
        let directory = tempfile::tempdir()?;
        // A small cache: a data block that a false positive reads comes from its file.
        let (options, filters) = options(&policy, 1 << 20)?;
        let db = DB::open(&options, directory.path())?;
        for table in 0..NUM_TABLES {
            for number in (table..num_keys).step_by(NUM_TABLES as usize) {
                db.put(key(2 * number), [b'v'; 100])?;
            }
            db.flush()?;
        }
        let mut compaction = CompactOptions::default();
        compaction.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &compaction);

        let count = |ticker| options.get_ticker_count(ticker);
        let before = count(Ticker::BlockCacheDataMiss);
        let begun = processor_time();
        for number in 0..num_keys {
            assert!(db.get_pinned(key(2 * number + 1))?.is_none(), "an absent key was found");
        }
        let nanoseconds = (processor_time() - begun) / num_keys.max(1);
        println!(
            "| {name} | {:.2} | {} | {} | {} | {nanoseconds} ns |",
            filter_len(&db)? as f64 * 8.0 / num_keys.max(1) as f64,
            count(Ticker::BloomFilterUseful),
            count(Ticker::BloomFilterFullPositive) - count(Ticker::BloomFilterFullTruePositive),
            count(Ticker::BlockCacheDataMiss) - before,
        );
        if let Some(filters) = filters {
            assert_eq!(filters.in_use(&db).findings, []);
            eprintln!("{name}: {}", filters.verdict(&options)?);
        }
    }
    Ok(())
}

/// Nanoseconds that this thread has been on a processor, which other programs change less than the clock, or the clock's
/// where the system does not count them.
fn processor_time() -> u64 {
    let of_thread = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let clock = || SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_nanos() as u64);
    of_thread.split(' ').next().and_then(|time| time.parse().ok()).unwrap_or_else(clock)
}

/// Bytes of all filters, by RocksDB's properties of its tables.
fn filter_len(db: &DB) -> Result<u64, Box<dyn Error>> {
    let properties = db.property_value("rocksdb.aggregated-table-properties")?.unwrap_or_default();
    let filters = properties.split("filter block size=").nth(1).and_then(|rest| rest.split(';').next());
    Ok(filters.map_or(Ok(0), |len| len.trim().parse())?)
}
