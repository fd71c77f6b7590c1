//! Absent rows that were crafted against filters whose seed is known, and what a secret seed or key does about them.
//!
//! The attacker has a copy of the store and tries absent rows on it. Those that some filter passes are looked up in the
//! store itself: each costs a read. Then the filters are rebuilt with a seed that the attacker does not know, and the
//! same rows must cost no more than any absent rows, or the program fails; so in a store whose filters are hashed under
//! a secret key. Rows that still cost a read are looked up again, before and after another rebuild.

use anyhow::{Result, ensure};
use clap::Parser;
use filterblock::{FilterKind, FilterPolicy, KeyHasher};
use filterblock_engine::ledger::Tally;
use filterblock_kv::{Durability, Maintenance, Purpose, RebuildOptions, Store, StoreOptions};
use std::path::{Path, PathBuf};

/// A library's default, and so the first guess.
const KNOWN_SEED: u64 = 0;
/// Fixed, so that a run can be repeated: a store should draw them.
const SECRET_SEEDS: [u64; 2] = [0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b];
const SECRET_KEY: [u8; 16] = *b"only the store's";
/// Tables in level 0, each across the whole range of rows.
const NUM_TABLES: u64 = 4;
/// The most rows that the attacker tries.
const MAX_TRIED: u64 = 10_000_000;

#[derive(Parser)]
#[command(about = "Attacks filters whose seed is known, then filters with a secret seed or key")]
struct Arguments {
    /// Rows of the store
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    rows: u64,
    /// Rows to craft for each kind
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    crafted: usize,
    /// Kinds of filter
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<FilterKind>,
    /// Size of the filters
    #[arg(long, value_name = "BITS", default_value_t = 10.0)]
    bits_per_key: f64,
    /// Directory for the stores
    #[arg(long, default_value = ".")]
    dir: PathBuf,
}

/// Rows are scrambled numbers: those below the number of rows are present, all others absent and between them.
fn row(number: u64) -> String {
    format!("row-{:016x}", KeyHasher::new(number).hash(b"row").get())
}

fn load(dir: &Path, num_rows: u64, policy: FilterPolicy, hasher: KeyHasher) -> Result<Store> {
    let options = StoreOptions::without_filters()
        .with_filter(Purpose::Row, policy.clone())
        .with_hasher(hasher)
        .with_max_memtable_bytes(usize::MAX)
        .with_max_level0_tables(1_000_000)
        .with_maintenance(Maintenance::Inline { seed: 0 })
        .with_cache_bytes(0)
        .with_durability(Durability::Never);
    let store = Store::open_dir(dir, options)?;
    for table in 0..NUM_TABLES {
        for number in (table..num_rows).step_by(NUM_TABLES as usize) {
            store.put(row(number).as_bytes(), b"column", b"value")?;
        }
        store.flush()?;
    }
    Ok(store)
}

/// The lookups of absent rows: which of them cost a read, and what the ledger counted.
struct Lookups {
    costly: Vec<u64>,
    num: usize,
    tally: Tally,
}

fn look_up(store: &Store, rows: impl IntoIterator<Item = u64>) -> Result<Lookups> {
    let (before, mut costly, mut num) = (store.ledger(), Vec::new(), 0);
    for number in rows {
        num += 1;
        if costs_a_read(store, number)? {
            costly.push(number);
        }
    }
    Ok(Lookups { costly, num, tally: store.ledger().since(&before).total() })
}

fn costs_a_read(store: &Store, number: u64) -> Result<bool> {
    let reads = || store.storage().read_counts().reads;
    let before = reads();
    ensure!(store.get_row(row(number).as_bytes())?.is_empty(), "{} is not absent", row(number));
    Ok(reads() > before)
}

impl Lookups {
    fn share(&self) -> String {
        format!("{:.2} %", self.costly.len() as f64 / self.num.max(1) as f64 * 100.0)
    }

    /// Fails unless the rate of false positives is the predicted one, within four standard errors.
    fn ensure_as_predicted(&self, what: &str) -> Result<()> {
        let (observed, predicted) =
            (self.tally.observed_fpr().unwrap_or(1.0), self.tally.predicted_fpr().unwrap_or(0.0));
        let error = (predicted * (1.0 - predicted) / self.tally.absent_asked().max(1) as f64).sqrt();
        ensure!((observed - predicted).abs() <= 4.0 * error, "{what}: {observed} observed, {predicted} predicted");
        Ok(())
    }

    fn ensure_all_costly(&self, what: &str) -> Result<()> {
        ensure!(self.costly.len() == self.num, "{what}: only {} of {} rows cost a read", self.costly.len(), self.num);
        Ok(())
    }
}

/// The figures of an attack, in the order of [`NAMES`].
fn attack(arguments: &Arguments, kind: FilterKind, dir: &Path) -> Result<[String; 9]> {
    let policy = FilterPolicy::with_bits_per_key(kind, arguments.bits_per_key)?;
    let load = |name: &str, hasher| load(&dir.join(name), arguments.rows, policy.clone(), hasher);
    let rebuild = |store: &Store, seed| store.rebuild_filters(&RebuildOptions::new().with_seed(seed));

    let copy = load("copy", KeyHasher::new(KNOWN_SEED))?;
    let (mut crafted, mut tried) = (Vec::new(), arguments.rows..arguments.rows + MAX_TRIED);
    while crafted.len() < arguments.crafted {
        let Some(number) = tried.next() else { break };
        if costs_a_read(&copy, number)? {
            crafted.push(number);
        }
    }
    ensure!(!crafted.is_empty(), "of {MAX_TRIED} absent rows no filter passes one");

    let store = load("store", KeyHasher::new(KNOWN_SEED))?;
    let ordinary = look_up(&store, (arguments.rows..).take(crafted.len()))?;
    ordinary.ensure_as_predicted("ordinary rows")?;
    let known = look_up(&store, crafted.iter().copied())?;
    known.ensure_all_costly("crafted rows")?;
    rebuild(&store, SECRET_SEEDS[0])?;
    let secret = look_up(&store, crafted.iter().copied())?;
    secret.ensure_as_predicted("crafted rows, secret seed")?;
    let replay = look_up(&store, secret.costly.iter().copied())?;
    replay.ensure_all_costly("replay")?;
    rebuild(&store, SECRET_SEEDS[1])?;
    let another = look_up(&store, secret.costly.iter().copied())?;
    let keyed = look_up(&load("keyed", KeyHasher::keyed(SECRET_KEY))?, crafted.iter().copied())?;
    keyed.ensure_as_predicted("crafted rows, secret key")?;
    Ok([
        kind.name().to_owned(),
        (tried.start - arguments.rows).to_string(),
        crafted.len().to_string(),
        ordinary.share(),
        known.share(),
        secret.share(),
        replay.share(),
        another.share(),
        keyed.share(),
    ])
}

const NAMES: [&str; 9] = [
    "",
    "absent rows tried on a copy of the store",
    "crafted rows: those that a filter passes",
    "seed known: ordinary rows that cost a read",
    "  crafted rows",
    "secret seed: crafted rows that cost a read",
    "  these once more",
    "  these with another secret seed",
    "secret key: crafted rows that cost a read",
];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let kinds = if arguments.kinds.is_empty() { FilterKind::ALL } else { &arguments.kinds };
    let attacks = kinds.iter().map(|&kind| {
        let dir = tempfile::tempdir_in(&arguments.dir)?;
        attack(&arguments, kind, dir.path())
    });
    let attacks = attacks.collect::<Result<Vec<_>>>()?;
    for (i, name) in NAMES.iter().enumerate() {
        print!("{name:<42}");
        attacks.iter().for_each(|figures| print!(" {:>11}", figures[i]));
        println!();
    }
    Ok(())
}
