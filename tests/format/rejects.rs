//! format-spec.md's vectors of blocks and frames that a reader rejects, each with the row that it fails, and of blocks
//! that it must not reject.

use crate::assembled::{Header, Shape, raw_block, repair};
use crate::material::{hex, unhex};
use crate::oracle::mix;
use crate::ribbon::{three_entries, two_layers};
use crate::rows;
use crate::spec::{compare, small};
use filterblock::{
    CompactFrameReader, DecodeError, FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, KeyHasher,
    KeyTransform,
};

/// Offsets and values of bytes to set in a block, whose checksums are then repaired.
type Changes<'a> = &'a [(usize, u8)];

fn changed(sound: &[u8], changes: Changes) -> Vec<u8> {
    let mut block = sound.to_vec();
    changes.iter().for_each(|&(offset, value)| block[offset] = value);
    repair(&mut block, 0);
    block
}

/// Like [`changed`], with the given payload length, both in the header and in fact.
fn resized(sound: &[u8], payload_len: u8) -> Vec<u8> {
    let mut block = sound.to_vec();
    block.resize(64 + usize::from(payload_len), 0);
    changed(&block, &[(32, payload_len)])
}

/// The golomb block of "a", "b" and "c" of the document's section 7.
fn several_buckets() -> Vec<u8> {
    let shape = Shape::Golomb { remainder_bits: 2, entries_per_bucket: 1, bucket_range: 50 };
    let hashes = [b"a", b"b", b"c"].map(|entry| KeyHasher::new(0).hash(entry).get());
    shape.block(&Header::default(), &hashes.into())
}

/// The block of "a" of each kind.
fn of_each_kind() -> [Vec<u8>; 5] {
    [FilterKind::Bloom, FilterKind::Blocked, FilterKind::Golomb, FilterKind::Ribbon, FilterKind::Fuse]
        .map(|kind| small(kind, &[b"a"])[0].clone())
}

#[test]
fn reject_vectors() {
    let [bloom, blocked, golomb, ribbon, fuse] = of_each_kind();
    let [none, _] = small(FilterKind::Bloom, &[]);
    let unrepaired = |offset: usize, value: u8| {
        let mut block = bloom.clone();
        block[offset] = value;
        block
    };
    // Lengths, magic, checksums, payload; then values that a later version might use.
    let mut blocks = vec![Vec::new(), bloom[..63].to_vec(), unrepaired(0, 0xf2), unrepaired(30, 1), unrepaired(60, 0)];
    let header: [Changes; 11] = [
        &[(8, 0)],
        &[(8, 2)],
        &[(9, 0)],
        &[(9, 6)],
        &[(10, 0)],
        &[(10, 3)],
        &[(13, 1)],
        &[(13, 0x80)],
        &[(11, 5)],
        &[(11, 127)],
        &[(14, 1)],
    ];
    blocks.extend(header.map(|changes| changed(&bloom, changes)));
    blocks.extend([bloom[..65].to_vec(), [bloom.as_slice(), &[0]].concat(), changed(&bloom, &[(32, 3)])]);
    blocks.extend([(64, 0), (65, 0x80)].map(|(offset, value)| unrepaired(offset, value)));
    // A key that was not given; misplaced estimates; payload or parameters without entries.
    blocks.push(changed(&bloom, &[(10, 2)]));
    blocks.extend([&golomb, &blocked, &ribbon, &fuse, &none].map(|block| changed(block, &[(12, 1)])));
    blocks.extend([resized(&none, 1), changed(&bloom, &[(24, 0)]), changed(&none, &[(40, 1)])]);
    // Reserved bytes, then fields out of range, then lengths and unused bits.
    let several = several_buckets();
    blocks.extend([(&bloom, 41), (&blocked, 42), (&blocked, 51), (&golomb, 43)].map(|(b, at)| changed(b, &[(at, 1)])));
    blocks.extend([48, 51].map(|at| changed(&ribbon, &[(at, 1)])));
    blocks.extend([43, 48, 51].map(|at| changed(&fuse, &[(at, 1)])));
    let fields: [(&[u8], Changes); 38] = [
        (&bloom, &[(40, 0)]),
        (&bloom, &[(40, 65)]),
        (&bloom, &[(44, 0)]),
        (&bloom, &[(44, 17)]),
        (&bloom, &[(51, 1)]),
        (&blocked, &[(40, 0)]),
        (&blocked, &[(40, 17)]),
        (&blocked, &[(41, 7)]),
        (&golomb, &[(40, 49)]),
        (&golomb, &[(41, 58)]),
        (&golomb, &[(42, 0)]),
        (&golomb, &[(44, 0), (45, 0)]),
        // 3 buckets of range 2⁶³, then 4 of range 2⁶².
        (&several, &[(51, 0x80)]),
        (&several, &[(24, 4), (44, 0), (51, 0x40)]),
        // 128 buckets, the second 64 of which have an anchor; then the largest number of entries.
        (&several, &[(24, 128)]),
        (&golomb, &[(24, 0xff), (25, 0xff), (26, 0xff), (27, 0xff), (28, 0xff), (29, 0xff), (30, 0xff), (31, 0xff)]),
        (&several, &[(41, 15)]),
        (&ribbon, &[(40, 0)]),
        (&ribbon, &[(40, 33)]),
        // 32 columns, and a share of one more.
        (&ribbon, &[(40, 32), (47, 1)]),
        (&ribbon, &[(41, 0)]),
        (&ribbon, &[(41, 9)]),
        (&ribbon, &[(42, 32)]),
        // Thinned from no more columns than are stored, from 33, and from 33 to 32; then with a share of one more.
        (&ribbon, &[(43, 1)]),
        (&ribbon, &[(43, 33)]),
        (&ribbon, &[(40, 32), (43, 33)]),
        (&ribbon, &[(43, 3), (44, 1)]),
        // One block instead of two; then a word more in each of them, and a layer more.
        (&ribbon, &[(80, 1)]),
        (&ribbon, &[(44, 1)]),
        (&ribbon, &[(41, 2)]),
        (&fuse, &[(40, 0)]),
        (&fuse, &[(40, 33)]),
        (&fuse, &[(41, 19)]),
        (&fuse, &[(42, 64)]),
        (&fuse, &[(44, 0)]),
        // Too many bits for the payload, too long and too many segments.
        (&fuse, &[(40, 3)]),
        (&fuse, &[(41, 2)]),
        (&fuse, &[(44, 0xff), (45, 0xff), (46, 0xff), (47, 0xff)]),
    ];
    blocks.extend(fields.map(|(block, changes)| changed(block, changes)));
    blocks.extend([resized(&blocked, 63), resized(&blocked, 0), resized(&golomb, 0), resized(&several, 2)]);
    blocks.extend([3, 12, 21].map(|len| resized(&ribbon, len)));
    blocks.extend([changed(&bloom, &[(44, 14)]), changed(&bloom, &[(44, 9)]), changed(&several, &[(65, 0x85)])]);
    blocks.push(two_layers(0x07));
    // The bit after the last slot's, and the last of all.
    blocks.extend([7, 9].map(|len| resized(&fuse, len)));
    blocks.extend([(64, fuse[64] | 0x10), (71, 0x80)].map(|change| changed(&fuse, &[change])));
    let line = |block: &Vec<u8>| {
        let error = FilterBlockReader::open(block).expect_err("to be rejected");
        let shown = if block.is_empty() { "-".into() } else { hex(block) };
        format!("{} {} {shown}", error.class(), rows::of_block(&error, block))
    };
    compare("reject", &blocks.iter().map(line).collect::<Vec<_>>());
}

#[test]
fn found_context_vectors() {
    // The inverse of `mix`, as the document states it.
    let unmix = |mut z: u64| {
        z = (z ^ (z >> 33)).wrapping_mul(0x9cb4_b2f8_1293_37db);
        z = (z ^ (z >> 33)).wrapping_mul(0x4f74_430c_22a5_4005);
        z ^ (z >> 33)
    };
    let same_low_half = unmix(1 << 32);
    assert_eq!(mix(same_low_half), 1 << 32);
    let line = |context: u64| {
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 16.3).expect("legal");
        let mut builder = FilterBlockBuilder::new(policy);
        builder.context(context);
        builder.add_key(b"a");
        let block = builder.finish().expect("a block");
        let error = FilterBlockReader::open(&block).expect_err("another context");
        let found = match error {
            DecodeError::WrongContext { found, .. } => format!("{found:#018x}"),
            DecodeError::PayloadDigest { .. } => "-".to_owned(),
            _ => panic!("{error}"),
        };
        format!("{} {found} {}", error.class(), hex(&block))
    };
    compare("found-context", &[1, same_low_half].map(line));
}

#[test]
fn compact_reject_vectors() {
    let golomb = |trailer: &str| format!("0250{trailer}13");
    let ribbon = |trailer: &str| format!("{}02000000{trailer}14", "00".repeat(16));
    let fuse = |trailer: &str| format!("{}{trailer}15", "00".repeat(8));
    let lines = "00".repeat(64);
    let frames = [
        String::new(),
        // Unknown versions and kinds, also of one byte only.
        "00".to_owned(),
        "ff".to_owned(),
        "20".to_owned(),
        "ef".to_owned(),
        "16".to_owned(),
        "001f".to_owned(),
        // Truncated trailers, and a byte before the frame without entries.
        "11".to_owned(),
        "12".to_owned(),
        "13".to_owned(),
        "750108001213".to_owned(),
        "14".to_owned(),
        "011014".to_owned(),
        "0000011214".to_owned(),
        "00011f14".to_owned(),
        "15".to_owned(),
        "010115".to_owned(),
        "0001010215".to_owned(),
        "0010".to_owned(),
        // Integers of no bytes, of nine bytes, and with a zero byte at the end.
        golomb("7501080000"),
        golomb("0002"),
        golomb("01080010"),
        golomb(&format!("{}080098", "01".repeat(17))),
        golomb(&format!("{}080019", "01".repeat(10))),
        golomb("007501080012"),
        golomb("017500080012"),
        ribbon("010101010101010101000119"),
        ribbon("0100000112"),
        // Thinned from no columns.
        ribbon("0000011f"),
        fuse("01000100"),
        fuse("0100000102"),
        // Golomb's short trailer without its range, and nothing before it.
        "0813".to_owned(),
        "750813".to_owned(),
        // Ranges and lengths of each kind.
        "0711".to_owned(),
        "000011".to_owned(),
        "004111".to_owned(),
        "f312".to_owned(),
        format!("{}f312", &lines[2..]),
        format!("{lines}f712"),
        golomb("017501310012"),
        golomb("017501083a12"),
        // 2³² buckets of range 2³².
        golomb(&format!("{}080055", "0000000001".repeat(2))),
        "01750108001213".to_owned(),
        // 3 buckets of range 50 with 4 bits each in the directory, one of whose unused bits is set.
        "0885010de0033202041113".to_owned(),
        // Ribbon: a share of 2³²; columns, layers and seeds out of range; one block; lengths; unused bits of
        // thresholds.
        ribbon("0000000001000115"),
        ribbon("000010"),
        ribbon("002110"),
        ribbon("01002011"),
        ribbon("000100"),
        ribbon("000190"),
        ribbon("200110"),
        "0000000000000000000000000000000001000000 00011014".replace(' ', ""),
        "00000000011014".replace("0000000001", "0200000001"),
        ribbon("000210"),
        ribbon("01000111"),
        format!("{}00012014", hex(&two_layers(0x07)[64..])),
        // Thinned from no more columns than are stored, from 33, and from 33 to 32.
        ribbon("0100011f"),
        ribbon("2100011f"),
        ribbon("2100201f"),
        // Fuse: bits, length of segments, seeds and segments out of range; lengths; unused bits.
        fuse("01000001"),
        fuse("01002101"),
        fuse("01000199"),
        fuse("01400101"),
        fuse("00000000010001 05".replace(' ', "").as_str()),
        fuse("01000301"),
        fuse("02000301"),
        "0001000101 15".replace(' ', ""),
        "100000000000000001000101 15".replace(' ', ""),
        "000000000000008001000101 15".replace(' ', ""),
    ];
    let line = |frame: &String| {
        let bytes = unhex(frame);
        let error =
            CompactFrameReader::open(&bytes, KeyHasher::new(0), KeyTransform::WholeKey).expect_err("to be rejected");
        let row = rows::of_compact(&error, &bytes);
        format!("{} {row} {}", error.class(), if frame.is_empty() { "-" } else { frame })
    };
    compare("compact-reject", &frames.iter().map(line).collect::<Vec<_>>());
}

#[test]
fn accept_vectors() {
    let [bloom, blocked, golomb, ribbon, fuse] = of_each_kind();
    let several = several_buckets();
    let zero_codes = raw_block(3, &Header::default(), 1, golomb[40..52].try_into().expect("12 bytes"), &[0, 0]);
    let all_ones = raw_block(2, &Header::default(), 1, blocked[40..52].try_into().expect("12 bytes"), &[0xff; 64]);
    // The third bucket, that of "a", starts at bit 16 + 255 - 128 of 24.
    let out_of_bounds = raw_block(
        3,
        &Header::default(),
        3,
        [2, 8, 1, 0, 50, 0, 0, 0, 0, 0, 0, 0],
        &[0x80, 0x80, 0xff, 0x01, 0x0d, 0xe0],
    );
    let blocks = [
        ("features-1-to-7", changed(&bloom, &[(12, 0xfe)])),
        ("estimate", changed(&bloom, &[(12, 1), (24, 9)])),
        ("prefix-of-any-length", changed(&bloom, &[(11, 3), (14, 0xff), (15, 0xff)])),
        ("transform-128", changed(&bloom, &[(11, 128)])),
        ("transform-255", changed(&bloom, &[(11, 255), (14, 1), (15, 2)])),
        ("most-entries", {
            let most: Vec<(usize, u8)> = (24..32).map(|at| (at, 0xff)).collect();
            changed(&bloom, &most)
        }),
        ("none-of-blocked", changed(&small(FilterKind::Bloom, &[])[0], &[(9, 2), (16, 7)])),
        ("lines-of-ones", all_ones),
        ("one-bucket-with-d", changed(&golomb, &[(41, 57)])),
        ("codes-of-zeros", zero_codes),
        ("fewer-values-than-entries", changed(&golomb, &[(24, 64)])),
        ("bucket-out-of-bounds", out_of_bounds),
        ("three-buckets", several),
        ("last-seed-31", changed(&ribbon, &[(42, 31)])),
        ("thinned-from-2", changed(&ribbon, &[(43, 2)])),
        ("thinned-from-32", changed(&ribbon, &[(43, 32)])),
        ("two-layers", two_layers(0)),
        ("all-in-the-second-layer", two_layers(0x03)),
        ("share-of-one-column-more", three_entries()),
        ("seed-63", changed(&fuse, &[(42, 63)])),
        ("two-bits", changed(&fuse, &[(40, 2)])),
        ("three-fingerprints", crate::fuse::three_entries()),
    ];
    let line = |(what, block): &(&str, Vec<u8>)| {
        let reader = FilterBlockReader::open(block).unwrap_or_else(|error| panic!("{what}: {error}"));
        let hash = reader.hasher().hash(b"a");
        let answer = reader.may_contain_hash(hash);
        assert_eq!(answer, crate::oracle::Oracle::open(block).may_contain(hash.get()), "{what}");
        format!("{what} {} {}", if answer { "maybe" } else { "no" }, hex(block))
    };
    compare("accept", &blocks.iter().map(line).collect::<Vec<_>>());
}
