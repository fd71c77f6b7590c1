//! What a reader reports about its block: each fact agrees with the bytes.

use crate::assembled::{Header, Shape, repair};
use crate::material::{frame_of, numbers};
use filterblock::{
    CompactFrameReader, DecodeError, FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, HEADER_LEN,
    KeyHash, KeyHasher, KeyTransform, OpenOptions,
};

fn policy(kind: FilterKind, bits_per_key: f64) -> FilterPolicy {
    FilterPolicy::with_bits_per_key(kind, bits_per_key).expect("legal")
}

fn block(kind: FilterKind, bits_per_key: f64, num_entries: usize) -> Vec<u8> {
    let hashes: Vec<u64> = numbers(31).take(num_entries).collect();
    crate::material::block_of(policy(kind, bits_per_key), &hashes)
}

fn open_frame(frame: &[u8]) -> Result<CompactFrameReader<'_>, DecodeError> {
    CompactFrameReader::open(frame, KeyHasher::new(0), KeyTransform::WholeKey)
}

#[test]
fn a_block_counts_its_bytes_and_entries() {
    for &kind in FilterKind::ALL {
        let bytes = block(kind, 12.0, 3_000);
        let owned = OpenOptions::new().open_owned(bytes.clone()).expect("intact");
        assert_eq!(owned.as_bytes(), bytes);
        let reader = owned.reader();
        assert_eq!(reader.block_len(), bytes.len());
        assert_eq!(reader.num_entries(), 3_000);
        assert!(!reader.entries_estimated(), "{kind}: what a builder counts is exact");
        let bits_per_key = reader.bits_per_key().expect("entries are known");
        assert!((bits_per_key * 3_000.0 / 8.0 - bytes.len() as f64).abs() < 1e-6, "{kind}: {bits_per_key}");
    }
}

#[test]
fn no_entries_have_no_bits_per_key_and_no_rate() {
    for &kind in FilterKind::ALL {
        let bytes = block(kind, 12.0, 0);
        let reader = FilterBlockReader::open(&bytes).expect("intact");
        assert_eq!((reader.num_entries(), reader.bits_per_key(), bytes.len()), (0, None, HEADER_LEN));
        assert_eq!((reader.false_positive_rate(), reader.fill(), reader.num_probes()), (0.0, 0.0, None));
    }
    let frame = frame_of(policy(FilterKind::Bloom, 10.0), &[1, 2, 3]);
    let reader = open_frame(&frame).expect("a frame");
    assert_eq!((reader.frame_len(), reader.kind()), (frame.len(), Some(FilterKind::Bloom)));
    let empty = frame_of(policy(FilterKind::Bloom, 10.0), &[]);
    assert_eq!(open_frame(&empty).expect("a frame").kind(), None, "a frame without entries stores no kind");
}

/// The rate computed from the payload is the one observed for absent keys, and the fill is the share of set bits.
#[test]
fn the_rate_and_the_fill_are_those_of_the_payload() {
    const ABSENT: usize = 200_000;
    for (kind, bits_per_key) in [
        (FilterKind::Bloom, 5.0),
        (FilterKind::Blocked, 5.0),
        (FilterKind::Blocked, 12.0),
        (FilterKind::Golomb, 5.0),
        (FilterKind::Ribbon, 5.0),
        (FilterKind::Ribbon, 5.6),
        (FilterKind::Fuse, 5.0),
    ] {
        let bytes = block(kind, bits_per_key, 4_000);
        let reader = FilterBlockReader::open(&bytes).expect("intact");
        let passed =
            numbers(!31).take(ABSENT).filter(|&n| reader.may_contain_hash(KeyHash::from_raw(n))).count() as f64;
        let expected = reader.false_positive_rate() * ABSENT as f64;
        assert!(
            (passed - expected).abs() <= 5.0 * expected.sqrt() + 1.0,
            "{kind}: {passed} passed, {expected} predicted"
        );
        let set = bytes[HEADER_LEN..].iter().map(|byte| byte.count_ones()).sum::<u32>();
        let share = f64::from(set) / ((bytes.len() - HEADER_LEN) * 8) as f64;
        match kind {
            FilterKind::Bloom => assert!((reader.fill() - share).abs() < 1e-3, "{} of {share}", reader.fill()),
            // The set bits include the salts, about half of whose bits are set; the fill does not.
            FilterKind::Blocked => assert!((reader.fill() - share).abs() < 0.05, "{} of {share}", reader.fill()),
            // The payload's few last bytes are not of the solution, or of the slots.
            FilterKind::Ribbon | FilterKind::Fuse => {
                assert!((reader.fill() - share).abs() < 0.01, "{} of {share}", reader.fill())
            }
            _ => assert_eq!(reader.fill(), reader.false_positive_rate()),
        }
    }
}

/// In a line of ones every probe passes, whatever the probes and salts; in a line of zeros none does.
#[test]
fn a_full_payload_lets_everything_pass_and_an_empty_one_nothing() {
    for (kind, trailer) in
        [(FilterKind::Bloom, [7, 0x11]), (FilterKind::Blocked, [0x74, 0x12]), (FilterKind::Blocked, [0xa0, 0x12])]
    {
        for (byte, rate) in [(0xff, 1.0), (0, 0.0)] {
            let frame = [vec![byte; 128], trailer.to_vec()].concat();
            let reader = open_frame(&frame).expect("a frame");
            assert_eq!(reader.kind(), Some(kind));
            assert!((reader.false_positive_rate() - rate).abs() < 1e-12, "{kind}: {}", reader.false_positive_rate());
            assert!((reader.fill() - rate).abs() < 1e-12, "{kind}: {}", reader.fill());
        }
    }
}

/// If the same share of every word's bits is set, each probe multiplies the rate by that share: one half, or 32 of 60
/// where a word's upper four bits are its salt.
#[test]
fn each_probe_multiplies_the_rate_by_the_share_of_set_bits() {
    let rate = |trailer: [u8; 2]| {
        let frame = [vec![0x0f; 128], trailer.to_vec()].concat();
        let reader = open_frame(&frame).expect("a frame");
        (reader.num_probes().expect("a kind that probes"), reader.false_positive_rate())
    };
    for num_probes in 1..=16 {
        for (share, trailer) in [
            (0.5, [num_probes, 0x11]),
            (0.5, [(num_probes - 1) << 4, 0x12]),
            (32.0 / 60.0, [(num_probes - 1) << 4 | 4, 0x12]),
        ] {
            let (found, rate) = rate(trailer);
            let expected = f64::powi(share, num_probes.into());
            assert_eq!(found, u32::from(num_probes));
            assert!((rate - expected).abs() < 1e-12 * expected, "{trailer:02x?}: {rate}, {expected} expected");
        }
    }
}

/// A blocked filter probes a window of words: if one word is empty and the others are full, exactly the windows without
/// that word pass.
#[test]
fn a_rate_is_that_of_the_windows_that_pass() {
    for empty in 0..8 {
        let line: Vec<u8> = (0..64).map(|byte| if byte / 8 == empty { 0 } else { 0xff }).collect();
        for num_probes in 1..=16u8 {
            let frame = [&line[..], &[(num_probes - 1) << 4, 0x12]].concat();
            let reader = open_frame(&frame).expect("a frame");
            let expected = f64::from(8 - num_probes.min(8)) / 8.0;
            let rate = reader.false_positive_rate();
            assert!((rate - expected).abs() < 1e-12, "word {empty} empty, {num_probes} probes: {rate}");
            assert!((reader.fill() - 7.0 / 8.0).abs() < 1e-12, "word {empty} empty: {}", reader.fill());
        }
    }
}

#[test]
fn num_probes_is_known_for_kinds_with_probes() {
    for (trailer, num_probes) in
        [([7, 0x11], 7), ([64, 0x11], 64), ([0x00, 0x12], 1), ([0x74, 0x12], 8), ([0xf0, 0x12], 16)]
    {
        let frame = [vec![0; 64], trailer.to_vec()].concat();
        assert_eq!(open_frame(&frame).expect("a frame").num_probes(), Some(num_probes));
    }
    for kind in [FilterKind::Golomb, FilterKind::Ribbon, FilterKind::Fuse] {
        let frame = frame_of(policy(kind, 10.0), &[1, 2, 3]);
        assert_eq!(open_frame(&frame).expect("a frame").num_probes(), None);
    }
}

#[test]
fn errors_of_frames_are_exact() {
    let refused = |frame: &[u8]| open_frame(frame).expect_err("refused");
    assert_eq!(refused(&[0x1f]), DecodeError::UnknownKind { found: 15 });
    assert_eq!(refused(&[9, 9, 0x16]), DecodeError::UnknownKind { found: 6 });
    assert_eq!(refused(&[9, 0x10]), DecodeError::PayloadLength { declared_bytes: 0, actual_bytes: 1 });
    let version = DecodeError::Parameter { name: "compact_version", value: 0, min: 1, max: 1 };
    assert_eq!(refused(&[9, 0x01]), version);
    // Blocked filters consist of whole lines: the error has the length of the whole lines and that of the payload.
    let lines = |declared_bytes, actual_bytes| DecodeError::PayloadLength { declared_bytes, actual_bytes };
    assert_eq!(refused(&[vec![0; 130], vec![0x74, 0x12]].concat()), lines(128, 130));
    assert_eq!(refused(&[vec![0; 63], vec![0x74, 0x12]].concat()), lines(0, 63));
    // The end of a golomb frame: buckets, their range, remainder bits, directory bits, the integers' lengths, tag.
    let golomb = |before: &[u8], lens: u8| [before, &[3, 0, lens, 0x13]].concat();
    assert_eq!(refused(&[0x13]), DecodeError::TooShort { len_bytes: 1, min_bytes: 2 });
    // As many as both integers call for.
    assert_eq!(refused(&golomb(&[1, 1, 1], 0x18)), DecodeError::TooShort { len_bytes: 7, min_bytes: 13 });
    let padding = |offset_bytes| DecodeError::Padding { offset_bytes, found: 0 };
    let padding_of = |offset_bytes, found| DecodeError::Padding { offset_bytes, found };
    assert_eq!(refused(&golomb(&[1, 1, 1, 5, 0], 0x12)), padding(4));
    assert_eq!(refused(&golomb(&[1, 1, 5, 0, 5], 0x21)), padding(3));
    // The unused bits of a directory of two fields, of three bits each.
    assert_eq!(refused(&[0x40, 0, 2, 5, 3, 3, 0x11, 0x13]), padding_of(0, 0x40));
    // Its short form: the range in halves of 2^r, and r, 1 to 15.
    assert_eq!(refused(&[0x0f, 0x13]), DecodeError::TooShort { len_bytes: 2, min_bytes: 3 });
    assert_eq!(refused(&[9, 0, 0x0f, 0x13]), padding(1));
    assert_eq!(refused(&[1, 0x0f, 0x13]), DecodeError::PayloadLength { declared_bytes: 0, actual_bytes: 0 });
    assert!(open_frame(&[9, 1, 0x0f, 0x13]).is_ok());
    let too_long = |value| DecodeError::Parameter { name: "compact_integer_len", value, min: 1, max: 8 };
    assert_eq!(refused(&golomb(&[1; 20], 0x19)), too_long(9));
    assert_eq!(refused(&golomb(&[1; 20], 0xf1)), too_long(15));
    // The end of a ribbon frame: blocks of its layers, share, seed, columns, layers and the share's length, tag.
    let ribbon = |words: usize, before: &[u8]| [&vec![0; 8 * words][..], before, &[0x14]].concat();
    assert_eq!(refused(&[0, 0x10, 0x14]), DecodeError::TooShort { len_bytes: 3, min_bytes: 4 });
    assert_eq!(refused(&ribbon(0, &[7, 0, 1, 0x12])), DecodeError::TooShort { len_bytes: 5, min_bytes: 6 });
    assert_eq!(refused(&ribbon(2, &[2, 0, 0, 0, 1, 0, 0, 1, 0x12])), padding(21));
    assert_eq!(refused(&ribbon(2, &[0, 1, 0x19])), too_long(9));
    let parameter = |name, value, min, max| DecodeError::Parameter { name, value, min, max };
    assert_eq!(refused(&ribbon(2, &[2, 0, 0, 0, 0, 33, 0x10])), parameter("columns", 33, 1, 32));
    assert_eq!(refused(&ribbon(2, &[2, 0, 0, 0, 5, 0, 32, 0x11])), parameter("columns", 32, 1, 31));
    assert_eq!(refused(&ribbon(2, &[2, 0, 0, 0, 0, 1, 0])), parameter("num_layers", 0, 1, 8));
    assert_eq!(refused(&ribbon(2, &[2, 0, 0, 0, 0, 1, 0x90])), parameter("num_layers", 9, 1, 8));
    assert_eq!(refused(&ribbon(2, &[2, 0, 0, 0, 32, 1, 0x10])), parameter("last_seed", 32, 0, 31));
    let share = refused(&ribbon(2, &[2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x15]));
    assert_eq!(share, parameter("wide_share", 1 << 32, 0, u32::MAX.into()));
    assert_eq!(refused(&ribbon(2, &[1, 0, 0, 0, 0, 1, 0x10])), parameter("num_blocks", 1, 2, u32::MAX.into()));
    assert_eq!(refused(&ribbon(0, &[2, 0, 0, 0, 1, 0x10])), lines(4, 3));
    assert_eq!(refused(&ribbon(3, &[2, 0, 0, 0, 0, 1, 0x10])), lines(20, 28));
    let most = [u8::MAX; 4];
    let declared = 8 * 33 * u64::from(u32::MAX) + 4;
    assert_eq!(
        refused(&ribbon(2, &[&most[..], &most, &[0, 31, 0x14]].concat())),
        lines(declared - 8 * u64::from(u32::MAX), 20)
    );
    // Thresholds of one bucket: two bits of a byte.
    let two_layers = |thresholds| ribbon(4, &[thresholds, 2, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0x20]);
    assert!(open_frame(&two_layers(3)).is_ok());
    assert_eq!(refused(&two_layers(4)), DecodeError::Padding { offset_bytes: 32, found: 4 });
    // The end of a fuse frame: segments, seed, bits, a segment's length and that of the first number, tag.
    let fuse = |zeros: usize, before: &[u8]| [&vec![0; zeros][..], before, &[0x15]].concat();
    assert_eq!(refused(&[0, 1, 0x15]), DecodeError::TooShort { len_bytes: 3, min_bytes: 4 });
    assert_eq!(refused(&fuse(0, &[1, 0, 5, 2])), DecodeError::TooShort { len_bytes: 5, min_bytes: 6 });
    assert_eq!(refused(&fuse(8, &[1, 0, 5, 0])), too_long(0));
    assert_eq!(refused(&fuse(8, &[1, 0, 0, 5, 2])), padding(9));
    assert_eq!(refused(&fuse(8, &[1, 0, 0, 1])), parameter("fingerprint_bits", 0, 1, 32));
    assert_eq!(refused(&fuse(8, &[1, 0, 33, 1])), parameter("fingerprint_bits", 33, 1, 32));
    assert_eq!(refused(&fuse(8, &[1, 0, 5, 0x99])), parameter("log2_segment_len", 19, 0, 18));
    assert_eq!(refused(&fuse(8, &[1, 64, 5, 1])), parameter("seed", 64, 0, 63));
    let segments = refused(&fuse(8, &[0, 0, 0, 0, 1, 0, 5, 5]));
    assert_eq!(segments, parameter("num_segments", 1 << 32, 1, u32::MAX.into()));
    assert_eq!(refused(&fuse(9, &[1, 0, 2, 1])), lines(8, 9));
    assert_eq!(refused(&fuse(8, &[1, 0, 3, 1])), lines(9, 8));
    let most = ((1 << 32) + 2) * (1 << 18);
    assert_eq!(refused(&fuse(8, &[255, 255, 255, 255, 63, 32, 0x94])), lines((most - 1) * 4 + 8, 8));
    assert!(open_frame(&fuse(8, &[1, 0, 2, 1])).is_ok());
    assert_eq!(refused(&fuse(0, &[0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 2, 1])), padding_of(1, 1));
    assert_eq!(refused(&fuse(0, &[0x20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1])), padding_of(0, 0x20));
    // An integer may have eight bytes.
    assert!(open_frame(&golomb(&[1; 20], 0x18)).is_ok());
}

#[test]
fn unused_bits_of_a_block_are_named_by_their_byte() {
    let mut block = Shape::Bloom { num_probes: 3, num_bits: 17 }.block(&Header::default(), &[1, 2, 3].into());
    block[HEADER_LEN + 2] = 0x80;
    repair(&mut block, 0);
    let error = FilterBlockReader::open(&block).expect_err("a bit too many");
    assert_eq!(error, DecodeError::Padding { offset_bytes: 66, found: 0x80 });
}

#[test]
fn errors_of_headers_are_exact() {
    let sound = FilterBlockBuilder::new(policy(FilterKind::Bloom, 10.0)).finish().expect("a block");
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    let mut block = sound.clone();
    block[7] ^= 0xff;
    let found = number(&block[..8]);
    assert_eq!(FilterBlockReader::open(&block).expect_err("no magic"), DecodeError::Magic { found });
    // The computed checksum is that of the sound block; the stored one is the changed one.
    let mut block = sound.clone();
    block[61] ^= 0x5a;
    let (stored, computed) = (number(&block[60..]) as u32, number(&sound[60..]) as u32);
    let error = FilterBlockReader::open(&block).expect_err("another checksum");
    assert_eq!(error, DecodeError::HeaderChecksum { stored, computed });
    // The same under a context, which is part of neither of the two.
    let context = 0x0123_4567_89ab_cdef;
    let sound = FilterBlockBuilder::new(policy(FilterKind::Bloom, 10.0)).context(context).finish().expect("a block");
    let mut block = sound.clone();
    block[61] ^= 0x5a;
    let (stored, computed) = (number(&block[60..]) as u32, number(&sound[60..]) as u32);
    let error = OpenOptions::new().context(context).open(&block).expect_err("another checksum");
    assert_eq!(error, DecodeError::HeaderChecksum { stored, computed });
}
