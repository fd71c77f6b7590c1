//! Blocks that are not what was expected: exact errors, and no panic whatever a payload contains. `tests/battery`
//! changes every bit, length and field.

use crate::assembled::repair;
use crate::material::keys;
use filterblock::{
    CompactFrameReader, CustomTransform, DecodeError, DecodeErrorClass, FilterBlockBuilder, FilterBlockReader,
    FilterKind, FilterPolicy, KeyHash, KeyHasher, KeyTransform, OpenOptions,
};
use std::panic::catch_unwind;

const CONTEXT: u64 = 0x00c0_ffee;

/// A block of about `bytes` bytes.
fn block(kind: FilterKind, bytes: u64) -> Vec<u8> {
    let policy = FilterPolicy::with_max_bytes(kind, bytes).expect("legal").seed(3);
    let mut builder = FilterBlockBuilder::new(policy);
    builder.context(CONTEXT);
    keys(4, bytes as usize * 8 / 10).iter().for_each(|key| builder.add_key(key));
    builder.finish().expect("a block")
}

fn open(block: &[u8]) -> Result<FilterBlockReader<'_>, DecodeError> {
    OpenOptions::new().context(CONTEXT).open(block)
}

#[test]
fn another_place_is_not_damage() {
    for &kind in FilterKind::ALL {
        let block = block(kind, 2048);
        for context in [0, 1, CONTEXT + 1, u64::MAX] {
            let error = OpenOptions::new().context(context).open(&block).expect_err("another context");
            assert_eq!(error, DecodeError::WrongContext { expected: context, found: CONTEXT });
            assert_eq!(error.class(), DecodeErrorClass::Mismatch);
        }
        // Damage and a wrong context together are reported as damage.
        let mut damaged = block.clone();
        damaged[100] ^= 1;
        let error = OpenOptions::new().context(1).open(&damaged).expect_err("damaged");
        assert_eq!(error.class(), DecodeErrorClass::Damaged);
    }
}

#[test]
fn intact_but_unknown_is_newer() {
    let newer = |offset: usize, value: u8| {
        let mut block = block(FilterKind::Bloom, 512);
        block[offset] = value;
        repair(&mut block, CONTEXT);
        let error = open(&block).expect_err("unknown");
        assert_eq!(error.class(), DecodeErrorClass::Newer, "{error}");
        error
    };
    assert_eq!(newer(8, 2), DecodeError::NewerVersion { found: 2, supported: 1 });
    assert_eq!(newer(9, 200), DecodeError::UnknownKind { found: 200 });
    assert_eq!(newer(10, 3), DecodeError::UnknownHash { found: 3 });
    assert_eq!(newer(10, 0), DecodeError::UnknownHash { found: 0 });
    assert_eq!(newer(11, 5), DecodeError::UnknownTransform { found: 5 });
    assert_eq!(newer(11, 127), DecodeError::UnknownTransform { found: 127 });
    assert_eq!(newer(13, 0x80), DecodeError::UnknownFeatures { bits: 0x8000 });
    assert_eq!(newer(14, 9), DecodeError::Reserved { offset_bytes: 14, found: 9 });
    assert_eq!(newer(15, 9), DecodeError::Reserved { offset_bytes: 15, found: 9 });
    assert_eq!(newer(41, 1), DecodeError::Reserved { offset_bytes: 41, found: 1 });
    // Unknown features that may be ignored are ignored.
    let mut block = block(FilterKind::Bloom, 512);
    block[12] = 0xfe;
    repair(&mut block, CONTEXT);
    assert!(open(&block).is_ok());
}

#[test]
fn a_misplaced_estimate_is_damage() {
    let flagged = |kind, empty: bool| {
        let policy = FilterPolicy::with_bits_per_key(kind, 10.0).expect("legal");
        let mut builder = FilterBlockBuilder::new(policy);
        builder.context(CONTEXT);
        if !empty {
            keys(7, 100).iter().for_each(|key| builder.add_key(key));
        }
        let mut block = builder.finish().expect("a block");
        block[12] |= 1;
        repair(&mut block, CONTEXT);
        block
    };
    for &kind in FilterKind::ALL {
        for num_entries in [0, 100] {
            let block = flagged(kind, num_entries == 0);
            for options in [OpenOptions::new(), OpenOptions::new().trusted(true)] {
                match options.context(CONTEXT).open(&block) {
                    Ok(reader) => {
                        assert!((kind, num_entries) == (FilterKind::Bloom, 100) && reader.entries_estimated());
                    }
                    Err(error) => {
                        assert!((kind, num_entries) != (FilterKind::Bloom, 100));
                        assert_eq!(error, DecodeError::MisplacedEstimate { kind, num_entries });
                        assert_eq!(error.class(), DecodeErrorClass::Damaged);
                    }
                }
            }
        }
    }
}

#[test]
fn expectations_are_compared() {
    let block = block(FilterKind::Golomb, 512);
    let options = OpenOptions::new().context(CONTEXT);
    assert!(options.expect_seed(3).expect_transform(KeyTransform::WholeKey).open(&block).is_ok());
    let error = options.expect_seed(4).open(&block).expect_err("another seed");
    assert_eq!(error, DecodeError::WrongSeed { expected: 4, found: 3 });
    let error = options.expect_transform(KeyTransform::Row).open(&block).expect_err("another transform");
    assert_eq!(error, DecodeError::WrongTransform { expected: (1, 0), found: (0, 0) });
    let custom = |param| KeyTransform::Custom(CustomTransform::new(143, param).expect("legal"));
    let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0).expect("legal");
    let block = FilterBlockBuilder::new(policy.transform(custom(7))).finish().expect("a block");
    assert!(OpenOptions::new().expect_transform(custom(7)).open(&block).is_ok());
    let error = OpenOptions::new().expect_transform(custom(8)).open(&block).expect_err("another parameter");
    assert_eq!(error, DecodeError::WrongTransform { expected: (143, 8), found: (143, 7) });
}

/// Makes all the queries that an engine would, and more.
fn query(reader: &FilterBlockReader<'_>) {
    for hash in crate::material::numbers(11).take(60).chain([0, 1, u64::MAX, 1 << 63]) {
        std::hint::black_box(reader.may_contain_hash(KeyHash::from_raw(hash)));
    }
    let rate = reader.false_positive_rate();
    assert!((0.0..=1.0).contains(&rate), "rate {rate}");
    assert!((0.0..=1.0).contains(&reader.fill()));
}

#[test]
fn no_payload_opened_as_trusted_panics() {
    for &kind in FilterKind::ALL {
        let sound = block(kind, 1_500);
        for (round, noise) in (0..600).zip(crate::material::numbers(12)) {
            let mut block = sound.clone();
            let at = 64 + (noise as usize >> 8) % (block.len() - 64);
            match round % 3 {
                0 => block[at] = noise as u8,
                1 => block[at..].fill(noise as u8),
                _ => block[64..].fill(if round % 2 == 0 { 0 } else { 0xff }),
            }
            let options = OpenOptions::new().context(CONTEXT).trusted(true);
            let outcome = catch_unwind(|| options.open(&block).map(|reader| query(&reader)).is_ok());
            assert!(outcome.is_ok(), "{kind}: round {round} panics");
        }
    }
}

#[test]
fn empty_and_newer_compact_frames_are_errors() {
    let open = |frame: &[u8]| CompactFrameReader::open(frame, KeyHasher::new(0), KeyTransform::WholeKey).map(drop);
    assert_eq!(open(&[]), Err(DecodeError::TooShort { len_bytes: 0, min_bytes: 1 }));
    assert_eq!(open(&[1, 0x21]), Err(DecodeError::NewerVersion { found: 2, supported: 1 }));
    for (tag, class) in
        [(0x00, DecodeErrorClass::Damaged), (0xe1, DecodeErrorClass::Newer), (0xff, DecodeErrorClass::Damaged)]
    {
        let frame = [tag; 70];
        assert_eq!(open(&frame).expect_err("another version").class(), class, "{tag:#x}");
    }
}
