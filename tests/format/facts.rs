//! What a reader reports about its block: each fact agrees with the bytes.

use crate::*;
use filterblock::HEADER_LEN;

fn block(kind: FilterKind, bits_per_key: f64, num_entries: usize) -> Vec<u8> {
    let hashes: Vec<u64> = numbers(31).take(num_entries).collect();
    crate::material::block_of(sized(kind, bits_per_key), &hashes)
}

fn open_frame(frame: &[u8]) -> Result<CompactFrameReader<'_>, DecodeError> {
    static ENTRIES: EntryHasher = EntryHasher::new(KeyHasher::new(0), KeyTransform::WholeKey);
    CompactFrameReader::open(frame, &ENTRIES)
}

#[test]
fn a_block_counts_its_bytes_and_entries() {
    for &kind in FilterKind::ALL {
        let bytes = block(kind, 12.0, 3_000);
        let reader = OpenOptions::new().open_owned(bytes.clone()).expect("intact");
        assert_eq!(reader.as_bytes(), bytes);
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
        let reader = OpenOptions::new().open(&bytes).expect("intact");
        assert_eq!((reader.num_entries(), reader.bits_per_key(), bytes.len()), (0, None, HEADER_LEN));
        assert_eq!((reader.false_positive_rate(), reader.fill(), reader.num_probes()), (0.0, 0.0, None));
    }
    let frame = frame_of(&mut builder_of_hashes(&sized(FilterKind::Bloom, 10.0), [1, 2, 3]));
    let reader = open_frame(&frame).expect("a frame");
    assert_eq!((reader.frame_len(), reader.kind()), (frame.len(), Some(FilterKind::Bloom)));
    let empty = frame_of(&mut builder_of_hashes(&sized(FilterKind::Bloom, 10.0), []));
    assert_eq!(open_frame(&empty).expect("a frame").kind(), None, "a frame without entries stores no kind");
}

/// The fill is the share of set bits. (`tests/battery` observes the rate that is computed from the payload.)
#[test]
fn the_fill_is_that_of_the_payload() {
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
        let reader = OpenOptions::new().open(&bytes).expect("intact");
        let set = bytes[HEADER_LEN..].iter().map(|byte| byte.count_ones()).sum::<u32>();
        let share = f64::from(set) / ((bytes.len() - HEADER_LEN) * 8) as f64;
        match kind {
            FilterKind::Bloom => assert!((reader.fill() - share).abs() < 1e-3, "{} of {share}", reader.fill()),
            // The set bits include the salts, about half of whose bits are set; the fill does not.
            FilterKind::Blocked => assert!((reader.fill() - share).abs() < 0.05, "{} of {share}", reader.fill()),
            // The payload's few last bytes are not of the solution, or of the slots.
            FilterKind::Ribbon | FilterKind::Fuse => assert!((reader.fill() - share).abs() < 0.01, "{kind}, {share}"),
            _ => assert_eq!(reader.fill(), reader.false_positive_rate()),
        }
        assert_eq!(reader.num_probes().is_some(), [FilterKind::Bloom, FilterKind::Blocked].contains(&kind), "{kind}");
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
