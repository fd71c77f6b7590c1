//! Damage: no row is lost, and what is damaged in one file's block costs that file alone.

use crate::sample::Seen;
use crate::*;

/// A set with the checksums of its index and its footer made right.
pub fn repaired(mut bytes: Vec<u8>) -> Vec<u8> {
    let Some(at) = bytes.len().checked_sub(FOOTER_LEN) else { return bytes };
    let index_len = int(&bytes[at + 32..]) as usize;
    let Some(index_at) = at.checked_sub(index_len) else { return bytes };
    let digest = filterblock::KeyHasher::new(0).hash(&bytes[index_at..at]).get();
    put(&mut bytes, at + 52, 8, digest);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[at..at + 60]);
    let masked = crc.finalize().rotate_right(15).wrapping_add(0xa282_ead8);
    put(&mut bytes, at + 60, 4, masked.into());
    bytes
}

/// Stores the first `len` bytes of a little-endian integer.
pub fn put(bytes: &mut [u8], at: usize, len: usize, value: u64) {
    (0..len).for_each(|i| bytes[at + i] = (value >> (8 * i)) as u8);
}

fn int(bytes: &[u8]) -> u64 {
    bytes[..8].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Bytes before the index.
fn data_len(bytes: &[u8]) -> usize {
    int(&bytes[bytes.len() - FOOTER_LEN + 40..]) as usize
}

#[test]
fn every_byte_of_a_small_set() {
    for (policy, slices) in [("bloom:10", 1), ("golomb:10", 2), ("ribbon:fpr=1%", 1), ("blocked:10", 3)] {
        let tables = tables(0, 4, 20);
        let bytes = set(policy, slices, &tables);
        let intact = no_row_lost(&bytes, &tables);
        let all = 2 * 80 * 3; // keys and the files that do not have them
        assert!(intact.opened && intact.denied > all * 9 / 10 && intact.bad_blocks == 0, "{policy}: {intact:?}");
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                let seen = no_row_lost(&changed, &tables);
                if at < data_len(&bytes) {
                    assert!(seen.opened && seen.bad_blocks == 1, "{policy} at {at}: {seen:?}");
                    // One block's keys of one file are maybe, and no others.
                    assert!(
                        seen.denied >= intact.denied - 60 && seen.denied < intact.denied,
                        "{policy} at {at}: {seen:?}"
                    );
                } else if !seen.opened {
                    assert_eq!(seen, Seen::default());
                } else {
                    // Behind right checksums: bits of `features` that may be ignored are not changed alone.
                    panic!("{policy}: the change at {at} of {} went unnoticed", bytes.len());
                }
            }
        }
    }
}

#[test]
fn every_length_of_a_small_set() {
    let tables = tables(0, 3, 20);
    let bytes = set("bloom:10", 1, &tables);
    for len in 0..bytes.len() {
        assert_eq!(no_row_lost(&bytes[..len], &tables), Seen::default(), "{len} bytes");
        // The end is there, the beginning is not.
        assert_eq!(no_row_lost(&bytes[len + 1..], &tables), Seen::default());
    }
    let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
    assert_eq!(no_row_lost(&longer, &tables), Seen::default());
}

/// A change of `bytes`, of a kind that disks, networks and programs make.
pub fn mutate(bytes: &mut Vec<u8>, numbers: &mut Random) {
    let len = bytes.len();
    let (at, other, run) = (numbers.index(len), numbers.index(len), 1 + numbers.index(200));
    let (end, other_end) = ((at + run).min(len), (other + run).min(len));
    match numbers.index(7) {
        0 => bytes[at] ^= 1 << numbers.index(8),
        1 => bytes[at..end].fill(0),
        2 => bytes[at..end].iter_mut().for_each(|byte| *byte = numbers.next() as u8),
        3 => bytes.copy_within(at..end.min(at + len - other.max(at)), other),
        4 => drop(bytes.drain(at..end)),
        5 => {
            let piece = bytes[other..other_end].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => bytes.truncate(at),
    }
}

/// Each second set has true checksums over its changed index, as a defect of a writer would make: what the index states
/// of a block is bound to the block itself.
#[test]
fn ten_thousand_mutated_sets() {
    let (mut numbers, mut opened, mut bad, mut denied) = (Random::new(35), 0, 0, 0);
    for (policy, slices) in [("bloom:10", 1), ("ribbon:fpr=1%", 2), ("blocked:8", 4), ("fuse:8", 1), ("golomb:9", 3)] {
        let tables = tables(0, 3, 12);
        let bytes = set(policy, slices, &tables);
        for case in 0..2000 {
            let mut changed = bytes.clone();
            if case % 2 == 0 {
                mutate(&mut changed, &mut numbers);
            } else {
                // Between the data and the checksums.
                let at = data_len(&bytes) + numbers.index(bytes.len() - data_len(&bytes) - 12);
                let end = (at + 1 + numbers.index(3)).min(bytes.len() - 12);
                for byte in &mut changed[at..end] {
                    *byte = if numbers.index(2) == 0 { numbers.next() as u8 } else { *byte ^ 1 };
                }
                changed = repaired(changed);
            }
            let seen = no_row_lost(&changed, &tables);
            opened += usize::from(seen.opened);
            bad += usize::from(seen.bad_blocks > 0);
            denied += seen.denied;
        }
    }
    println!("counted: 10000 mutated sets, {opened} opened, {bad} with blocks that did not open, no row lost");
    assert!(opened > 3000 && bad > 2000 && denied > 10_000, "{opened} opened, {bad} with bad blocks, {denied} denied");
}

/// Two files exchange their blocks, or a file has those of its own earlier state: nothing of it is believed.
#[test]
fn blocks_of_another_place_are_not_believed() {
    let tables = tables(0, 2, 50);
    let bytes = set("blocked:10", 1, &tables);
    let block_len = data_len(&bytes) / 4;
    let mut exchanged = bytes.clone();
    exchanged[..block_len].copy_from_slice(&bytes[block_len..2 * block_len]);
    exchanged[block_len..2 * block_len].copy_from_slice(&bytes[..block_len]);
    let seen = no_row_lost(&exchanged, &tables);
    assert!(seen.opened && seen.bad_blocks == 2, "{seen:?}");

    let mut newer = tables.clone();
    newer[0].identity += 1;
    newer[0].ids = (1_000_000..1_000_050).collect();
    let seen = no_row_lost(&bytes, &newer);
    assert!(seen.opened && seen.bad_blocks == 0 && seen.denied > 0, "{seen:?}");
    // Even an index that states the new identity has the old file's blocks.
    let mut forged = bytes.clone();
    let at = data_len(&bytes) + 8 + 16;
    put(&mut forged, at, 8, newer[0].identity);
    let seen = no_row_lost(&repaired(forged), &newer);
    assert!(seen.opened && seen.bad_blocks == 2, "{seen:?}");
}

/// Numbers in a header do not make a reader allocate or wait: they are compared with the bytes that there are.
#[test]
fn claims_are_compared_with_the_bytes() {
    let tables = tables(0, 2, 10);
    let bytes = set("bloom:10", 1, &tables);
    let footer = bytes.len() - FOOTER_LEN;
    for (at, len) in [(14, 2), (24, 4), (28, 4), (32, 8), (40, 8)] {
        for byte in [0xff, 0x7f, 0x10, 0x01] {
            let mut changed = bytes.clone();
            changed[footer + at..footer + at + len].fill(byte);
            assert!(open(&repaired(changed)).is_none(), "{byte:#x} at {at}");
        }
    }
}
