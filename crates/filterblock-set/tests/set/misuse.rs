//! Every writer of this package, given nothing, and given twice.

use crate::*;

type Write = fn(&mut Files<'_>);
type Files<'a> = FileWriter<'a, std::io::Cursor<Vec<u8>>>;

/// Returns whether the file `f` of identity 1, which is listed twice, may have the number 7.
fn may_have_7((set, bytes): &(FilterSet, Vec<u8>)) -> bool {
    let (query, files) = (set.query(b"id", [Value::Int(7)]), set.select([("f", 1); 2]));
    let mut lookup = set.lookup(&query, &files);
    lookup.give(0, bytes);
    let answers = bools(&lookup.any());
    assert_eq!(answers[0], answers[1]);
    answers[0]
}

/// The set of one file, whose column `id` was written by `write`, with its blocks in memory; and how many columns have no
/// filter.
fn one_file(write: impl FnOnce(&mut Files<'_>)) -> ((FilterSet, Vec<u8>), Vec<usize>) {
    let mut builder = builder();
    let mut file = builder.file("f", 1).expect("a file");
    write(&mut file);
    let without = file.finish().expect("blocks");
    let bytes = finish(builder);
    ((open(&bytes).expect("a set"), bytes), without)
}

/// Every writer of this package, given nothing, and what it makes of nothing that was asked for.
#[test]
fn given_nothing() {
    // A set.
    let is_empty = |result| matches!(result, Err(SetBuildError::Empty));
    let sink = &mut Vec::new();
    assert!(is_empty(builder().finish(sink)));
    let mut none = builder();
    none.allow_empty();
    let none = finish(none);
    let opened = open(&none).expect("a set of a table without files");
    assert_eq!(opened.files().count(), 0);
    assert!(may_have_7(&(opened, none)));
    // A continuation.
    let one = set(&tables(0, 1, 10));
    let old = open(&one).expect("a set");
    assert!(is_empty(builder().finish_append(&old, |_| false, sink)));
    assert!(builder().finish_append(&old, |_| true, sink).is_ok(), "a file is dropped");
    // A compaction that keeps nothing.
    let mut of_none = builder();
    assert!(matches!(of_none.absorb(&old, |_| false, |_| Ok(&one)), Ok(0)));
    assert!(is_empty(of_none.finish(sink)));

    // A file's columns.
    let (nothing, without) = one_file(|_| ());
    assert_eq!((may_have_7(&nothing), without), (true, vec![0, 1]));
    // Nulls alone, and a file that was said to have no row, have nothing.
    let nulls: [Write; 2] = [|file| file.add_null(0), |file| file.allow_empty(0)];
    for write in nulls {
        let (nothing, without) = one_file(write);
        assert_eq!((may_have_7(&nothing), without), (false, vec![1]));
    }
    // A value beside nulls, and one that cannot be looked up, in either order.
    let (seven, without) = one_file(|file| {
        file.add_null(0);
        file.add(0, Value::Int(7));
        file.add_null(0);
        file.allow_empty(0);
    });
    assert_eq!((may_have_7(&seven), without), (true, vec![1]));
    let unknown: [Write; 3] = [
        |file| {
            file.add_null(0);
            file.add(0, Value::NotIndexable);
        },
        |file| {
            file.add(0, Value::NotIndexable);
            file.add_null(0);
        },
        |file| {
            file.give_up(0);
            file.allow_empty(0);
        },
    ];
    for write in unknown {
        let (unknown, without) = one_file(write);
        assert_eq!((may_have_7(&unknown), without), (true, vec![0, 1]));
    }
}

/// Every writer of this package, given the same twice. It cannot be finished twice: a finish consumes it.
#[test]
fn given_twice() {
    let files = tables(0, 2, 10);
    let first = set(&files);
    let old = open(&first).expect("a set");
    // A file twice: in one set, in the set that is continued, by compaction.
    let name = files[0].name.as_bytes();
    let is_named = |error: SetBuildError| matches!(error, SetBuildError::FileName(named) if named == name);
    let mut twice = builder();
    add(&mut twice, &files);
    assert!(twice.file(name, 9).err().is_some_and(is_named));
    let read = |range: Range<u64>| Ok(&first[range.start as usize..range.end as usize]);
    assert!(twice.absorb(&old, |_| true, read).err().is_some_and(is_named));
    let mut twice = builder();
    add(&mut twice, &files);
    assert!(twice.finish_append(&old, |_| false, &mut Vec::new()).err().is_some_and(is_named));

    // A column twice.
    let column = SetColumn::new("k", ValueClass::Text, usual(10, 0.01));
    let twice = SetBuilder::new(&hasher(), &[column.clone(), column]);
    assert!(matches!(twice.err(), Some(SetBuildError::ColumnName(name)) if name == b"k"));
}

/// As many columns as a set may have, and one more.
#[test]
fn columns_of_every_number() {
    let column = |number: u32| SetColumn::new(number.to_string(), ValueClass::Number, usual(1, 0.1));
    let columns: Vec<_> = (0..=u32::from(u16::MAX)).map(column).collect();
    assert!(matches!(SetBuilder::new(&hasher(), &columns), Err(SetBuildError::TooLarge)));
    let mut builder = SetBuilder::new(&hasher(), &columns[1..]).expect("a builder");
    builder.file("f", 1).expect("a file").finish().expect("no filters");
    let bytes = finish(builder);
    assert!(may_have_7(&(open(&bytes).expect("a set"), bytes)), "it has no column `id`");
}
