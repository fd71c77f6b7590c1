//! What a table writer needs of the builder and the policy.

use crate::*;

fn policy(kind: FilterKind) -> FilterPolicy {
    sized(kind, 10.0)
}

/// Written without the code and read with it, a stored key would be denied.
#[test]
fn keys_without_the_code_of_their_transform_are_refused() {
    let custom = CustomTransform::new(200, 2).expect("legal");
    let mut builder = FilterBlockBuilder::new(&policy(FilterKind::Bloom).with_transform(KeyTransform::Custom(custom)));
    builder.add_entry(b"entry");
    assert!(builder.clone().finish().is_ok());
    builder.add_key(b"key");
    let error = builder.finish().expect_err("a key without an entry");
    assert_eq!(error, BuildError::NoCode { transform: TransformId { id: 200, param: 2 } });
    assert!(error.to_string().contains("custom:200:2"), "{error}");
    assert!(builder.finish_into_slice(&mut [0; 1000]).is_err() && builder.num_added() == 1);
    builder.clear();
    builder.add_entry(b"entry");
    assert!(builder.finish().is_ok());
}

/// A caller may catch the panic and go on.
#[test]
fn a_key_whose_code_panics_is_refused() {
    let code = |key: &[u8], take: &mut dyn FnMut(&[u8])| take(key.strip_prefix(b"k").expect("a key"));
    let policy = policy(FilterKind::Bloom).with_custom_transform(CustomTransform::new(200, 2).expect("legal"), code);
    let mut builder = FilterBlockBuilder::new(&policy);
    builder.add_key(b"key");
    assert!(builder.clone().finish().is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| builder.add_key(b"other"))).is_err());
    assert!(matches!(builder.finish(), Err(BuildError::NoCode { .. })));
}

#[test]
fn a_refused_finish_keeps_the_context() {
    let mut builder = builder_of(&policy(FilterKind::Golomb), keys(1, 1_000));
    let mut memory = [0; 100];
    let error = builder.set_context(7).finish_into_slice(&mut memory).expect_err("too short");
    let BuildError::OutputTooShort { needed_bytes, actual_bytes: 100 } = error else { panic!("{error}") };
    assert!(needed_bytes > 1_000, "{needed_bytes}");
    let block = builder.finish().expect("a block");
    assert_eq!(OpenOptions::new().with_context(7).open(&block).expect("intact").num_entries(), 1_000);
}

/// The bytes are those of a vector, whatever the memory held; one byte less is refused, and more is left alone.
#[test]
fn memory_of_the_callers_gets_the_same_bytes() {
    for &kind in FilterKind::ALL {
        for num_keys in [0, 1, 100, 5_000] {
            let mut builder = builder_of(&policy(kind), keys(9, num_keys));
            builder.allow_empty();
            let expected = builder.clone().finish().expect("a block");
            if !FilterPolicy::len_depends_on_keys(kind) {
                assert_eq!(builder.expected_block_len(), Ok(expected.len() as u64), "{kind}, {num_keys}");
            }
            for short in [0, 1, 63, expected.len() - 1] {
                let error = builder.finish_into_slice(&mut vec![0xff; short]).expect_err("too short");
                assert!(matches!(error, BuildError::OutputTooShort { .. }), "{error}");
                assert_eq!(builder.num_added(), num_keys as u64);
            }
            let mut memory = vec![0xff; expected.len() + 10];
            assert_eq!(builder.finish_into_slice(&mut memory), Ok(expected.len()), "{kind}, {num_keys}");
            assert!(memory[..expected.len()] == expected && memory[expected.len()..] == [0xff; 10], "{kind}");
        }
    }
}

/// With the feature `rayon` on all cores, without it on one.
#[test]
fn parallel_builds_give_the_same_bytes() {
    for &kind in FilterKind::ALL {
        for num_keys in [0, 1, 1_000, 300_000] {
            // A third of them twice, so that duplicates are found in parallel, too.
            let twice = keys(11, num_keys / 3);
            let mut builder = builder_of(&policy(kind), keys(11, num_keys).into_iter().chain(twice));
            builder.allow_empty();
            let expected = builder.clone().finish().expect("a block");
            assert!(builder.set_parallel(true).finish().expect("a block") == expected, "{kind}, {num_keys}");
        }
    }
}

/// Where the length is the number's alone, it is exact and the inverse is the greatest number that fits.
#[test]
fn lengths_and_numbers_of_entries_are_inverses() {
    for &kind in FilterKind::ALL {
        let sizes = [policy(kind), rated(kind, 0.01)];
        for policy in sizes {
            for num_entries in [1, 7, 100, 1_234, 30_000] {
                let len = policy.expected_block_len(num_entries).expect("fits");
                let most = policy.expected_num_entries(len);
                assert!(most >= num_entries, "{policy}: {most} of {num_entries}");
                assert!(policy.expected_block_len(most).expect("fits") <= len, "{policy}");
                assert!(policy.expected_block_len(most + 1).expect("fits") > len, "{policy}");
            }
            assert_eq!(policy.expected_num_entries(64), 0);
            assert_eq!(policy.expected_block_len(0), Ok(64));
        }
    }
}

/// Exact, or by at most 1 % and the luck of the keys too short: a slice of that length, with that margin, is enough.
#[test]
fn blocks_have_their_expected_length() {
    let mut hashes = numbers(17);
    for &kind in FilterKind::ALL {
        let (least, most) = rate_limits(kind);
        let rates = [0.25, 0.1, 0.01, 0.001, 1e-6, 1e-10].into_iter().filter(|rate| (least..=most).contains(rate));
        let by_rate = rates.map(|rate| FilterPolicy::with_false_positive_rate(kind, rate));
        let by_bits = [2.0, 3.7, 10.0, 24.0, 64.0].map(|bits| FilterPolicy::with_bits_per_key(kind, bits));
        for policy in by_rate.chain(by_bits).map(|policy| policy.expect("legal")) {
            for num_entries in [1, 2, 7, 63, 64, 65, 100, 1_000, 4_096, 4_097, 30_000, 100_000] {
                let mut builder = builder_of_hashes(&policy, hashes.by_ref().take(num_entries as usize));
                let expected = policy.expected_block_len(num_entries).expect("fits");
                let margin = match FilterPolicy::len_depends_on_keys(kind) {
                    true => expected / 100 + 8 + num_entries.isqrt() / 4,
                    false if kind == FilterKind::Fuse => 8,
                    false => 0,
                };
                assert!(margin <= expected / 100 + FilterPolicy::max_overhead_bytes(kind, num_entries, 1));
                let mut memory = vec![0; (expected + margin) as usize];
                let len = builder.finish_into_slice(&mut memory).unwrap_or_else(|error| panic!("{policy}: {error}"));
                let is_average = policy.to_string().contains("fpr=") || margin == 0;
                // Of bits per key it is the greatest length, which ten bits come near.
                let below = if is_average { margin } else { margin + 64 + expected / 50 };
                let is_close = len as u64 + below >= expected;
                let is_due = is_average || policy == sized(kind, 10.0);
                assert!(is_close || !is_due, "{policy}, {num_entries}: {len}, expected {expected}");
            }
        }
    }
}

#[test]
fn a_context_is_for_one_block() {
    let mut builder = FilterBlockBuilder::new(&policy(FilterKind::Bloom));
    for context in [7, 0] {
        builder.add_key(b"key");
        if context != 0 {
            builder.set_context(context);
        }
        let block = builder.finish().expect("a block");
        let options = OpenOptions::new().with_context(context);
        assert_eq!(options.context(), context);
        assert!(options.open(&block).is_ok());
        for expected in [context + 1, 7 - context] {
            let error = options.clone().with_context(expected).open(&block).expect_err("another place");
            assert_eq!(error, DecodeError::WrongContext { expected, found: context });
        }
    }
}

#[test]
fn another_hasher_is_named_in_errors() {
    let keyed = [KeyHasher::keyed([1; 16]), KeyHasher::keyed([2; 16])];
    let [seed, key, other] = [KeyHasher::new(1), keyed[0].clone(), keyed[1].clone()];
    let block = |hasher: &KeyHasher| {
        let policy = policy(FilterKind::Bloom).with_hasher(hasher.clone());
        FilterBlockBuilder::new(&policy).allow_empty().finish().expect("a block")
    };
    let refused = |expected: &KeyHasher, found: &KeyHasher| {
        OpenOptions::new().expect_hasher(expected).open(&block(found)).expect_err("another hasher").to_string()
    };
    let (with_seed, with_key) = ("XXH3 with a seed", "SipHash under a secret key");
    assert_eq!(refused(&seed, &key), format!("hash function expected {with_seed}, found {with_key}"));
    assert_eq!(refused(&key, &seed), format!("hash function expected {with_key}, found {with_seed}"));
    assert_eq!(refused(&seed, &KeyHasher::new(2)), "hash seed expected 0x0000000000000001, found 0x0000000000000002");
    let ids = format!("secret key expected {:#018x}, found {:#018x} (ids, not the keys)", key.seed(), other.seed());
    assert_eq!(refused(&key, &other), ids);
}

/// A finish that is repeated, as after a write that failed, gives no empty block.
#[test]
fn an_empty_block_is_made_only_on_request() {
    for &kind in FilterKind::ALL {
        let mut builder = FilterBlockBuilder::new(&policy(kind));
        let finish = |builder: &mut FilterBlockBuilder, way: usize| -> Result<usize, BuildError> {
            let (mut out, mut memory) = (Vec::new(), [0; 512]);
            match way {
                0 => builder.finish().map(|block| block.len()),
                1 => builder.finish_into(&mut out),
                2 => builder.finish_into_slice(&mut memory),
                3 => builder.finish_compact_into(&mut out),
                _ => builder.finish_compact_into_slice(&mut memory),
            }
        };
        for way in 0..5 {
            assert_eq!(finish(&mut builder, way), Err(BuildError::Empty), "{kind}: new");
            builder.add_key(b"key");
            assert!(finish(&mut builder, way).is_ok());
            assert_eq!(finish(&mut builder, way), Err(BuildError::Empty), "{kind}: finished twice");
            let len = if way < 3 { 64 } else { 1 };
            assert_eq!(finish(builder.allow_empty(), way), Ok(len), "{kind}");
            assert_eq!(finish(&mut builder, way), Err(BuildError::Empty), "{kind}: for one block");
            builder.allow_empty().clear();
            assert_eq!(finish(&mut builder, way), Err(BuildError::Empty), "{kind}: cleared");
        }
    }
}

const FOUR: KeyTransform = KeyTransform::FixedPrefix { len: 4 };

/// An entry that no prefix of this length is, from a caller who takes entries for keys, would be denied as a key.
#[test]
fn entries_of_another_length_than_the_prefix_are_refused() {
    let mut builder = FilterBlockBuilder::new(&policy(FilterKind::Blocked).with_transform(FOUR));
    for entry in [&b"user7"[..], b"use", b""] {
        builder.clear();
        builder.add_entry(b"user");
        assert_eq!(builder.refusal(), None);
        builder.add_entry(entry);
        let refused = BuildError::WrongForm { transform: FOUR.to_wire() };
        assert_eq!((builder.refusal(), builder.finish()), (Some(refused), Err(refused)));
    }
    // Too short for a prefix: legal, and *maybe*.
    let policy = policy(FilterKind::Blocked).with_transform(KeyTransform::FixedPrefix { len: 4 });
    let mut builder = builder_of(&policy, [b"me"]);
    assert_eq!(builder.num_without_entry(), 1);
    let block = builder.finish().expect("a block of no entries");
    let filter = OpenOptions::new().expect(&policy).open(&block).expect("intact");
    assert!(filter.may_contain(b"me") && filter.may_contain_prefix(b"me") && !filter.may_contain(b"user7"));
}

/// One call makes all that a builder needs of a key.
#[test]
fn all_entries_of_a_key_are_hashed_by_one_call() {
    let custom = KeyTransform::Custom(CustomTransform::new(200, 2).expect("legal"));
    for (transform, counts) in [
        (KeyTransform::WholeKey, [1, 1]),
        (KeyTransform::Row, [0, 0]),
        (KeyTransform::FixedPrefix { len: 4 }, [0, 1]),
        (KeyTransform::WholeKeyAndPrefix { len: 4 }, [1, 2]),
        (custom, [1, 1]),
    ] {
        let policy = match transform {
            KeyTransform::Custom(custom) => policy(FilterKind::Bloom)
                .with_custom_transform(custom, |key, take| key.get(..2).into_iter().for_each(take)),
            _ => policy(FilterKind::Bloom).with_transform(transform),
        };
        let (mut by_key, mut by_hash) = (FilterBlockBuilder::new(&policy), FilterBlockBuilder::new(&policy));
        for (key, count) in [b"me", &b"user7"[..]].into_iter().zip(counts) {
            by_key.add_key(key);
            let hashes: Vec<_> = policy.entry_hasher().hash_entries(key).collect();
            assert_eq!(hashes.len(), count, "{transform}");
            assert_eq!(hashes.first().copied(), policy.entry_hasher().hash_key(key));
            hashes.into_iter().for_each(|hash| by_hash.add_hash(hash));
        }
        match transform {
            // Neither gives an empty block, which would deny the rows.
            KeyTransform::Row => {
                assert_eq!(by_key.finish(), Err(BuildError::WrongForm { transform: transform.to_wire() }));
                assert_eq!(by_hash.finish(), Err(BuildError::Empty));
            }
            _ => assert_eq!(by_key.finish(), by_hash.finish(), "{transform}"),
        }
    }
}

#[test]
fn repeated_neighbours_are_dropped_as_they_come() {
    let mut builder = builder_of(&policy(FilterKind::Bloom), ["a", "a", "b", "a", "a"]);
    assert_eq!(builder.num_added(), 3);
    let block = builder.finish().expect("a block");
    assert_eq!(OpenOptions::new().open(&block).expect("intact").num_entries(), 2);
    // The next table's first entry has no neighbour.
    builder.add_key(b"a");
    assert_eq!(builder.num_added(), 1);
}

/// Several versions of a key, and their prefix beside them.
#[test]
fn repeated_keys_with_prefixes_are_dropped_too() {
    let transform = KeyTransform::WholeKeyAndPrefix { len: 2 };
    let policy = policy(FilterKind::Bloom).with_transform(transform);
    assert_eq!(builder_of(&policy, ["ab1", "ab1", "ab2", "ab2", "ac1"]).num_added(), 3 + 2);
}

#[test]
fn debug_output_is_a_line_without_the_bytes() {
    let mut builder = builder_of(&policy(FilterKind::Bloom), keys(4, 100_000));
    let added = format!("{builder:#?}");
    let compact = frame_of(&mut builder.clone());
    let filter = OpenOptions::new().open_owned(builder.finish().expect("a block")).expect("intact");
    let compact = CompactFrameReader::open(&compact, filter.entry_hasher()).expect("intact");
    for text in [added, format!("{filter:#?}"), format!("{:?}", filter.reader()), format!("{compact:?}")] {
        assert!(text.len() < 200 && !text.contains('\n'), "{text}");
    }
}

#[test]
fn transforms_are_named_in_errors() {
    let block = FilterBlockBuilder::new(&policy(FilterKind::Bloom)).allow_empty().finish().expect("a block");
    let expected = KeyTransform::FixedPrefix { len: 4 };
    let error = OpenOptions::new().expect_transform(expected).open(&block).expect_err("another transform");
    assert_eq!(error.to_string(), "key transform expected prefix:4, found whole-key");
}

#[test]
fn policies_are_text_both_ways() {
    for text in [
        "blocked:10",
        "bloom:9.9",
        "golomb:fpr=0.001,seed=7",
        "blocked:12.5,salt_bits=5,transform=delimited:0x2c:3,self_check=off",
        "bloom:max=4096,transform=row+column",
        "golomb:16,transform=custom:200:7",
        "blocked:fpr=0.006,transform=whole-key+prefix:12,seed=18446744073709551615",
        "bloom:2,transform=row",
        "bloom:bytes=131072,probes=7",
        "bloom:bytes=65,probes=64,transform=prefix:4,seed=7",
        "auto:bytes=4096,probes=5,level=3",
        "ribbon:fpr=0.003,slots_per_key=0.965",
        "fuse:8.6",
    ] {
        let policy: FilterPolicy = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(policy.to_string(), text);
        assert_eq!(text.parse::<FilterPolicy>().as_ref(), Ok(&policy));
    }
    let percent: FilterPolicy = "golomb:fpr=0.1%,seed=0x10".parse().expect("legal");
    assert_eq!(percent, rated(FilterKind::Golomb, 0.001).with_seed(16));
    // Every setting that a policy has.
    let custom = KeyTransform::Custom(CustomTransform::new(128, 65_535).expect("legal"));
    let all = policy(FilterKind::Blocked)
        .with_seed(3)
        .with_transform(custom)
        .with_salt_bits(0)
        .expect("legal")
        .with_self_check(false);
    assert_eq!(all.to_string().parse(), Ok(all));
}

#[test]
fn texts_that_are_no_policies_are_refused() {
    for (text, part) in [
        ("", ""),
        ("blocked", "blocked"),
        ("block:10", "block"),
        ("blocked:ten", "ten"),
        ("blocked:fpr=1%%", "1%"),
        ("blocked:rate=1%", "rate=1%"),
        ("blocked:10,seed", "seed"),
        ("blocked:10,seed=0xg", "0xg"),
        ("blocked:10,speed=1", "speed=1"),
        ("bloom:10,probes=7", "probes=7"),
        ("bloom:max=4096,probes=7", "probes=7"),
        ("bloom:bytes=4096,probes=seven", "seven"),
        ("blocked:10,transform=prefix", "prefix"),
        ("blocked:10,transform=row:1", "row:1"),
        ("blocked:10,transform=delimited://", "//"),
        ("blocked:10,self_check=perhaps", "self_check=perhaps"),
        ("blocked:10,key=0x10", "key=0x10"),
    ] {
        match text.parse::<FilterPolicy>() {
            Err(ParsePolicyError::Syntax { found, .. }) => assert_eq!(found, part, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    for (text, message) in [
        ("blocked:10,transform=prefix:65536", "'65536' is not a whole number from 0 to 65535"),
        ("blocked:10,transform=delimited:/:256", "'256' is not a whole number from 0 to 255"),
        ("auto:10,level=256", "'256' is not a whole number from 0 to 255"),
        ("auto:10,read_ns=4294967296", "'4294967296' is not a whole number from 0 to 4294967295"),
        ("blocked:fpr=ten", "'ten' is not a number"),
        ("blocked:10,transform=prefix:0", "prefix length = 0 is outside the legal range 1 to 65535"),
        ("blocked:10,transform=delimited:/:0", "levels = 0 is outside the legal range 1 to 255"),
        (
            "blocked:10,key=0x10",
            "'key=0x10' is not a setting that can be read: it is the id of a secret key. Leave it out, and give the key \
             itself by FilterPolicy::with_hasher",
        ),
        ("golomb:bytes=4096,probes=7", "golomb: no blocks of a fixed number of bytes and probes; bloom has them"),
        ("bloom:bytes=64,probes=7", "bytes = 64 is outside the legal range 65 to 4294967296"),
        ("bloom:bytes=4294967297,probes=7", "bytes = 4294967297 is outside the legal range 65 to 4294967296"),
        ("bloom:bytes=4096,probes=0", "probes = 0 is outside the legal range 1 to 64"),
        ("bloom:bytes=4096,probes=65", "probes = 65 is outside the legal range 1 to 64"),
        (
            "bloom:bytes=4096,seed=7",
            "'bytes=4096' is not a fixed shape such as bytes=4096,probes=7: probes=… is missing",
        ),
    ] {
        assert_eq!(text.parse::<FilterPolicy>().unwrap_err().to_string(), message, "{text}");
    }
    for (text, twice) in [
        ("blocked:10,seed=1,seed=2", "seed"),
        ("blocked:10,salt_bits=3,seed=1,salt_bits=3", "salt_bits"),
        ("bloom:10,transform=row,transform=row", "transform"),
        ("bloom:10,self_check=off,self_check=on", "self_check"),
        ("bloom:bytes=4096,probes=7,probes=7", "probes"),
    ] {
        let error = text.parse::<FilterPolicy>().expect_err("ambiguous");
        assert_eq!(error, ParsePolicyError::Repeated { name: twice }, "{text}");
        assert_eq!(error.to_string(), format!("{twice}=… is given twice"));
    }
    for text in ["blocked:1", "golomb:fpr=0.9", "bloom:max=10", "blocked:10,salt_bits=7", "bloom:nan"] {
        let refused = text.parse::<FilterPolicy>();
        assert!(matches!(refused, Err(ParsePolicyError::Value(_))), "{text}: {refused:?}");
    }
    let transform = "blocked:10,transform=custom:5:1".parse::<FilterPolicy>();
    assert!(matches!(transform, Err(ParsePolicyError::Value(BuildError::Setting { asked: 5, .. }))), "{transform:?}");
}

/// The key of a keyed policy is in no text of it.
#[test]
fn a_secret_key_is_in_no_text() {
    let secret = policy(FilterKind::Blocked).with_hasher(KeyHasher::keyed(*b"0123456789abcdef"));
    let text = secret.to_string();
    assert_eq!(text, format!("blocked:10,key={:#018x}", secret.hasher().seed()));
    assert!(text.parse::<FilterPolicy>().is_err());
}

/// Only where debug assertions are compiled in: hashes of another hasher are refused wherever they could be mixed.
#[test]
fn hashes_of_another_hasher_panic_in_debug_builds() {
    let (ours, theirs) = (KeyHasher::new(1), KeyHasher::new(2));
    let mut builder = builder_of(&policy(FilterKind::Blocked).with_seed(1), keys(5, 1_000));
    let frame = frame_of(&mut builder.clone());
    let filter = OpenOptions::new().open_owned(builder.finish().expect("a block")).expect("intact");
    let compact = CompactFrameReader::open(&frame, filter.entry_hasher()).expect("a frame");
    let calls: [(&str, &dyn Fn(KeyHash)); 6] = [
        ("add_hash", &|hash| FilterBlockBuilder::new(&policy(FilterKind::Bloom).with_seed(1)).add_hash(hash)),
        ("may_contain_hash", &|hash| _ = filter.may_contain_hash(hash)),
        ("may_contain_hashes", &|hash| filter.may_contain_hashes(&[hash], &mut [false])),
        ("compact", &|hash| _ = compact.may_contain_hash(hash)),
        ("compact, many", &|hash| compact.may_contain_hashes(&[hash], &mut [false])),
        ("probe_tables", &|hash| probe_tables([&filter], hash, &mut [false])),
    ];
    for (call, of) in calls {
        of(ours.hash(b"key"));
        of(KeyHash::from_raw(7));
        let panicked = catch_unwind(AssertUnwindSafe(|| of(theirs.hash(b"key"))));
        assert_eq!(panicked.is_err(), cfg!(debug_assertions), "{call}");
        if let Err(panic) = panicked {
            let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            assert!(message.contains("0x0000000000000001") && message.contains("0x0000000000000002"), "{message}");
        }
        let keyed = catch_unwind(AssertUnwindSafe(|| of(KeyHasher::keyed([1; 16]).hash(b"key"))));
        assert_eq!(keyed.is_err(), cfg!(debug_assertions), "{call}");
    }
    // The mark is no part of the hash.
    assert_eq!(KeyHash::from_raw(ours.hash(b"key").get()), ours.hash(b"key"));
    assert_eq!(size_of::<KeyHash>() == 8, !cfg!(debug_assertions));
}
