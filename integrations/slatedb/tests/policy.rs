//! The policy by itself, as SlateDB calls it.

use bytes::Bytes;
use filterblock::{FilterKind, FilterPolicy, KeyHasher};
use filterblock_slatedb::{FilterBlockPolicy, Finding, MIN_QUERIES, Outcomes, PolicyError, RangeBlockPolicy, Verdict};
use slatedb::{Filter, FilterPolicy as _, FilterQuery, RowEntry, ValueDeletable};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;

const ROWS: u64 = 2_000;

fn policy(text: &str) -> FilterBlockPolicy {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// One policy of each kind, and those with prefixes.
fn policies() -> impl Iterator<Item = FilterBlockPolicy> {
    let of_kinds = FilterKind::ALL.iter().map(|kind| policy(&format!("{kind}:10,seed=7")));
    of_kinds.chain([policy("blocked:10,transform=prefix:4"), policy("ribbon:10,transform=whole-key+prefix:4")])
}

fn key(i: u64) -> Bytes {
    format!("{:04}/{i:08}", i / 100).into()
}

fn entry(key: Bytes, value: ValueDeletable) -> RowEntry {
    RowEntry { key, value, seq: 1, create_ts: None, expire_ts: None }
}

fn built(policy: &FilterBlockPolicy, num_rows: u64) -> Arc<dyn Filter> {
    let mut builder = policy.builder();
    for i in 0..num_rows {
        builder.add_entry(&entry(key(i), ValueDeletable::Value(Bytes::from_static(b"value"))));
    }
    builder.build()
}

fn encoded(filter: &dyn Filter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.encode(&mut bytes);
    assert_eq!(bytes.len(), filter.size());
    bytes
}

fn matches_point(filter: &dyn Filter, key: Bytes) -> bool {
    filter.might_match(&FilterQuery::point(key))
}

#[test]
fn every_stored_key_matches_from_slices_at_every_alignment() {
    for policy in policies() {
        let filter = built(&policy, ROWS);
        let bytes = encoded(&*filter);
        let mut memory = vec![0; bytes.len() + 64];
        for start in 0..64 {
            memory[start..][..bytes.len()].copy_from_slice(&bytes);
            let decoded = policy.decode(&memory[start..][..bytes.len()]);
            assert_eq!(encoded(&*decoded), bytes, "{policy}");
            let clamped = decoded.clamp_allocated_size();
            for i in 0..ROWS {
                assert!(matches_point(&*decoded, key(i)) && matches_point(&*clamped, key(i)), "{policy}: row {i}");
            }
        }
        assert_eq!((policy.outcomes().built, policy.outcomes().opened, policy.outcomes().ignored()), (1, 64, 0));
        assert!((ROWS..2 * ROWS).any(|i| !matches_point(&*filter, key(i))), "{policy} rules nothing out");
    }
}

#[test]
fn no_damage_hides_a_key_and_each_is_counted() {
    for policy in policies() {
        let bytes = encoded(&*built(&policy, 300));
        let mut tried = 0;
        let mut hides_nothing = |bytes: &[u8], what: &str| {
            let filter = policy.decode(bytes);
            assert!((0..600).all(|i| matches_point(&*filter, key(i))), "{policy}: {what}");
            assert_eq!(encoded(&*filter), bytes, "{policy}: {what}: stored again as it was read");
            tried += 1;
        };
        for len in 0..bytes.len() {
            hides_nothing(&bytes[..len], &format!("cut to {len} bytes"));
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            hides_nothing(&damaged, &format!("bit {bit} flipped"));
        }
        let outcomes = policy.outcomes();
        assert_eq!((outcomes.opened, outcomes.missing), (0, 1), "{policy}: only the empty one was never a filter");
        assert_eq!(outcomes.ignored(), tried, "{policy}");
        assert!(policy.first_failure().is_some_and(|failure| failure.contains("without a filter")), "{policy}");
        println!("counted: {tried} damaged filters of {policy}, all ignored");
    }
}

#[test]
fn the_first_failure_states_what_was_found() {
    let policy = policy("blocked:10");
    assert_eq!(policy.first_failure(), None);
    policy.decode(b"short");
    policy.decode(&[0; 100]);
    let failure = policy.first_failure().expect("a failure");
    assert!(failure.starts_with("a filter of 5 bytes is ignored: damaged: "), "{failure}");
    assert_eq!(policy.outcomes().damaged, 2);
}

#[test]
fn a_filter_that_cannot_be_built_matches_everything() {
    let policy = policy("bloom:max=64");
    let filter = built(&policy, ROWS);
    assert!((0..2 * ROWS).all(|i| matches_point(&*filter, key(i))));
    assert!(encoded(&*filter).is_empty());
    let decoded = policy.decode(&[]);
    assert!((0..2 * ROWS).all(|i| matches_point(&*decoded, key(i))));
    let outcomes = policy.outcomes();
    assert_eq!((outcomes.built, outcomes.failed, outcomes.missing, outcomes.damaged), (0, 1, 1, 0));
    assert!(policy.first_failure().is_some_and(|failure| failure.contains("64 bytes")), "{:?}", policy.first_failure());
}

#[test]
fn filters_of_other_policies_stay_in_use() {
    let reader = policy("fuse:fpr=0.1%,seed=99,transform=whole-key+prefix:4");
    for writer in policies() {
        assert_eq!(writer.name(), reader.name());
        let filter = reader.decode(&encoded(&*built(&writer, ROWS)));
        assert!((0..ROWS).all(|i| matches_point(&*filter, key(i))), "{writer}");
        assert!((0..ROWS).any(|i| !matches_point(&*filter, key(1_000_000 + 100 * i))), "{writer} rules nothing out");
    }
    assert_eq!(reader.outcomes().ignored(), 0);
}

#[test]
fn a_secret_key_is_needed_to_read_and_not_to_ignore() {
    let keyed = |text: &str, key| {
        let policy: FilterPolicy = text.parse().expect("legal");
        FilterBlockPolicy::new(policy.with_hasher(KeyHasher::keyed([key; 16]))).expect("legal")
    };
    let (writer, stranger) = (keyed("blocked:10", 1), policy("blocked:10"));
    let bytes = encoded(&*built(&writer, ROWS));
    // Of another transform; and written before the policy was given a key.
    let (other, old) = (keyed("golomb:10,transform=prefix:20", 1), encoded(&*built(&policy("golomb:10,seed=3"), ROWS)));
    for (reader, bytes) in [(&writer, &bytes), (&other, &bytes), (&writer, &old)] {
        let filter = reader.decode(bytes);
        assert!((0..ROWS).all(|i| matches_point(&*filter, key(i))));
        assert!((ROWS..2 * ROWS).any(|i| !matches_point(&*filter, key(i))));
        assert_eq!(reader.outcomes().ignored(), 0);
    }
    for reader in [stranger, keyed("blocked:10", 2)] {
        let filter = reader.decode(&bytes);
        assert!((0..2 * ROWS).all(|i| matches_point(&*filter, key(i))));
        assert_eq!(reader.outcomes().mismatched, 1);
    }
}

#[test]
fn prefixes_are_answered_where_they_are_entries() {
    let prefix = |text: &str| FilterQuery::prefix(Bytes::copy_from_slice(text.as_bytes()));
    for (text, supported) in [
        ("blocked:10", false),
        ("blocked:10,transform=prefix:4", true),
        ("golomb:10,transform=whole-key+prefix:4", true),
        ("bloom:10,transform=delimited:/:2", true),
    ] {
        let policy = policy(text);
        assert_eq!((policy.supports_prefix_queries(), policy.supports_range_queries()), (supported, false), "{text}");
        let filter = built(&policy, ROWS);
        // Shorter than a prefix, as long, and longer.
        for present in ["", "0", "001", "0011", "0011/", "0011/00001"] {
            assert!(filter.might_match(&prefix(present)), "{text}: {present}");
        }
        let absent = (100..1000).filter(|i| !filter.might_match(&prefix(&format!("{i:04}/")))).count();
        assert_eq!(absent > 800, supported, "{text}: {absent} of 900 prefixes ruled out");
        let range = FilterQuery::range(Included(key(5_000)), Unbounded);
        assert!(filter.might_match(&range), "{text}");
    }
}

#[test]
fn policies_are_text_and_refused_where_keys_have_no_entries() {
    for policy in policies() {
        let text = policy.to_string();
        assert_eq!(text.parse().map(|parsed: FilterBlockPolicy| parsed.to_string()), Ok(text));
    }
    for transform in ["row", "row+column", "custom:200:1"] {
        let refused = format!("blocked:10,transform={transform}").parse::<FilterBlockPolicy>();
        assert!(matches!(refused, Err(PolicyError::Transform { .. })), "{transform}: {refused:?}");
    }
    let refused = "blocked:1".parse::<FilterBlockPolicy>().expect_err("too few bits");
    assert!(refused.to_string().contains("legal range"), "{refused}");
}

#[test]
fn the_estimated_size_is_that_of_the_filter() {
    for policy in policies() {
        let (estimate, actual) = (policy.estimate_size(ROWS as usize), built(&policy, ROWS).size());
        // Prefixes are shared by a hundred keys, which the estimate cannot know.
        let at_most = if policy.supports_prefix_queries() { 200 * actual } else { actual + actual / 20 };
        assert!(estimate + actual / 20 >= actual && estimate <= at_most, "{policy}: {estimate} for {actual} bytes");
    }
}

/// A filter of every third key, by entries of all sorts.
fn built_of_ranges(policy: &RangeBlockPolicy) -> Arc<dyn Filter> {
    let mut builder = policy.builder();
    let [value, operand] = [b"value", b"merge"].map(|bytes| Bytes::from_static(bytes));
    let values = [ValueDeletable::Value(value), ValueDeletable::Merge(operand), ValueDeletable::Tombstone];
    (0..ROWS).zip(values.iter().cycle()).for_each(|(i, value)| builder.add_entry(&entry(key(3 * i), value.clone())));
    builder.build()
}

#[test]
fn range_filters_answer_every_bound() {
    let policy: RangeBlockPolicy = "range:20".parse().unwrap();
    assert_eq!((policy.supports_prefix_queries(), policy.supports_range_queries()), (false, true));
    let built = built_of_ranges(&policy);
    let (estimate, actual) = (policy.estimate_size(ROWS as usize), built.size());
    assert!(estimate.abs_diff(actual) <= actual / 20, "{estimate} for {actual} bytes");
    let filter = policy.decode(&encoded(&*built));
    let asks = |lower, upper| filter.might_match(&FilterQuery::range(lower, upper));
    let mut absent = 0;
    for i in 0..ROWS {
        let (stored, beside) = (key(3 * i), key(3 * i + 1));
        // Of the last key before, if there is one.
        let below = || if i == 0 { Unbounded } else { Excluded(key(3 * i - 3)) };
        for lower in [Unbounded, Included(stored.clone()), below()] {
            for upper in [Unbounded, Included(stored.clone()), Excluded(beside.clone())] {
                assert!(asks(lower.clone(), upper), "{i}");
            }
        }
        assert!(filter.might_match(&FilterQuery::prefix(stored.slice(..7))));
        assert!(filter.might_match(&FilterQuery::point(stored.clone())));
        absent += u64::from(!asks(Included(beside), Excluded(key(3 * i + 3))));
        absent += u64::from(!asks(below(), Excluded(stored)));
    }
    assert!(absent > ROWS, "{absent} of {} ranges ruled out", 2 * ROWS);
    assert!(!asks(Included(key(3 * ROWS)), Unbounded) && !filter.might_match(&FilterQuery::prefix("x".into())));
    // Bounds that are not in order define nothing, and are never denied.
    for i in 0..ROWS {
        let (low, high) = (key(3 * i + 1), key(3 * i + 2));
        assert!(asks(Included(high.clone()), Included(low.clone())), "{i}");
        assert!(asks(Excluded(high), Excluded(low.clone())) && asks(Included(low.clone()), Excluded(low)), "{i}");
    }
    let outcomes = policy.outcomes();
    assert_eq!((outcomes.built, outcomes.opened, outcomes.ignored()), (1, 1, 0));
}

#[test]
fn bytes_that_are_no_range_filter_match_every_range() {
    let policy: RangeBlockPolicy = "range:14".parse().unwrap();
    let bytes = encoded(&*built_of_ranges(&policy));
    let mut tried = 0;
    let mut matches = |bytes: &[u8], what: &str| {
        let filter = policy.decode(bytes);
        assert!(filter.might_match(&FilterQuery::range(Included(key(100_000)), Unbounded)), "{what}");
        assert!(
            matches_point(&*filter, key(100_000)) && filter.might_match(&FilterQuery::prefix("x".into())),
            "{what}"
        );
        assert_eq!(encoded(&*filter), bytes, "{what}: stored again as it was read");
        tried += 1;
    };
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        matches(&damaged, &format!("a bit of byte {at} flipped"));
        matches(&bytes[..at], &format!("cut to {at} bytes"));
    }
    let keys = self::policy("blocked:10");
    matches(&encoded(&*built(&keys, ROWS)), "a filter of keys");
    let outcomes = policy.outcomes();
    assert_eq!((outcomes.missing, outcomes.mismatched, outcomes.opened, outcomes.ignored()), (1, 1, 0, tried));
    assert!(policy.first_failure().is_some());
    // And the other way round.
    assert!((0..ROWS).all(|i| matches_point(&*keys.decode(&bytes), key(i))));
    assert_eq!((keys.outcomes().mismatched, keys.outcomes().opened), (ROWS, 0));
}

/// A builder's filter of nothing, and its second one, would deny every key. Neither is built.
#[test]
fn nothing_is_denied_by_a_builder_that_was_given_nothing_or_finishes_twice() {
    let ranges: RangeBlockPolicy = "range:14".parse().unwrap();
    let mut builders: Vec<_> = policies().map(|policy| (policy.to_string(), policy.builder())).collect();
    builders.push((ranges.to_string(), ranges.builder()));
    for (text, builder) in &mut builders {
        let is_none = |filter: &dyn Filter| {
            assert!(encoded(filter).is_empty(), "{text}");
            assert!(matches_point(filter, key(1)) && filter.might_match(&FilterQuery::prefix(key(1))), "{text}");
            assert!(filter.might_match(&FilterQuery::range(Included(key(1)), Unbounded)), "{text}");
        };
        is_none(&*builder.build());
        // Deletions and operands are entries, too.
        (0..ROWS).for_each(|i| {
            let operand = || ValueDeletable::Merge(Bytes::from_static(b"operand"));
            builder.add_entry(&entry(key(i), if i % 2 == 0 { ValueDeletable::Tombstone } else { operand() }));
        });
        let filter = builder.build();
        assert!(!encoded(&*filter).is_empty() && (0..ROWS).all(|i| matches_point(&*filter, key(i))), "{text}");
        is_none(&*builder.build());
    }
    let outcomes = ranges.outcomes();
    assert_eq!((outcomes.built, outcomes.failed), (1, 2), "each is counted");
    assert!(ranges.first_failure().is_some());
}

#[test]
fn policies_say_whether_their_filters_are_in_use() {
    let writer = policy("blocked:10");
    let bytes = encoded(&*built(&writer, ROWS));
    let verdict = |use_it: &dyn Fn(&FilterBlockPolicy)| {
        let reader = policy("blocked:10");
        use_it(&reader);
        let Verdict { findings, denied, queries, .. } = reader.verdict();
        let Outcomes { denied: denials, passed, .. } = reader.outcomes();
        assert_eq!((denied, queries), (denials, denials + passed));
        let text = reader.verdict().to_string();
        assert_eq!(text.lines().count(), findings.len() + 1, "{text}");
        assert_eq!(reader.verdict().is_fine(), findings.is_empty());
        findings
    };
    let look_up = |reader: &FilterBlockPolicy, bytes: &[u8], rows: std::ops::Range<u64>| {
        let filter = reader.decode(bytes);
        rows.for_each(|i| _ = matches_point(&*filter, key(i)));
    };
    assert_eq!(verdict(&|_| {}), [Finding::NothingRead]);
    assert_eq!(writer.verdict().findings, [], "a writer that has built one");
    assert_eq!(verdict(&|reader| look_up(reader, &bytes, 0..2 * ROWS)), []);
    assert_eq!(verdict(&|reader| look_up(reader, &bytes, 0..0)), [Finding::NeverQueried { filters: 1 }]);
    assert_eq!(verdict(&|reader| look_up(reader, b"damaged", 0..9)), [Finding::Unusable { filters: 1, of: 1 }]);
    let (part, missing) = (Finding::Unusable { filters: 1, of: 3 }, Finding::Missing { tables: 1, of: 3 });
    let each = [&bytes[..], b"damaged", b""];
    assert_eq!(
        verdict(&|reader| each.iter().for_each(|bytes| look_up(reader, bytes, ROWS..ROWS + 99))),
        [part, missing]
    );
    let queries = MIN_QUERIES;
    assert_eq!(verdict(&|reader| look_up(reader, &bytes, 0..queries)), [Finding::NeverDenied { queries }]);
    assert_eq!(verdict(&|reader| look_up(reader, &bytes, 0..queries - 1)), []);
    let not_built = Finding::NotBuilt { tables: 1 };
    assert_eq!(verdict(&|writer| drop(writer.builder().build())), [Finding::NothingRead, not_built]);
    // Queries that a filter of whole keys cannot answer, which it gets where another policy answers scans.
    let scanned = verdict(&|reader| {
        let filter = reader.decode(&bytes);
        assert!(filter.might_match(&FilterQuery::prefix(key(ROWS))));
        assert!(filter.might_match(&FilterQuery::range(Included(key(ROWS)), Unbounded)));
    });
    assert_eq!(scanned, [Finding::NeverQueried { filters: 1 }]);
}
