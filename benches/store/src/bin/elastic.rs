//! The same memory for the filters of several levels, divided by the tables' sizes alone, and by the lookups that the
//! store's ledger has counted as well. Lookups of one cell are made by Zipf's law, 15 in 16 of them for a column that
//! its row does not have; popular rows lie side by side, then scattered.

use anyhow::{Result, ensure};
use clap::Parser;
use filterblock::{FilterKind, FilterPolicy, KeyHasher};
use filterblock_engine::ledger::Outcome;
use filterblock_kv::{Durability, Maintenance, Purpose, Store, StoreOptions};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};
use std::path::{Path, PathBuf};

const SEED: u64 = 0x5eed;
/// That of YCSB.
const EXPONENT: f64 = 0.99;
/// Lookups that are counted before those that are measured: more than a store needs to divide its memory anew.
const NUM_COUNTED: u64 = 40_000;
/// One lookup in this many is for a present cell.
const PRESENT_SHARE: u64 = 16;
const VALUE: [u8; 100] = [b'v'; 100];

#[derive(Parser)]
#[command(about = "Divides memory for filters by the tables' sizes, and by counted lookups")]
struct Arguments {
    /// Rows of the store, of one cell each
    #[arg(long, value_name = "N", default_value_t = 400_000)]
    rows: u64,
    /// Lookups of each run
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    lookups: u64,
    /// Memory for filters, in per cent of their bytes
    #[arg(long, value_name = "P", default_value_t = 40)]
    memory_percent: u64,
    /// Directory for the store
    #[arg(long, default_value = ".")]
    dir: PathBuf,
}

fn random(stream: &[u8], number: u64) -> u64 {
    KeyHasher::new(number).hash(stream).get()
}

fn row(number: u64) -> Vec<u8> {
    format!("row-{number:012}").into_bytes()
}

/// Levels 1 to 4 hold two thirds of the data, in few tables.
fn options(num_rows: u64) -> Result<StoreOptions> {
    let base_bytes = (num_rows * VALUE.len() as u64 / 128).max(1 << 12);
    Ok(StoreOptions::without_filters()
        .with_filter(Purpose::RowColumn, FilterPolicy::with_bits_per_key(FilterKind::Ribbon, 10.0)?)
        .with_hasher(KeyHasher::new(SEED))
        .with_max_memtable_bytes(24 * base_bytes as usize)
        .with_level_bytes(base_bytes, 4)
        .with_max_table_bytes(6 * base_bytes)
        .with_maintenance(Maintenance::Inline { seed: SEED })
        .with_cache_bytes(0)
        .with_durability(Durability::Never))
}

/// Writes the rows in no order, so that every table of level 0 spans all of them.
fn load(dir: &Path, num_rows: u64) -> Result<()> {
    let store = Store::open_dir(dir, options(num_rows)?)?;
    let mut order: Vec<u64> = (0..num_rows).collect();
    order.sort_by_cached_key(|&number| random(b"load", number));
    order.into_iter().try_for_each(|number| store.put(&row(number), b"column", &VALUE))?;
    store.flush()?;
    store.settle()?;
    Ok(store.close()?)
}

/// Makes lookups `numbers` of a stream that is the same for all runs.
fn look_up(store: &Store, arguments: &Arguments, scattered: bool, numbers: std::ops::Range<u64>) -> Result<()> {
    let zipf = Zipf::new(arguments.rows as f64, EXPONENT)?;
    for number in numbers {
        let rank = zipf.sample(&mut SmallRng::seed_from_u64(random(b"rank", number))) as u64 - 1;
        let row = row(if scattered { random(b"place", rank) % arguments.rows } else { rank });
        let is_present = random(b"choice", number).is_multiple_of(PRESENT_SHARE);
        // A column of its own each time: a key that comes again would be the same false positive again.
        let column = if is_present { b"column".to_vec() } else { format!("absent:{number}").into_bytes() };
        let value = store.get(&row, &column)?;
        ensure!(value.is_some() == is_present, "wrong answer for lookup {number}");
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let dir = tempfile::tempdir_in(&arguments.dir)?;
    load(dir.path(), arguments.rows)?;
    let open = |bytes, read_only| -> Result<Store> {
        let options = options(arguments.rows)?.with_filter_memory_bytes(bytes).with_read_only(read_only);
        Ok(Store::open_dir(dir.path(), options)?)
    };
    let memory_bytes = open(u64::MAX, true)?.stats().filter_memory_bytes * arguments.memory_percent / 100;
    for scattered in [false, true] {
        println!("popular rows {}", if scattered { "scattered" } else { "side by side" });
        println!(
            "{:<24}{:>16}{:>12}{:>16}{:>16}",
            "memory divided", "filter bytes", "reads", "false positives", "predicted"
        );
        for (name, bytes, is_counted) in [
            ("nothing held", 0, false),
            ("by sizes", memory_bytes, false),
            ("by sizes and lookups", memory_bytes, true),
            ("all columns", u64::MAX, false),
        ] {
            let store = open(bytes, !is_counted)?;
            if is_counted {
                look_up(&store, &arguments, scattered, 0..NUM_COUNTED)?;
                store.settle()?;
            }
            let before = store.ledger();
            look_up(&store, &arguments, scattered, NUM_COUNTED..NUM_COUNTED + arguments.lookups)?;
            let total = store.ledger().since(&before).total();
            println!(
                "{name:<24}{:>16}{:>12}{:>16}{:>16.0}",
                store.stats().filter_memory_bytes,
                total.data_block_reads,
                total.count(Outcome::FalsePositive) + total.count(Outcome::NoFilter),
                total.expected_false_positives
            );
        }
    }
    Ok(())
}
