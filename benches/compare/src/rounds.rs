//! The measurement: in each round every peer builds filters from the same new keys and gets the same new queries.

use crate::keys::{Key, Keys};
use crate::peer::{Caller, Filter, Peer};
use crate::peers::is_for;
use crate::timing::{calmly, num_queries, sample};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use std::ops::{Index, IndexMut};
use std::time::Instant;

/// The timed operations, in nanoseconds per key (build) or per query.
#[derive(Clone, Copy)]
pub enum Metric {
    /// The build, from keys to a filter that can be stored and queried.
    Build,
    /// Absent keys; the answers are summed.
    Neg,
    /// Present keys; the answers are summed.
    Pos,
    /// Absent and present keys in random order; the caller branches on the answer.
    MixBranch,
    /// Absent keys, through the peer's call for many keys.
    BatchNeg,
}

impl Metric {
    pub const ALL: [Self; 5] = [Self::Build, Self::Neg, Self::Pos, Self::MixBranch, Self::BatchNeg];

    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Neg => "neg",
            Self::Pos => "pos",
            Self::MixBranch => "mix_branch",
            Self::BatchNeg => "batch_neg",
        }
    }
}

/// One sample per round for each metric; none if the peer has no such call.
#[derive(Default)]
pub struct Samples([Vec<f64>; Metric::ALL.len()]);

impl Index<Metric> for Samples {
    type Output = Vec<f64>;

    fn index(&self, metric: Metric) -> &Vec<f64> {
        &self.0[metric as usize]
    }
}

impl IndexMut<Metric> for Samples {
    fn index_mut(&mut self, metric: Metric) -> &mut Vec<f64> {
        &mut self.0[metric as usize]
    }
}

/// A peer's figures at one number of keys.
pub struct Row<'p> {
    pub peer: &'p Peer,
    pub num_keys: usize,
    pub bits_per_key: f64,
    pub num_queried: usize,
    pub num_false_positives: usize,
    pub samples: Samples,
}

impl Row<'_> {
    /// The observed rate; `None` for the floor, which answers nothing.
    pub fn false_positive_rate(&self) -> Option<f64> {
        (self.num_queried > 0).then(|| self.num_false_positives as f64 / self.num_queried as f64)
    }
}

/// Least number of keys in the tables that a round builds. Small tables are built several times, each from other keys:
/// building the same few keys again would teach the branch predictors what no writer teaches them.
const MIN_BUILD_KEYS: usize = 100_000;

/// The keys of one round.
struct Draw {
    num_keys: usize,
    /// Keys of one table after another; the queries are about the last.
    entries: Vec<Key>,
    absent: Vec<Key>,
    present: Vec<Key>,
    mixed: Vec<Key>,
    /// Seed of the keys by which false positives are counted.
    rate_seed: u64,
}

impl Draw {
    fn new(num_keys: usize, round: usize) -> Self {
        let stream = |index: u64| Keys::new(4 * round as u64 + index);
        let num_tables = MIN_BUILD_KEYS.div_ceil(num_keys);
        let (mut tables, mut queries, mut picks) = (stream(0), stream(1), stream(2));
        let entries: Vec<Key> = (0..num_tables).flat_map(|_| tables.table(num_keys)).collect();
        let table = &entries[entries.len() - num_keys..];
        let num_queries = num_queries(num_keys);
        let absent: Vec<Key> = (0..num_queries).map(|_| queries.absent(num_keys)).collect();
        let present: Vec<Key> = (0..num_queries).map(|_| table[picks.below(num_keys)]).collect();
        let either = |(absent, present): (&Key, &Key)| if picks.number() >> 63 == 0 { *absent } else { *present };
        let mixed = absent.iter().zip(&present).map(either).collect();
        Self { num_keys, entries, absent, present, mixed, rate_seed: 4 * round as u64 + 3 }
    }

    fn table(&self) -> &[Key] {
        &self.entries[self.entries.len() - self.num_keys..]
    }
}

/// Measures `peers` with tables of `num_keys` keys. Each peer is also queried for `rate_queries` absent keys, to count
/// those that pass.
///
/// # Errors If a filter cannot be built, or misses a key that it was built from: then none of its figures means
/// anything.
pub fn measure(peers: &[Peer], num_keys: usize, num_rounds: usize, rate_queries: usize) -> Result<Vec<Row<'_>>> {
    let row = |peer| Row {
        peer,
        num_keys,
        bits_per_key: 0.0,
        num_queried: 0,
        num_false_positives: 0,
        samples: Samples::default(),
    };
    let mut rows: Vec<Row<'_>> = peers.iter().filter(|peer| is_for(peer, num_keys)).map(row).collect();
    for round in 0..num_rounds {
        eprintln!("{num_keys} keys: round {} of {num_rounds}", round + 1);
        let draw = Draw::new(num_keys, round);
        for row in &mut rows {
            visit(row, &draw, rate_queries.div_ceil(num_rounds))
                .with_context(|| format!("{} {}", row.peer.name, row.peer.kind()))?;
        }
    }
    Ok(rows)
}

fn visit(row: &mut Row<'_>, draw: &Draw, rate_queries: usize) -> Result<()> {
    let (filter, build) = build(row.peer, draw)?;
    row.samples[Metric::Build].push(build);
    row.bits_per_key = filter.num_bytes() as f64 * 8.0 / draw.num_keys as f64;
    if filter.answers() {
        check(filter.as_ref(), draw.table())?;
        row.num_false_positives += count_passing(filter.as_ref(), draw, rate_queries);
        row.num_queried += rate_queries;
    }

    let query = |keys: &[Key], caller| {
        sample(keys, |keys| {
            black_box(filter.query(black_box(keys), caller));
        })
    };
    row.samples[Metric::Neg].push(query(&draw.absent, Caller::Sums));
    row.samples[Metric::Pos].push(query(&draw.present, Caller::Sums));
    row.samples[Metric::MixBranch].push(query(&draw.mixed, Caller::Branches));
    if let Some(batches) = filter.batches() {
        let mut answers = vec![false; draw.absent.len()];
        row.samples[Metric::BatchNeg].push(sample(&draw.absent, |keys| {
            batches.query_batches(black_box(keys), &mut answers[..keys.len()]);
            black_box(&answers);
        }));
    }
    Ok(())
}

/// The last table's filter, and nanoseconds per key: the median over the tables. All are built again where the core was
/// not calm.
fn build(peer: &Peer, draw: &Draw) -> Result<(Box<dyn Filter>, f64)> {
    calmly(|| {
        let (mut last, mut samples) = (None, Vec::new());
        for table in draw.entries.chunks_exact(draw.num_keys) {
            // Its memory is free for the next one, as in a long-running process.
            drop(last.take());
            let start = Instant::now();
            last = Some((peer.build)(black_box(table))?);
            samples.push(start.elapsed().as_nanos() as f64 / table.len() as f64);
        }
        last.zip(crate::stats::median(&samples)).context("no keys")
    })
}

fn check(filter: &dyn Filter, table: &[Key]) -> Result<()> {
    for caller in [Caller::Sums, Caller::Branches] {
        let missing = table.len() - filter.query(table, caller);
        ensure!(missing == 0, "{missing} of {} keys are missing", table.len());
    }
    if let Some(batches) = filter.batches() {
        let mut answers = vec![false; table.len()];
        batches.query_batches(table, &mut answers);
        let missing = answers.iter().filter(|&&answer| !answer).count();
        ensure!(missing == 0, "{missing} of {} keys are missing when queried in batches", table.len());
    }
    Ok(())
}

fn count_passing(filter: &dyn Filter, draw: &Draw, num_queries: usize) -> usize {
    const CHUNK_LEN: usize = 1 << 16;
    let mut keys = Keys::new(draw.rate_seed);
    let mut chunk = Vec::with_capacity(CHUNK_LEN);
    let mut passing = 0;
    for start in (0..num_queries).step_by(CHUNK_LEN) {
        chunk.clear();
        chunk.extend((start..num_queries.min(start + CHUNK_LEN)).map(|_| keys.absent(draw.num_keys)));
        passing += filter.query(&chunk, Caller::Sums);
    }
    passing
}
