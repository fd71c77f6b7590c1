//! Reads as skewed as those of YCSB's workload C: one cell at a time, some cells far more often than others.

use super::ask::{self, Asked, Question};
use super::data::{Dataset, random};
use super::measure::{NUM_WARM_UP, Plan};
use super::os;
use super::stage::Stage;
use filterblock::FilterPolicy;
use filterblock::kv::{CacheBypass, Stats};
use std::path::Path;
use std::time::{Duration, Instant};

/// The skew that YCSB has unless told otherwise (Cooper et al., *Benchmarking Cloud Serving Systems with YCSB*, SoCC
/// 2010; `ZIPFIAN_CONSTANT` in its sources).
pub(super) const THETA: f64 = 0.99;

/// Ranks 0 ≤ k < n, each with a probability in proportion to 1/(k + 1)^θ.
struct Zipf {
    /// Probability of this rank or a lower one, not normalised.
    cumulative: Vec<f64>,
}

impl Zipf {
    fn new(num_ranks: usize, theta: f64) -> Self {
        let mut sum = 0.0;
        let add = |rank: usize| {
            sum += (rank as f64).powf(-theta);
            sum
        };
        Self { cumulative: (1..=num_ranks).map(add).collect() }
    }

    /// The rank for `random`, by inversion of the distribution: exact, where YCSB's own formula (Gray et al., *Quickly
    /// Generating Billion-Record Synthetic Databases*, SIGMOD 1994, §3.2) approximates all ranks but the first two.
    fn rank(&self, random: u64) -> usize {
        let sum = self.cumulative.last().copied().unwrap_or(0.0);
        // 53 bits are what an f64 has.
        let at = (random >> 11) as f64 / (1u64 << 53) as f64 * sum;
        self.cumulative.partition_point(|cumulative| *cumulative <= at).min(self.cumulative.len().saturating_sub(1))
    }
}

/// The questions of all shares, the same for every run.
pub(super) struct Questions<'a> {
    data: &'a Dataset,
    zipf: Zipf,
}

impl<'a> Questions<'a> {
    pub(super) fn new(data: &'a Dataset) -> Self {
        Self { data, zipf: Zipf::new(data.rows.len(), THETA) }
    }

    /// Question `i` where `absent_percent` of all are for cells that are not there: a column that a row does not have,
    /// or a column of a row that does not exist, half and half.
    ///
    /// Ranks are scattered over the key space by a hash, as in YCSB's scrambled distribution, so that popular keys do
    /// not lie side by side.
    pub(super) fn question(&self, absent_percent: u8, i: u64) -> Question<'a> {
        let scattered = random(b"zipfian place", self.zipf.rank(random(b"zipfian rank", i)) as u64);
        let row = &self.data.rows[(scattered % self.data.rows.len() as u64) as usize];
        let choice = random(b"zipfian choice", i);
        let (column, value) = &row.columns[((choice >> 32) % row.columns.len() as u64) as usize];
        if choice % 100 >= u64::from(absent_percent) {
            return Question { row: &row.row, column: Some(column), expected: Some(value) };
        }
        if (choice >> 16) % 2 == 0 {
            return Question { row: &row.row, column: Some(&row.absent_column), expected: None };
        }
        let absent_row = &self.data.absent_rows[(scattered % self.data.absent_rows.len() as u64) as usize];
        Question { row: absent_row, column: Some(column), expected: None }
    }

    pub(super) fn all(&self, absent_percent: u8, num: u64) -> impl Iterator<Item = Question<'a>> {
        (0..num).map(move |i| self.question(absent_percent, i))
    }
}

/// What the questions of one share came to.
pub(super) struct ShareMeasurement {
    pub(super) asked: Asked,
    /// A hash over all answers in order.
    pub(super) answers: u64,
    /// What the system counted, where it does.
    pub(super) os: Option<os::Count>,
}

impl ShareMeasurement {
    /// By the time that the lookups took, one at a time.
    pub(super) fn lookups_per_second(&self) -> f64 {
        let nanos: u64 = self.asked.nanos.iter().sum();
        self.asked.nanos.len() as f64 * 1e9 / nanos.max(1) as f64
    }
}

/// What one run came to, all shares of absent cells on one store.
pub(super) struct ZipfMeasurement {
    pub(super) policy: Option<FilterPolicy>,
    pub(super) bypass: CacheBypass,
    pub(super) stats: Stats,
    /// In the order asked for.
    pub(super) shares: Vec<ShareMeasurement>,
    /// The whole account, warm-up included, that did not balance.
    pub(super) imbalance: Option<String>,
    pub(super) warnings: Vec<String>,
}

/// Loads, warms up, asks for each share, and removes the store again.
pub(super) fn run(
    data: &Dataset,
    questions: &Questions<'_>,
    absent_percents: &[u8],
    plan: &mut Plan,
    policy: Option<FilterPolicy>,
    parent: &Path,
) -> anyhow::Result<ZipfMeasurement> {
    let stage = Stage::set(data, policy, parent)?;
    let store = &stage.store;
    let mut warm_up = Duration::ZERO;
    for &percent in absent_percents {
        let started = Instant::now();
        ask::ask(store, questions.all(percent, NUM_WARM_UP as u64), &mut 0)?;
        warm_up += started.elapsed();
    }
    let lookups = plan.lookups(warm_up) as u64;

    let direct = stage.bypass == CacheBypass::Active;
    let mut shares = Vec::new();
    for &percent in absent_percents {
        let mut answers = 0;
        let (asked, os) = os::count(direct, || ask::ask(store, questions.all(percent, lookups), &mut answers));
        shares.push(ShareMeasurement { asked: asked?, answers, os });
    }
    let measurement = ZipfMeasurement {
        policy,
        bypass: stage.bypass.clone(),
        stats: store.stats(),
        shares,
        imbalance: store.ledger().check().err().map(|imbalance| imbalance.to_string()),
        warnings: store.warnings().iter().map(ToString::to_string).collect(),
    };
    stage.strike()?;
    Ok(measurement)
}

#[cfg(test)]
mod tests {
    use super::super::webtable;
    use super::{Questions, THETA, Zipf};
    use crate::demo::data::random;

    /// Each of the first ranks comes as often as its probability says, within four standard deviations.
    #[test]
    fn ranks_follow_the_distribution() {
        const NUM_RANKS: usize = 1000;
        const NUM_DRAWN: u64 = 200_000;
        let zipf = Zipf::new(NUM_RANKS, THETA);
        let mut counts = vec![0u64; NUM_RANKS];
        (0..NUM_DRAWN).for_each(|i| counts[zipf.rank(random(b"test", i))] += 1);
        let zeta: f64 = (1..=NUM_RANKS).map(|rank| 1.0 / (rank as f64).powf(THETA)).sum();
        for (rank, count) in counts.iter().enumerate().take(20) {
            let probability = 1.0 / ((rank + 1) as f64).powf(THETA) / zeta;
            let expected = probability * NUM_DRAWN as f64;
            let sigma = (expected * (1.0 - probability)).sqrt();
            assert!((*count as f64 - expected).abs() < 4.0 * sigma, "rank {rank}: {count} for {expected} ± {sigma}");
        }
    }

    #[test]
    fn every_random_number_has_a_rank() {
        for num_ranks in [1, 2, 1000] {
            let zipf = Zipf::new(num_ranks, THETA);
            assert_eq!((zipf.rank(0), zipf.rank(u64::MAX)), (0, num_ranks - 1));
        }
    }

    #[test]
    fn questions_are_absent_as_often_as_asked_for_and_are_what_they_seem() {
        const NUM: u64 = 10_000;
        let data = webtable::generate(1000);
        let questions = Questions::new(&data);
        for percent in [0, 10, 50, 100] {
            let absent = questions.all(percent, NUM).filter(|question| question.expected.is_none()).count() as f64;
            let (expected, share) = (NUM as f64 * f64::from(percent) / 100.0, f64::from(percent) / 100.0);
            assert!((absent - expected).abs() <= 4.0 * (expected * (1.0 - share)).sqrt(), "{absent} for {expected}");
        }
        for question in questions.all(50, NUM) {
            let row = data.rows.iter().find(|row| row.row == question.row);
            let value = row.and_then(|row| {
                let cell = row.columns.iter().find(|(column, _)| Some(column.as_slice()) == question.column);
                cell.map(|(_, value)| value.as_slice())
            });
            assert_eq!(value, question.expected);
        }
    }

    /// Popular rows lie all over the key range, and few rows get most of the questions.
    #[test]
    fn popular_keys_are_scattered() {
        const NUM: u64 = 10_000;
        let data = webtable::generate(1000);
        let mut counts = vec![0u64; data.rows.len()];
        for question in Questions::new(&data).all(0, NUM) {
            let place = data.rows.binary_search_by(|row| row.row.as_slice().cmp(question.row));
            counts[place.expect("a present row")] += 1;
        }
        let quarters: Vec<u64> = counts.chunks(counts.len().div_ceil(4)).map(|quarter| quarter.iter().sum()).collect();
        assert!(quarters.iter().all(|count| *count > NUM / 10), "{quarters:?}");
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert!(counts.iter().take(100).sum::<u64>() > NUM / 2);
    }
}
