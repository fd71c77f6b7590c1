//! The measurement: in each round every peer builds filters of the same fresh keys and is asked the same fresh
//! questions.

use crate::keys::{Key, Keys};
use crate::peer::{Caller, Filter, Peer};
use crate::timing::{num_questions, sample};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use std::ops::{Index, IndexMut};
use std::time::Instant;

/// What is timed. Nanoseconds per key (build) or per question.
#[derive(Clone, Copy)]
pub enum Metric {
    /// From keys to a filter that can be stored and asked.
    Build,
    /// Absent keys, answers added up.
    Neg,
    /// Present keys, answers added up.
    Pos,
    /// Absent and present ones in random order, and the caller branches on the answer.
    MixBranch,
    /// Absent keys, through the peer's call for many.
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

/// For each metric one sample a round; none where the peer has no such call.
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
    pub num_asked: usize,
    pub num_false_positives: usize,
    pub samples: Samples,
}

impl Row<'_> {
    /// The rate observed; `None` of the floor, which answers nothing.
    pub fn false_positive_rate(&self) -> Option<f64> {
        (self.num_asked > 0).then(|| self.num_false_positives as f64 / self.num_asked as f64)
    }
}

/// Keys of the tables that a round builds at least. Small tables are built several times, each of keys of its own:
/// builds of the same few keys would show the branch predictors what no writer shows them.
const MIN_BUILD_KEYS: usize = 100_000;

/// The keys of one round.
struct Draw {
    num_keys: usize,
    /// Of one table after another; the questions are about the last.
    entries: Vec<Key>,
    absent: Vec<Key>,
    present: Vec<Key>,
    mixed: Vec<Key>,
    /// Seed of the keys that false positives are counted with.
    rate_seed: u64,
}

impl Draw {
    fn new(num_keys: usize, round: usize) -> Self {
        let stream = |index: u64| Keys::new(4 * round as u64 + index);
        let num_tables = MIN_BUILD_KEYS.div_ceil(num_keys);
        let (mut tables, mut questions, mut picks) = (stream(0), stream(1), stream(2));
        let entries: Vec<Key> = (0..num_tables).flat_map(|_| tables.table(num_keys)).collect();
        let table = &entries[entries.len() - num_keys..];
        let num_questions = num_questions(num_keys);
        let absent: Vec<Key> = (0..num_questions).map(|_| questions.absent(num_keys)).collect();
        let present: Vec<Key> = (0..num_questions).map(|_| table[picks.below(num_keys)]).collect();
        let either = |(absent, present): (&Key, &Key)| if picks.number() >> 63 == 0 { *absent } else { *present };
        let mixed = absent.iter().zip(&present).map(either).collect();
        Self { num_keys, entries, absent, present, mixed, rate_seed: 4 * round as u64 + 3 }
    }

    fn table(&self) -> &[Key] {
        &self.entries[self.entries.len() - self.num_keys..]
    }
}

/// Measures `peers` with tables of `num_keys` keys. Each peer is asked for `rate_questions` absent keys besides, to
/// count what passes.
///
/// # Errors
/// Where a filter cannot be built, or misses a key that it was built from: then no figure of it means anything.
pub fn measure(peers: &[Peer], num_keys: usize, num_rounds: usize, rate_questions: usize) -> Result<Vec<Row<'_>>> {
    let row = |peer| Row {
        peer,
        num_keys,
        bits_per_key: 0.0,
        num_asked: 0,
        num_false_positives: 0,
        samples: Samples::default(),
    };
    let mut rows: Vec<Row<'_>> = peers.iter().map(row).collect();
    for round in 0..num_rounds {
        eprintln!("{num_keys} keys: round {} of {num_rounds}", round + 1);
        let draw = Draw::new(num_keys, round);
        for row in &mut rows {
            visit(row, &draw, rate_questions.div_ceil(num_rounds))
                .with_context(|| format!("{} {}", row.peer.name, row.peer.kind()))?;
        }
    }
    Ok(rows)
}

fn visit(row: &mut Row<'_>, draw: &Draw, rate_questions: usize) -> Result<()> {
    let (filter, build) = build(row.peer, draw)?;
    row.samples[Metric::Build].push(build);
    row.bits_per_key = filter.num_bytes() as f64 * 8.0 / draw.num_keys as f64;
    if filter.answers() {
        check(filter.as_ref(), draw.table())?;
        row.num_false_positives += count_passing(filter.as_ref(), draw, rate_questions);
        row.num_asked += rate_questions;
    }

    let ask = |keys: &[Key], caller| {
        sample(keys, |keys| {
            black_box(filter.ask(black_box(keys), caller));
        })
    };
    row.samples[Metric::Neg].push(ask(&draw.absent, Caller::Sums));
    row.samples[Metric::Pos].push(ask(&draw.present, Caller::Sums));
    row.samples[Metric::MixBranch].push(ask(&draw.mixed, Caller::Branches));
    if let Some(batches) = filter.batches() {
        let mut answers = vec![false; draw.absent.len()];
        row.samples[Metric::BatchNeg].push(sample(&draw.absent, |keys| {
            batches.ask_batches(black_box(keys), &mut answers[..keys.len()]);
            black_box(&answers);
        }));
    }
    Ok(())
}

/// The last table's filter, and what a key took: the median over the tables.
fn build(peer: &Peer, draw: &Draw) -> Result<(Box<dyn Filter>, f64)> {
    let (mut last, mut samples) = (None, Vec::new());
    for table in draw.entries.chunks_exact(draw.num_keys) {
        // Its memory is free for the next, as in a process that has been running for a while.
        drop(last.take());
        let start = Instant::now();
        last = Some((peer.build)(black_box(table))?);
        samples.push(start.elapsed().as_nanos() as f64 / table.len() as f64);
    }
    last.zip(crate::stats::median(&samples)).context("no keys")
}

fn check(filter: &dyn Filter, table: &[Key]) -> Result<()> {
    for caller in [Caller::Sums, Caller::Branches] {
        let missing = table.len() - filter.ask(table, caller);
        ensure!(missing == 0, "{missing} of {} keys are missing", table.len());
    }
    if let Some(batches) = filter.batches() {
        let mut answers = vec![false; table.len()];
        batches.ask_batches(table, &mut answers);
        let missing = answers.iter().filter(|&&answer| !answer).count();
        ensure!(missing == 0, "{missing} of {} keys are missing when asked in batches", table.len());
    }
    Ok(())
}

fn count_passing(filter: &dyn Filter, draw: &Draw, num_questions: usize) -> usize {
    const CHUNK_LEN: usize = 1 << 16;
    let mut keys = Keys::new(draw.rate_seed);
    let mut chunk = Vec::with_capacity(CHUNK_LEN);
    let mut passing = 0;
    for start in (0..num_questions).step_by(CHUNK_LEN) {
        chunk.clear();
        chunk.extend((start..num_questions.min(start + CHUNK_LEN)).map(|_| keys.absent(draw.num_keys)));
        passing += filter.ask(&chunk, Caller::Sums);
    }
    passing
}
