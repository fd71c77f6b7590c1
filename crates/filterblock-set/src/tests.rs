//! Numbers at their greatest.

use crate::group::Group;
use crate::writer::GroupWriter;
use crate::{FetchError, FilterSet, Opening, Record, SetBuilder, SetColumn, Shape, Sizing, Table, Value, ValueClass};
use filterblock::{DecodeError, KeyHasher};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::ops::Range;

/// A unit of one lane has up to 2^31 bytes: more rows than 32 bits number.
#[test]
fn rows_of_the_longest_units_are_numbered() {
    let (shape, num_pages) = (Shape { num_visits: 1, num_bands: 2, row_bits: 3 }, 1 << 30);
    let mut record = Record::new(0, 0, Table { shape, num_pages }, 1).expect("a record");
    record.unit_pages = num_pages;
    let record = Record::decode(&record.encode().try_into().expect("a record's bytes")).expect("legal");
    assert_eq!(record.row(num_pages - 1, 15), (1 << 34) - 1);
}

/// A caller may make any shape and any table.
#[test]
fn shapes_out_of_range_have_no_records() {
    for row_bits in [9, 31, 32, 255] {
        let shape = Shape { num_visits: 255, num_bands: 255, row_bits };
        let table = Table { shape, num_pages: u32::MAX };
        assert_eq!(Record::new(0, 0, table, u32::MAX), None, "{row_bits} {}", table.num_rows());
    }
}

/// Notes the longest write.
#[derive(Default)]
struct Longest(Cursor<Vec<u8>>, usize);

impl Read for &mut Longest {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Seek for &mut Longest {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl Write for &mut Longest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1 = self.1.max(bytes.len());
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// In the scratch a row has at least a byte, in a unit of one lane a bit.
#[test]
fn the_longest_units_are_taken_over_in_pieces() {
    let (sizing, num_pages) = (Sizing::new(1_000, 0.01).expect("legal"), 1 << 19);
    let table = Table { shape: sizing.shape(), num_pages };
    let mut record = Record::new(0, 0, table, 1).expect("a record");
    record.unit_pages = num_pages;
    let (mut scratch, group) = (Longest::default(), Group { record, context: 0, files: vec![0] });
    let mut writer = GroupWriter::new(sizing, &mut scratch, 0);
    let num_bad = writer.absorb(&group, &[Some((1, 0))], |_| Ok(Vec::new())).expect("in memory");
    drop(writer);
    assert_eq!(num_bad, table.shape.num_visits.into());
    assert_eq!((scratch.0.into_inner().len() as u64, scratch.1), (table.num_rows(), 4 << 20));
}

/// Their groups have equal contexts, but not equal units.
#[test]
fn files_of_equal_identities_do_not_share_what_is_cached() {
    let (hasher, sizing) = (KeyHasher::new(7), Sizing::new(1_000, 0.01).expect("legal"));
    let columns = [SetColumn::new("id", ValueClass::Number, sizing)];
    let file = |name: &str, values: Range<i64>| {
        let mut builder = SetBuilder::new(&hasher, &columns).expect("legal");
        let mut file = builder.file(name, 1).expect("a name");
        values.for_each(|value| assert!(file.add(0, Value::Int(value))));
        file.finish().expect("in memory");
        builder
    };
    let open = |bytes: &[u8]| match FilterSet::open(bytes.len() as u64, bytes, None) {
        Ok(Opening::Ready(set)) => *set,
        _ => unreachable!("an intact set"),
    };
    let mut bytes = Vec::new();
    file("a", 0..1_000).finish(&mut bytes).expect("in memory");
    file("b", 1_000..2_000).finish_append(&open(&bytes), |_| false, &mut bytes).expect("in memory");
    let set = open(&bytes);
    let files = set.select([("a", 1), ("b", 1)]);
    for value in (0..2_000).chain(0..2_000) {
        let mut lookup = set.lookup(&set.query(b"id", [Value::Int(value)]), &files);
        lookup.load(0, |range| Ok::<_, ()>(&bytes[range.start as usize..range.end as usize])).expect("in memory");
        assert!(lookup.any().contains(usize::from(value >= 1_000)), "{value}");
    }
}

/// Its first write fails, if so stated.
struct FailsOnce(Cursor<Vec<u8>>, bool);

impl Read for FailsOnce {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Seek for FailsOnce {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl Write for FailsOnce {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if std::mem::take(&mut self.1) { Err(io::ErrorKind::StorageFull.into()) } else { self.0.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file of which a column could not be added keeps its number.
#[test]
fn a_builder_that_has_failed_writes_a_set_that_denies_nothing() {
    let sizing = Sizing::new(100, 0.01).expect("legal");
    let columns = ["a", "b"].map(|name| SetColumn::new(name, ValueClass::Number, sizing));
    let mut fails = false;
    let scratch = || {
        fails = !fails;
        Ok(FailsOnce(Cursor::default(), !fails))
    };
    let mut builder = SetBuilder::with_scratch(&KeyHasher::new(7), &columns, usize::MAX, scratch).expect("legal");
    let names: Vec<String> = (0..10).map(|number| format!("file {number}")).collect();
    let add = |name: &String| {
        let mut file = builder.file(name, 1).expect("a name");
        (0..2).for_each(|column| assert!(file.add(column, Value::Int(5))));
        file.finish().is_err()
    };
    assert_eq!(names.iter().map(add).filter(|&has_failed| has_failed).count(), 1, "the second column of eight files");
    let mut bytes = Vec::new();
    builder.finish(&mut bytes).expect("in memory");
    let Ok(Opening::Ready(set)) = FilterSet::open(bytes.len() as u64, &bytes, None) else { panic!("a set") };
    let files = set.select(names.iter().map(|name| (name, 1)));
    for (column, value, denied) in [("a", 5, 0), ("a", 6, 10), ("b", 5, 0), ("b", 6, 2)] {
        let query = set.query(column.as_bytes(), [Value::Int(value)]);
        let mut lookup = set.lookup(&query, &files);
        lookup.give(0, &bytes);
        assert_eq!(10 - lookup.any().count(), denied, "{column} {value}");
    }
}

/// Between the two reads the object is replaced: by one with a longer index, or by a shorter one.
#[test]
fn an_index_of_two_objects_is_an_error() {
    let columns = [SetColumn::new("id", ValueClass::Number, Sizing::new(10, 0.01).expect("legal"))];
    let object = |num_files: u64| {
        let mut builder = SetBuilder::new(&KeyHasher::new(7), &columns).expect("legal");
        for number in 0..num_files {
            builder.file(format!("{number:0>1000}"), number).expect("a name").finish().expect("in memory");
        }
        let mut bytes = vec![0; 1 << 20];
        builder.finish(&mut bytes).expect("in memory");
        bytes.split_off(bytes.len() - (1 << 20))
    };
    for (second, cut) in [(120, 0), (60, 1)] {
        let mut reads = [(object(60), 0), (object(second), cut)].into_iter();
        let opened = FilterSet::fetch_index(1 << 20, None, |range| {
            let (bytes, cut) = reads.next().expect("two reads");
            Ok::<_, ()>(bytes[range.start as usize + cut..range.end as usize].to_vec())
        });
        assert!(matches!(opened, Err(FetchError::Decode(DecodeError::TooShort { .. }))), "{opened:?}");
        assert!(reads.next().is_none());
    }
}
