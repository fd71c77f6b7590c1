//! Every writer of this package, given nothing, and given twice.

use crate::*;

type Write = fn(&mut FileWriter<'_>);

fn builder() -> SetBuilder {
    SetBuilder::new(&policy("bloom:20"), &columns(2)).expect("a builder")
}

/// Returns whether the file `f` of identity 1 may have the number 7.
fn may_have_7(set: &FilterSet) -> bool {
    let (query, files) = (set.query(b"id", [Value::Int(7)]), set.select([("f", 1)]));
    set.answer(&query, &files).of_key(0)[0]
}

/// The set of one file, whose column `id` was written by `write`, with its blocks in memory; and how many columns have no
/// filter.
fn one_file(write: impl FnOnce(&mut FileWriter<'_>)) -> (FilterSet, Vec<usize>) {
    let mut builder = builder();
    let mut file = builder.file("f", 1).expect("a file");
    write(&mut file);
    let without = file.finish().expect("blocks");
    let bytes = builder.finish().expect("a set");
    let set = open(&bytes).expect("a set");
    set.give(0, &bytes);
    (set, without)
}

/// Every writer of this package, given nothing, and what it makes of nothing that was asked for.
#[test]
fn given_nothing() {
    // A set.
    assert_eq!(builder().finish(), Err(SetBuildError::Empty));
    let none = builder().allow_empty().finish().expect("a set of a table without files");
    assert_eq!(open(&none).expect("a set").files().count(), 0);
    assert!(may_have_7(&open(&none).expect("a set")));
    // A continuation.
    let one = set("bloom:20", 2, &tables(0, 1, 10));
    let old = open(&one).expect("a set");
    assert_eq!(builder().finish_append(&old, |_| false), Err(SetBuildError::Empty));
    assert!(builder().finish_append(&old, |_| true).is_ok(), "a file is dropped");
    // A compaction that keeps nothing.
    let mut of_none = builder();
    assert_eq!(of_none.absorb(&one, |_| false), Ok(0));
    assert_eq!(of_none.finish(), Err(SetBuildError::Empty));

    // A file's columns: an iterator without items, and one that was spent before.
    let mut spent = [7].into_iter();
    assert_eq!(spent.by_ref().count(), 1);
    let (nothing, without) = one_file(|file| spent.for_each(|id| assert!(file.add(0, Value::Int(id)))));
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

/// Every writer of this package, given the same twice, or finished twice.
#[test]
fn given_twice() {
    let files = tables(0, 2, 10);
    let mut builder = builder();
    add(&mut builder, &files);
    let first = builder.finish().expect("a set");
    // A second finish would replace the set by one that knows no file.
    assert_eq!(builder.finish(), Err(SetBuildError::Empty));
    let old = open(&first).expect("a set");
    assert_eq!(builder.finish_append(&old, |_| false), Err(SetBuildError::Empty));
    // What was allowed once is refused at the next finish.
    assert!(builder.allow_empty().finish().is_ok());
    assert_eq!(builder.finish(), Err(SetBuildError::Empty));

    // A file twice: in one set, in the set that is continued, by compaction.
    let named = |name: &str| Err(SetBuildError::FileName(name.into()));
    add(&mut builder, &files);
    assert_eq!(builder.file(&files[0].name, 9).map(|_| ()), named(&files[0].name));
    assert_eq!(builder.absorb(&first, |_| true), named(&files[0].name).map(|()| 0));
    assert_eq!(builder.finish_append(&old, |_| false).map(|_| ()), named(&files[0].name));
    // After the refusal the files are still there.
    assert_eq!(builder.finish(), Ok(first));

    // A column twice; a block twice for one column.
    let column = SetColumn::new("k", ValueClass::Text);
    let twice = SetBuilder::new(&policy("bloom:20"), &[column.clone(), column.clone()]);
    assert_eq!(twice.err(), Some(SetBuildError::ColumnName(b"k".to_vec())));
    let mut builder = SetBuilder::new(&policy("bloom:20"), &[column]).expect("a builder");
    let mut of_file = filterblock::FilterBlockBuilder::new(&policy("bloom:20"));
    of_file.add_key(b"x");
    let block = of_file.finish().expect("a block");
    let mut file = builder.file("f", 1).expect("a file");
    file.take_block(0, &block, 0).expect("a block");
    file.take_block(0, &block, 0).expect("a block");
    assert_eq!(file.finish(), Ok(vec![0]), "which of them has the keys is unknown");
}
