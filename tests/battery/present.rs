//! No stored key is ever denied: every number of keys from none to 2000, and those from which ribbon has a second
//! layer; every kind and setting, each key probed in every way and in every form of a filter's bytes.

use crate::extent::{Extent, extent};
use crate::*;
use std::ops::RangeInclusive;

/// Numbers of entries in the small tables.
const SMALL: RangeInclusive<usize> = 0..=2_000;
/// The first numbers of entries of which ribbon bumps some to a second layer.
const LAYERED: RangeInclusive<usize> = 4_097..=4_196;
/// Number of absent keys that each form of each table is probed for.
const NUM_STRANGERS: usize = 16;
/// One table in this many is compared with the oracle.
const TABLES_PER_ORACLE: usize = 67;
/// Cap in bytes of the capped settings: 5 bits for each of 2000 keys.
const CAP: u64 = 64 + 1_250;

/// Five sizes, a rate and a cap; for blocked, the sizes with no, some and many salts; for ribbon, with few and many
/// slots per key.
fn settings(kind: FilterKind) -> Vec<FilterPolicy> {
    let all_salts: &[u32] = if kind == FilterKind::Blocked { &[0, 3, 6] } else { &[3] };
    let mut settings = Vec::new();
    for &salt_bits in all_salts {
        for bits in [2.0, 5.0, 10.0, 16.0, 30.0] {
            let policy = sized(kind, bits);
            settings.push(policy.with_salt_bits(salt_bits).expect("legal"));
        }
    }
    let rate = rated(kind, 0.01);
    if kind == FilterKind::Ribbon {
        settings.extend([0.95, 1.075].map(|slots| rate.clone().with_slots_per_key(slots).expect("legal")));
    }
    settings.push(rate);
    settings.push(capped(kind, CAP));
    settings
}

/// Keys of eight bytes, which depend on the table.
fn keys_of(table: u64, count: usize) -> Vec<[u8; 8]> {
    numbers(table.wrapping_mul(0x9e6c_63d0_876a_68e5))
        .take(count)
        .map(|number| std::array::from_fn(|i| (number >> (8 * i)) as u8))
        .collect()
}

#[derive(Debug, Default)]
struct Tally {
    num_tables: u64,
    num_keys: u64,
    /// Probes of stored keys.
    num_probes: u64,
    /// Probes of absent keys, whose answers must agree in every form.
    num_strangers: u64,
    num_by_oracle: u64,
}

/// What the tables of one policy share.
struct Tables {
    policy: FilterPolicy,
    strangers: Vec<KeyHash>,
    /// A table that every key is probed in beside its own.
    other: Vec<u8>,
}

impl Tables {
    fn new(policy: FilterPolicy) -> Self {
        let mut builder = FilterBlockBuilder::new(&policy.clone().with_self_check(false));
        keys_of(u64::MAX, 100).iter().for_each(|key| builder.add_entry(key));
        let other = builder.finish().expect("a block");
        let strangers = numbers(91).take(NUM_STRANGERS).map(KeyHash::from_raw).collect();
        // Without the builder's own check: its errors must show here.
        Self { policy: policy.with_self_check(false), strangers, other }
    }

    /// Builds the table of `keys` and probes it for each of them: alone, in a batch and among tables, in the block at
    /// any address, in aligned bytes and in compact frames.
    fn check(&self, keys: &[[u8; 8]], tally: &mut Tally) {
        let mut builder = FilterBlockBuilder::new(&self.policy);
        keys.iter().for_each(|key| builder.add_entry(key));
        // At an address that depends only on the number of keys.
        let shift = keys.len() % 64;
        let mut unaligned = vec![0; shift];
        builder.allow_empty().finish_into(&mut unaligned).expect("a block");
        let block = &unaligned[shift..];
        let reader = OpenOptions::new().open(block).expect("intact");
        assert_eq!(reader.num_entries(), keys.len() as u64);
        let aligned = OpenOptions::new().open_owned(AlignedBytes::copy_of(block)).expect("intact");
        let kept = OpenOptions::new().open_owned(block).expect("intact");
        let frame = compact_of(block);
        let compact = open_compact(&frame, &self.policy);

        let mut asked: Vec<KeyHash> = keys.iter().map(|key| reader.entry_hasher().hasher().hash(key)).collect();
        assert!(asked.iter().all(|&hash| reader.may_contain_hash(hash)), "a false negative, alone");
        assert!(asked.iter().all(|&hash| compact.may_contain_hash(hash)), "a false negative of a compact frame");
        asked.extend(&self.strangers);
        let single: Vec<bool> = asked.iter().map(|&hash| reader.may_contain_hash(hash)).collect();
        let forms: [(&dyn Reading, _); 3] = [(&reader, "block"), (&aligned.reader(), "aligned"), (&compact, "compact")];
        for (reader, form) in forms {
            let mut batch: Vec<bool> = single.iter().map(|answer| !answer).collect();
            reader.may_contain_hashes(&asked, &mut batch);
            assert!(batch[..keys.len()].iter().all(|&answer| answer), "a false negative, in a batch, {form}");
            assert!(batch == single, "answers in a batch, {form}");
        }
        self.check_among_tables([reader, aligned.reader(), kept.reader()], &asked, &single);
        tally.num_tables += 1;
        tally.num_keys += keys.len() as u64;
        // Alone by key and by hash, in the compact frame, in three batches, three times among tables.
        tally.num_probes += 9 * keys.len() as u64;
        tally.num_strangers += 8 * self.strangers.len() as u64;
        if tally.num_tables as usize % TABLES_PER_ORACLE == 0 {
            let oracle = Oracle::open(block);
            let differs = asked.iter().zip(&single).find(|(hash, answer)| oracle.may_contain(hash.get()) != **answer);
            assert_eq!(differs, None, "another answer than the oracle's");
            tally.num_by_oracle += asked.len() as u64;
        }
    }

    fn check_among_tables(&self, forms: [FilterBlockReader<'_>; 3], asked: &[KeyHash], single: &[bool]) {
        let other = OpenOptions::new().open(&self.other).expect("intact");
        let [first, aligned, last] = forms;
        let tables = [first, other, aligned, last];
        for (&hash, &answer) in asked.iter().zip(single) {
            let mut answers = [!answer; 4];
            probe_tables(&tables, hash, &mut answers);
            assert!([answers[0], answers[2], answers[3]] == [answer; 3], "among tables: {answers:?} for {answer}");
        }
    }

    /// The block is the same for any order and repetition of keys. The builder's compact frame, which is another filter
    /// where the size is in bits per key, and where golomb has one bucket, whose range it rounds, holds every key.
    fn check_builds(&self, keys: &[[u8; 8]], tally: &mut Tally) {
        let mut builder = FilterBlockBuilder::new(&self.policy);
        let mut finish = |keys: &mut dyn Iterator<Item = &[u8; 8]>| {
            keys.for_each(|key| builder.add_entry(key));
            builder.allow_empty().finish().expect("a block")
        };
        let once = finish(&mut keys.iter());
        assert!(once == finish(&mut keys.iter().rev()), "another order, another block");
        let half = &keys[..keys.len() / 2];
        assert!(once == finish(&mut keys.iter().rev().chain(half)), "keys added twice, another block");
        keys.iter().for_each(|key| builder.add_entry(key));
        let frame = frame_of(&mut builder);
        let compact = open_compact(&frame, &self.policy);
        let found = keys.iter().all(|key| compact.may_contain_hash(compact.entry_hasher().hasher().hash(key)));
        assert!(found, "a false negative of a built compact frame");
        let is_other = matches!(self.policy.size(), filterblock::FilterSize::MillibitsPerKey(_))
            || (self.policy.kind() == Some(FilterKind::Golomb) && keys.len() <= 64);
        assert!(is_other || frame == compact_of(&once), "another compact frame than the block's");
        tally.num_tables += 4;
        tally.num_keys += (4 * keys.len() + half.len()) as u64;
        tally.num_probes += keys.len() as u64;
    }
}

fn open_compact<'a>(frame: &'a [u8], policy: &'a FilterPolicy) -> CompactFrameReader<'a> {
    CompactFrameReader::open(frame, policy).expect("a frame")
}

const NUM_SEEDS: usize = 8;

/// Seeds of the hash: the default and others.
fn seeds() -> Vec<u64> {
    std::iter::once(0).chain(numbers(92)).take(NUM_SEEDS).collect()
}

/// All of them, except in the small plan.
fn tried(counts: RangeInclusive<usize>) -> impl Iterator<Item = usize> {
    let first = *counts.start();
    counts.filter(move |count| extent() != Extent::Small || count - first < 10 || count % 97 < 2)
}

fn check_tables(kind: FilterKind, counts: RangeInclusive<usize>) {
    let mut tally = Tally::default();
    let (settings, is_long) = (settings(kind), extent() == Extent::Long);
    for (i, policy) in settings.iter().enumerate() {
        let of_seeds: Vec<Tables> =
            seeds().into_iter().map(|seed| Tables::new(policy.clone().with_seed(seed))).collect();
        for count in tried(counts.clone()) {
            // All seeds in the long plan, otherwise the seeds in turn.
            let is_due = |j: &usize| is_long || *j == (count + i) % NUM_SEEDS;
            for j in (0..NUM_SEEDS).filter(is_due) {
                let _case = Case((of_seeds[j].policy.clone(), count));
                let keys = keys_of((j as u64) << 32 | (i as u64) << 16 | count as u64, count);
                of_seeds[j].check(&keys, &mut tally);
                if if is_long { j == 0 } else { count < 300 || count % 8 == 1 } {
                    of_seeds[j].check_builds(&keys, &mut tally);
                }
            }
        }
    }
    let tables_of_counts = settings.len() * tried(counts.clone()).count() * if is_long { NUM_SEEDS } else { 1 };
    assert!(tally.num_tables > tables_of_counts as u64);
    let least = if *counts.start() == 0 { "none".to_owned() } else { counts.start().to_string() };
    report(&tally, &format!("tables of {least} to {} keys, {kind}", counts.end()));
}

fn report(tally: &Tally, what: &str) {
    counted(&[
        (tally.num_tables, what),
        (tally.num_keys, "keys built"),
        (tally.num_probes, "probes of stored keys, none denied"),
        (tally.num_strangers, "answers for absent keys alike in every form"),
        (tally.num_by_oracle, "compared with the oracle"),
    ]);
}

macro_rules! of_kinds {
    ($($test:ident: $Kind:ident, $counts:expr;)+) => {$(
        #[test]
        fn $test() {
            check_tables(FilterKind::$Kind, $counts);
        }
    )+};
}

of_kinds! {
    every_key_of_every_small_bloom_filter_is_found: Bloom, SMALL;
    every_key_of_every_small_blocked_filter_is_found: Blocked, SMALL;
    every_key_of_every_small_golomb_filter_is_found: Golomb, SMALL;
    every_key_of_every_small_ribbon_filter_is_found: Ribbon, SMALL;
    every_key_of_every_ribbon_filter_of_two_layers_is_found: Ribbon, LAYERED;
    every_key_of_every_small_fuse_filter_is_found: Fuse, SMALL;
}

/// Tables larger than the caches, whose lines are prefetched: every setting but the cap.
#[test]
fn every_key_of_large_tables_is_found() {
    let counts: &[usize] = by_extent(&[30_011], &[1_000_000], &[1_000_000, 10_000_000]);
    let mut tally = Tally::default();
    for &count in counts {
        let mut hashes: Vec<KeyHash> = Vec::new();
        for &kind in FilterKind::ALL {
            let settings = settings(kind);
            let (_capped, sized) = settings.split_last().expect("settings");
            for policy in sized {
                let _case = Case((policy, count));
                // Each setting has hashes of its own.
                let policy = policy.clone().with_seed(93 + tally.num_tables).with_self_check(false);
                let key = |number: u64| std::array::from_fn::<u8, 16, _>(|i| (number >> (4 * i)) as u8);
                hashes.clear();
                hashes.extend((0..count as u64).map(|number| policy.hasher().hash(&key(number))));
                check_large_table(policy, &hashes, &mut tally);
            }
        }
    }
    assert_eq!(tally.num_tables as usize, counts.len() * (6 + 16 + 6 + 8 + 6));
    let lengths: Vec<String> = counts.iter().map(usize::to_string).collect();
    report(&tally, &format!("tables of {} keys", lengths.join(" or ")));
}

fn check_large_table(policy: FilterPolicy, hashes: &[KeyHash], tally: &mut Tally) {
    let mut builder = FilterBlockBuilder::new(&policy);
    builder.try_reserve(hashes.len()).expect("memory");
    hashes.iter().for_each(|&hash| builder.add_hash(hash));
    let block =
        OpenOptions::new().open_owned(AlignedBytes::copy_of(&builder.finish().expect("a block"))).expect("intact");
    let reader = block.reader();
    assert_eq!(reader.num_entries(), hashes.len() as u64);
    assert!(hashes.iter().all(|&hash| reader.may_contain_hash(hash)), "a false negative, alone");
    let mut answers = vec![false; 4_096];
    for hashes in hashes.chunks(answers.len()) {
        let answers = &mut answers[..hashes.len()];
        answers.fill(false);
        reader.may_contain_hashes(hashes, answers);
        assert!(answers.iter().all(|&answer| answer), "a false negative, in a batch");
    }
    for &hash in hashes {
        let mut answers = [false; 2];
        probe_tables(&[reader.clone(), reader.clone()], hash, &mut answers);
        assert!(answers == [true; 2], "a false negative, among tables");
    }
    tally.num_tables += 1;
    tally.num_keys += hashes.len() as u64;
    tally.num_probes += 4 * hashes.len() as u64;
}
