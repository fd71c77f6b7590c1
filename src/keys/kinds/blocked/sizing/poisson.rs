//! Poisson mixtures: the number of keys that fall into one line of a large blocked filter.

/// Counts whose probability is below this fraction of the likeliest count's are left out: 2^-80, far below
/// the smallest rate of interest times its accuracy.
const CUTOFF: f64 = 1.0 / (1u128 << 80) as f64;

/// A Poisson distribution cut to the counts that matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poisson {
    mean: f64,
    first: u32,
    last: u32,
}

impl Poisson {
    /// `mean` positive and at most a few million (the work is proportional to its square root).
    pub(crate) fn new(mean: f64) -> Self {
        let mode = mean as u32;
        let (mut first, mut weight) = (mode, 1.0);
        while first > 0 && weight >= CUTOFF {
            weight *= f64::from(first) / mean;
            first -= 1;
        }
        let (mut last, mut weight) = (mode, 1.0);
        while weight >= CUTOFF {
            last += 1;
            weight *= mean / f64::from(last);
        }
        Self { mean, first, last }
    }

    /// The largest count that matters.
    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    /// The expectation of `value`, which is called with each count that matters, in increasing order.
    ///
    /// The weights start at 1 for the first count and grow by mean/count; dividing by their sum replaces the
    /// factorials.
    pub(crate) fn expect(&self, mut value: impl FnMut(u32) -> f64) -> f64 {
        let (mut weight, mut weights, mut sum) = (1.0, 0.0, 0.0);
        for count in self.first..=self.last {
            weights += weight;
            sum += weight * value(count);
            weight *= self.mean / f64::from(count + 1);
        }
        sum / weights
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_poisson() {
        for mean in [1e-4, 0.3, 1.0, 7.5, 51.2, 256.0, 512.0, 65_536.0] {
            let poisson = Poisson::new(mean);
            let first = poisson.expect(f64::from);
            let second = poisson.expect(|n| (f64::from(n) - mean) * (f64::from(n) - mean));
            assert!((first / mean - 1.0).abs() < 1e-12, "mean {mean}: {first}");
            assert!((second / mean - 1.0).abs() < 1e-11, "variance {mean}: {second}");
        }
    }

    #[test]
    fn single_probabilities_are_those_of_poisson() {
        let poisson = Poisson::new(2.0);
        for (count, factorial) in [(0u32, 1.0), (1, 1.0), (2, 2.0), (3, 6.0), (4, 24.0), (10, 3_628_800.0)] {
            let ours = poisson.expect(|n| if n == count { 1.0 } else { 0.0 });
            let reference = (-2.0f64).exp() * 2f64.powi(count as i32) / factorial;
            assert!((ours / reference - 1.0).abs() < 1e-13, "{count}: {ours} against {reference}");
        }
    }
}
