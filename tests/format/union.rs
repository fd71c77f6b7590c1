//! Union, intersection and cardinality.

use crate::material::{capped, keys};
use filterblock::{CombineError, FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, KeyTransform};

fn block(policy: FilterPolicy, keys: &[[u8; 8]]) -> Vec<u8> {
    let mut builder = FilterBlockBuilder::new(&policy);
    keys.iter().for_each(|key| builder.add_entry(key));
    builder.allow_empty().finish().expect("a block")
}

fn open(block: &[u8]) -> FilterBlockReader<'_> {
    FilterBlockReader::open(block).expect("intact")
}

fn bloom(bytes: u64) -> FilterPolicy {
    capped(FilterKind::Bloom, bytes)
}

/// Four standard errors of the estimate: about √m · 0.83 / k entries each at half fill, for a filter of m bits and k
/// probes.
fn assert_near(estimate: f64, truth: f64, what: &str) {
    assert!((estimate - truth).abs() < 150.0, "{what}: {estimate} for {truth}");
}

#[test]
fn union_is_the_filter_of_both() {
    // The same number of entries under the same cap gives equal shapes.
    let all = keys(8, 15_000);
    let (a, b) = (block(bloom(12_564), &all[..10_000]), block(bloom(12_564), &all[5_000..]));
    let (a, b) = (open(&a), open(&b));
    assert_near(a.estimate_entries().expect("bloom"), 10_000.0, "entries");
    assert_near(a.estimate_union(&b).expect("equal shapes"), 15_000.0, "union");
    assert_near(a.estimate_intersection(&b).expect("equal shapes"), 5_000.0, "intersection");

    let union = a.union(&b, 3).expect("equal shapes");
    let union = filterblock::OpenOptions::new().with_context(3).open(&union).expect("intact");
    assert!(union.entries_estimated());
    assert_near(union.num_entries() as f64, 15_000.0, "union");
    assert!(all.iter().all(|key| union.may_contain(key)));
    for key in keys(9, 5_000) {
        assert!(union.may_contain(&key) || !(a.may_contain(&key) || b.may_contain(&key)));
    }
    let intersection = a.intersection(&b, 0).expect("equal shapes");
    let intersection = open(&intersection);
    assert!(all[5_000..10_000].iter().all(|key| intersection.may_contain(key)));
    for key in keys(10, 5_000) {
        assert!(!intersection.may_contain(&key) || (a.may_contain(&key) && b.may_contain(&key)));
    }
}

#[test]
fn a_filter_without_entries_fits_every_shape() {
    let (some, none) = (block(bloom(1_000), &keys(1, 100)), block(bloom(5_000), &[]));
    let (some, none) = (open(&some), open(&none));
    let union = none.union(&some, 0).expect("fits");
    let union = open(&union);
    assert!(keys(1, 100).iter().all(|key| union.may_contain(key)));
    for nothing in [some.intersection(&none, 0), none.union(&none, 0)] {
        assert_eq!(open(&nothing.expect("fits")).num_entries(), 0);
    }
    assert_eq!(none.estimate_entries(), Ok(0.0));
}

#[test]
fn the_error_names_the_difference() {
    let some = keys(1, 200);
    let base = block(bloom(1_000), &some);
    let base = open(&base);
    let against = |policy: FilterPolicy, keys: &[[u8; 8]]| {
        let other = block(policy, keys);
        let other = open(&other);
        assert_eq!(base.estimate_union(&other).err(), base.intersection(&other, 0).err());
        base.union(&other, 0).expect_err("different")
    };
    assert_eq!(against(bloom(1_000).with_seed(5), &some), CombineError::Seed { a: 0, b: 5 });
    let (a, b) = (KeyTransform::WholeKey, KeyTransform::Row);
    assert_eq!(against(bloom(1_000).with_transform(b), &some), CombineError::Transform { a, b });
    let more = against(bloom(2_000), &some);
    assert!(matches!(more, CombineError::NumBits { a: 7_488, b: 12_800 }), "{more}");
    let rate = capped(FilterKind::Blocked, 1_000);
    assert_eq!(against(rate, &some), CombineError::Kind { found: FilterKind::Blocked });
    assert!(base.union(&base, 0).is_ok());
    let [base, other] = [400, 500].map(|count| block(bloom(564), &keys(2, count)));
    assert!(matches!(open(&base).union(&open(&other), 0), Err(CombineError::NumProbes { .. })));
}
