//! One hash for many tables: the answers are those that each table gives by itself.

use crate::ranges::{block, built};
use crate::*;
use filterblock::range;

/// Tables of each kind, from no entries to many, in the forms in which an engine may hold them.
struct Store {
    blocks: Vec<Vec<u8>>,
    kept: Vec<FilterBlock<AlignedBytes>>,
}

/// Numbers of entries of the tables; neighbours share half of the smaller one's.
const NUM_ENTRIES: [usize; 6] = [0, 1, 10, 300, 5_000, 20_000];

fn members(num_entries: usize) -> Vec<u64> {
    numbers(401).skip(num_entries / 2).take(num_entries).collect()
}

fn policies() -> Vec<FilterPolicy> {
    let mut all = Vec::new();
    for &kind in FilterKind::ALL {
        all.extend([6.0, 10.0, 20.0].map(|bits| sized(kind, bits)));
    }
    // These have no probe inlined in the caller's loop, so lines are prefetched.
    let blocked = sized(FilterKind::Blocked, 10.0);
    all.extend([0, 6].map(|salt_bits| blocked.clone().with_salt_bits(salt_bits).expect("legal")));
    all
}

impl Store {
    fn new() -> Self {
        let (mut blocks, mut kept) = (Vec::new(), Vec::new());
        for policy in policies() {
            for num_entries in NUM_ENTRIES {
                let members = members(num_entries);
                let block = block_of(policy.clone(), &members);
                kept.push(OpenOptions::new().open_owned(AlignedBytes::copy_of(&block)).expect("intact"));
                blocks.push(block);
            }
        }
        Self { blocks, kept }
    }

    /// Readers of all of them, in an arbitrary order.
    fn readers(&self) -> Vec<FilterBlockReader<'_>> {
        let blocks = self.blocks.iter().map(|block| OpenOptions::new().open(block).expect("intact"));
        let mut readers: Vec<_> = numbers(402).zip(blocks.chain(self.kept.iter().map(FilterBlock::reader))).collect();
        readers.sort_by_key(|(number, _)| *number);
        readers.into_iter().map(|(_, reader)| reader).collect()
    }
}

fn assert_as_single(tables: &[FilterBlockReader<'_>], hash: KeyHash) {
    let expected: Vec<bool> = tables.iter().map(|table| table.may_contain_hash(hash)).collect();
    // Every answer has to be written: all are wrong beforehand.
    let mut answers: Vec<bool> = expected.iter().map(|answer| !answer).collect();
    probe_tables(tables, hash, &mut answers);
    assert_eq!(answers, expected, "{} tables, {hash:?}", tables.len());
}

/// Hashes present in some tables, in none, and extreme ones.
fn queried() -> Vec<KeyHash> {
    let present = numbers(401).take(25_000).step_by(101);
    hashes(present.chain(numbers(403).take(200)).chain([0, 1, u64::MAX, u64::MAX << 32]))
}

#[test]
fn tables_of_every_kind_size_and_form_answer_as_single_queries() {
    let store = Store::new();
    let readers = store.readers();
    let (mut passed, mut stopped) = (0, 0);
    for hash in queried() {
        assert_as_single(&readers, hash);
        let maybe = readers.iter().filter(|reader| reader.may_contain_hash(hash)).count();
        (passed, stopped) = (passed + maybe, stopped + readers.len() - maybe);
    }
    assert!(passed > 1_000 && stopped > 1_000, "both answers occur often");
}

/// Whichever table comes first, and whatever their number.
#[test]
fn any_table_may_come_first() {
    let store = Store::new();
    let readers = store.readers();
    for (at, hash) in (0..readers.len()).zip(queried().into_iter().cycle().step_by(7)) {
        for len in [1, 2, 3, 10] {
            assert_as_single(&readers[at..][..len.min(readers.len() - at)], hash);
        }
    }
}

/// Which lines are prefetched depends on the bytes, which may be anything if their digest is not verified.
#[test]
fn damaged_tables_answer_as_single_queries() {
    for policy in policies() {
        let mut blocks: Vec<Vec<u8>> = NUM_ENTRIES.iter().map(|&n| block_of(policy.clone(), &members(n))).collect();
        for (seed, share) in [(1, 300), (2, 1)] {
            for (byte, number) in blocks.iter_mut().flat_map(|block| &mut block[64..]).zip(numbers(seed)) {
                if number % share == 0 {
                    *byte = (number >> 32) as u8;
                }
            }
            let options = OpenOptions::new().with_digest_check(false);
            // Some damage is noticed without the digest.
            let tables: Vec<_> = blocks.iter().filter_map(|block| options.open(block).ok()).collect();
            queried().into_iter().for_each(|hash| assert_as_single(&tables, hash));
        }
    }
}

#[test]
fn no_tables_need_no_answers() {
    probe_tables(&[] as &[FilterBlockReader<'_>], KeyHash::from_raw(1), &mut []);
}

fn probe_one_table(answers: &mut [bool]) {
    let block = block_of(policies()[0].clone(), &[1]);
    probe_tables(&[OpenOptions::new().open(&block).expect("intact")], KeyHash::from_raw(1), answers);
}

#[test]
fn too_few_and_too_many_answers_panic() {
    for len in [0, 2] {
        let panic = std::panic::catch_unwind(|| probe_one_table(&mut vec![false; len])).expect_err("a panic");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"one answer for each table"), "{len} answers");
    }
}

#[test]
fn many_tables_are_probed_for_a_range_as_one_by_one() {
    let big = |number: u32| -> [u8; 4] { std::array::from_fn(|i| (number >> (24 - 8 * i)) as u8) };
    let policy = |i: u32| if i % 3 == 0 { "range:fpr=1%,len=1024" } else { "range:14" }.parse().expect("legal");
    let build = |i: u32| {
        let block = block(policy(i), (0..32_000u32).map(|key| big(key * 100_000 + i * 5_000)), 0);
        OpenOptions::new().open_ranges(block).expect("intact")
    };
    let tables: Vec<_> = (0..90).map(build).collect();
    assert!(tables.iter().map(|table| table.as_bytes().len()).sum::<usize>() > 4 << 20, "beyond what is near");
    let (mut num_no, mut num_maybe) = (0, 0);
    for round in 0..2_000u32 {
        let lower = round.wrapping_mul(2_654_435_761);
        let (lower, upper) = (big(lower), big(lower.saturating_add(1 << (round % 14))));
        let (from, to) = (Included(&lower[..]), Excluded(&upper[..]));
        let prefix = &lower[..1 + round as usize % 4];
        let mut answers = [[false; 90]; 3];
        range::probe_tables(&tables, Query::Range(from, to), &mut answers[0]);
        range::probe_tables(tables.iter(), Query::Prefix(prefix), &mut answers[1]);
        range::probe_tables(&tables, Query::Row(prefix), &mut answers[2]);
        assert_eq!(answers[2], [true; 90], "a row is not answered");
        for (i, table) in tables.iter().enumerate() {
            let single = [table.may_contain_range(from, to), table.may_contain_prefix(prefix)];
            assert_eq!([answers[0][i], answers[1][i]], single, "{i} {lower:?} {upper:?}");
            num_maybe += single.iter().filter(|&&single| single).count();
            num_no += single.iter().filter(|&&single| !single).count();
        }
    }
    assert!(num_no > 100_000 && num_maybe > 50_000, "{num_no} {num_maybe}");
}

#[test]
#[should_panic(expected = "one answer for each table")]
fn a_range_with_fewer_answers_than_tables() {
    let table = OpenOptions::new().open_ranges(built(&[b"key".to_vec()], 14.0)).expect("intact");
    range::probe_tables([&table, &table], Query::Range(Unbounded, Unbounded), &mut [false]);
}
