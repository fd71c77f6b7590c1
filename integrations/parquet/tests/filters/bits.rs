//! Bit for bit what arrow-rs's `Sbbf` has, for the same values and length.

use crate::column::{Column, NAMES};
use crate::file::bitset;
use filterblock_parquet::{SplitBlockFilter, hash};
use parquet::bloom_filter::Sbbf;

/// Powers of two, and others that the format permits.
const LENS: [usize; 9] = [32, 64, 96, 128, 1_024, 1_056, 16_384, 49_984, 65_536];

#[test]
fn bitsets_and_answers_are_those_of_arrow_rs() {
    let (mut num_values, mut num_answers) = (0, 0);
    for name in NAMES.into_iter().chain(["int96"]) {
        for len in LENS {
            // Ten bits a value.
            let count = len as u32 * 8 / 10;
            let stored = Column::of_numbers(name, (0..count).map(|n| 2 * n));
            let mut theirs = Sbbf::new(&vec![0; len]);
            stored.insert_into(&mut theirs);
            let mut ours = SplitBlockFilter::with_len(len).expect("a length");
            stored.values().into_iter().for_each(|value| ours.insert(value));
            assert_eq!(ours.bitset(), bitset(&theirs), "{name}, {len} bytes");

            let any = Column::of_numbers(name, 0..2 * count);
            let answers: Vec<_> = any.values().into_iter().map(|value| ours.may_contain(value)).collect();
            assert_eq!(answers, any.answers_of(&theirs), "{name}, {len} bytes");
            num_values += stored.values().len();
            num_answers += answers.len();
        }
    }
    println!("counted: {num_values} values in bitsets equal to arrow-rs's, {num_answers} equal answers");
}

/// A folded bitset is that of a filter that was short from the start, for even numbers of blocks, too, that are no power
/// of two; arrow-rs folds to the same bits, if not always as far.
#[test]
fn folded_bitsets_are_those_of_short_filters() {
    let (mut num_folds, mut num_theirs) = (0, 0);
    for len in LENS {
        for (count, rate) in [(0, 0.01), (20, 0.01), (300, 0.001), (300, 0.5), (4_000, 0.1)] {
            let column = Column::of_numbers(NAMES[0], 0..count);
            let of_len = |len| {
                let mut filter = SplitBlockFilter::with_len(len).expect("a length");
                column.values().into_iter().for_each(|value| filter.insert(value));
                filter
            };
            let mut folded = of_len(len);
            folded.fold_to_rate(rate).expect("a rate");
            let folded_len = folded.bitset().len();
            assert_eq!(folded, of_len(folded_len), "{count} in {len} bytes, {rate}");
            assert!(folded_len == len || folded.false_positive_rate() <= rate, "{count} in {len} bytes, {rate}");
            if (folded_len / 32).is_multiple_of(2) {
                assert!(of_len(folded_len / 2).false_positive_rate() > rate, "{count} in {len} bytes, {rate}");
            }
            num_folds += (len / folded_len).ilog2();
            if len.is_power_of_two() {
                let mut theirs = Sbbf::new(&vec![0; len]);
                column.insert_into(&mut theirs);
                theirs.fold_to_target_fpp(rate);
                let theirs = bitset(&theirs);
                assert_eq!(of_len(theirs.len()).bitset(), theirs, "{count} in {len} bytes, {rate}");
                num_theirs += u32::from(theirs.len() < len);
            }
        }
    }
    assert!(num_folds > 80 && num_theirs > 10, "{num_folds} {num_theirs}");
    for rate in [0.0, 1.0, f64::NAN] {
        assert!(SplitBlockFilter::with_len(64).expect("a length").fold_to_rate(rate).is_err(), "{rate}");
    }
}

/// Vectors of XXH64's specification, and bytes whose sign could be taken for a number's.
#[test]
fn hashes_are_xxh64_with_seed_0() {
    assert_eq!(hash(b""), 0xef46_db37_51d8_e999);
    assert_eq!(hash(b"a"), 0xd24e_c4f1_a98c_6e5b);
    assert_eq!(hash(b"abc"), 0x44bc_2cf5_ad77_0999);
    let mut filter = SplitBlockFilter::with_len(32).expect("a length");
    let mut theirs = Sbbf::new(&[0; 32]);
    for byte in [0x7f, 0x80, 0xff] {
        let value = vec![byte; 37];
        filter.insert_hash(hash(&value));
        theirs.insert(&value);
    }
    assert_eq!(filter.bitset(), bitset(&theirs));
}
