//! Union, intersection and cardinality of bit arrays of equal shape.
//!
//! The OR of two filters is the filter of the union, bit for bit. The AND holds every key of the intersection, but
//! passes more absent keys than a filter built of the intersection would. Cardinalities are estimated from the
//! share of bits set (Swamidass and Baldi, "Mathematical correction for fingerprint similarity measures to improve
//! chemical retrieval", 2007).

use super::cardinality;

/// A filter that is one array of bits: each entry sets `num_probes` of them, anywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitArray<'a> {
    pub(crate) num_bits: u64,
    pub(crate) num_probes: u32,
    pub(crate) bytes: &'a [u8],
}

/// The operation that combines two arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Union,
    Intersection,
}

impl BitArray<'_> {
    fn num_bits_set(&self) -> u64 {
        self.bytes.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    /// Returns the combined bits of two arrays of equal shape.
    pub(crate) fn combined(&self, other: &Self, operation: Operation) -> impl Iterator<Item = u8> {
        debug_assert_eq!((self.num_bits, self.num_probes), (other.num_bits, other.num_probes));
        self.bytes.iter().zip(other.bytes).map(move |(x, y)| match operation {
            Operation::Union => x | y,
            Operation::Intersection => x & y,
        })
    }

    /// Returns an estimate of the number of entries, infinite if every bit is set.
    pub(crate) fn estimate_entries(&self) -> f64 {
        cardinality::estimate_entries(self.num_bits, self.num_bits_set(), self.num_probes)
    }

    /// Returns an estimate of the number of entries in the union (from the OR) or the intersection (by inclusion and
    /// exclusion, never below zero) of two arrays of equal shape.
    pub(crate) fn estimate(&self, other: &Self, operation: Operation) -> f64 {
        let (num_bits, num_probes) = (self.num_bits, self.num_probes);
        let either = self.bytes.iter().zip(other.bytes).map(|(x, y)| u64::from((x | y).count_ones())).sum();
        match operation {
            Operation::Union => cardinality::estimate_entries(num_bits, either, num_probes),
            Operation::Intersection => {
                let (a, b) = (self.num_bits_set(), other.num_bits_set());
                cardinality::estimate_intersection(num_bits, a, b, either, num_probes)
            }
        }
    }
}
