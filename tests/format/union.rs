//! Union, intersection and cardinality.

use crate::*;

fn block(policy: FilterPolicy, keys: &[[u8; 8]]) -> Vec<u8> {
    let mut builder = FilterBlockBuilder::new(&policy);
    keys.iter().for_each(|key| builder.add_entry(key));
    builder.allow_empty().finish().expect("a block")
}

fn open(block: &[u8]) -> FilterBlockReader<'_> {
    OpenOptions::new().open(block).expect("intact")
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
    assert_near(intersection.num_entries() as f64, 5_000.0, "intersection");
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
        let error = base.union(&other, 0).expect_err("different");
        assert_eq!(base.intersection(&other, 0), Err(error));
        error
    };
    let error = against(bloom(1_000).with_seed(5), &some);
    assert_eq!(error, CombineError::Entries(DecodeError::WrongSeed { expected: 0, found: 5 }));
    let (expected, found) = (KeyTransform::WholeKey.to_wire(), KeyTransform::Row.to_wire());
    let other = against(bloom(1_000).with_transform(KeyTransform::Row), &some);
    assert_eq!(other, CombineError::Entries(DecodeError::WrongTransform { expected, found }));
    let more = against(bloom(2_000), &some);
    assert!(matches!(more, CombineError::NumBits { a: 7_488, b: 12_800 }), "{more}");
    let rate = capped(FilterKind::Blocked, 1_000);
    assert_eq!(against(rate, &some), CombineError::Kind { found: FilterKind::Blocked });
    assert!(base.union(&base, 0).is_ok());
    let [base, other] = [400, 500].map(|count| block(bloom(564), &keys(2, count)));
    assert!(matches!(open(&base).union(&open(&other), 0), Err(CombineError::NumProbes { .. })));
}

/// Parts of a hundredth to all of the keys, made apart under one policy of a fixed shape: their union is the filter of
/// all keys, bit for bit, whatever their numbers, and so is that of a part without keys.
#[test]
fn parts_of_unequal_size_unite() {
    let all = keys(3, 20_000);
    for (len, num_probes) in [(25_064, 7), (4_096, 1), (131_072, 12), (65_536, 64), (2_601, 5)] {
        let policy = FilterPolicy::with_fixed_shape(FilterKind::Bloom, len, num_probes).expect("legal");
        let whole = block(policy.clone(), &all);
        let cuts = [0, 0, 1, 200, 201, 5_000, 19_000, 20_000];
        let mut union = block(policy.clone(), &[]);
        for (from, to) in cuts.iter().zip(&cuts[1..]) {
            let part = block(policy.clone(), &all[*from..*to]);
            let expected_len = if from == to { 64 } else { len };
            let lengths = (part.len() as u64, policy.expected_block_len((to - from) as u64));
            assert_eq!(lengths, (expected_len, Ok(expected_len)));
            union = open(&union).union(&open(&part), 0).expect("equal shapes");
        }
        assert_eq!(union[64..], whole[64..], "{policy}");
        let union = open(&union);
        assert_eq!((union.num_probes(), union.as_bytes().len() as u64), (Some(num_probes), len));
        assert!(all.iter().all(|key| union.may_contain(key)), "{policy}");
        // The rate that the policy plans is that of the bits.
        let (planned, found) =
            (policy.expected_false_positive_rate(20_000).expect("planned"), union.false_positive_rate());
        assert!((planned - found).abs() < 0.02 + planned / 10.0, "{policy}: {planned} and {found}");
    }
}

/// A shape that is too small for its entries, and one that no other kind has.
#[test]
fn a_fixed_shape_is_kept_or_refused() {
    let policy = FilterPolicy::with_fixed_shape(FilterKind::Bloom, 164, 7).expect("legal");
    let finish = |count| {
        let mut builder = FilterBlockBuilder::new(&policy);
        keys(4, count).iter().for_each(|key| builder.add_entry(key));
        builder.finish()
    };
    assert_eq!(finish(800).map(|block| block.len()), Ok(164));
    let (kind, cap_bytes, min_bytes) = (FilterKind::Bloom, 164, 165);
    assert_eq!(finish(801), Err(BuildError::ByteCap { kind, cap_bytes, min_bytes, num_entries: 801 }));
    assert_eq!(policy.expected_num_entries(164), 800);
    assert_eq!((policy.expected_num_entries(163), policy.max_block_len(5)), (0, Ok(164)));
    for &kind in FilterKind::ALL.iter().filter(|kind| **kind != FilterKind::Bloom) {
        assert_eq!(FilterPolicy::with_fixed_shape(kind, 4096, 7), Err(BuildError::NoFixedShape { kind }));
    }
    // A compact frame has the same bits.
    let mut builder = FilterBlockBuilder::new(&policy);
    keys(4, 10).iter().for_each(|key| builder.add_entry(key));
    let mut frame = Vec::new();
    builder.clone().finish_compact_into(&mut frame).expect("a frame");
    assert_eq!(frame[..100], builder.finish().expect("a block")[64..]);
}

/// The errors of parts that a byte cap shaped by their numbers of keys name the policy that they need.
#[test]
fn the_error_of_unequal_parts_names_the_policy() {
    let parts = |policy: &str, counts: [usize; 2]| {
        let policy: FilterPolicy = policy.parse().expect("a policy");
        let [a, b] = counts.map(|count| block(policy.clone(), &keys(5, count)));
        let error = open(&a).union(&open(&b), 0).expect_err("unequal").to_string();
        let (_, text) = error.split_once("one policy of a fixed shape, ").expect("a remedy");
        text.replace('\u{2026}', "131072")
    };
    let (probes, bits) = (parts("bloom:max=131072", [60_000, 50_000]), parts("bloom:max=4096", [500, 501]));
    assert_eq!((probes.as_str(), bits.as_str()), ("bloom:bytes=131072,probes=12", "bloom:bytes=4072,probes=7"));
    for remedy in [probes, bits] {
        let policy: FilterPolicy = remedy.parse().expect("a policy");
        let [a, b] = [400, 3_000].map(|count| block(policy.clone(), &keys(5, count)));
        assert!(open(&a).union(&open(&b), 0).is_ok(), "{remedy}");
    }
}
