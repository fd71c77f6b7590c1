//! Published formulas for the false-positive rate of filters that set bits, to be shown side by side.

/// Dimensions of a filter that sets bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dimensions {
    /// Bits of the filter, header not included.
    pub num_bits: u64,
    /// Distinct entries.
    pub num_entries: u64,
    /// Probes of a query.
    pub num_probes: u32,
}

impl Dimensions {
    /// The dimensions of a filter of `num_bits` bits, header not included, for `num_entries` distinct entries, with
    /// `num_probes` probes a query.
    #[must_use]
    pub const fn new(num_bits: u64, num_entries: u64, num_probes: u32) -> Self {
        Self { num_bits, num_entries, num_probes }
    }

    /// Thousandths of a bit for each entry.
    pub(crate) fn millibits(self) -> u32 {
        let millibits = u128::from(self.num_bits) * 1_000 / u128::from(self.num_entries.max(1));
        u32::try_from(millibits).unwrap_or(u32::MAX)
    }
}

/// A published formula.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    /// The result of the formula, in a few words.
    pub name: &'static str,
    /// Authors and year.
    pub source: &'static str,
    pub(crate) rate: fn(Dimensions) -> f64,
}

impl Formula {
    /// The rate by this formula; 0 ..= 1.
    #[must_use]
    pub fn rate(&self, of: Dimensions) -> f64 {
        (self.rate)(of)
    }
}
