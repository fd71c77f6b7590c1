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
