//! The calls of 0.1.0, which knows neither range filters nor sets.

use crate::{CONTEXT, Files, OfRanges, Seen};

/// The released reader's answer; its calls are the same for all frames.
macro_rules! released_answer {
    ($filter:expr, $query:expr $(, $load:expr)?) => {
        match $query {
            Query::Row(row) => $filter.may_contain_row(row $(, $load)?),
            Query::Cell(row, column) => $filter.may_contain_row_column(row, column $(, $load)?),
            Query::Prefix(key) => $filter.may_contain_prefix(key $(, $load)?),
            Query::Key(key) => $filter.may_contain(key $(, $load)?),
            other => unreachable!("{other:?}"),
        }
    };
}

/// No part of the released reader opens the bytes.
fn unknown(bytes: &[u8], what: &str, seen: &mut Seen) {
    let options = released::OpenOptions::new;
    for options in [options(), options().with_context(CONTEXT)] {
        for error in
            [options.clone().open(bytes).err(), released::partition::PartitionedFilter::open(bytes, options).err()]
        {
            assert!(error.is_some(), "{what} is opened by the released reader");
        }
    }
    seen.refused += 1;
}

pub fn ranges(_: &str, OfRanges { block, index, .. }: &OfRanges, _: &[Vec<u8>], [blocks, indexes]: [&mut Seen; 2]) {
    unknown(block, "a range filter", blocks);
    let error = released::OpenOptions::new().with_context(CONTEXT).open(block).err().expect("unknown");
    assert_eq!(error.class(), released::DecodeErrorClass::Newer, "{error}");
    unknown(index, "an index of ranges", indexes);
}

pub fn set(object: &[u8], _: &Files, seen: &mut Seen) {
    unknown(object, "a set", seen);
}
