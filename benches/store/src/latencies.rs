//! Quantiles of many durations in little memory.

/// Buckets per power of two: a quantile is at most 1/64 too large.
const FINE_BITS: u32 = 6;
const NUM_BUCKETS: usize = (64 - FINE_BITS as usize + 1) << FINE_BITS;

/// A histogram of nanoseconds.
pub struct Latencies {
    counts: Vec<u64>,
    total: u64,
    max_ns: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: vec![0; NUM_BUCKETS], total: 0, max_ns: 0 }
    }
}

impl Latencies {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The upper end of the bucket that holds the quantile, in nanoseconds; 0 for an empty histogram.
    pub fn quantile_ns(&self, at: f64) -> u64 {
        let rank = (at * self.total as f64).ceil() as u64;
        let mut seen = 0;
        let reaches = |&count: &u64| {
            seen += count;
            seen >= rank.max(1)
        };
        self.counts.iter().position(reaches).map_or(0, |index| upper_end(index).min(self.max_ns))
    }
}

/// Exact below 2^`FINE_BITS`; above, the power of two and the bits that follow its leading one.
fn bucket(ns: u64) -> usize {
    let shift = (64 - ns.leading_zeros()).saturating_sub(FINE_BITS + 1);
    ((shift as usize) << FINE_BITS) + (ns >> shift) as usize
}

fn upper_end(index: usize) -> u64 {
    let shift = (index >> FINE_BITS).saturating_sub(1) as u32;
    let leading = (index - ((shift as usize) << FINE_BITS)) as u64;
    (leading << shift) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_lies_below_its_upper_end() {
        let exponents = 0..63;
        let numbers = exponents.flat_map(|exponent| [(1u64 << exponent) - 1, 1 << exponent, (1 << exponent) + 1]);
        for ns in numbers.chain([u64::MAX]) {
            let end = upper_end(bucket(ns));
            assert!(end >= ns && end - ns <= ns >> FINE_BITS, "{ns} is counted as {end}");
            assert_eq!(bucket(end), bucket(ns));
            assert!(end == u64::MAX || bucket(end + 1) == bucket(ns) + 1);
        }
    }

    #[test]
    fn quantiles_of_the_first_thousand() {
        let mut latencies = Latencies::new();
        (1..=1000).for_each(|ns| latencies.add(ns));
        assert_eq!(latencies.quantile_ns(0.0), 1);
        assert_eq!(latencies.quantile_ns(0.5), upper_end(bucket(500)));
        assert_eq!(latencies.quantile_ns(1.0), 1000);
        assert_eq!((latencies.total(), latencies.max_ns()), (1000, 1000));
        assert_eq!(Latencies::new().quantile_ns(0.5), 0);
    }
}
