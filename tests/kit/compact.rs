//! Compact frames: each form of each trailer, accepted and refused.

use crate::case::{Case, Expected, KINDS, Reply, Request, letters};
use crate::golomb;
use crate::kinds::{EXTREMES, FUSES, Random, balanced, fuse_payload, hash_queries, ribbon_payload};
use crate::oracle::Oracle;
use crate::refused::refused;

fn request(bytes: Vec<u8>) -> Request {
    Request { frame: "compact", bytes, hash: Expected::Seed(0), transform: Some((0, 0)), ..Request::default() }
}

/// A frame that opens, queried for hashes.
fn opens(name: &str, payload: &[u8], trailer: &[u8], hashes: &[u64]) -> Case {
    let frame = [payload, trailer].concat();
    let oracle = Oracle::open_compact(&frame);
    let mut hashes = hashes.to_vec();
    if hashes.is_empty() {
        hashes = balanced(&oracle, 900, 8);
    }
    hashes.extend(EXTREMES);
    let answers = letters(hashes.iter().map(|&hash| oracle.may_contain(hash)));
    let kind = Some(KINDS[usize::from(trailer[trailer.len() - 1] & 15)]);
    let reply = Reply::Ok { kind, num_entries: None, partitions: None, answers };
    Case::new(format!("opens: {name}"), Request { queries: hash_queries(&hashes), ..request(frame) }, reply)
}

/// The bytes of an integer, without zeros at the upper end.
fn short(value: u64) -> Vec<u8> {
    let len = (0..8).find(|len| value >> (8 * len) == 0).unwrap_or(8);
    (0..len).map(|i| (value >> (8 * i)) as u8).collect()
}

fn accepted(cases: &mut Vec<Case>) {
    let random = &mut Random::new(901);
    for (num_probes, len) in [(1, 1), (1, 7), (2, 16), (7, 33), (30, 64), (64, 90)] {
        let bits = random.bits(len, 0.5f64.powf(1.0 / f64::from(num_probes)));
        cases.push(opens(&format!("bloom, {num_probes} probes of {len} bytes"), &bits, &[num_probes, 0x11], &[]));
    }
    for (byte, len) in
        [(0x00, 64), (0x16, 64), (0x53, 128), (0x70, 64), (0x81, 64), (0xf6, 128), (0xf0, 64), (0x73, 4096)]
    {
        let lines = random.bits(len, 0.5f64.powf(1.0 / f64::from((byte >> 4) + 1)));
        cases.push(opens(&format!("blocked, {byte:#04x}, {len} bytes"), &lines, &[byte, 0x12], &[]));
    }
    for dimensions in golomb::all().step_by(2).chain(golomb::all().skip(1).step_by(6)) {
        let payload = dimensions.payload(random);
        let hashes = dimensions.hashes(&payload, random);
        let golomb::Dimensions { remainder_bits: r, directory_bits: d, num_buckets, bucket_range, .. } = dimensions;
        let (buckets, range) = (short(num_buckets), short(bucket_range));
        let lens = 16 * buckets.len() as u8 + range.len() as u8;
        let trailer = [&buckets[..], &range, &[r, d, lens, 0x13]].concat();
        cases.push(opens(&format!("golomb, r {r}, d {d}, {num_buckets} buckets"), &payload, &trailer, &hashes));
    }
    for (r, units) in [(1, 1), (1, 255), (2, 9), (3, 40), (5, 17), (8, 64), (9, 3), (14, 100), (15, 255), (15, 1)] {
        let dimensions = golomb::Dimensions {
            remainder_bits: r,
            directory_bits: 0,
            num_buckets: 1,
            bucket_range: u64::from(units) << (r - 1),
            codes_len: 12,
            directory: golomb::Directory::Within,
        };
        let payload = dimensions.payload(random);
        let hashes = dimensions.hashes(&payload, random);
        cases.push(opens(&format!("golomb, short, r {r}, {units} units"), &payload, &[units, r, 0x13], &hashes));
    }
    let shares = [0, 1, 0x100, 0xff00, 0x0001_0000, 0x8000_0000, u32::MAX];
    for (i, wide_share) in shares.into_iter().enumerate() {
        let num_blocks: &[u32] = if i % 2 == 0 { &[4] } else { &[5, 3] };
        let last_seed = [0, 31, 1][i % 3];
        let payload = ribbon_payload((1, wide_share, last_seed, 0, num_blocks), random);
        let share = short(wide_share.into());
        let lens = 16 * num_blocks.len() as u8 + share.len() as u8;
        let trailer = [&share[..], &[last_seed, 1, lens, 0x14]].concat();
        cases.push(opens(&format!("ribbon, share {wide_share:#x}, blocks {num_blocks:?}"), &payload, &trailer, &[]));
    }
    for thinned_from in [3, 32] {
        let payload = ribbon_payload((2, 0, 4, thinned_from, &[4, 2]), random);
        let trailer = [thinned_from, 4, 2, 16 * 2 + 15, 0x14];
        cases.push(opens(&format!("ribbon, thinned from {thinned_from}"), &payload, &trailer, &[]));
    }
    for (bits, log2, seed, num_segments) in FUSES.into_iter().chain([(1, 0, 3, 256)]) {
        let payload = fuse_payload(bits, log2, num_segments, random);
        let segments = short(num_segments.into());
        let trailer = [&segments[..], &[seed, bits, 8 * log2 + segments.len() as u8, 0x15]].concat();
        let name = format!("fuse, {bits} bits, segments of 2^{log2}, {num_segments} segments");
        cases.push(opens(&name, &payload, &trailer, &[]));
    }
}

fn refuse(cases: &mut Vec<Case>, class: &'static str, row: &'static str, frame: Vec<u8>) {
    let shown: String = frame.iter().rev().take(6).rev().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("{row}: {} bytes, the last are {shown}", frame.len());
    cases.push(Case::new(name, request(frame), refused(class, row)));
}

fn tags(cases: &mut Vec<Case>) {
    refuse(cases, "damaged", "tag", vec![]);
    for version in [0u8, 15] {
        for kind in [0, 1, 3, 6, 15] {
            refuse(cases, "damaged", "version", vec![0, 0, version << 4 | kind]);
        }
    }
    for version in 2..15u8 {
        for kind in [0, 1, 5, 6, 15] {
            refuse(cases, "newer", "version", vec![0, 0, version << 4 | kind]);
        }
    }
    for kind in 6..16u8 {
        refuse(cases, "newer", "kind", vec![0x10 | kind]);
        refuse(cases, "newer", "kind", vec![0, 1, 1, 0x10 | kind]);
    }
    for before in [1, 2, 64] {
        refuse(cases, "damaged", "empty", [&vec![0; before][..], &[0x10]].concat());
    }
}

fn trailers(cases: &mut Vec<Case>) {
    // Cut anywhere before the payload: nothing is left of it.
    let trailers: [&[u8]; 9] = [
        &[7, 0x11],
        &[0x30, 0x12],
        &[1, 0x75, 1, 8, 0, 0x12, 0x13],
        &[9, 4, 0x13],
        &[1, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9, 2, 0, 0x88, 0x13],
        &[0, 1, 0x10, 0x14],
        &[1, 2, 3, 4, 0, 1, 0x14, 0x14],
        &[3, 0, 1, 0x1f, 0x14],
        &[1, 2, 3, 4, 0, 1, 4, 0x15],
    ];
    for trailer in trailers {
        for cut in 1..trailer.len() {
            refuse(cases, "damaged", "trailer", trailer[cut..].to_vec());
        }
    }
    // Lengths of integers that there are not, with as many bytes as they call for.
    let bytes = [3u8; 40];
    for lens in [0x00, 0x10, 0x80, 0x19, 0x91, 0x1f, 0xf1, 0x99, 0xff] {
        refuse(cases, "damaged", "integers", [&bytes[..], &[2, 0, lens, 0x13]].concat());
    }
    // Not the short trailer, whatever is in its place.
    for lens in [0x00, 0x10] {
        refuse(cases, "damaged", "integers", [&bytes[..], &[2, 5, lens, 0x13]].concat());
    }
    for lens in 0x19..0x1f {
        refuse(cases, "damaged", "integers", [&bytes[..], &[0, 1, lens, 0x14]].concat());
    }
    for lens in [0x00, 0x08, 0x90] {
        refuse(cases, "damaged", "integers", [&bytes[..], &[0, 1, lens, 0x15]].concat());
    }
    // Integers that end with a zero byte.
    for integers in [&[0u8, 5][..], &[5, 0], &[5, 0, 5], &[5, 5, 0], &[0, 0]] {
        for i in 1..integers.len() as u8 {
            let ends = [integers[usize::from(i) - 1], integers[integers.len() - 1]];
            if ends.contains(&0) {
                let lens = i << 4 | (integers.len() as u8 - i);
                refuse(cases, "damaged", "integers", [&bytes[..], integers, &[2, 0, lens, 0x13]].concat());
            }
        }
    }
    refuse(cases, "damaged", "integers", [&bytes[..], &[0, 4, 0x13]].concat());
    for len in 1..9u8 {
        let zeros = vec![0; len.into()];
        refuse(cases, "damaged", "integers", [&bytes[..], &zeros, &[0, 1, 0x10 | len, 0x14]].concat());
        if len < 8 {
            refuse(cases, "damaged", "integers", [&bytes[..], &zeros, &[0, 1, len, 0x15]].concat());
        }
    }
    refuse(cases, "damaged", "integers", [&bytes[..], &[0, 0, 1, 0x1f, 0x14]].concat());
    // A trailer that is not whole, and has an integer that is none.
    refuse(cases, "damaged", "trailer", vec![0, 2, 0, 0x21, 0x13]);
    refuse(cases, "damaged", "trailer", vec![1, 2, 0, 0x91, 0x13]);
    refuse(cases, "damaged", "trailer", vec![1, 0, 1, 0x1b, 0x14]);
}

fn payloads(cases: &mut Vec<Case>) {
    let mut payload = |payload: &[u8], trailer: &[u8]| {
        refuse(cases, "damaged", "payload", [payload, trailer].concat());
    };
    for num_probes in [0, 65, 128, 255] {
        payload(&[1, 2], &[num_probes, 0x11]);
    }
    payload(&[], &[7, 0x11]);
    for len in [0, 1, 63, 65, 127] {
        payload(&vec![0; len], &[0x30, 0x12]);
    }
    for byte in [0x07, 0x08, 0x0f, 0xf7] {
        payload(&[0; 64], &[byte, 0x12]);
    }
    // Golomb: one bucket without codes, remainders, directories, ranges.
    payload(&[], &[1, 50, 4, 0, 0x11, 0x13]);
    payload(&[], &[50, 4, 0x13]);
    payload(&[1; 4], &[1, 50, 49, 0, 0x11, 0x13]);
    payload(&[1; 4], &[1, 50, 255, 0, 0x11, 0x13]);
    payload(&[1; 80], &[9, 50, 2, 58, 0x11, 0x13]);
    payload(&[1; 80], &[1, 50, 2, 255, 0x11, 0x13]);
    payload(&[1; 40], &[0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0x55, 0x13]);
    payload(&[1; 40], &[2, 0, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, 0x18, 0x13]);
    payload(&[1; 2], &[4, 50, 2, 4, 0x11, 0x13]);
    payload(&[1; 8], &[65, 50, 2, 0, 0x11, 0x13]);
    payload(&[1; 16], &[129, 50, 2, 0, 0x11, 0x13]);
    payload(&[1; 30], &[255, 255, 255, 255, 255, 255, 255, 0x1f, 1, 2, 57, 0x81, 0x13]);
    for bit in 4..8 {
        payload(&[0x08, 0x05 | 1 << bit, 1, 1], &[3, 50, 2, 4, 0x11, 0x13]);
    }
    // Ribbon: two blocks of one column.
    let words = [0; 16];
    let ribbon = |num_blocks: u8| [&words[..], &[num_blocks, 0, 0, 0]].concat();
    for trailer in [
        &[0, 0, 0x10, 0x14][..],
        &[0, 2, 0x10, 0x14],
        &[0, 33, 0x10, 0x14],
        &[0, 1, 0x00, 0x14],
        &[0, 1, 0x20, 0x14],
        &[0, 1, 0x90, 0x14],
        &[0, 1, 0xf0, 0x14],
        &[32, 1, 0x10, 0x14],
        &[1, 0, 1, 0x11, 0x14],
        &[1, 0, 32, 0x11, 0x14],
        &[1, 0, 1, 0x1f, 0x14],
        &[33, 0, 1, 0x1f, 0x14],
        &[33, 0, 32, 0x1f, 0x14],
        &[0, 0, 0, 0, 1, 0, 1, 0x15, 0x14],
        &[0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x18, 0x14],
    ] {
        payload(&ribbon(2), trailer);
    }
    // As many words as a share of 2^32 would have.
    payload(&[&[0; 32][..], &[2, 0, 0, 0]].concat(), &[0, 0, 0, 0, 1, 0, 1, 0x15, 0x14]);
    for num_blocks in [0, 1, 3] {
        payload(&ribbon(num_blocks), &[0, 1, 0x10, 0x14]);
    }
    for len in 0..4 {
        payload(&vec![2; len], &[0, 1, 0x10, 0x14]);
    }
    for bit in 2..8 {
        let two = [&[0; 32][..], &[1 << bit, 2, 0, 0, 0, 2, 0, 0, 0]].concat();
        payload(&two, &[0, 1, 0x20, 0x14]);
    }
    // Fuse: four slots of one bit.
    let slots = [0; 8];
    for trailer in [
        &[1, 0, 0, 1, 0x15][..],
        &[1, 0, 33, 1, 0x15],
        &[1, 0, 255, 1, 0x15],
        &[1, 64, 1, 1, 0x15],
        &[1, 255, 1, 1, 0x15],
        &[1, 0, 1, 8 * 19 + 1, 0x15],
        &[1, 0, 1, 8 * 31 + 1, 0x15],
        &[1, 0, 3, 1, 0x15],
        &[7, 0, 1, 1, 0x15],
        &[0, 0, 0, 0, 1, 0, 1, 5, 0x15],
        &[0, 0, 0, 0, 0, 0, 1, 0, 1, 7, 0x15],
    ] {
        payload(&slots, trailer);
    }
    for len in [0, 1, 7, 9] {
        payload(&vec![0; len], &[1, 0, 1, 1, 0x15]);
    }
    for (at, bit) in [(0, 4), (0, 7), (1, 0), (3, 5), (7, 7)] {
        let mut slots = slots;
        slots[at] = 1 << bit;
        payload(&slots, &[1, 0, 1, 1, 0x15]);
    }
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    accepted(&mut cases);
    tags(&mut cases);
    trailers(&mut cases);
    payloads(&mut cases);
    cases
}
