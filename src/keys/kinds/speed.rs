//! The times that filters of a kind take to build and to query, for the choice among kinds.
//!
//! Constants, so that the same policy chooses the same kind on every machine. `cargo bench --bench speeds` measures
//! them and prints them as each kind has them.
//!
//! The constants were measured on one core of an AMD EPYC of family 25, model 17 (Zen 4), with AVX-512; they are the
//! least of three runs.

/// The greatest length of blocks for which the cached figure holds.
const CACHED_LEN_LOG2: u32 = 17;
/// The least length of blocks for which the uncached figure holds.
const UNCACHED_LEN_LOG2: u32 = 24;

/// The nanoseconds of one core, hashing of 16-byte keys included. Kinds are compared by them, so only their ratios
/// matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Speed {
    /// The time to build a block, for each of a million keys, the self-check included.
    pub(crate) build_ns: f64,
    /// The time of a query of an absent key in a block of 12.5 kB, which stays in the first-level cache.
    pub(crate) cached_query_ns: f64,
    /// The time of a query of an absent key in a block of 20 MB, longer than the caches that a core has to itself.
    pub(crate) uncached_query_ns: f64,
}

impl Speed {
    /// Returns the time of a query of a block of `block_len` bytes: between the two lengths, each doubling adds the
    /// same.
    pub(crate) fn query_ns(&self, block_len: u64) -> f64 {
        let len = block_len.clamp(1 << CACHED_LEN_LOG2, 1 << UNCACHED_LEN_LOG2);
        // The logarithm is taken as linear between powers of two: basic operations give the same result everywhere.
        let whole = len.ilog2();
        let doublings = f64::from(whole - CACHED_LEN_LOG2) + (len as f64 / (1u64 << whole) as f64 - 1.0);
        let share = doublings / f64::from(UNCACHED_LEN_LOG2 - CACHED_LEN_LOG2);
        self.cached_query_ns + (self.uncached_query_ns - self.cached_query_ns) * share
    }
}

#[cfg(test)]
mod tests {
    use super::Speed;

    #[test]
    fn a_query_takes_longer_the_longer_the_block_between_the_two_lengths() {
        let speed = Speed { build_ns: 1.0, cached_query_ns: 8.0, uncached_query_ns: 22.0 };
        for (len, query_ns) in
            [(0, 8.0), (1 << 17, 8.0), (1 << 18, 10.0), (3 << 17, 11.0), (1 << 20, 14.0), (1 << 24, 22.0)]
        {
            assert_eq!(speed.query_ns(len), query_ns, "{len}");
        }
        assert_eq!(speed.query_ns(u64::MAX), 22.0);
        let lens = (10..30).flat_map(|log2| (4..8).map(move |fourths| fourths << (log2 - 2)));
        assert!(lens.map(|len| speed.query_ns(len)).is_sorted());
    }
}
