//! Bounds that are not in order: swapped, of a descending scan, made wrongly. *Maybe*, whatever the filter has.

use crate::golden::keys_in;
use crate::integer_oracle::are_in;
use crate::ranges::{Key, block};
use crate::*;
use filterblock::range;
use filterblock::range::probe_tables;

type Partitioned = PartitionedRangeFilter<Vec<u8>>;

fn policy(text: &str) -> RangePolicy {
    text.parse().expect("legal")
}

fn filter_of(policy: RangePolicy, keys: &[Key]) -> RangeFilter<Vec<u8>> {
    OpenOptions::new().open_ranges(block(policy, keys, 0)).expect("intact")
}

fn partitions_of(policy: RangePolicy, keys: &[Key]) -> Partitioned {
    let index = testkit::harness::ranges(0, policy, PartitionLimit::Entries(30), keys).index;
    PartitionedRangeFilter::open(index, OpenOptions::new()).expect("intact")
}

/// Filters of all maps, of gaps and with a byte code, without keys, and all of them in partitions.
fn filters() -> (Vec<Key>, Vec<RangeFilter<Vec<u8>>>, Vec<Partitioned>) {
    let dir = [env!("CARGO_MANIFEST_DIR"), "tests", "golden", "v1"].iter().collect::<std::path::PathBuf>();
    let texts: BTreeSet<Key> = keys_in(&dir, "thousand.entries").into_iter().collect();
    let numbers: BTreeSet<Key> = (0..1_000).map(|i| mix(i).to_be_bytes().to_vec()).collect();
    let series: BTreeSet<Key> = (0..1_000u64)
        .map(|i| [&b"series/"[..], &(i / 100 * 1_000_003 + i % 100 * 60).to_be_bytes()].concat())
        .collect();
    let sets = [texts, numbers, series, BTreeSet::new()].map(Vec::from_iter);
    let policies = ["range:14", "range:3", "range:fpr=1%,len=64"].map(policy);
    let of = |set| policies.map(|policy| (policy, set));
    let all: Vec<(RangePolicy, &Vec<Key>)> = sets.iter().flat_map(of).collect();
    let filters = all.iter().map(|(policy, keys)| filter_of(*policy, keys)).collect::<Vec<_>>();
    let with_keys = || filters.iter().filter(|filter| filter.num_entries() > 0).map(|filter| filter.as_bytes());
    assert!(with_keys().any(are_in) && with_keys().any(|block| !are_in(block) && block[43] > 0));
    assert!(with_keys().any(|block| !are_in(block) && block[41] == 1));
    let partitioned = all.iter().map(|(policy, keys)| partitions_of(*policy, keys)).collect();
    (sets.concat(), filters, partitioned)
}

#[test]
fn bounds_out_of_order_are_maybe() {
    let (keys, filters, partitioned) = filters();
    let (mut num_pairs, mut num_asked, mut num_denied) = (0, 0, 0);
    for draw in 0..100_000u64 {
        let drawn = |i: u64| mix(draw * 8 + i);
        let bound = |i: u64| {
            let mut key = keys[(drawn(i) % keys.len() as u64) as usize].clone();
            match drawn(i + 1) % 6 {
                0 => key.push(drawn(i + 2) as u8 % 3),
                1 => key.truncate((drawn(i + 2) % 12) as usize),
                2 => key = drawn(i + 2).to_be_bytes()[..(drawn(i) % 9) as usize].to_vec(),
                3 => key.iter_mut().next_back().into_iter().for_each(|byte| *byte = byte.wrapping_add(1)),
                _ => {}
            }
            key
        };
        let (a, b) = (bound(0), if drawn(6) % 8 == 0 { bound(0) } else { bound(3) });
        let forms = [Included(&a[..]), Excluded(&a[..])].map(|a| [Included(&b[..]), Excluded(&b[..])].map(|b| (a, b)));
        let (lower, upper) = forms[drawn(6) as usize >> 8 & 1][drawn(6) as usize >> 9 & 1];
        let is_ordered = are_ordered(lower, upper);
        assert_eq!(range::are_ordered(lower, upper), is_ordered, "{lower:?} {upper:?}");
        num_pairs += u64::from(!is_ordered);
        let mut answers = vec![false; filters.len()];
        probe_tables(&filters, Query::Range(lower, upper), &mut answers);
        for (filter, answer) in filters.iter().zip(answers) {
            let says = filter.may_contain_range(lower, upper);
            assert_eq!(answer, says, "{lower:?} {upper:?} {filter:?}");
            assert!(says || is_ordered, "{lower:?} {upper:?} {filter:?}");
            num_denied += u64::from(!says);
        }
        for filter in partitioned.iter().filter(|_| !is_ordered) {
            assert_eq!(filter.find(Query::Range(lower, upper)), Lookup::Present, "{lower:?} {upper:?} {filter:?}");
            let nothing = |_| Err::<Key, _>("nothing to load");
            let answer = filter.may_match(Query::Range(lower, upper), nothing);
            assert_eq!(answer, Ok(true), "{lower:?} {upper:?} {filter:?}");
        }
        num_asked += filters.len() + if is_ordered { 0 } else { partitioned.len() };
    }
    assert!(num_pairs > 40_000 && num_denied > 100_000, "{num_pairs} {num_denied}");
    println!("counted: {num_pairs} of 100000 pairs of bounds are not in order: {num_asked} answers of 24 filters");
}
