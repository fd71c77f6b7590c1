//! Union, intersection and cardinality of Bloom filters of equal shape.
//!
//! The OR of two filters is the filter of the union, bit for bit. The AND holds every key of the intersection, but
//! passes more absent keys than a filter built of the intersection would. Cardinalities are estimated from the
//! share of bits set (Swamidass and Baldi, "Mathematical correction for fingerprint similarity measures to improve
//! chemical retrieval", 2007).

use super::bloom;
use crate::sizing::cardinality;
use std::vec::Vec;

/// Which bits survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Union,
    Intersection,
}

/// The combined bits of two filters of equal parameters.
pub(crate) fn combine(operation: Operation, a: &bloom::View<'_>, b: &bloom::View<'_>) -> Vec<u8> {
    debug_assert_eq!(a.params(), b.params());
    let pairs = a.payload().iter().zip(b.payload());
    match operation {
        Operation::Union => pairs.map(|(x, y)| x | y).collect(),
        Operation::Intersection => pairs.map(|(x, y)| x & y).collect(),
    }
}

/// Estimated number of entries in one filter; infinite if every bit is set.
pub(crate) fn estimate_entries(filter: &bloom::View<'_>) -> f64 {
    let params = filter.params();
    cardinality::estimate_entries(params.num_bits(), filter.num_bits_set(), params.num_probes())
}

/// Estimated number of entries in the union (from the OR) or the intersection (by inclusion and exclusion; never
/// below zero) of two filters of equal parameters.
pub(crate) fn estimate(operation: Operation, a: &bloom::View<'_>, b: &bloom::View<'_>) -> f64 {
    let (num_bits, num_probes) = (a.params().num_bits(), a.params().num_probes());
    let either = a.payload().iter().zip(b.payload()).map(|(x, y)| u64::from((x | y).count_ones())).sum();
    match operation {
        Operation::Union => cardinality::estimate_union(num_bits, either, num_probes),
        Operation::Intersection => {
            cardinality::estimate_intersection(num_bits, a.num_bits_set(), b.num_bits_set(), either, num_probes)
        }
    }
}
