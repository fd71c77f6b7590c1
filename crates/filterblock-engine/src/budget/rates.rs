//! The rate of each kind by bits per key, for blocks so large that their number of entries does not matter.

use super::{MAX_MILLIBITS, MIN_MILLIBITS};
use filterblock::{FilterKind, FilterPolicy};
use std::sync::OnceLock;

/// The distance between the sizes with a stored rate. Between two of them ε falls by 6 %, and a straight line is above
/// the curve by a part in two thousand at most.
const STEP: u32 = 125;
/// The number of entries of the block that represents all large ones: its header is less than a thousandth of a bit a
/// key.
const MANY_ENTRIES: u64 = 1 << 20;

/// The sizes with a stored rate, in thousandths of a bit per key.
pub(super) fn sizes() -> impl Iterator<Item = u32> {
    (MIN_MILLIBITS..=MAX_MILLIBITS).step_by(STEP as usize)
}

/// The rate of a block of `num_entries` entries, by the builder's plan. A size that no block can have never pays off.
pub(super) fn of_block(kind: FilterKind, millibits: u32, num_entries: u64) -> f64 {
    let policy = FilterPolicy::with_bits_per_key(kind, f64::from(millibits) / 1e3);
    policy.and_then(|policy| policy.expected_false_positive_rate(num_entries)).unwrap_or(1.0)
}

/// The rates at [`sizes`].
#[derive(Debug)]
pub(super) struct Rates(Vec<f64>);

impl Rates {
    pub(super) fn new(rate: impl FnMut(u32) -> f64) -> Self {
        Self(sizes().map(rate).collect())
    }

    /// The rates of a kind, by the builder's plan. The first call computes them: a tenth of a second for blocked
    /// filters, under a millisecond for the others.
    pub(super) fn of(kind: FilterKind) -> &'static Self {
        static RATES: [OnceLock<Rates>; FilterKind::ALL.len()] = [const { OnceLock::new() }; FilterKind::ALL.len()];
        let index = FilterKind::ALL.iter().copied().position(|other| other == kind).expect("in the list of all kinds");
        RATES[index].get_or_init(|| Self::new(|millibits| of_block(kind, millibits, MANY_ENTRIES)))
    }

    /// The rate at a size within the range, interpolated between stored ones.
    pub(super) fn at(&self, millibits: f64) -> f64 {
        let place = ((millibits - f64::from(MIN_MILLIBITS)) / f64::from(STEP)).clamp(0.0, (self.0.len() - 1) as f64);
        let index = place as usize;
        let (here, share) = (self.0[index], place - index as f64);
        let next = self.0.get(index + 1).copied().unwrap_or(here);
        here + (next - here) * share
    }
}
