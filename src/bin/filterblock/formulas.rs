//! Published formulas for the false-positive rate of filters that set bits, side by side.

use filterblock::sizing::{blocked, bloom};
use serde_json::{Value, json};

/// Bits of a line: a cache line.
const BITS_PER_LINE: u32 = 512;

/// The parameters that the formulas take.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    pub(crate) num_bits: u64,
    pub(crate) num_entries: u64,
    pub(crate) num_probes: u32,
}

/// A formula for one filter, or for one of many lines of [`BITS_PER_LINE`] bits.
pub(crate) struct Formula {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    rate: fn(Parameters) -> f64,
    /// Without approximation, for the same filter.
    exact: fn(Parameters) -> f64,
}

pub(crate) const FORMULAS: [Formula; 5] = [
    Formula { name: "approximation", source: "Bloom 1970", rate: approximate, exact: classic },
    Formula { name: "exact", source: "Bose et al. 2008, Christensen et al. 2010", rate: classic, exact: classic },
    Formula { name: "upper bound", source: "Goel, Gupta 2010", rate: goel_gupta, exact: classic },
    Formula { name: "512-bit lines, approximation", source: "Putze et al. 2009", rate: putze, exact: lines },
    Formula { name: "512-bit lines, exact", source: "Putze et al. 2009, Bose et al. 2008", rate: lines, exact: lines },
];

fn approximate(of: Parameters) -> f64 {
    bloom::approximate_false_positive_rate(of.num_bits, of.num_entries, of.num_probes)
}

fn classic(of: Parameters) -> f64 {
    bloom::exact_false_positive_rate(of.num_bits, of.num_entries, of.num_probes)
}

fn goel_gupta(of: Parameters) -> f64 {
    bloom::goel_gupta_false_positive_rate(of.num_bits, of.num_entries, of.num_probes)
}

fn putze(of: Parameters) -> f64 {
    blocked::putze_false_positive_rate(BITS_PER_LINE, of.millibits(), of.num_probes)
}

fn lines(of: Parameters) -> f64 {
    blocked::putze_exact_false_positive_rate(BITS_PER_LINE, of.millibits(), of.num_probes)
}

impl Parameters {
    /// Thousandths of a bit for each entry.
    fn millibits(self) -> u32 {
        let millibits = u128::from(self.num_bits) * 1_000 / u128::from(self.num_entries.max(1));
        u32::try_from(millibits).unwrap_or(u32::MAX)
    }
}

impl Formula {
    /// The rate, and its ratio to the exact one.
    pub(crate) fn apply(&self, parameters: Parameters) -> (f64, f64) {
        let rate = (self.rate)(parameters);
        (rate, rate / (self.exact)(parameters))
    }
}

pub(crate) fn json(parameters: Parameters) -> Value {
    let formula = |formula: &Formula| {
        let (fpr, ratio) = formula.apply(parameters);
        json!({ "name": formula.name, "source": formula.source, "fpr": fpr, "ratio_to_exact": ratio })
    };
    json!({ "num_bits": parameters.num_bits, "rates": FORMULAS.iter().map(formula).collect::<Vec<_>>() })
}
