//! The read path of a store: one key looked up in many tables, by `probe_tables` with one hash, and by one query after
//! another that hashes the key each time.

use crate::keys::{Key, Keys};
use crate::peer::{Size, apart};
use crate::peers::{build_filterblock, filterblock_policy};
use crate::timing::sample;
use anyhow::{Result, ensure};
use filterblock::{FilterBlockReader, FilterKind, probe_tables};
use std::hint::black_box;

pub const NUM_TABLES: usize = 10;
const BITS_PER_KEY: u32 = 10;
/// A lookup makes ten queries.
const NUM_LOOKUPS: usize = 3 << 14;

/// Nanoseconds per lookup, one sample per round.
pub struct TablesRow {
    pub num_keys: usize,
    pub probe_tables: Vec<f64>,
    pub single_probes: Vec<f64>,
}

pub fn measure(num_keys: usize, num_rounds: usize) -> Result<TablesRow> {
    let policy = filterblock_policy(FilterKind::Blocked, Size::Bits(BITS_PER_KEY)).self_check(false);
    let mut filters = Vec::new();
    for seed in 0..NUM_TABLES {
        let table = Keys::new(seed as u64).table(num_keys);
        let filter = build_filterblock(policy, &table)?;
        check(&filter.reader(), &table)?;
        filters.push(filter);
    }
    let readers: Vec<FilterBlockReader<'_>> = filters.iter().map(|filter| filter.reader()).collect();
    let mut row = TablesRow { num_keys, probe_tables: Vec::new(), single_probes: Vec::new() };
    for round in 0..num_rounds {
        eprintln!("{NUM_TABLES} tables of {num_keys} keys: round {} of {num_rounds}", round + 1);
        let mut draw = Keys::new((NUM_TABLES + round) as u64);
        let mut absent = || (0..NUM_LOOKUPS).map(|_| draw.absent(num_keys)).collect::<Vec<Key>>();
        row.probe_tables.push(sample(&absent(), |keys| {
            black_box(at_once(&readers, keys));
        }));
        row.single_probes.push(sample(&absent(), |keys| {
            black_box(one_by_one(&readers, keys));
        }));
    }
    Ok(row)
}

fn check(reader: &FilterBlockReader<'_>, table: &[Key]) -> Result<()> {
    let missing = table.len() - at_once(std::slice::from_ref(reader), table);
    ensure!(missing == 0, "{missing} of {} keys are missing", table.len());
    Ok(())
}

/// The number of answers *maybe*.
fn at_once(readers: &[FilterBlockReader<'_>], keys: &[Key]) -> usize {
    let hasher = readers[0].hasher();
    let mut answers = [false; NUM_TABLES];
    let answers = &mut answers[..readers.len()];
    let mut passed = 0;
    for key in keys {
        probe_tables(readers, hasher.hash(apart(key)), answers);
        passed += answers.iter().filter(|&&answer| answer).count();
    }
    passed
}

fn one_by_one(readers: &[FilterBlockReader<'_>], keys: &[Key]) -> usize {
    let query = |key: &Key| readers.iter().filter(|reader| reader.may_contain(apart(key))).count();
    keys.iter().map(query).sum()
}
