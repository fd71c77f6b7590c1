//! Queries of one sort, on a store as [`super::fill`] leaves it: how long they take, and what is read for them.

use super::{Figures, Phase, Task, figures, peak_mib};
use crate::cells::{Cells, Key, Random};
use crate::engine::{Counts, Engine};
use crate::latencies::Latencies;
use crate::page_cache::PageCache;
use crate::process;
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Instant;

/// The popularity of keys.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Popularity {
    /// All keys alike.
    Uniform,
    /// As by Zipf's law, with YCSB's exponent. Popular keys are scattered over the range.
    Zipfian,
}

/// YCSB's `ZIPFIAN_CONSTANT`.
const ZIPFIAN_EXPONENT: f64 = 0.99;

/// Queries that are drawn at a time. If the page cache is emptied, it is before each batch, which has one query then: a
/// second would find there what the block cache has dropped.
const BATCH_LEN: u64 = 1000;

pub fn run(task: &Task, cells: &Cells) -> Result<Figures> {
    let baseline = process::resident_bytes()?;
    let engine = task.open()?;
    let engine = engine.as_ref();
    let page_cache = task.memory_bytes.map(|_| PageCache::of(&task.dir)).transpose()?;
    let mut draw = Draw::new(task, cells)?;
    // As many others before, so that the caches hold what such queries leave there.
    ask(engine, cells, &mut draw, task.num_gets, page_cache.as_ref())?;
    let (counts, read) = (engine.counts()?, process::read_bytes()?);
    let asked = ask(engine, cells, &mut draw, task.num_gets, page_cache.as_ref())?;
    let (counts, read_now) = (engine.counts()?.since(&counts), process::read_bytes()?);

    let per_query = |count: Option<u64>| count.map(|count| count as f64 / task.num_gets as f64);
    let false_positives = false_positives(task.subject.phase, &counts);
    Ok(figures(json!({
        "us": asked.wall_ns as f64 / task.num_gets as f64 / 1e3,
        "p50_us": asked.latencies.quantile_ns(0.5) as f64 / 1e3,
        "p99_us": asked.latencies.quantile_ns(0.99) as f64 / 1e3,
        "cpu_us": asked.cpu_ns as f64 / task.num_gets as f64 / 1e3,
        "data_reads": per_query(counts.data_reads),
        "filter_reads": per_query(counts.filter_reads),
        "index_reads": per_query(counts.index_reads),
        "data_bytes": per_query(counts.data_bytes),
        "filter_bytes": per_query(counts.filter_bytes),
        "read_bytes": per_query(Some(read_now[0] - read[0])),
        "disk_bytes": per_query(Some(read_now[1] - read[1])),
        "negatives": per_query(counts.negatives),
        "positives": per_query(counts.positives),
        "false_positives": per_query(false_positives),
        "fpr_percent": false_positives.zip(counts.negatives).and_then(|(passed, denied)| percent(passed, denied)),
        "peak_mib": peak_mib(baseline)?,
    })))
}

/// All positives are false where nothing is present.
fn false_positives(phase: Phase, counts: &Counts) -> Option<u64> {
    counts.false_positives.or(counts.positives.filter(|_| matches!(phase, Phase::Absent | Phase::PrefixAbsent)))
}

fn percent(passed: u64, denied: u64) -> Option<f64> {
    (passed + denied > 0).then(|| 100.0 * passed as f64 / (passed + denied) as f64)
}

/// A query and its answer.
enum Query {
    Absent(Key),
    Present(u64),
    /// The rows with this key's prefix, in order, and their cells.
    Prefix(Key, Vec<(Key, u64)>),
}

impl Query {
    fn run(&self, engine: &dyn Engine, cells: &Cells) -> Result<()> {
        match self {
            Self::Absent(key) => super::get_absent(engine, key),
            Self::Present(cell) => super::get_present(engine, cells, *cell),
            Self::Prefix(key, expected) => {
                let (mut expected, mut is_right) = (expected.iter(), true);
                engine.scan_prefix(key.prefix(), &mut |row, value| {
                    is_right &=
                        expected.next().is_some_and(|(key, cell)| key.row() == row && cells.is_value(*cell, value));
                })?;
                is_right &= expected.next().is_none();
                ensure!(is_right, "wrong rows with the prefix {}", String::from_utf8_lossy(key.prefix()));
                Ok(())
            }
        }
    }
}

/// A reproducible stream of queries of one sort.
struct Draw<'a> {
    phase: Phase,
    cells: &'a Cells,
    num_keys: u64,
    /// By rank; `None` if all keys are alike.
    popularity: Option<Zipf<f64>>,
    ranks: SmallRng,
    uniform: Random,
}

impl<'a> Draw<'a> {
    fn new(task: &Task, cells: &'a Cells) -> Result<Self> {
        let num_keys = match task.subject.phase {
            Phase::PrefixAbsent | Phase::PrefixPresent => cells.num_groups(),
            _ => task.num_cells,
        };
        let popularity = match task.subject.popularity.context("no popularity of keys")? {
            Popularity::Uniform => None,
            Popularity::Zipfian => Some(Zipf::new(num_keys as f64, ZIPFIAN_EXPONENT)?),
        };
        let (ranks, uniform) = (SmallRng::seed_from_u64(task.seed), Random::new(task.seed));
        Ok(Self { phase: task.subject.phase, cells, num_keys, popularity, ranks, uniform })
    }

    fn key(&mut self) -> u64 {
        match &self.popularity {
            None => self.uniform.below(self.num_keys),
            Some(popularity) => Random::new(popularity.sample(&mut self.ranks) as u64).below(self.num_keys),
        }
    }

    fn query(&mut self) -> Query {
        let key = self.key();
        match self.phase {
            Phase::Absent => Query::Absent(self.cells.absent_key(key)),
            Phase::PrefixAbsent => Query::Prefix(self.cells.absent_key(key), Vec::new()),
            Phase::PrefixPresent => {
                let mut rows: Vec<_> = self.cells.group(key).map(|cell| (self.cells.key(cell), cell)).collect();
                rows.sort_by(|(a, _), (b, _)| a.row().cmp(b.row()));
                Query::Prefix(self.cells.key(key), rows)
            }
            _ => Query::Present(key),
        }
    }
}

#[derive(Default)]
struct Asked {
    wall_ns: u64,
    /// The processor time of the querying thread.
    cpu_ns: u64,
    latencies: Latencies,
}

/// Queries are drawn, and pages dropped, while no clock is running.
fn ask(
    engine: &dyn Engine,
    cells: &Cells,
    draw: &mut Draw<'_>,
    num_queries: u64,
    page_cache: Option<&PageCache>,
) -> Result<Asked> {
    let mut asked = Asked::default();
    let batch_len = if page_cache.is_some() { 1 } else { BATCH_LEN };
    for first in (0..num_queries).step_by(batch_len as usize) {
        let batch: Vec<Query> = (first..num_queries.min(first + batch_len)).map(|_| draw.query()).collect();
        page_cache.map_or(Ok(()), PageCache::drop_pages)?;
        let cpu_ns = process::thread_processor_ns();
        for query in &batch {
            let start = Instant::now();
            query.run(engine, cells)?;
            let ns = start.elapsed().as_nanos() as u64;
            asked.wall_ns += ns;
            asked.latencies.add(ns);
        }
        asked.cpu_ns += process::thread_processor_ns() - cpu_ns;
    }
    Ok(asked)
}
