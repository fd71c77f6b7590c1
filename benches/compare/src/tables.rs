//! The read path of a store: one key looked up in many tables, each through an `Arc`, by `probe_tables` and by one
//! query after another, with one hash and with a hash for each query.

use crate::keys::{Key, Keys};
use crate::peer::{Size, apart};
use crate::peers::{Buffer, build_filterblock, filterblock_policy};
use crate::timing::sample;
use anyhow::{Result, ensure};
use filterblock::{FilterBlock, FilterKind, KeyHash, probe_tables};
use std::hint::black_box;
use std::sync::Arc;

pub const NUM_TABLES: usize = 10;
const BITS_PER_KEY: u32 = 10;
/// A lookup makes ten queries.
const NUM_LOOKUPS: usize = 3 << 14;

struct Table {
    filter: FilterBlock<Buffer>,
}

/// Nanoseconds per lookup, one sample per round.
pub struct TablesRow {
    pub num_keys: usize,
    pub probe_tables: Vec<f64>,
    /// Each table is queried for the hash.
    pub single_probes: Vec<f64>,
    /// Each table is queried for the key, which it hashes.
    pub single_keys: Vec<f64>,
}

pub fn measure(num_keys: usize, num_rounds: usize) -> Result<TablesRow> {
    let policy = filterblock_policy(FilterKind::Blocked, Size::Bits(BITS_PER_KEY)).with_self_check(false);
    let mut tables = Vec::new();
    for seed in 0..NUM_TABLES {
        let keys = Keys::new(seed as u64).table(num_keys);
        let filter = build_filterblock(&policy.clone(), &keys)?;
        tables.push(Arc::new(Table { filter }));
        let missing = keys.len() - at_once(&tables[seed..], &keys);
        ensure!(missing == 0, "{missing} of {} keys are missing", keys.len());
    }
    let mut row = TablesRow { num_keys, probe_tables: Vec::new(), single_probes: Vec::new(), single_keys: Vec::new() };
    for round in 0..num_rounds {
        eprintln!("{NUM_TABLES} tables of {num_keys} keys: round {} of {num_rounds}", round + 1);
        let mut draw = Keys::new((NUM_TABLES + round) as u64);
        let mut absent = || (0..NUM_LOOKUPS).map(|_| draw.absent(num_keys)).collect::<Vec<Key>>();
        row.probe_tables.push(sample(&absent(), |keys| {
            black_box(at_once(&tables, keys));
        }));
        row.single_probes.push(sample(&absent(), |keys| {
            black_box(one_by_one(&tables, keys, |table, _, hash| table.filter.may_contain_hash(hash)));
        }));
        row.single_keys.push(sample(&absent(), |keys| {
            black_box(one_by_one(&tables, keys, |table, key, _| table.filter.may_contain(apart::<Key>(key))));
        }));
    }
    Ok(row)
}

/// The number of answers *maybe*.
fn at_once(tables: &[Arc<Table>], keys: &[Key]) -> usize {
    let hasher = tables[0].filter.entry_hasher().hasher();
    let mut answers = [false; NUM_TABLES];
    let answers = &mut answers[..tables.len()];
    let mut passed = 0;
    for key in keys {
        probe_tables(tables.iter().map(|table| &apart(table).filter), hasher.hash(apart::<Key>(key)), answers);
        passed += answers.iter().filter(|&&answer| answer).count();
    }
    passed
}

#[inline(always)]
fn one_by_one(tables: &[Arc<Table>], keys: &[Key], ask: impl Fn(&Table, &Key, KeyHash) -> bool) -> usize {
    let hasher = tables[0].filter.entry_hasher().hasher();
    let mut passed = 0;
    for key in keys {
        let hash = hasher.hash(apart::<Key>(key));
        passed += tables.iter().filter(|table| ask(apart(&***table), key, hash)).count();
    }
    passed
}
