//! The allocation of a budget in bytes among the filters of an engine's tables.
//!
//! A lookup of an absent key probes the filter of every sorted run, so its cost is the sum of their false-positive
//! rates, not their mean. With bits per key b and n entries, an ideal filter errs at ε(b) = e^(−cb); the least Σ ε_i
//! under Σ n_i · b_i = constant has ε_i in proportion to n_i. So a run with a tenth of the entries gets log(10)/c more
//! bits a key, which cost little: N. Dayan, M. Athanassoulis, S. Idreos, *Monkey: Optimal Navigable Key-Value Store*,
//! SIGMOD 2017, §4.
//!
//! [`allocate`] solves this for real filters, not for ideal ones: with the rate that the builder's own plan predicts at
//! each size, the overhead of blocks, the legal range of 2 to 64 bits a key, and "no filter" at no cost and a rate of
//! 1.
//!
//! ```
//! use filterblock::FilterKind;
//! use filterblock_engine::budget::{Run, allocate};
//!
//! // Five levels, each ten times the one above, and 10 bits for each of their keys. The deepest has the smallest kind.
//! let level = |i: u32| {
//!     let kind = if i < 4 { FilterKind::Blocked } else { FilterKind::Golomb };
//!     Run::new(kind, 1_000 * 10u64.pow(i)).with_num_blocks(2u64.pow(i))
//! };
//! let runs: Vec<Run> = (0..5).map(level).collect();
//! let budget_bytes = 11_111_000 * 10 / 8;
//! let shares = allocate(&runs, budget_bytes);
//! assert!(shares.is_sorted_by(|above, below| above.expected_fpr <= below.expected_fpr));
//! assert!(shares.iter().map(|share| share.max_len).sum::<u64>() <= budget_bytes);
//! // What the tables of level 3 are built with; none, where a filter would not pay.
//! let policy = shares[3].policy(FilterKind::Blocked).expect("a filter pays here");
//! assert!(shares[3].millibits_per_key > 10_000 && policy.kind() == Some(FilterKind::Blocked));
//! ```
//!
//! [`hold_columns`] decides later, when the lookups are known: how many columns of filters that can be
//! [thinned](filterblock::FilterBlock::thin) memory holds.

mod columns;
mod rates;
mod solve;
#[cfg(test)]
mod tests;

pub use columns::{ColumnPoint, ElasticFilter, hold_columns};
use filterblock::{FilterKind, FilterPolicy, HEADER_LEN};
use rates::Rates;

/// Legal sizes of every kind in thousandths of a bit per key, as [`FilterPolicy::with_bits_per_key`] takes them.
const MIN_MILLIBITS: u32 = 2_000;
const MAX_MILLIBITS: u32 = 64_000;

/// The filters of one sorted run: a level, in which a lookup searches one table, or one table among overlapping ones. A
/// run whose tables have several filters, each probed by other lookups, is given once for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    kind: FilterKind,
    num_entries: u64,
    num_blocks: u64,
    weight: f64,
}

impl Run {
    /// Returns a run of filters of `kind` with `num_entries` distinct entries in all, with one block and a weight of 1
    /// unless set.
    #[must_use]
    pub const fn new(kind: FilterKind, num_entries: u64) -> Self {
        Self { kind, num_entries, num_blocks: 1, weight: 1.0 }
    }

    /// Sets the number of blocks, one a table, over which the entries are spread; 0 counts as 1.
    #[must_use]
    pub const fn with_num_blocks(mut self, num_blocks: u64) -> Self {
        self.num_blocks = if num_blocks == 0 { 1 } else { num_blocks };
        self
    }

    /// The number of lookups of absent keys that probe these filters, on any scale common to the runs. A run gets no
    /// filter unless its weight is above zero.
    #[must_use]
    pub const fn with_weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Returns the greatest number of bytes that the blocks take besides their bits per key, for every distribution of
    /// the entries over them.
    fn overhead_bytes(&self) -> u64 {
        FilterPolicy::max_overhead_bytes(self.kind, self.num_entries, self.num_blocks)
    }

    /// Returns the greatest length of blocks of `millibits` thousandths of a bit per key, in bytes; 0 for no filter.
    fn max_len(&self, millibits: u32) -> u64 {
        if millibits == 0 {
            return 0;
        }
        let payload = (u128::from(self.num_entries) * u128::from(millibits)).div_ceil(8_000);
        u64::try_from(payload).unwrap_or(u64::MAX).saturating_add(self.overhead_bytes())
    }
}

/// The share of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Share {
    /// The thousandths of a bit per key, 2 000 to 64 000; 0 for no filter.
    pub millibits_per_key: u32,
    /// The greatest length of the run's blocks together, in bytes, headers included.
    pub max_len: u64,
    /// The expected false-positive rate; 1 for no filter.
    pub expected_fpr: f64,
}

impl Share {
    const NONE: Self = Self { millibits_per_key: 0, max_len: 0, expected_fpr: 1.0 };

    /// The policy that builds the run's filters; `None` for no filter.
    pub fn policy(&self, kind: FilterKind) -> Option<FilterPolicy> {
        FilterPolicy::with_bits_per_key(kind, f64::from(self.millibits_per_key) / 1e3).ok()
    }
}

/// Allocates `budget_bytes` among the filters of `runs` so that Σ weight · rate is least.
///
/// Shares are in the order of the runs. The blocks of all runs, built with [`Share::policy`] from at most as many
/// entries and blocks as stated, take at most `budget_bytes` together. The same runs and budget get the same shares on
/// every machine, and more bytes never make the sum larger.
///
/// From 3.5 bits a key on, the shares are optimal: in hundreds of random cases, no combination on a grid was better by
/// 0.0001. If the budget is too small for all runs, another choice of those that get a filter may be better: in one
/// such case of a hundred, by a few per cent. Blocked filters are assumed to be built with the default number of salts.
/// For kinds whose [rate has steps](FilterPolicy::rate_has_steps) the blocks of a run are assumed to have equal numbers
/// of entries: if these differ, some have twice the rate, or half of it.
///
/// The first call for blocked filters takes a tenth of a second, which computes their rates; later ones 0.1 to 1 ms for
/// five to twenty runs.
pub fn allocate(runs: &[Run], budget_bytes: u64) -> Vec<Share> {
    allocate_by(runs, budget_bytes, Rates::of)
}

/// `rates` gives the rates of a kind by bits per key.
fn allocate_by(runs: &[Run], budget_bytes: u64, rates: impl Fn(FilterKind) -> &'static Rates) -> Vec<Share> {
    let mut shares = vec![Share::NONE; runs.len()];
    let worth_it = |(_, run): &(usize, &Run)| run.num_entries > 0 && run.weight > 0.0 && run.weight.is_finite();
    let asked: Vec<(usize, &Run)> = runs.iter().enumerate().filter(worth_it).collect();
    let units: Vec<solve::Unit> = asked.iter().map(|(_, run)| unit(run, rates(run.kind))).collect();
    // Sums of floating-point numbers are off by about a part in 2^50. A part in 2^40 keeps the total within the budget.
    let budget_bits = budget_bytes as f64 * 8.0 * (1.0 - 1.0 / (1u64 << 40) as f64);
    for ((index, run), (unit, millibits)) in asked.iter().zip(units.iter().zip(solve::solve(&units, budget_bits))) {
        if millibits > 0 {
            shares[*index] = Share {
                millibits_per_key: millibits,
                max_len: run.max_len(millibits),
                expected_fpr: unit.rate(millibits),
            };
        }
    }
    shares
}

fn unit(run: &Run, rates: &Rates) -> solve::Unit {
    let entries = run.num_entries as f64;
    // One more byte, as the division is rounded up.
    let overhead_bits = (run.overhead_bytes() as f64 + 1.0) * 8.0;
    let of_curve = |rate: &dyn Fn(u32) -> f64| {
        solve::Unit::new(rates::sizes().map(|size| (size, rate(size))), run.weight, entries / 1e3, overhead_bits)
    };
    if FilterPolicy::rate_has_steps(run.kind) {
        let entries_of_block = run.num_entries.div_ceil(run.num_blocks.max(1));
        return of_curve(&|millibits| rates::of_block(run.kind, millibits, entries_of_block)).stepped();
    }
    // The builder takes a block's header from its bits, up to one part in 64.
    let header_millibits = HEADER_LEN as f64 * 8_000.0 * run.num_blocks as f64 / entries;
    let rate = |millibits: u32| {
        let millibits = f64::from(millibits);
        rates.at(millibits - (millibits / 64.0).min(header_millibits))
    };
    of_curve(&rate)
}
