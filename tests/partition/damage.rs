//! Damage to the index, and to partitions: typed errors, never a denied key, and no key of another partition lost.

use crate::assembled;
use crate::harness::{Stored, Writer, exact, sure};
use crate::material::{numbers, sized};
use filterblock::partition::{PartitionError, PartitionLimit, PartitionedFilter};
use filterblock::{DecodeError, DecodeErrorClass, FilterKind, KeyTransform, OpenOptions, Query};
use std::convert::Infallible;

/// Recomputes length and checksums of an index.
pub fn repair(index: &mut [u8], context: u64) {
    let payload_len = (index.len() - 64) as u64;
    (0..8).for_each(|i| index[32 + i] = (payload_len >> (8 * i)) as u8);
    assembled::repair(index, context);
}

const CONTEXT: u64 = 77;

fn key(i: u32) -> Vec<u8> {
    format!("com.example/{i:04}").into_bytes()
}

fn sample() -> Stored {
    let policy = sized(FilterKind::Blocked, 10.0);
    let mut writer = Writer::new(policy, PartitionLimit::Entries(50), CONTEXT);
    (0..250).for_each(|i| writer.key(&key(i)).expect("in order"));
    writer.finish().expect("an index")
}

fn open(index: &[u8]) -> Result<PartitionedFilter<&[u8]>, DecodeError> {
    PartitionedFilter::open(index, OpenOptions::new().with_context(CONTEXT))
}

#[test]
fn every_damaged_byte_of_an_index_is_noticed() {
    let stored = sample();
    open(&stored.index).expect("a sound index");
    let mut damaged = 0;
    for at in 0..stored.index.len() {
        for flip in (0..8).map(|bit| 1 << bit).chain([0xff]) {
            let mut index = stored.index.clone();
            index[at] ^= flip;
            let error = open(&index).err().unwrap_or_else(|| panic!("byte {at} ^ {flip:#x}"));
            assert_eq!(error.class(), DecodeErrorClass::Damaged, "{at} {flip:#x}: {error}");
            damaged += 1;
        }
    }
    for len in 0..stored.index.len() {
        assert!(open(&stored.index[..len]).is_err(), "{len} bytes");
    }
    assert!(open(&[&stored.index[..], &[0]].concat()).is_err());
    println!("counted: {damaged} changes of single bytes of an index, all noticed");
}

#[test]
fn a_damaged_partition_costs_only_its_own_keys() {
    let stored = sample();
    let filter = stored.open(CONTEXT);
    let victim = filter.partitions().nth(2).expect("five partitions");
    let range = victim.offset as usize..victim.offset as usize + victim.len as usize;
    for at in range.step_by(5) {
        let mut file = stored.file.clone();
        file[at] ^= 0x40;
        let stored = Stored { file, index: stored.index.clone() };
        for i in 0..250 {
            let answer = filter.may_match(Query::Key(&key(i)), |p| stored.load(p));
            match i / 50 {
                2 => assert!(matches!(answer, Err(PartitionError::Decode { partition: 2, .. })), "{i} {answer:?}"),
                _ => assert_eq!(answer, Ok(true), "{i}"),
            }
        }
    }
    // Blocks of another length than the index states.
    let Ok(block) = stored.load(victim);
    for wrong in [&block[..0], &block[..64], &block[..block.len() - 1]] {
        let answer = filter.may_match(Query::Key(&key(120)), |_| Ok::<_, Infallible>(wrong));
        assert!(matches!(answer, Err(PartitionError::Decode { partition: 2, .. })), "{answer:?}");
    }
    let answer =
        filter.may_match(Query::Key(&key(120)), |p| if p.number == 2 { Err("no such page") } else { Ok(block) });
    assert_eq!(answer, Err(PartitionError::Load { partition: 2, error: "no such page" }));
    assert_eq!(answer.unwrap_err().to_string(), "loading partition 2 of the filter: no such page");
}

/// Every partition in every other's place, of this table and of another.
#[test]
fn partitions_cannot_be_swapped() {
    let stored = sample();
    let filter = stored.open(CONTEXT);
    let other = {
        let mut writer = Writer::new(exact(KeyTransform::WholeKey), PartitionLimit::Entries(50), CONTEXT + 1);
        (0..250).for_each(|i| writer.key(&key(i)).expect("in order"));
        writer.finish().expect("an index")
    };
    assert!(matches!(open(&other.index), Err(DecodeError::WrongContext { .. })));
    let others = other.open(CONTEXT + 1);
    let mut swaps = 0;
    for place in filter.partitions() {
        for from in filter.partitions().filter(|from| from.number != place.number) {
            let Ok(block) = stored.load(from);
            let error = filter.open_partition(place, block).unwrap_err();
            assert_eq!(error.class(), DecodeErrorClass::Mismatch, "{error}");
            swaps += 1;
        }
        for from in others.partitions() {
            let Ok(block) = other.load(from);
            assert!(filter.open_partition(place, block).is_err());
            swaps += 1;
        }
        assert!(filter.open_partition(place, &stored.index).is_err(), "an index is no partition");
        let Ok(block) = stored.load(place);
        assert!(open(block).is_err(), "a partition is no index");
        assert!(OpenOptions::new().open(block).is_err(), "a partition is no block without a context");
        // An engine that verifies bytes itself still notices.
        let trusted =
            PartitionedFilter::open(&stored.index, OpenOptions::new().with_context(CONTEXT).with_digest_check(false));
        let trusted = trusted.expect("a sound index");
        let next = filter.partitions().nth((place.number as usize + 1) % 5).expect("five");
        let Ok(block) = stored.load(next);
        assert!(trusted.open_partition(place, block).is_err());
    }
    println!("counted: {swaps} swapped partitions, all refused");
}

/// An index whose checksums are right and whose bytes are not: no panic, and a partition within what it says.
#[test]
fn forged_indexes_cause_no_panic() {
    let stored = sample();
    let (mut opened, mut refused) = (0, 0);
    for (round, number) in numbers(11).take(200_000).enumerate() {
        let mut index = stored.index.clone();
        for shift in 0..=(round % 3) {
            let number = number.rotate_left(20 * shift as u32);
            let at = 8 + number as usize % (index.len() - 8);
            index[at] = (number >> 32) as u8;
        }
        repair(&mut index, CONTEXT);
        match open(&index) {
            Ok(filter) => {
                opened += 1;
                for query in [&b""[..], b"com.example/0100", b"com", b"zzz", &[0xff; 40]] {
                    for query in [Query::Key(query), Query::Prefix(query), Query::Row(query), Query::Cell(query, query)]
                    {
                        let mut found = filter.find(query).partitions();
                        assert!(found.all(|p| (p.number as usize) < filter.partitions().len()));
                        let _ = filter.may_match(query, |p| Ok::<_, Infallible>(vec![0; p.len.min(100) as usize]));
                    }
                }
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(opened > 1000 && refused > 1000, "{opened} {refused}");
    println!("counted: {opened} forged indexes opened, {refused} refused");
}

/// The answers do not depend on what the engine verifies itself.
#[test]
fn a_trusted_index_answers_alike() {
    let stored = sample();
    let trusted =
        PartitionedFilter::open(&stored.index, OpenOptions::new().with_context(CONTEXT).with_digest_check(false));
    let (trusted, filter) = (trusted.expect("sound"), stored.open(CONTEXT));
    for i in 0..1000 {
        let answers = [
            sure(trusted.may_match(Query::Key(&key(i)), |p| stored.load(p))),
            sure(filter.may_match(Query::Key(&key(i)), |p| stored.load(p))),
        ];
        assert_eq!(answers[0], answers[1]);
    }
    let mut index = stored.index.clone();
    let last = index.len() - 1;
    index[last] += 1;
    assert!(open(&index).is_err());
    assert!(PartitionedFilter::open(&index, OpenOptions::new().with_context(CONTEXT).with_digest_check(false)).is_ok());
}
