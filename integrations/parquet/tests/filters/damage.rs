//! Bitsets that were cut, extended or declared wrongly, and settings that no filter has.

use crate::Random;
use filterblock_parquet::{Error, SplitBlockFilter, Value, sizing};

const NUM_VALUES: i32 = 400;

fn stored() -> Vec<u8> {
    let mut filter = SplitBlockFilter::with_rate(NUM_VALUES as u64, 0.01).expect("a possible filter");
    (0..NUM_VALUES).for_each(|value| filter.insert(Value::Int32(value)));
    filter.into_bitset()
}

#[test]
fn every_other_length_is_an_error() {
    let whole = stored();
    let declared = whole.len() as i32;
    assert_eq!(declared, 1024);
    let mut bytes = whole.clone();
    bytes.resize(2 * whole.len(), 0);
    let mut num_errors = 0;
    for found in (0..=bytes.len()).filter(|found| *found != whole.len()) {
        let error = SplitBlockFilter::from_bitset(declared, None, &bytes[..found]).expect_err("another length");
        assert_eq!(error, Error::DeclaredLength { declared, found });
        num_errors += 1;
    }
    for declared in -100..2 * declared {
        let result = SplitBlockFilter::from_bitset(declared, None, &whole[..]);
        match declared {
            1024 => assert!(result.is_ok()),
            _ if declared > 0 && declared % 32 == 0 => {
                assert_eq!(result, Err(Error::DeclaredLength { declared, found: whole.len() }));
            }
            _ => assert_eq!(result, Err(Error::Length { len: declared.into() })),
        }
        num_errors += usize::from(declared != 1024);
    }
    for declared in [i32::MIN, i32::MAX, -1024, i32::MAX - 31] {
        assert!(SplitBlockFilter::from_bitset(declared, None, &whole[..]).is_err());
        num_errors += 1;
    }
    println!("counted: {num_errors} cut, extended and misdeclared bitsets, each an error");
}

/// A header that declares a part of the bitset, as one of DuckDB's test files has: the metadata tells.
#[test]
fn the_metadata_notices_a_short_declaration() {
    let whole = stored();
    for num_blocks in 1..=32 {
        // Whatever length a header has, a part of the bitset is refused.
        let declared = 32 * num_blocks;
        let part = &whole[..declared as usize];
        for bloom_filter_length in -100..2048 {
            let filter = SplitBlockFilter::from_bitset(declared, Some(bloom_filter_length), part);
            match bloom_filter_length - declared {
                1..32 => assert!(filter.is_ok()),
                _ => assert_eq!(filter, Err(Error::MetadataLength { declared, bloom_filter_length })),
            }
        }
    }
    for len in [i32::MIN, i32::MAX, 0, -1] {
        assert!(SplitBlockFilter::from_bitset(1024, Some(len), &whole[..]).is_err());
    }
}

/// What those errors prevent: with the cut length declared too, stored values are denied.
#[test]
fn a_cut_that_no_one_notices_denies_values() {
    let cut = &stored()[..512];
    let filter = SplitBlockFilter::from_bitset(512, None, cut).expect("a length that a bitset has");
    let num_denied = (0..NUM_VALUES).filter(|value| !filter.may_contain(Value::Int32(*value))).count();
    assert!(num_denied > NUM_VALUES as usize / 2, "{num_denied} denied");
}

/// Whatever the bits are, each hash has an answer, and the rate is one.
#[test]
fn any_bytes_are_answered_from() {
    let mut random = Random(1);
    for num_blocks in 1..=64 {
        for density in 0..4 {
            let bitset: Vec<u8> = (0..32 * num_blocks)
                .map(|_| match density {
                    0 => 0,
                    1 => 0xff,
                    2 => random.next() as u8,
                    _ => (random.next() | random.next() | random.next()) as u8,
                })
                .collect();
            let filter = SplitBlockFilter::from_bitset(bitset.len() as i32, None, bitset.clone()).expect("a length");
            let hashes = [0, u64::MAX, u64::MAX << 32, u64::from(u32::MAX)].into_iter();
            for hash in hashes.chain((0..100).map(|_| random.next())) {
                let answer = filter.may_contain_hash(hash);
                assert!(density > 1 || answer == (density == 1));
            }
            assert!((0.0..=1.0).contains(&filter.false_positive_rate()));
            assert_eq!(filter.bitset(), bitset);
            assert_eq!(filter.into_bitset(), bitset);
        }
    }
}

#[test]
fn impossible_settings_are_errors() {
    for len in [0, 1, 31, 33, 100, sizing::MAX_LEN + 32, 1 << 31, usize::MAX] {
        let error = SplitBlockFilter::with_len(len).expect_err("no length of a bitset");
        assert_eq!(error, Error::Length { len: i64::try_from(len).unwrap_or(i64::MAX) });
    }
    for rate in [0.0, -0.0, 1.0, -0.1, 1.5, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(SplitBlockFilter::with_rate(1, rate), Err(Error::Rate { rate }));
    }
    assert!(matches!(SplitBlockFilter::with_rate(1, f64::NAN), Err(Error::Rate { rate }) if rate.is_nan()));
    for num_values in [200_000_000, 1 << 40, u64::MAX] {
        let error = SplitBlockFilter::with_rate(num_values, 0.01).expect_err("too many values");
        assert!(matches!(error, Error::TooLarge { num_values: n, rate: 0.01, least_rate }
            if n == num_values && least_rate > 0.01 && least_rate <= 1.0));
    }
}

#[test]
fn messages_have_the_numbers() {
    let message = Error::DeclaredLength { declared: 1024, found: 512 }.to_string();
    assert_eq!(message, "bitset length declared 1024 bytes, found 512");
    assert!(Error::Length { len: 33 }.to_string().starts_with("bitset length 33 bytes: "));
    assert!(Error::Rate { rate: 1.5 }.to_string().starts_with("false-positive rate 1.5: "));
    let message = Error::TooLarge { num_values: 200_000_000, rate: 0.01, least_rate: 0.0625 }.to_string();
    assert!(message.starts_with("200000000 values at a false-positive rate of 0.01: "), "{message}");
}
