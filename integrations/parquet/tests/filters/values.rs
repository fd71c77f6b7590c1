//! Values that are equal and have different bits.

use filterblock_parquet::{SplitBlockFilter, Value};

const ZEROS: [[Value<'static>; 2]; 3] = [
    [Value::Float(0.0), Value::Float(-0.0)],
    [Value::Double(0.0), Value::Double(-0.0)],
    [Value::Float16(0), Value::Float16(0x8000)],
];

fn empty() -> SplitBlockFilter {
    SplitBlockFilter::with_len(1024).expect("a length")
}

#[test]
fn a_zero_is_found_by_either() {
    for zeros in ZEROS {
        assert_ne!(zeros[0].hash(), zeros[1].hash());
        for (stored, probed) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert!(!empty().may_contain(zeros[probed]));

            // A reader that knows nothing of this probes for one hash; other writers insert one.
            let mut ours = empty();
            ours.insert(zeros[stored]);
            assert!(ours.may_contain_hash(zeros[probed].hash()), "{zeros:?}");
            let mut theirs = empty();
            theirs.insert_hash(zeros[stored].hash());
            assert!(theirs.may_contain(zeros[probed]), "{zeros:?}");
        }
    }
}

/// Whatever their bits are; infinities and the least numbers are numbers like others.
#[test]
fn no_nan_is_denied() {
    let nans = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001), f64::from_bits(u64::MAX)];
    assert!(nans.into_iter().all(|nan| empty().may_contain(Value::Double(nan))));
    let nans = [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::from_bits(u32::MAX)];
    assert!(nans.into_iter().all(|nan| empty().may_contain(Value::Float(nan))));
    let nans = [0x7c01, 0x7e00, 0x7fff, 0xfc01, 0xffff];
    assert!(nans.into_iter().all(|nan| empty().may_contain(Value::Float16(nan))));

    for number in [f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::from_bits(1)] {
        assert!(!empty().may_contain(Value::Double(number)));
        let mut filter = empty();
        filter.insert(Value::Double(number));
        assert!(filter.may_contain(Value::Double(number)));
    }
    for bits in [0x7c00, 0xfc00, 1, 0x3c00] {
        assert!(!empty().may_contain(Value::Float16(bits)));
    }
}

/// The physical type decides: the same number in another type is another value.
#[test]
fn types_are_told_apart() {
    let values = [Value::Int32(1), Value::Int64(1), Value::Float(1.0), Value::Double(1.0), Value::Int96([1, 0, 0])];
    for stored in values {
        let mut filter = empty();
        filter.insert(stored);
        assert_eq!(values.map(|value| filter.may_contain(value)), values.map(|value| value == stored));
    }
    assert_eq!(Value::ByteArray(b"1").hash(), Value::FixedLenByteArray(b"1").hash());
    assert_eq!(Value::Float16(0x3c00).hash(), Value::FixedLenByteArray(&[0x00, 0x3c]).hash());
}
