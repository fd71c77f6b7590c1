//! A block depends only on the set of its entries, not on their order or on how often each was added. Builds detect
//! repeated entries in different ways, so every way of placing them is tried.

use crate::*;

/// The kinds without salts.
const OTHERS: [FilterKind; 4] = [FilterKind::Bloom, FilterKind::Golomb, FilterKind::Ribbon, FilterKind::Fuse];

fn salted(salt_bits: u32) -> FilterPolicy {
    sized(FilterKind::Blocked, 10.0).with_salt_bits(salt_bits).expect("legal")
}

/// A policy for each way in which builders process hashes: with and without a choice of salts, each kind, several
/// sizes.
fn policies() -> Vec<FilterPolicy> {
    let rate = |kind| rated(kind, 0.01);
    let mut all = vec![salted(0), salted(3), salted(6), sized(FilterKind::Blocked, 24.0)];
    all.extend(OTHERS.map(|kind| sized(kind, 10.0)));
    all.extend(FilterKind::ALL.iter().copied().map(rate));
    all
}

fn shuffled(hashes: &[u64], seed: u64) -> Vec<u64> {
    let mut keyed: Vec<(u64, u64)> = numbers(seed).zip(hashes.iter().copied()).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, hash)| hash).collect()
}

fn doubled(hashes: &[u64]) -> Vec<u64> {
    hashes.iter().flat_map(|&hash| [hash, hash]).collect()
}

/// `distinct` in other orders, and with repeated hashes: one or all of them, side by side or far apart, twice or often.
fn arrangements(distinct: &[u64]) -> Vec<(&'static str, Vec<u64>)> {
    let (first, last) = (distinct[0], distinct[distinct.len() - 1]);
    let with = |more: &[u64]| [distinct, more].concat();
    let backward: Vec<u64> = distinct.iter().rev().copied().collect();
    let mut sorted = distinct.to_vec();
    sorted.sort_unstable();
    vec![
        ("sorted", sorted),
        ("backward", backward.clone()),
        ("shuffled", shuffled(distinct, 1)),
        ("one twice, side by side", with(&[last])),
        ("one twice, far apart", with(&[first])),
        ("one twice, at the front", [&[first], distinct].concat()),
        ("one three times", with(&[first, first])),
        ("each twice, side by side", doubled(distinct)),
        ("each twice, far apart", with(distinct)),
        ("each twice, the second time backward", with(&backward)),
        ("each twice, shuffled", shuffled(&doubled(distinct), 2)),
        ("half of them three times", with(&doubled(&distinct[..distinct.len().div_ceil(2)]))),
        ("one a thousand times", with(&[last; 1_000])),
    ]
}

/// Asserts that the block of `added` is `expected`.
fn assert_block(policy: FilterPolicy, added: &[u64], expected: &[u8], what: &str) {
    // Not by `assert_eq`, which would print both.
    assert!(block_of(policy.clone(), added) == expected, "{what}: {} added, {policy:?}", added.len());
}

/// The block of distinct hashes, after checking that it has all of them.
fn checked_block(policy: FilterPolicy, distinct: &[u64]) -> Vec<u8> {
    let block = block_of(policy.clone(), distinct);
    let reader = OpenOptions::new().open(&block).expect("intact");
    assert_eq!(reader.num_entries(), distinct.len() as u64, "{policy:?}");
    let mut answers = vec![false; distinct.len()];
    reader.may_contain_hashes(&hashes(distinct.iter().copied()), &mut answers);
    assert!(answers.iter().all(|&answer| answer), "false negatives of {}: {policy:?}", distinct.len());
    block
}

fn assert_arrangements(policy: FilterPolicy, distinct: &[u64]) {
    let expected = checked_block(policy.clone(), distinct);
    for (what, added) in arrangements(distinct) {
        assert_block(policy.clone(), &added, &expected, what);
    }
}

#[test]
fn few_hashes_make_the_same_block_in_any_arrangement() {
    for policy in policies() {
        for count in [1, 2, 3, 50, 300, 3_000] {
            assert_arrangements(policy.clone(), &numbers(601).take(count).collect::<Vec<u64>>());
        }
    }
}

#[test]
fn many_hashes_make_the_same_block_in_any_arrangement() {
    let distinct: Vec<u64> = numbers(602).take(100_000).collect();
    for policy in [salted(0), salted(3)].into_iter().chain(OTHERS.map(|kind| sized(kind, 10.0))) {
        assert_arrangements(policy, &distinct);
    }
}

/// Enough hashes for lines to be built part by part, with and without a choice of salts, and for each part to have
/// several blocks.
#[test]
fn millions_of_hashes_make_the_same_block_in_any_order() {
    let distinct: Vec<u64> = numbers(603).take(3_000_000).collect();
    for policy in [salted(0), salted(3)] {
        let expected = checked_block(policy.clone(), &distinct);
        let mut added = distinct.clone();
        added.reverse();
        assert_block(policy.clone(), &added, &expected, "backward");
        added.push(distinct[distinct.len() - 1]);
        assert_block(policy.clone(), &added, &expected, "one twice");
        added.extend_from_slice(&distinct);
        assert_block(policy, &added, &expected, "each twice");
    }
}

#[test]
fn one_hash_added_a_million_times_is_one_entry() {
    for policy in policies() {
        for hash in [0, 1, 0x0123_4567_89ab_cdef, u64::MAX] {
            let expected = checked_block(policy.clone(), &[hash]);
            assert_block(policy.clone(), &vec![hash; 1_000_000], &expected, "a million times");
        }
    }
}

/// Hashes that no hash function would give but a caller may pass: all in one line or bucket, equal in the bits that
/// determine positions, at both ends of the range, consecutive.
fn contrived() -> Vec<(&'static str, Vec<u64>)> {
    let low = |hash: u64| hash & 0xffff_ffff;
    let unique = |hashes: Vec<u64>| hashes.into_iter().collect::<BTreeSet<u64>>().into_iter().collect::<Vec<u64>>();
    let random: Vec<u64> = numbers(604).take(3_000).collect();
    vec![
        ("one line", unique(random.iter().map(|&hash| 0xdead_beef << 32 | low(hash)).collect())),
        ("first line", unique(random.iter().map(|&hash| low(hash)).collect())),
        ("last line", unique(random.iter().map(|&hash| !low(hash)).collect())),
        ("equal lower halves", unique(random.iter().map(|&hash| hash & !0xffff_ffff | 0x1234_5678).collect())),
        ("lower halves zero", unique(random.iter().map(|&hash| hash & !0xffff_ffff).collect())),
        ("ends", vec![0, u64::MAX]),
        ("ends and middle", vec![u64::MAX, 0, 1 << 63, (1 << 63) - 1, 1, u64::MAX - 1]),
        ("consecutive from 0", (0..3_000).collect()),
        ("consecutive to the last", (0..3_000).map(|i| u64::MAX - i).collect()),
        ("consecutive in the middle", (0..3_000).map(|i| (1 << 63) - 1_500 + i).collect()),
        ("in the upper bits only", (0..3_000).map(|i| i << 52).collect()),
        ("equal in the lowest bits", random.iter().map(|&hash| hash & !0xfff).collect()),
        ("one crowded line among others", random.iter().copied().chain((0..400).map(|i| 7 << 60 | i)).collect()),
    ]
}

#[test]
fn contrived_hashes_make_the_same_block_in_any_arrangement() {
    for (what, distinct) in contrived() {
        let set: BTreeSet<u64> = distinct.iter().copied().collect();
        assert_eq!(set.len(), distinct.len(), "{what}");
        for policy in policies() {
            assert_arrangements(policy, &distinct);
        }
    }
}

/// Enough hashes for several parts of lines, all in one line.
#[test]
fn a_hundred_thousand_hashes_of_one_line_are_built() {
    let distinct: Vec<u64> = (0..100_000).map(|i| (0xdead_beef << 32) + i * 40_503).collect();
    for policy in [salted(0), salted(3), sized(FilterKind::Bloom, 10.0)] {
        let expected = checked_block(policy.clone(), &distinct);
        assert_block(policy.clone(), &doubled(&distinct), &expected, "each twice");
        assert_block(policy, &shuffled(&distinct, 3), &expected, "shuffled");
    }
}

/// Repeated hashes do not count against a cap that the distinct ones respect.
#[test]
fn a_cap_applies_to_distinct_entries() {
    for &kind in FilterKind::ALL {
        let distinct: Vec<u64> = numbers(605).take(100).collect();
        for cap in [200, 1_000, 4_096] {
            let policy = capped(kind, cap);
            let expected = checked_block(policy.clone(), &distinct);
            for repetitions in [2, 10, 100, 1_000] {
                assert_block(policy.clone(), &distinct.repeat(repetitions), &expected, "capped");
            }
        }
        let refused = |added: &[u64]| {
            builder_of_hashes(&capped(kind, 68), added.iter().copied()).finish().expect_err("out of reach")
        };
        assert_eq!(refused(&distinct.repeat(10)), refused(&distinct), "{kind}");
    }
}
