//! Answers for batches of hashes are those of single queries, and the oracle's, at any address of the block.

use crate::*;

/// Around every number of hashes that an engine processes together, and 0.
const BATCH_LENS: [usize; 13] = [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 1_000];

/// Sizes and salts that reach each engine's cases: fewer than eight probes, eight, more; every number of salt bits;
/// each width of search.
fn policies() -> Vec<FilterPolicy> {
    let mut all = Vec::new();
    for bits in [5.0, 10.0, 16.0, 24.0] {
        let policy = |kind| sized(kind, bits);
        all.push(policy(FilterKind::Bloom));
        all.extend((0..=6).map(|salt_bits| policy(FilterKind::Blocked).with_salt_bits(salt_bits).expect("legal")));
    }
    all.push(sized(FilterKind::Bloom, 2.0));
    for rate in [0.01, 0.001, 1.0 / 65536.0] {
        all.extend([FilterKind::Golomb, FilterKind::Ribbon, FilterKind::Fuse].map(|kind| rated(kind, rate)));
    }
    all
}

/// Present and absent hashes, in random order.
fn mixed(members: &[u64], count: usize) -> Vec<KeyHash> {
    let pick = |(other, number): (u64, u64)| match number >> 63 {
        0 => other,
        _ => members.get(number as usize % members.len().max(1)).copied().unwrap_or(other),
    };
    hashes(numbers(301).zip(numbers(302)).map(pick).take(count))
}

/// Queries batches of each length, from the front and from the back of `queried`.
fn assert_batches(reader: &impl Reading, queried: &[KeyHash], expected: &[bool], what: &str) {
    for len in BATCH_LENS.into_iter().chain([queried.len()]).filter(|&len| len <= queried.len()) {
        for at in [0, queried.len() - len] {
            let expected = &expected[at..][..len];
            // Every answer has to be written: all are wrong beforehand.
            let mut answers: Vec<bool> = expected.iter().map(|answer| !answer).collect();
            reader.may_contain_hashes(&queried[at..][..len], &mut answers);
            assert_eq!(answers, expected, "{what}: {len} hashes from {at} on");
        }
    }
}

fn one_by_one(reader: &impl Reading, queried: &[KeyHash]) -> Vec<bool> {
    queried.iter().map(|&hash| reader.may_contain_hash(hash)).collect()
}

#[test]
fn batches_answer_as_single_queries_at_any_address() {
    for policy in policies() {
        for num_entries in [1, 100, 2_000] {
            let members: Vec<u64> = numbers(300).take(num_entries).collect();
            let (block, queried) = (block_of(policy.clone(), &members), mixed(&members, 1_000));
            let oracle = Oracle::open(&block);
            let expected: Vec<bool> = queried.iter().map(|hash| oracle.may_contain(hash.get())).collect();
            assert!(expected.contains(&true), "present hashes are queried, too");
            for shift in 0..8 {
                let mut buffer = AlignedBytes::zeroed(block.len() + shift);
                let bytes = &mut buffer.as_mut()[shift..];
                bytes.copy_from_slice(&block);
                let reader = OpenOptions::new().open(bytes).expect("intact");
                let what = format!("{policy:?}, {num_entries} entries, {shift} bytes off");
                assert_eq!(one_by_one(&reader, &queried), expected, "{what}");
                assert_batches(&reader, &queried, &expected, &what);
            }
        }
    }
}

/// The settings above reach the cases that they are meant to reach.
#[test]
fn settings_reach_few_eight_and_many_probes() {
    let members: Vec<u64> = numbers(300).take(2_000).collect();
    let num_probes = |kind| -> Vec<u32> {
        let blocks = policies().into_iter().filter(|policy| policy.kind() == Some(kind));
        let blocks = blocks.map(|policy| block_of(policy, &members));
        blocks.map(|block| OpenOptions::new().open(&block).expect("intact").num_probes().expect("probes")).collect()
    };
    for kind in [FilterKind::Bloom, FilterKind::Blocked] {
        let found = num_probes(kind);
        assert!(found.iter().any(|&n| n < 8) && found.iter().any(|&n| n > 8), "{kind}: {found:?}");
    }
    assert!(num_probes(FilterKind::Blocked).contains(&8));
}

/// Longer than the caches for which batches prefetch their lines.
#[test]
fn batches_of_large_blocks_answer_as_single_queries() {
    let sized = |kind, bits| sized(kind, bits);
    let blocked = |bits, salt_bits| sized(FilterKind::Blocked, bits).with_salt_bits(salt_bits).expect("legal");
    let policies = [
        (blocked(24.0, 0), 400_000),
        (blocked(10.0, 2), 900_000),
        (blocked(12.0, 6), 750_000),
        (sized(FilterKind::Bloom, 10.0), 900_000),
        (sized(FilterKind::Bloom, 24.0), 400_000),
        (rated(FilterKind::Golomb, 1.0 / 65536.0), 500_000),
        // Three stretches, and bumped entries at each cut.
        (sized(FilterKind::Ribbon, 25.0).with_slots_per_key(0.965).expect("legal"), 350_000),
        (sized(FilterKind::Fuse, 10.0), 900_000),
        (sized(FilterKind::Fuse, 25.0), 400_000),
    ];
    let members: Vec<u64> = numbers(303).take(900_000).collect();
    for (policy, num_entries) in policies {
        let (block, queried) =
            (block_of(policy.clone(), &members[..num_entries]), mixed(&members[..num_entries], 20_000));
        assert!(block.len() > (1 << 20) + 64, "{policy:?}: {} bytes", block.len());
        let oracle = Oracle::open(&block);
        let expected: Vec<bool> = queried.iter().map(|hash| oracle.may_contain(hash.get())).collect();
        for shift in [0, 5] {
            let mut buffer = AlignedBytes::zeroed(block.len() + shift);
            buffer.as_mut()[shift..].copy_from_slice(&block);
            let reader = OpenOptions::new().with_digest_check(false).open(&buffer.as_ref()[shift..]).expect("intact");
            assert_eq!(one_by_one(&reader, &queried), expected, "{policy:?}");
            assert_batches(&reader, &queried, &expected, &format!("{policy:?}, large, {shift} bytes off"));
        }
    }
}

#[test]
fn batches_of_empty_filters_and_compact_frames_answer_alike() {
    for policy in policies() {
        for num_entries in [0, 1, 70, 500] {
            let members: Vec<u64> = numbers(304).take(num_entries).collect();
            let mut builder = builder_of_hashes(&policy, members.iter().copied());
            let (frame, queried) = (frame_of(&mut builder), mixed(&members, 200));
            let oracle = Oracle::open_compact(&frame);
            let expected: Vec<bool> = queried.iter().map(|hash| oracle.may_contain(hash.get())).collect();
            let compact = CompactFrameReader::open(&frame, &policy);
            assert_batches(&compact.expect("a frame"), &queried, &expected, "compact");
            if num_entries == 0 {
                let block = block_of(policy.clone(), &[]);
                let reader = OpenOptions::new().open(&block).expect("intact");
                assert_batches(&reader, &queried, &vec![false; queried.len()], "no entries");
            }
        }
    }
}

/// Bytes opened without their digest may be anything: then answers mean nothing, but those of batches and of single
/// queries are the same, and nothing is read from outside.
#[test]
fn batches_of_damaged_payloads_answer_as_single_queries() {
    for policy in policies() {
        for num_entries in [10, 700, 5_000] {
            let members: Vec<u64> = numbers(305).take(num_entries).collect();
            let (mut block, queried) = (block_of(policy.clone(), &members), mixed(&members, 500));
            for (seed, share) in [(1, 1), (2, 50), (3, 1_000)] {
                for (byte, number) in block[64..].iter_mut().zip(numbers(seed)) {
                    if number % share == 0 {
                        *byte = (number >> 32) as u8;
                    }
                }
                let reader = OpenOptions::new().with_digest_check(false).open(&block);
                // Some damage is noticed without the digest.
                let Ok(reader) = reader else { continue };
                assert!((0.0..=1.0).contains(&reader.false_positive_rate()) && (0.0..=1.0).contains(&reader.fill()));
                assert_batches(&reader, &queried, &one_by_one(&reader, &queried), &format!("damaged {policy:?}"));
            }
        }
    }
}

#[test]
fn too_few_and_too_many_answers_panic() {
    for (kind, members, num_hashes, num_answers) in
        [(FilterKind::Blocked, &[1][..], 3, 2), (FilterKind::Golomb, &[], 0, 1)]
    {
        let block = block_of(sized(kind, 10.0), members);
        let reader = OpenOptions::new().open(&block).expect("intact");
        let query = || reader.may_contain_hashes(&hashes(1..=num_hashes), &mut vec![false; num_answers]);
        let panic = std::panic::catch_unwind(query).expect_err("a panic");
        assert!(panic.downcast_ref::<String>().is_some_and(|text| text.contains("one answer for each hash")), "{kind}");
    }
}
