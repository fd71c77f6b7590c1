//! The vectors of format/fuse.md against the oracle and the library, and the library's fuse filters against
//! the oracle's where seeds are rare.

use crate::choices::fuse_dimensions;
use crate::spec::{compare, list};
use crate::*;

#[test]
fn fuse_vectors() {
    let largest = u64::from(u32::MAX);
    let dimensions =
        [(0, 0, 1), (0, 12, 257), (1, 5, 1_000), (63, 18, largest), (0, 18, 1), (9, 18, 1), (0, 18, largest)];
    let mut beyond_53_bits = 0;
    let mut lines = Vec::new();
    for (hash, (seed, log2_segment_len, num_segments)) in numbers(9).zip(dimensions) {
        let fuse = Fuse { fingerprint_bits: 32, log2_segment_len, seed, num_segments };
        let x = fuse.seeded(hash);
        let (slots, fingerprint) = fuse.slots(x);
        let product = u128::from(x) * 0xd134_2543_de82_ef95;
        beyond_53_bits += u64::from(log2_segment_len == 18) & (product >> 64 ^ product) as u64 >> 53;
        let slots = list(&slots);
        let dimensions = format!("{log2_segment_len} {num_segments}");
        lines.push(format!("{hash:#018x} {seed} {dimensions} {x:#018x} {slots} {fingerprint:#010x}"));
    }
    assert!(beyond_53_bits > 0, "no slot depends on bit 53 of the offsets");
    compare("fuse", &lines);
}

/// The block of "a", "b" and "c" of the document's section 9.
fn three_entries() -> Vec<u8> {
    let shape = Shape::Fuse { fingerprint_bits: 5, log2_segment_len: 1, num_segments: 1 };
    let hashes = [b"a", b"b", b"c"].map(|entry| KeyHasher::new(0).hash(entry).get());
    shape.block(&Header::default(), &hashes.into())
}

#[test]
fn fuse_example() {
    let block = three_entries();
    let (Oracle::Fuse { fuse, .. }, payload) = (Oracle::open(&block), &block[64..]) else { panic!("fuse") };
    assert_eq!(fuse.seed, 0);
    let reader = OpenOptions::new().open(&block).expect("a block");
    let entries = ["a", "b", "c"].map(|entry| (entry, KeyHasher::new(0).hash(entry.as_bytes()).get()));
    let mut lines = Vec::new();
    for (entry, hash) in entries {
        let (slots, _) = fuse.slots(hash);
        lines.push(format!("{} {} {}", hex(entry.as_bytes()), list(&slots), fuse.fingerprint(hash)));
        assert!(reader.may_contain_hash(KeyHash::from_raw(hash)));
    }
    let (taken, aside) = fuse.taken(&entries.map(|(_, hash)| hash).into()).expect("solved");
    assert!(aside.is_empty());
    for (hash, own) in taken {
        let (entry, _) = entries.iter().find(|(_, other)| *other == hash).expect("one of them");
        lines.push(format!("{} {own} {}", hex(entry.as_bytes()), fuse.content(payload, own)));
    }
    lines.push(hex(payload));
    compare("fuse-example", &lines);
}

/// Every number of bits, few and many segments: equal bytes, dimensions and seeds, by the oracle's own choice of them.
#[test]
fn the_writers_blocks_are_those_of_the_document() {
    let (mut most_seeds, mut num_blocks, mut num_remapped) = (0, 0, 0);
    for count in (1..40).chain([149, 150, 151, 700, 9_000]) {
        for round in 0..if count < 40 { 20 } else { 2 } {
            let hashes: BTreeSet<u64> = numbers(700 + round).take(count).collect();
            let (log2_segment_len, num_segments) = fuse_dimensions(count as u64);
            for fingerprint_bits in (1..=32u8).step_by(if round == 0 && count < 1_000 { 1 } else { 15 }) {
                let rate = 0.5f64.powi(fingerprint_bits.into());
                let policy = rated(FilterKind::Fuse, rate);
                let block = builder_of_hashes(&policy, hashes.iter().copied()).finish().expect("a block");
                let num_segments = num_segments as u32;
                let shape = Shape::Fuse { fingerprint_bits, log2_segment_len, num_segments };
                let expected = shape.block_of_writer(&Header::default(), &hashes);
                assert!(block == expected, "{count} hashes, {shape:?}");
                most_seeds = most_seeds.max(block[42]);
                num_remapped += u32::from(block[13]);
                num_blocks += 1;
            }
        }
    }
    println!("counted: {num_blocks} fuse blocks equal to the oracle's, with up to {most_seeds} failed seeds");
    assert!(most_seeds > 0 && num_remapped > 100, "{most_seeds} seeds, {num_remapped} remapped");
}

/// Crowded hashes, of which many are set aside: more than a system of 96 unknowns is for, and too many.
#[test]
fn blocks_with_many_hashes_set_aside_are_those_of_the_document() {
    let (log2_segment_len, num_segments) = fuse_dimensions(20_000);
    let shape = Shape::Fuse { fingerprint_bits: 8, log2_segment_len, num_segments: num_segments as u32 };
    let first = Fuse { fingerprint_bits: 8, log2_segment_len: log2_segment_len.into(), seed: 0, num_segments };
    let (mut num_wide, mut num_beyond) = (0, 0);
    for num_crowded in [200, 300, 400, 450] {
        let crowd = |(i, hash)| if i < num_crowded { hash >> 7 } else { hash };
        let hashes: BTreeSet<u64> = numbers(31).take(20_000).enumerate().map(crowd).collect();
        let (_, aside) = first.taken(&hashes).expect("no slot has too many");
        let block = builder_of_hashes(&rated(FilterKind::Fuse, 0.004), hashes.iter().copied()).finish().expect("built");
        let expected = shape.block_of_writer(&Header::default(), &hashes);
        assert!(block == expected, "{num_crowded} crowded, {} set aside", aside.len());
        num_wide += u32::from((89..=216).contains(&aside.len()) && block[13] == 0);
        num_beyond += u32::from(aside.len() > 216);
    }
    assert!(num_wide > 0 && num_beyond > 0, "{num_wide}, {num_beyond}");
}
