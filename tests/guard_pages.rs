//! Blocks, frames, keys, hashes and answers that lie flush against pages that cannot be read, through the whole
//! library: what opening reads before any payload is checked, truncated and damaged headers, and keys as they are
//! hashed.
//!
//! These tests reach only the engine that a reader chooses on this processor. `src/keys/kinds/guard_pages.rs` therefore
//! runs all engines, which are private, on payloads alone. Both use `src/cpu/guarded.rs`.
#![cfg(target_os = "linux")]

#[path = "../src/cpu/guarded.rs"]
#[expect(unsafe_code, reason = "mapped memory; each block names the check that pays for it")]
mod guarded;

use filterblock::{
    CompactFrameReader, FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, KeyHash, KeyHasher,
    OpenOptions, probe_tables,
};
use guarded::Guarded;
use testkit::readers::Reading;

fn hash(i: u64) -> KeyHash {
    KeyHash::from_raw((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31))
}

/// Small and large, by bits, by rate and by bytes.
fn policies() -> Vec<FilterPolicy> {
    let mut all = Vec::new();
    for &kind in FilterKind::ALL {
        for bits in [2.0, 4.7, 8.0, 10.0, 16.0, 30.0] {
            all.push(FilterPolicy::with_bits_per_key(kind, bits).expect("legal"));
        }
        all.push(FilterPolicy::with_false_positive_rate(kind, 0.001).expect("legal"));
    }
    for salt_bits in [0, 2, 4, 6] {
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0).expect("legal");
        all.push(policy.with_salt_bits(salt_bits).expect("legal"));
    }
    all
}

fn builder(policy: FilterPolicy, num_entries: u64) -> FilterBlockBuilder {
    let mut builder = FilterBlockBuilder::new(&policy);
    builder.allow_empty();
    (0..num_entries).for_each(|i| builder.add_hash(hash(i)));
    builder
}

/// All that a block's reader answers: as [`ask`], and beside other tables.
fn ask_block(reader: &FilterBlockReader<'_>, num_entries: u64, pages: &mut [Guarded; 2]) {
    ask(reader, num_entries, pages);
    pages[1].at_both_ends(&[false; 3], |answers| probe_tables([reader; 3], hash(0), answers));
}

/// Queries one by one and in batches of several lengths.
fn ask(reader: &impl Reading, num_entries: u64, pages: &mut [Guarded; 2]) {
    let [hash_pages, answer_pages] = pages;
    let hashes: Vec<KeyHash> = (0..num_entries.min(40)).chain(1 << 40..(1 << 40) + 40).map(hash).collect();
    let expected: Vec<bool> = hashes.iter().map(|&hash| reader.may_contain_hash(hash)).collect();
    assert!(expected[..num_entries.min(40) as usize].iter().all(|&answer| answer));
    for len in [0, 1, 7, 8, 9, 31, 33, hashes.len()].map(|len| len.min(hashes.len())) {
        hash_pages.at_both_ends(&hashes[..len], |hashes| {
            answer_pages.at_both_ends(&vec![false; len], |answers| {
                reader.may_contain_hashes(hashes, answers);
                assert_eq!(answers, &expected[..len]);
            });
        });
    }
    assert!(reader.false_positive_rate() <= 1.0 && reader.fill() >= 0.0);
}

#[test]
fn no_reader_reads_out_of_bounds() {
    let mut pages = Guarded::new(1 << 14);
    let mut others = [Guarded::new(4096), Guarded::new(4096)];
    let mut num_readers = 0;
    for policy in policies() {
        for num_entries in [0, 1, 2, 3, 5, 8, 13, 40, 100, 333, 1_000, 3_000] {
            let block = builder(policy.clone(), num_entries).finish().expect("a block");
            pages.at_both_ends(&block, |block| {
                for trusted in [false, true] {
                    let reader = OpenOptions::new().with_digest_check(!trusted).open(block).expect("an intact block");
                    ask_block(&reader, num_entries, &mut others);
                    num_readers += 1;
                }
            });
            let mut frame = Vec::new();
            builder(policy.clone(), num_entries).finish_compact_into(&mut frame).expect("a frame");
            pages.at_both_ends(&frame, |frame| {
                let reader = CompactFrameReader::open(frame, &policy);
                ask(&reader.expect("an intact frame"), num_entries, &mut others);
                num_readers += 1;
            });
        }
    }
    println!("counted: {num_readers} readers of bytes beside pages that cannot be read");
}

#[test]
fn no_truncated_or_damaged_bytes_lead_out_of_bounds() {
    let mut pages = Guarded::new(4096);
    let mut others = [Guarded::new(4096), Guarded::new(4096)];
    for &kind in FilterKind::ALL {
        let policy = FilterPolicy::with_bits_per_key(kind, 10.0).expect("legal");
        let block = builder(policy.clone(), 200).finish().expect("a block");
        let mut frame = Vec::new();
        builder(policy.clone(), 200).finish_compact_into(&mut frame).expect("a frame");
        for len in 0..block.len() {
            pages.at_both_ends(&block[..len], |block| {
                assert!(OpenOptions::new().with_digest_check(false).open(block).is_err(), "{kind}, {len} bytes");
            });
        }
        for len in 0..frame.len() {
            pages.at_both_ends(&frame[..len], |frame| {
                let _ = CompactFrameReader::open(frame, &policy);
            });
        }
        for round in 0..1_000 {
            let mut damaged = block.clone();
            let random = hash(round).get();
            damaged[(random % block.len() as u64) as usize] ^= 1 << (random >> 32 & 7);
            pages.at_both_ends(&damaged, |block| {
                if let Ok(reader) = OpenOptions::new().with_digest_check(false).open(block) {
                    ask_block(&reader, 0, &mut others);
                }
            });
        }
    }
}

#[test]
fn no_key_is_read_out_of_bounds() {
    let mut pages = Guarded::new(4096);
    let key: Vec<u8> = (0..600u64).map(|i| hash(i).get() as u8).collect();
    let hashers = [KeyHasher::new(0), KeyHasher::new(7)];
    for len in 0..key.len() {
        pages.at_both_ends(&key[..len], |copy| {
            assert!(hashers.iter().all(|hasher| hasher.hash(copy) == hasher.hash(&key[..len])));
        });
    }
}
