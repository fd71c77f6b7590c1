//! The layout of a store's files according to the format, read here independently of the store.

use filterblock::kv::PAGE_LEN;
use std::ops::Range;

/// The kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Lock,
    Manifest,
    Log,
    Table,
    Filters,
}

impl Kind {
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name.split_once('.').map_or(name, |(_, extension)| extension) {
            "LOCK" => Some(Self::Lock),
            "MANIFEST" => Some(Self::Manifest),
            "wal" => Some(Self::Log),
            "sst" => Some(Self::Table),
            "flt" => Some(Self::Filters),
            _ => None,
        }
    }
}

/// The unit that a byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unit {
    Data,
    Index,
    Filter,
    /// Padding after an index or a filter, up to the end of the page.
    Padding,
    Footer,
    /// A record of a log, by its number.
    Record(usize),
}

/// The little-endian integer of `len` bytes at `at`.
pub(crate) fn number_at(bytes: &[u8], at: usize, len: usize) -> usize {
    bytes[at..at + len].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

/// The ranges of a log's records.
pub(crate) fn records(log: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut records) = (0, Vec::new());
    while at < log.len() {
        let end = at + 24 + number_at(log, at + 8, 4);
        records.push(at..end);
        at = end;
    }
    assert_eq!(at, log.len());
    records
}

/// The units of an intact file, in order and without gaps.
pub(crate) fn units(kind: Kind, file: &[u8]) -> Vec<(Range<usize>, Unit)> {
    match kind {
        Kind::Lock => Vec::new(),
        Kind::Manifest | Kind::Log => {
            records(file).into_iter().enumerate().map(|(i, record)| (record, Unit::Record(i))).collect()
        }
        Kind::Table | Kind::Filters => table_units(file),
    }
}

fn table_units(file: &[u8]) -> Vec<(Range<usize>, Unit)> {
    let footer = &file[file.len() - PAGE_LEN..];
    let (data_len, index_len, num_filters) =
        (number_at(footer, 80, 8), number_at(footer, 88, 8), number_at(footer, 96, 8));
    let mut units = Vec::new();
    let mut at = 0;
    let mut push = |len: usize, unit| {
        for (end, unit) in [(at + len, unit), ((at + len).next_multiple_of(PAGE_LEN), Unit::Padding)] {
            if end > at {
                units.push((at..end, unit));
                at = end;
            }
        }
    };
    push(data_len, Unit::Data);
    push(index_len, Unit::Index);
    for i in 0..num_filters {
        push(number_at(footer, 104 + 16 * i, 8), Unit::Filter);
    }
    push(PAGE_LEN, Unit::Footer);
    assert_eq!(at, file.len());
    units
}
