//! The library against the oracle, for many small sets of entries and all settings: equal bytes and equal answers.

use crate::*;
use proptest::prelude::*;

/// Builds both frames of `hashes` and compares their bytes with the oracle's, and every answer for `hashes` (which must
/// be *maybe*) and for `others`.
fn check(policy: FilterPolicy, hashes: &[u64], others: &[u64]) {
    let distinct: BTreeSet<u64> = hashes.iter().copied().collect();
    let mut builder = builder_of_hashes(&policy.clone().with_self_check(false), hashes.iter().copied());
    let frame = frame_of(&mut builder.clone());
    let block = builder.allow_empty().finish().expect("a block");

    let reader = OpenOptions::new().open(&block).expect("an intact block");
    assert_eq!(reader.num_entries(), distinct.len() as u64);
    let oracle = Oracle::open(&block);
    assert_eq!(hex(&block[64..]), hex(&oracle.rebuild(&distinct)), "{policy:?} {}", hashes.len());
    let compact = CompactFrameReader::open(&frame, &policy).expect("a frame");
    let compact_oracle = Oracle::open_compact(&frame);

    let queried: Vec<KeyHash> = hashes.iter().chain(others).map(|&hash| KeyHash::from_raw(hash)).collect();
    let mut batch = vec![false; queried.len()];
    reader.may_contain_hashes(&queried, &mut batch);
    for (i, &hash) in queried.iter().enumerate() {
        let answer = reader.may_contain_hash(hash);
        assert!(answer || i >= hashes.len(), "false negative: {policy:?} {hash:?} of {} entries", hashes.len());
        assert_eq!(answer, oracle.may_contain(hash.get()), "{policy:?} {hash:?}");
        assert_eq!(answer, batch[i]);
        assert_eq!(compact.may_contain_hash(hash), compact_oracle.may_contain(hash.get()));
        assert!(compact.may_contain_hash(hash) || i >= hashes.len());
    }
}

/// Settings that reach every number of probes, salt, remainder width and rounding.
fn policies() -> Vec<FilterPolicy> {
    let mut all = Vec::new();
    for &kind in FilterKind::ALL {
        for bits in [2.0, 3.0, 4.7, 6.2, 8.0, 9.9, 12.0, 16.0, 21.5, 30.0, 60.0, 64.0] {
            all.push(sized(kind, bits));
        }
        let (least, most) = rate_limits(kind);
        for rate in [least, 1.0 / 65536.0, 0.001, 0.01, most] {
            all.push(rated(kind, rate));
        }
        for bytes in [4096, 100_000] {
            all.push(capped(kind, bytes));
        }
    }
    for salt_bits in [0, 1, 2, 3, 5, 6] {
        for bits in [4.0, 10.0, 24.0] {
            let policy = sized(FilterKind::Blocked, bits);
            all.push(policy.with_salt_bits(salt_bits).expect("legal"));
        }
    }
    all
}

#[test]
fn small_sets_agree_with_the_oracle() {
    let others: Vec<u64> = numbers(1).take(200).collect();
    for policy in policies() {
        for count in (0..20).chain([31, 63, 64, 65, 100, 127, 128, 129, 257]) {
            let hashes: Vec<u64> = numbers(count as u64 + 1000).take(count).collect();
            check(policy.clone(), &hashes, &others);
        }
    }
}

#[test]
fn larger_sets_agree_with_the_oracle() {
    let others: Vec<u64> = numbers(2).take(2_000).collect();
    for &kind in FilterKind::ALL {
        for bits in [5.0, 10.0, 18.0] {
            // 9000 entries are 141 golomb buckets: three groups of the directory.
            let hashes: Vec<u64> = numbers(77).take(9_000).collect();
            check(sized(kind, bits), &hashes, &others);
        }
    }
}

#[test]
fn extreme_hashes_agree_with_the_oracle() {
    let edges =
        [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1, 0xffff_ffff_0000_0000];
    let crowded: Vec<u64> = (0..3_000).map(|i| i << 3).collect();
    let shifted: Vec<u64> = (0..3_000).map(|i| u64::MAX - (i << 40)).collect();
    for policy in policies() {
        if !matches!(policy.size(), filterblock::FilterSize::MaxBytes(4096)) {
            check(policy.clone(), &crowded, &edges);
            check(policy.clone(), &shifted, &edges);
        }
        check(policy.clone(), &edges, &[3, 1 << 62]);
        check(policy, &[7; 40], &edges);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_set_agrees_with_the_oracle(
        hashes in prop::collection::vec(any::<u64>(), 0..400),
        others in prop::collection::vec(any::<u64>(), 0..50),
        kind in 0..FilterKind::ALL.len(),
        millibits in 2_000u32..=64_000,
        salt_bits in 0u32..=6,
    ) {
        let policy = sized(FilterKind::ALL[kind], f64::from(millibits) / 1e3);
        check(policy.with_salt_bits(salt_bits).expect("legal"), &hashes, &others);
    }
}
