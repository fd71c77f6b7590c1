//! Files that arrow-rs writes with filters of ours, and with its own.

use crate::column::{Column, NAMES};
use crate::file::{self, Chunk, absent_numbers, filter_of, numbers};
use parquet::file::properties::WriterProperties;

#[test]
fn arrow_rs_reads_ours() {
    let (mut num_values, mut num_absent, mut num_passed) = (0, 0, 0);
    let chunks = file::read(&file::write_with_filters());
    assert_eq!(chunks.len(), NAMES.len() * file::NUM_ROW_GROUPS as usize);
    for chunk in chunks {
        let column = Column::of_numbers(&chunk.name, numbers(chunk.row_group as u32));
        assert_eq!(chunk.column, column, "{}", chunk.name);
        assert_eq!(chunk.bitset().as_deref(), Some(filter_of(&column).bitset()), "{}", chunk.name);

        let filter = chunk.filter.as_ref().expect("a filter");
        let answers = column.answers_of(filter);
        assert!(answers.iter().all(|may_contain| *may_contain), "{}", chunk.name);
        num_values += answers.len();
        let answers = Column::of_numbers(&chunk.name, absent_numbers()).answers_of(filter);
        num_absent += answers.len();
        num_passed += answers.into_iter().filter(|may_contain| *may_contain).count();
    }
    assert!(num_passed < num_absent / 50, "{num_passed} of {num_absent} absent values passed");
    println!("counted: {num_values} values in files with our filters, none excluded by arrow-rs");
}

/// With and without a dictionary, from which arrow-rs inserts other calls' values.
#[test]
fn we_read_those_of_arrow_rs() {
    let mut num_values = 0;
    for dictionary in [false, true] {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(dictionary)
            .set_bloom_filter_enabled(true)
            .set_bloom_filter_fpp(0.01);
        num_values += file::read(&file::write(properties, |_| None)).iter().map(Chunk::check).sum::<usize>();
    }
    println!("counted: {num_values} values in files with arrow-rs's filters, none excluded by ours");
}
