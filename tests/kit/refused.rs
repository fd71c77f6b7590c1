//! Blocks with one thing wrong, for each row of checks: each bit of magic, checksums and reserved space, each field on
//! both sides of its limits. What is on the right side opens.

use crate::assembled::{Header, Shape, raw_block, repair};
use crate::case::{Case, Reply, Request};
use crate::kinds::{block_case, params};
use filterblock::KeyHasher;

pub const BLOOM: usize = 0;
pub const BLOCKED: usize = 1;
pub const GOLOMB: usize = 2;
pub const RIBBON: usize = 3;
pub const FUSE: usize = 4;
/// Without entries.
pub const NONE: usize = 5;
const NAMES: [&str; 6] = ["bloom", "blocked", "golomb", "ribbon", "fuse", "no entries"];

/// A sound block of each kind, with unused bits where the kind has any, and one without entries.
pub fn sound() -> [Vec<u8>; 6] {
    let hashes = [b"a", b"b", b"c"].map(|entry| KeyHasher::new(0).hash(entry).get()).into();
    let header = Header::default();
    let of = |shape: Shape| shape.block(&header, &hashes);
    // Two layers of 3 and 2 blocks, with the thresholds of one bucket in a byte.
    let words = [0x5a; 8 * 5];
    let ribbon = [&words[..], &[2, 3, 0, 0, 0, 2, 0, 0, 0]].concat();
    [
        of(Shape::Bloom { num_probes: 3, num_bits: 17 }),
        of(Shape::Blocked { num_probes: 3, salt_bits: 2, num_lines: 1 }),
        of(Shape::Golomb { remainder_bits: 2, entries_per_bucket: 1, bucket_range: 50 }),
        raw_block(4, &header, 3, [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &ribbon),
        of(Shape::Fuse { fingerprint_bits: 3, log2_segment_len: 1, num_segments: 3 }),
        raw_block(1, &header, 0, [0; 12], &[]),
    ]
}

pub fn refused(class: &'static str, row: &'static str) -> Reply {
    Reply::Refused { class, row, found_context: None }
}

pub fn block(bytes: Vec<u8>) -> Request {
    Request { frame: "block", bytes, ..Request::default() }
}

pub fn changed(sound: &[u8], changes: &[(usize, u8)]) -> Vec<u8> {
    let mut block = sound.to_vec();
    changes.iter().for_each(|&(at, value)| block[at] = value);
    repair(&mut block, 0);
    block
}

struct Cases {
    sound: [Vec<u8>; 6],
    cases: Vec<Case>,
}

impl Cases {
    fn refuse(&mut self, class: &'static str, row: &'static str, what: &str, bytes: Vec<u8>) {
        self.cases.push(Case::new(format!("{row}: {what}"), block(bytes), refused(class, row)));
    }

    /// Bytes set in a sound block, with both checksums repaired.
    fn field(&mut self, class: &'static str, row: &'static str, base: usize, changes: &[(usize, u8)]) {
        let what: Vec<_> = changes.iter().map(|(at, value)| format!("byte {at} {value:#04x}")).collect();
        let bytes = changed(&self.sound[base], changes);
        self.refuse(class, row, &format!("{}, {}", NAMES[base], what.join(", ")), bytes);
    }

    fn accept(&mut self, base: usize, changes: &[(usize, u8)]) {
        let what: Vec<_> = changes.iter().map(|(at, value)| format!("byte {at} {value:#04x}")).collect();
        let bytes = changed(&self.sound[base], changes);
        let hashes: Vec<u64> = [b"a", b"b", b"d"].map(|entry| KeyHasher::new(0).hash(entry).get()).into();
        self.cases.push(block_case(format!("opens: {}, {}", NAMES[base], what.join(", ")), bytes, &hashes));
    }

    fn flipped(&self, base: usize, at: usize, bit: usize) -> Vec<u8> {
        let mut block = self.sound[base].clone();
        block[at] ^= 1 << bit;
        block
    }
}

/// Bits of bytes.
fn bits(bytes: impl IntoIterator<Item = usize>) -> Vec<(usize, usize)> {
    bytes.into_iter().flat_map(|at| (0..8).map(move |bit| (at, bit))).collect()
}

fn before_the_kind(all: &mut Cases) {
    for len in [0, 1, 7, 8, 62, 63] {
        let cut = all.sound[BLOOM][..len].to_vec();
        all.refuse("damaged", "length", &format!("{len} bytes"), cut);
    }
    let alone = all.sound[BLOOM][..64].to_vec();
    all.refuse("damaged", "payload_len", "64 bytes", alone);
    for (at, bit) in (0..8).flat_map(|at| [(at, at), (at, (at + 3) % 8)]) {
        let mut block = all.flipped(BLOOM, at, bit);
        repair(&mut block, 0);
        all.refuse("damaged", "magic", &format!("bit {bit} of byte {at}, checksums repaired"), block);
    }
    for at in 8..60 {
        let block = all.flipped(BLOOM, at, at * 5 % 8);
        all.refuse("damaged", "crc", &format!("bit {} of byte {at}", at * 5 % 8), block);
    }
    for (at, bit) in (60..64).flat_map(|at| [(at, 0), (at, at % 6 + 1), (at, 7)]) {
        let block = all.flipped(BLOOM, at, bit);
        all.refuse("damaged", "crc", &format!("bit {bit} of byte {at}"), block);
    }
    all.field("damaged", "version", BLOOM, &[(8, 0)]);
    for version in [2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 127, 128, 129, 254, 255] {
        all.field("newer", "version", BLOOM, &[(8, version)]);
    }
    for kind in [0, 6, 7, 8, 9, 16, 17, 32, 33, 64, 65, 127, 128, 129, 131, 255] {
        all.field("newer", "kind", BLOOM, &[(9, kind)]);
    }
    for hash_id in [0, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 127, 128, 129, 255] {
        all.field("newer", "hash_id", BLOOM, &[(10, hash_id)]);
    }
    for bit in 0..8 {
        all.field("newer", "features", BLOOM, &[(13, 1 << bit)]);
        all.accept(BLOOM, &[(12, 1 << bit)]);
        // Ignored in other kinds too, but for bit 0.
        match bit {
            0 => [BLOCKED, GOLOMB, RIBBON, FUSE, NONE].map(|base| all.field("damaged", "estimate", base, &[(12, 1)])),
            _ => [BLOCKED, GOLOMB, RIBBON, FUSE, NONE].map(|base| all.accept(base, &[(12, 1 << bit)])),
        };
    }
    all.accept(BLOOM, &[(12, 0xff), (24, 9)]);
    for id in [5, 6, 7, 8, 12, 15, 16, 24, 31, 32, 33, 48, 63, 64, 65, 96, 112, 120, 126, 127] {
        all.field("newer", "transform", BLOOM, &[(11, id)]);
        all.field("newer", "transform", BLOOM, &[(11, id), (14, 1)]);
    }
    for (at, bit) in bits(14..16) {
        let id = (at + bit) as u8 % 3;
        all.field("newer", "transform", BLOOM, &[(11, (id + 1) % 3), (at, 1 << bit)]);
        all.field("newer", "transform", BLOOM, &[(11, id), (at, 1 << bit)]);
    }
    for (id, low, high) in [(3, 0xff, 0xff), (4, 0xff, 0xff), (128, 1, 0x80), (255, 0, 0), (129, 0, 1), (192, 3, 3)] {
        all.accept(BLOOM, &[(11, id), (14, low), (15, high)]);
    }
    for (at, bit) in (32..40).flat_map(|at| [(at, at % 8), (at, 7 - at % 8)]) {
        let mut block = all.flipped(BLOOM, at, bit);
        repair(&mut block, 0);
        all.refuse("damaged", "payload_len", &format!("bit {bit} of byte {at}"), block);
    }
    for more in [1, 8, 64] {
        let mut block = all.sound[BLOOM].clone();
        block.extend(vec![0; more]);
        let name = format!("{more} bytes too many");
        all.refuse("damaged", "payload_len", &name, block.clone());
        repair(&mut block, 0);
        all.refuse("damaged", "payload_len", &format!("{name}, within the digest"), block);
    }
    for (at, bit) in (52..60).flat_map(|at| [(at, at % 8), (at, 7 - at % 8)]) {
        let mut block = all.flipped(BLOOM, at, bit);
        crate::order::repair_crc(&mut block, 0, 0);
        all.refuse("damaged", "digest", &format!("bit {bit} of byte {at}"), block);
    }
    for base in [BLOOM, BLOCKED, GOLOMB, RIBBON, FUSE] {
        for at in [64, all.sound[base].len() / 2 + 32, all.sound[base].len() - 1] {
            let block = all.flipped(base, at, at % 8);
            all.refuse("damaged", "digest", &format!("{}, bit {} of byte {at}", NAMES[base], at % 8), block);
        }
    }
}

fn reserved_space(all: &mut Cases) {
    let reserved = [
        (BLOOM, (41..44).collect::<Vec<_>>()),
        (BLOCKED, (42..52).collect()),
        (GOLOMB, vec![43]),
        (RIBBON, (48..52).collect()),
        (FUSE, [43].into_iter().chain(48..52).collect()),
    ];
    for (base, bytes) in reserved {
        for (at, bit) in bits(bytes) {
            all.field("newer", "reserved", base, &[(at, 1 << bit)]);
        }
    }
    for (at, bit) in bits(40..52) {
        all.field("newer", "empty-params", NONE, &[(at, 1 << bit)]);
    }
    for kind in 2..6 {
        all.accept(NONE, &[(9, kind)]);
        all.field("newer", "empty-params", NONE, &[(9, kind), (51, 0x80)]);
    }
    for len in [1, 2, 64] {
        let block = raw_block(1, &Header::default(), 0, [0; 12], &vec![0; len]);
        all.refuse("damaged", "empty-len", &format!("{len} bytes"), block);
    }
    for base in [BLOOM, BLOCKED, GOLOMB, RIBBON, FUSE] {
        all.field("damaged", "empty-len", base, &[(24, 0)]);
        // Any number of entries will do, but for golomb.
        if base != GOLOMB {
            all.accept(base, &[(24, 1)]);
            all.accept(base, &[(31, 0x80)]);
        }
    }
}

/// The payload of a sound block cut or extended with zeros, and its length in the header with it.
fn resized(sound: &[u8], len: usize) -> Vec<u8> {
    let mut block = sound.to_vec();
    block.resize(64 + len, 0);
    changed(&block, &[(32, len as u8), (33, (len >> 8) as u8)])
}

fn ranges(all: &mut Cases) {
    let out: [(usize, &[(usize, u8)]); 66] = [
        (BLOOM, &[(40, 0)]),
        (BLOOM, &[(40, 65)]),
        (BLOOM, &[(40, 128)]),
        (BLOOM, &[(40, 255)]),
        (BLOOM, &[(44, 0)]),
        (BLOOM, &[(44, 16)]),
        (BLOOM, &[(44, 25)]),
        (BLOOM, &[(45, 1)]),
        (BLOOM, &[(47, 0x80)]),
        (BLOOM, &[(48, 1)]),
        (BLOOM, &[(51, 1)]),
        (BLOOM, &[(51, 0xff)]),
        (BLOCKED, &[(40, 0)]),
        (BLOCKED, &[(40, 17)]),
        (BLOCKED, &[(40, 128)]),
        (BLOCKED, &[(41, 7)]),
        (BLOCKED, &[(41, 8)]),
        (BLOCKED, &[(41, 128)]),
        (GOLOMB, &[(40, 49)]),
        (GOLOMB, &[(40, 128)]),
        (GOLOMB, &[(41, 58)]),
        (GOLOMB, &[(41, 64)]),
        (GOLOMB, &[(41, 128)]),
        (GOLOMB, &[(42, 0)]),
        (GOLOMB, &[(44, 0)]),
        // As many buckets as 2^64 is divided by, and one more; 2^64 values.
        (GOLOMB, &[(44, 0x56), (45, 0x55), (46, 0x55), (47, 0x55), (48, 0x55), (49, 0x55), (50, 0x55), (51, 0x55)]),
        (GOLOMB, &[(51, 0xff)]),
        (GOLOMB, &[(24, 2), (44, 0), (51, 0x80)]),
        (GOLOMB, &[(24, 4), (44, 0), (51, 0x40)]),
        // Directories that leave no codes: by their fields, by their number, by their anchors.
        (GOLOMB, &[(41, 11)]),
        (GOLOMB, &[(41, 57)]),
        (GOLOMB, &[(24, 65), (41, 0)]),
        (GOLOMB, &[(24, 128), (41, 0)]),
        (GOLOMB, &[(24, 9), (41, 4)]),
        (GOLOMB, &[(27, 1)]),
        (GOLOMB, &[(31, 0x20), (44, 1)]),
        (GOLOMB, &[(24, 255), (25, 255), (26, 255), (27, 255), (28, 255), (29, 255), (30, 255), (31, 255), (44, 1)]),
        (GOLOMB, &[(31, 1), (42, 255)]),
        (RIBBON, &[(40, 0)]),
        (RIBBON, &[(40, 2)]),
        (RIBBON, &[(40, 33)]),
        (RIBBON, &[(40, 32), (44, 1)]),
        (RIBBON, &[(40, 255)]),
        (RIBBON, &[(41, 0)]),
        (RIBBON, &[(41, 1)]),
        (RIBBON, &[(41, 3)]),
        (RIBBON, &[(41, 9)]),
        (RIBBON, &[(41, 255)]),
        (RIBBON, &[(42, 32)]),
        (RIBBON, &[(42, 128)]),
        (RIBBON, &[(43, 1)]),
        (RIBBON, &[(43, 33)]),
        (RIBBON, &[(43, 255)]),
        (RIBBON, &[(43, 3), (44, 1)]),
        (RIBBON, &[(44, 1)]),
        (RIBBON, &[(47, 0x80)]),
        (FUSE, &[(40, 0)]),
        (FUSE, &[(40, 33)]),
        (FUSE, &[(40, 64)]),
        (FUSE, &[(41, 19)]),
        (FUSE, &[(41, 64)]),
        (FUSE, &[(42, 64)]),
        (FUSE, &[(42, 255)]),
        (FUSE, &[(44, 0)]),
        (FUSE, &[(44, 7)]),
        (FUSE, &[(47, 0x80)]),
    ];
    for (base, changes) in out {
        all.field("damaged", "range", base, changes);
    }
    // On the other side of the limits, where the payload does not change its length.
    let within: [(usize, &[(usize, u8)]); 19] = [
        (BLOOM, &[(40, 1)]),
        (BLOOM, &[(40, 64)]),
        (BLOOM, &[(44, 24)]),
        (BLOCKED, &[(40, 1)]),
        (BLOCKED, &[(40, 16)]),
        (BLOCKED, &[(41, 0)]),
        (BLOCKED, &[(41, 6)]),
        (GOLOMB, &[(40, 0)]),
        (GOLOMB, &[(40, 48)]),
        (GOLOMB, &[(41, 5)]),
        (GOLOMB, &[(41, 0)]),
        (GOLOMB, &[(44, 1)]),
        (GOLOMB, &[(44, 0x55), (45, 0x55), (46, 0x55), (47, 0x55), (48, 0x55), (49, 0x55), (50, 0x55), (51, 0x55)]),
        (
            GOLOMB,
            &[(24, 2), (44, 0xff), (45, 0xff), (46, 0xff), (47, 0xff), (48, 0xff), (49, 0xff), (50, 0xff), (51, 0x7f)],
        ),
        (GOLOMB, &[(24, 1), (41, 57)]),
        (RIBBON, &[(42, 31)]),
        (RIBBON, &[(43, 2)]),
        (RIBBON, &[(43, 32)]),
        (FUSE, &[(42, 63)]),
    ];
    for (base, changes) in within {
        // Values that a changed directory leads to may set unused bits.
        let mut block = changed(&all.sound[base], changes);
        if (base, changes[0].0) == (GOLOMB, 41) {
            block[64..66].fill(0);
            repair(&mut block, 0);
        }
        let hashes: Vec<u64> = [b"a", b"b", b"d"].map(|entry| KeyHasher::new(0).hash(entry).get()).into();
        let what: Vec<_> = changes.iter().map(|(at, value)| format!("byte {at} {value:#04x}")).collect();
        all.cases.push(block_case(format!("opens: {}, {}", NAMES[base], what.join(", ")), block, &hashes));
    }
    for base in [BLOOM, BLOCKED, GOLOMB, RIBBON, FUSE] {
        let len = all.sound[base].len() - 64;
        let shorter = if base == GOLOMB { vec![0, 1, 2] } else { vec![0, 1, 3, 4, 7, 8, len - 1] };
        let longer = if base == GOLOMB { vec![] } else { vec![len + 1, len + 8] };
        for other in shorter.into_iter().chain(longer).filter(|&other| other != len) {
            let bytes = resized(&all.sound[base], other);
            let what = format!("{}, a payload of {other} bytes", NAMES[base]);
            // Ribbon's directory is the end of its payload, whatever that is.
            all.refuse("damaged", "range", &what, bytes);
        }
    }
    let len = all.sound[RIBBON].len();
    for layer in [len - 8, len - 4] {
        for num in [0, 1, 4, 255] {
            all.field("damaged", "range", RIBBON, &[(layer, num)]);
        }
        all.field("damaged", "range", RIBBON, &[(layer + 3, 0x80)]);
    }
}

/// Values out of range for which the payload has the length that it would have: the length does not give them away.
fn ranges_of_right_length(all: &mut Cases) {
    let ribbon = |fields: [u8; 4], wide_share: u64, num_words: usize, thresholds: usize, num_blocks: &[u8]| {
        let mut payload = vec![0; 8 * num_words + thresholds];
        num_blocks.iter().for_each(|&num| payload.extend([num, 0, 0, 0]));
        raw_block(4, &Header::default(), 3, params(fields, wide_share), &payload)
    };
    for (what, block) in [
        ("ribbon without columns", ribbon([0, 1, 0, 0], 0, 0, 0, &[2])),
        ("ribbon, 33 columns", ribbon([33, 1, 0, 0], 0, 66, 0, &[2])),
        ("ribbon, 32 columns and one more", ribbon([32, 1, 0, 0], 1, 66, 0, &[2])),
        ("ribbon without layers", ribbon([1, 0, 0, 0], 0, 0, 0, &[])),
        ("ribbon, 9 layers", ribbon([1, 9, 0, 0], 0, 18, 8, &[2; 9])),
        ("ribbon, a layer of one block", ribbon([1, 1, 0, 0], 0, 1, 0, &[1])),
        ("ribbon, a layer without blocks", ribbon([1, 1, 0, 0], 0, 0, 0, &[0])),
        ("ribbon, a first layer of one block", ribbon([1, 2, 0, 0], 0, 3, 0, &[1, 2])),
        ("ribbon, a last layer of one block", ribbon([1, 2, 0, 0], 0, 3, 1, &[2, 1])),
        ("ribbon, thinned, with one column more", ribbon([2, 1, 0, 3], 1, 6, 0, &[2])),
    ] {
        all.refuse("damaged", "range", what, block);
    }
    let fuse = |bits: u8, num_segments: u64, len: usize| {
        raw_block(5, &Header::default(), 3, params([bits, 0, 0, 0], num_segments), &vec![0; len])
    };
    all.refuse("damaged", "range", "fuse, 33 bits", fuse(33, 1, 20));
    all.refuse("damaged", "range", "fuse without bits", fuse(0, 1, 8));
    all.refuse("damaged", "range", "fuse without segments", fuse(1, 0, 8));
    for (what, block) in [
        ("opens: fuse, 32 bits", fuse(32, 1, 20)),
        ("opens: ribbon, 32 columns", ribbon([32, 1, 0, 0], 0, 64, 0, &[2])),
        ("opens: ribbon, 31 columns and one more", ribbon([31, 1, 0, 0], 1, 64, 0, &[2])),
        ("opens: ribbon, 31 columns, thinned from 32", ribbon([31, 1, 0, 32], 0, 62, 0, &[2])),
        ("opens: ribbon, 8 layers", ribbon([1, 8, 0, 0], 0, 16, 7, &[2; 8])),
    ] {
        all.cases.push(block_case(what.into(), block, &[1, 1 << 62]));
    }
}

fn unused_bits(all: &mut Cases) {
    let len = all.sound[BLOOM].len();
    for bit in 1..8 {
        let last = all.sound[BLOOM][len - 1];
        all.field("damaged", "unused", BLOOM, &[(len - 1, last | 1 << bit)]);
    }
    // Three fields of 4 bits, then of 1 bit.
    for bit in 4..8 {
        let second = all.sound[GOLOMB][65];
        all.field("damaged", "unused", GOLOMB, &[(65, second | 1 << bit)]);
    }
    for bit in 3..8 {
        all.field("damaged", "unused", GOLOMB, &[(41, 1), (64, 1 << bit)]);
    }
    let len = all.sound[RIBBON].len();
    for bit in 2..8 {
        all.field("damaged", "unused", RIBBON, &[(len - 9, 1 << bit)]);
    }
    // Three layers with thresholds, of one, two and four buckets; after these, no bits are left.
    let payload = |thresholds: [u8; 3]| {
        [&[0; 8 * 17][..], &thresholds, &[2, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0]].concat()
    };
    let layers =
        |thresholds| raw_block(4, &Header::default(), 3, [1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &payload(thresholds));
    all.cases.push(block_case("opens: ribbon of four layers".into(), layers([3, 0x0f, 0xff]), &[1, 1 << 62, 1 << 63]));
    for thresholds in [[4, 0, 0], [0x80, 0, 0], [0, 0x10, 0], [0, 0x80, 0xff], [3, 0x1f, 0]] {
        all.refuse(
            "damaged",
            "unused",
            &format!("ribbon of four layers, thresholds {thresholds:02x?}"),
            layers(thresholds),
        );
    }
    // Six buckets: a whole byte of thresholds, and half of the next.
    let two_bytes = |last: u8| {
        let payload = [&[0; 8 * 14][..], &[0xff, last], &[12, 0, 0, 0, 2, 0, 0, 0]].concat();
        raw_block(4, &Header::default(), 3, [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &payload)
    };
    all.cases.push(block_case(
        "opens: ribbon, thresholds of two bytes".into(),
        two_bytes(0x0f),
        &[1, 1 << 62, 1 << 63],
    ));
    for bit in 4..8 {
        all.refuse("damaged", "unused", &format!("ribbon, thresholds of two bytes, bit {bit}"), two_bytes(1 << bit));
    }
    // Two buckets, of which the fields take six bits.
    for bit in 6..8 {
        let payload = [0x24 | 1 << bit, 0x35, 0x5a];
        let block = raw_block(3, &Header::default(), 2, params([1, 3, 1, 0], 9), &payload);
        all.refuse("damaged", "unused", &format!("golomb of two buckets, bit {bit}"), block);
    }
    // 36 bits used of 104.
    let len = all.sound[FUSE].len();
    for i in (36..8 * (len - 64)).filter(|i| *i < 48 || i % 8 % 7 == 0) {
        let (at, bit) = (64 + i / 8, i % 8);
        all.field("damaged", "unused", FUSE, &[(at, all.sound[FUSE][at] | 1 << bit)]);
    }
}

pub fn cases() -> Vec<Case> {
    let mut all = Cases { sound: sound(), cases: Vec::new() };
    for base in 0..6 {
        all.accept(base, &[]);
    }
    before_the_kind(&mut all);
    reserved_space(&mut all);
    ranges(&mut all);
    ranges_of_right_length(&mut all);
    unused_bits(&mut all);
    all.cases
}
