//! Automatic policies: the kind chosen is the cheapest by the sum that is stated, and its block that kind's own.

use crate::*;
use filterblock::{Choice, KindCost, Workload};

const SIZES: [FilterSize; 6] = [
    FilterSize::MillibitsPerKey(2_000),
    FilterSize::MillibitsPerKey(10_000),
    FilterSize::MillibitsPerKey(23_456),
    FilterSize::FalsePositiveRate(0.03),
    FilterSize::FalsePositiveRate(1e-4),
    FilterSize::MaxBytes(40_000),
];
const ENTRIES: [u64; 6] = [1, 10, 300, 20_000, 1_000_000, 300_000_000];
const COSTS: [u64; 7] = [0, 1, 30, 1_000, 30_000, 1_000_000, 1_000_000_000];

fn automatic(size: FilterSize, workload: Workload) -> FilterPolicy {
    FilterPolicy::auto(size, workload).expect("some kind can have the size")
}

fn named(kind: FilterKind, size: FilterSize) -> Result<FilterPolicy, BuildError> {
    match size {
        FilterSize::MillibitsPerKey(millibits) => FilterPolicy::with_bits_per_key(kind, f64::from(millibits) / 1e3),
        FilterSize::FalsePositiveRate(rate) => FilterPolicy::with_false_positive_rate(kind, rate),
        FilterSize::MaxBytes(max_bytes) => FilterPolicy::with_max_bytes(kind, max_bytes),
        size => panic!("{size:?} is new"),
    }
}

/// Bytes that cost: all under a rate, otherwise those beyond what is granted, the header and a line of 64 bytes.
fn counted_bytes(cost: &KindCost, size: FilterSize, num_entries: u64) -> f64 {
    let granted = match size {
        FilterSize::MillibitsPerKey(millibits) => (num_entries * u64::from(millibits)).div_ceil(8_000) + 64 + 64,
        FilterSize::MaxBytes(max_bytes) => max_bytes,
        _ => 0,
    };
    cost.block_len.saturating_sub(granted) as f64
}

/// What is chosen for each of the workloads, where any kind can be.
fn choices(size: FilterSize, num_entries: u64, workloads: impl Iterator<Item = Workload>) -> Vec<Choice> {
    workloads.filter_map(|workload| automatic(size, workload).choice(num_entries).ok()).collect()
}

#[test]
fn the_choice_is_the_least_of_the_stated_costs() {
    let (mut num_choices, mut chosen) = (0, BTreeSet::new());
    for (size, num_entries) in SIZES.into_iter().flat_map(|size| ENTRIES.map(|num_entries| (size, num_entries))) {
        let levels = (0..10).map(|level| Workload::default().with_level(level));
        let dear = COSTS.into_iter().map(|cost| {
            Workload::default().with_level(1).with_num_queries(cost * 7).with_read_ns(90_000).with_byte_ns(cost as u32)
        });
        let free = Workload::default().with_num_queries(0).with_byte_ns(0);
        let extreme = [free, free.with_byte_ns(u32::MAX), free.with_num_queries(u64::MAX).with_read_ns(0)];
        for workload in levels.chain(dear).chain(extreme) {
            let policy = automatic(size, workload);
            let Ok(choice) = policy.choice(num_entries) else {
                let fits = |kind: &&FilterKind| {
                    named(**kind, size).is_ok_and(|policy| policy.expected_block_len(num_entries).is_ok())
                };
                assert_eq!(FilterKind::ALL.iter().find(fits), None, "{policy}, {num_entries}");
                continue;
            };
            num_choices += 1;
            chosen.insert(choice.cost().kind);
            let mut kinds = BTreeSet::new();
            for cost in choice.costs() {
                let of_kind = named(cost.kind, size).expect("it is not refused");
                assert_eq!(cost.block_len, of_kind.expected_block_len(num_entries).expect("it is not refused"));
                let rate = of_kind.expected_false_positive_rate(num_entries).expect("it is not refused");
                assert_eq!(cost.false_positive_rate, rate);
                let queries = workload.num_queries(num_entries) as f64;
                assert_eq!(cost.queries_ns, queries * cost.query_ns);
                assert_eq!(cost.reads_ns, queries * rate * f64::from(workload.read_ns()));
                assert_eq!(cost.bytes_ns, counted_bytes(cost, size, num_entries) * f64::from(workload.byte_ns()));
                let total = cost.build_ns + cost.queries_ns + cost.reads_ns + cost.bytes_ns;
                assert!(choice.cost().total_ns() <= total, "{policy}, {num_entries}: {choice:?}");
                assert_eq!(cost.total_ns(), total);
                kinds.insert(cost.kind);
            }
            assert!(choice.costs().is_sorted_by(|a, b| a.total_ns() <= b.total_ns()));
            assert_eq!(kinds.len(), choice.costs().count(), "each kind once");
            for &kind in FilterKind::ALL.iter().filter(|kind| !kinds.contains(kind)) {
                let refused = named(kind, size).and_then(|policy| policy.expected_block_len(num_entries));
                assert!(refused.is_err(), "{kind} can have it: {policy}, {num_entries}");
            }
            assert_eq!(policy.expected_block_len(num_entries), Ok(choice.cost().block_len));
            assert_eq!(policy.expected_false_positive_rate(num_entries), Ok(choice.cost().false_positive_rate));
            assert_eq!(policy.choice(num_entries), Ok(choice));
        }
    }
    assert!(num_choices > 400 && chosen.len() > 1, "{num_choices} choices: {chosen:?}");
}

/// The cost of a kind is a straight line in each input. So the cheapest one's slope never rises with the input.
#[test]
fn more_of_an_input_never_chooses_a_kind_that_pays_more_for_it() {
    for (size, num_entries) in SIZES.into_iter().flat_map(|size| ENTRIES.map(|num_entries| (size, num_entries))) {
        let falls = |what: &str, choices: Vec<Choice>, slope: &dyn Fn(&Choice) -> f64| {
            let is_falling = choices.is_sorted_by(|less, more| slope(more) <= slope(less) * (1.0 + 1e-12));
            assert!(is_falling, "more {what}: {size:?}, {num_entries} entries");
        };
        for level in [0, 2, 5] {
            let workload = Workload::default().with_level(level);
            let queries = COSTS.into_iter().map(|queries| workload.with_num_queries(queries));
            let per_query = |choice: &Choice| {
                let cost = choice.cost();
                cost.query_ns + cost.false_positive_rate * f64::from(choice.workload().read_ns())
            };
            falls("queries", choices(size, num_entries, queries.clone()), &per_query);
            let free_reads = queries.map(|workload| workload.with_read_ns(0));
            falls("queries, reads free", choices(size, num_entries, free_reads), &|choice| choice.cost().query_ns);
            let bytes = COSTS.into_iter().map(|cost| workload.with_byte_ns(cost as u32));
            falls("byte_ns", choices(size, num_entries, bytes), &|choice| {
                counted_bytes(choice.cost(), size, num_entries)
            });
            let reads = COSTS.into_iter().map(|cost| workload.with_read_ns(cost as u32));
            falls("read_ns", choices(size, num_entries, reads), &|choice| choice.cost().false_positive_rate);
        }
    }
}

/// A block that is rounded up to a header or a line beyond the bits per key is not dearer than one that is rounded
/// down.
#[test]
fn rounding_decides_nothing() {
    let size = FilterSize::MillibitsPerKey(10_000);
    let mut num_longer = 0;
    for num_entries in 500..3_000 {
        let choice = automatic(size, Workload::default().with_level(3)).choice(num_entries).expect("a legal size");
        assert!(choice.costs().all(|cost| cost.bytes_ns == 0.0), "{num_entries}: {choice:?}");
        let least = |a: &&KindCost, b: &&KindCost| {
            let without_bytes = |cost: &KindCost| cost.build_ns + cost.queries_ns + cost.reads_ns;
            without_bytes(a).total_cmp(&without_bytes(b))
        };
        assert_eq!(choice.costs().min_by(least), Some(choice.cost()), "{num_entries}");
        let size_bytes = (num_entries * 10).div_ceil(8);
        num_longer += usize::from(choice.costs().any(|cost| cost.block_len > size_bytes));
    }
    assert!(num_longer > 1_000, "{num_longer} choices with a block longer than the size");
}

fn keys(num_entries: u64) -> impl DoubleEndedIterator<Item = Vec<u8>> + Clone {
    (0..num_entries).map(|i| format!("key {i}").into_bytes())
}

#[test]
fn the_block_is_that_of_the_chosen_kind() {
    let mut chosen = BTreeSet::new();
    for size in SIZES {
        for (level, num_entries) in [0, 2, 6].into_iter().flat_map(|level| [0, 1, 40, 900, 20_000].map(|n| (level, n)))
        {
            let policy = automatic(size, Workload::default().with_level(level)).with_seed(7);
            let named = policy.choice(num_entries).unwrap().policy();
            assert_eq!(named.workload(), None);
            // In another order and with duplicates: the number of distinct entries decides.
            let mut builder = builder_of(&policy, keys(num_entries).rev().chain(keys(num_entries / 2)));
            let mut of_kind = builder_of(&named, keys(num_entries));
            let frames = [builder.clone(), of_kind.clone()].map(|mut builder| frame_of(&mut builder));
            assert_eq!(frames[0], frames[1], "{policy}, {num_entries}");
            let block = builder.allow_empty().finish().unwrap();
            assert_eq!(Ok(&block), of_kind.allow_empty().finish().as_ref(), "{policy}, {num_entries}");
            let reader = OpenOptions::new().open(&block).unwrap();
            assert_eq!((Some(reader.kind()), reader.num_entries()), (named.kind(), num_entries));
            assert!(keys(num_entries).all(|key| reader.may_contain(&key)));
            chosen.insert(reader.kind());
        }
    }
    assert!(chosen.len() > 1, "{chosen:?}");
}

/// The least length under a cap is an estimate where it depends on the keys: then the next kind takes the block.
#[test]
fn a_cap_that_any_kind_can_meet_is_met() {
    let finish = |policy: FilterPolicy| builder_of(&policy, keys(3_000)).finish();
    let (mut num_met, mut num_refused) = (0, 0);
    for cap in (64..1_600).step_by(7) {
        for level in [0, 2, 6] {
            let built = finish(automatic(FilterSize::MaxBytes(cap), Workload::default().with_level(level)));
            let of_kinds: Vec<_> = FilterKind::ALL.iter().map(|&kind| finish(capped(kind, cap))).collect();
            match built {
                Ok(block) => {
                    assert!(of_kinds.contains(&Ok(block)), "{cap}");
                    num_met += 1;
                }
                Err(error) => {
                    assert!(matches!(error, BuildError::ByteCap { cap_bytes, .. } if cap_bytes == cap), "{error}");
                    assert!(of_kinds.iter().all(Result::is_err), "{cap}: {error}");
                    num_refused += 1;
                }
            }
        }
    }
    assert!(num_met > 100 && num_refused > 100, "{num_met} met, {num_refused} refused");
}

#[test]
fn a_size_that_no_kind_can_have_is_refused_as_by_the_kind_that_comes_closest() {
    let refused = |size| FilterPolicy::auto(size, Workload::default()).expect_err("illegal");
    assert!(matches!(refused(FilterSize::MillibitsPerKey(1_999)), BuildError::BitsPerKey { .. }));
    let limits = FilterKind::ALL.iter().map(|&kind| rate_limits(kind));
    let (least, most) = limits.fold((1.0, 0.0), |(a, b), rates| (f64::min(a, rates.0), f64::max(b, rates.1)));
    for asked in [0.0, least / 2.0, most * 1.01, f64::NAN] {
        let error = refused(FilterSize::FalsePositiveRate(asked));
        let BuildError::FalsePositiveRate { min, max, .. } = error else { panic!("{error}") };
        assert!(if asked < least { min == least } else { max == most }, "{error}");
    }
    for legal in [least, most] {
        let choice = automatic(FilterSize::FalsePositiveRate(legal), Workload::default()).choice(1_000).unwrap();
        let others = FilterKind::ALL.iter().filter(|&&kind| choice.costs().all(|cost| cost.kind != kind));
        let mut errors = others.map(|&kind| FilterPolicy::with_false_positive_rate(kind, legal).unwrap_err());
        assert!(errors.all(|error| matches!(error, BuildError::FalsePositiveRate { .. })));
        assert!(choice.cost().false_positive_rate <= legal * (1.0 + 1e-9));
    }
    assert!(matches!(refused(FilterSize::MaxBytes(63)), BuildError::Setting { name: "max_bytes", .. }));
    let too_many = automatic(FilterSize::MillibitsPerKey(64_000), Workload::default()).choice(u64::MAX);
    assert!(matches!(too_many, Err(BuildError::TooLarge { .. }) | Ok(_)), "{too_many:?}");
}

#[test]
fn a_policy_that_names_its_kind_takes_it_for_any_number() {
    for (&kind, size) in FilterKind::ALL.iter().flat_map(|kind| SIZES.map(|size| (kind, size))) {
        let policy = named(kind, size).unwrap().with_seed(3);
        for num_entries in ENTRIES {
            let Ok(choice) = policy.choice(num_entries) else { continue };
            assert_eq!((choice.cost().kind, choice.policy(), choice.costs().count()), (kind, policy.clone(), 1));
        }
        assert_eq!((policy.kind(), policy.kind_name(), policy.workload()), (Some(kind), kind.name(), None));
        assert_eq!(policy.clone().with_level(5), policy);
    }
}

#[test]
fn partitions_of_a_filter_are_of_one_kind() {
    for (size, level) in SIZES[..5].iter().flat_map(|&size| [0, 2, 6].map(|level| (size, level))) {
        let policy = automatic(size, Workload::default().with_level(level));
        let limit = PartitionLimit::Bytes(2_000);
        let num_entries = policy.expected_num_entries(2_000);
        assert!(policy.expected_block_len(num_entries).unwrap() <= 2_000, "{policy}");
        let named = PartitionedFilterBuilder::new(&policy, limit).unwrap().policy().clone();
        assert_eq!(named, policy.choice(num_entries).unwrap().policy());
        let build = |policy| {
            let mut writer = Writer::new(policy, limit, 0);
            (0..9_000u32).for_each(|key| writer.key(format!("{key:05}").as_bytes()).unwrap());
            writer.finish()
        };
        assert_eq!(build(policy.clone()), build(named), "{policy}");
    }
}

#[test]
fn as_text() {
    for text in [
        "auto:10",
        "auto:fpr=0.01,level=0",
        "auto:max=4096,level=6,seed=7",
        "auto:9.5,queries=2000000,read_ns=90000,byte_ns=0,transform=prefix:4,self_check=off",
    ] {
        let policy: FilterPolicy = text.parse().unwrap();
        assert_eq!((policy.to_string().as_str(), policy.kind(), policy.kind_name()), (text, None, "auto"));
    }
    let parse = |text: &str| text.parse::<FilterPolicy>();
    let workload = Workload::default().with_level(4).with_num_queries(16).with_read_ns(5);
    let policy = automatic(FilterSize::FalsePositiveRate(0.01), workload).with_seed(9);
    assert_eq!(parse("auto:fpr=1%,read_ns=5,seed=9,queries=0x10,level=4"), Ok(policy.clone()));
    assert_eq!(policy.workload(), Some(workload));
    assert_eq!(policy.with_level(0).to_string(), "auto:fpr=0.01,level=0,queries=16,read_ns=5,seed=9");
    for text in
        ["auto", "auto:", "auto:10,level=", "auto:10,level=256", "auto:10,read_ns=4294967296", "blocked:10,level=3"]
    {
        assert!(matches!(parse(text), Err(ParsePolicyError::Syntax { .. })), "{text}");
    }
    assert!(matches!(parse("auto:1"), Err(ParsePolicyError::Value(BuildError::BitsPerKey { .. }))));
    assert_eq!(parse("auto:10,level=1,level=1"), Err(ParsePolicyError::Repeated { name: "level" }));
    // Settings of single kinds do not matter to a policy that takes each with its defaults; they must be legal.
    assert_eq!(parse("auto:10,salt_bits=4,slots_per_key=1.1"), parse("auto:10"));
    assert!(matches!(parse("auto:10,salt_bits=7"), Err(ParsePolicyError::Value(BuildError::Setting { .. }))));
}

#[test]
fn a_choice_keeps_hasher_and_transform() {
    let hasher = KeyHasher::new(5);
    let policy =
        automatic(FilterSize::MillibitsPerKey(10_000), Workload::default().with_level(3).with_num_queries(2_000_000));
    let choice = policy.with_hasher(hasher.clone()).with_transform(KeyTransform::Row).choice(1_000_000).unwrap();
    assert_eq!((choice.policy().hasher(), choice.policy().transform()), (&hasher, KeyTransform::Row));
}

/// A filter pays from as many queries on as the formula says: those at which wasted reads cost what filter and bytes do.
#[test]
fn a_filter_pays_from_a_number_of_queries_on() {
    for size in [FilterSize::FalsePositiveRate(0.01), FilterSize::MillibitsPerKey(10_000)] {
        for level in [0, 3, 6] {
            for num_entries in [10, 1_000, 1_000_000] {
                let choice = |queries| {
                    let workload = Workload::default().with_level(level).with_num_queries(queries);
                    automatic(size, workload).choice(num_entries).unwrap()
                };
                assert!(!choice(0).pays());
                // Queries at which none and the filter cost the same, of the kind that is chosen there.
                let (mut least, mut most) = (0u64, 1 << 50);
                while least + 1 < most {
                    let middle = least + (most - least) / 2;
                    if choice(middle).pays() { most = middle } else { least = middle }
                }
                let at = choice(most);
                let (cost, workload) = (at.cost(), at.workload());
                let fixed = cost.build_ns + cost.block_len as f64 * f64::from(workload.byte_ns());
                let saved = f64::from(workload.read_ns()) * (1.0 - cost.false_positive_rate) - cost.query_ns;
                let expected = fixed / saved;
                let error = (most as f64 - expected).abs();
                assert!(error < 2.0 + expected * 1e-6, "{size:?} {level} {num_entries}: {most}");
            }
        }
    }
}
