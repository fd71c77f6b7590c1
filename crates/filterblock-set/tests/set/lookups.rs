//! Lookups: answers beside a reader written from the document, requests, appending and compaction.

use crate::*;
use filterblock_set::FetchError;
use std::cell::RefCell;

#[test]
fn four_requests_cold_and_none_warm() {
    let tables = tables(0, 200, 3000);
    let mut builder = SetBuilder::new(&hasher(), &columns(3000)).expect("a builder");
    add(&mut builder, &tables);
    let bytes = finish(builder);
    let reads = RefCell::new(Vec::new());
    let fetch = |range: Range<u64>| {
        reads.borrow_mut().push(range.end - range.start);
        bytes.get(range.start as usize..range.end as usize).ok_or("out of the object")
    };
    let set = FilterSet::fetch_index(bytes.len() as u64, None, fetch).expect("an index");
    let selection = set.select(selected(&tables));
    assert_eq!((selection.num_files(), selection.num_known()), (200, 200));
    let query = set.query(b"id", [Value::Int(17)]);
    let mut lookup = set.lookup(&query, &selection);
    lookup.load(4096, fetch).expect("units");
    let read = reads.take();
    assert_eq!(read.len(), 1 + 3);
    assert!(read.iter().sum::<u64>() <= FilterSet::TAIL_LEN + 3 * 1500, "{read:?} of {} bytes", bytes.len());
    let planned = lookup.any();
    assert!(planned.contains(17) && planned.count() <= 12, "{planned:?}");
    set.lookup(&query, &selection).load(4096, fetch).expect("no request");
    assert!(reads.take().is_empty() && set.held_bytes() > 0);

    // A tail that is too short for the index names what is missing; bytes that end early do not loop.
    let footer = &bytes[bytes.len() - 64..];
    let needs = FilterSet::open(bytes.len() as u64, footer, None).expect("a footer");
    let filterblock_set::Opening::Needs(range) = needs else { panic!("{needs:?}") };
    let [all, fewer] = [0, 1].map(|cut| FilterSet::open(range.end, &bytes[range.start as usize + cut..], None));
    assert!(matches!((all, fewer), (Ok(Opening::Ready(_)), Ok(Opening::Needs(_)))));
    let short = FilterSet::fetch_index(bytes.len() as u64, None, |_| Ok::<_, String>(footer));
    assert!(matches!(short, Err(FetchError::Decode(DecodeError::TooShort { .. }))));
    assert!(short.is_err_and(|error| error.to_string().starts_with("the index is not used: ")));
}

#[test]
fn what_cannot_be_looked_up_is_maybe() {
    let tables = tables(0, 3, 30);
    let bytes = set(&tables);
    let set = open(&bytes).expect("a set");
    let absent = [Value::Int(999_999_998)];
    assert_eq!(look_up(&set, &bytes, &tables, "id", &absent)[0], [false; 3]);
    // A column that the set does not have, values of another class, values without an entry.
    assert_eq!(look_up(&set, &bytes, &tables, "other", &absent)[0], [true; 3]);
    let others = [Value::Text("x"), Value::NotIndexable, Value::Decimal { unscaled: i128::MAX, scale: -1 }];
    for value in others {
        let answers = look_up(&set, &bytes, &tables, "id", &[value, absent[0]]);
        assert_eq!(answers, [[true; 3], [false; 3]]);
    }
    let query = set.query(b"id", others);
    assert_eq!(query.unanswerable().count(), query.num_keys());
    // Files that it does not know, and files that have changed.
    let mut others = tables.clone();
    others[1].identity ^= 1;
    others[2].name.push('x');
    assert_eq!(look_up(&set, &bytes, &others, "id", &absent)[0], [false, true, true]);
    // A file may be named twice, and in any order.
    let [known, [_, changed, unknown]] = [&tables, &others].map(|of| [0, 1, 2].map(|file| &of[file]));
    let twice = [known[2], known[0], known[2], changed, changed, unknown, unknown].map(Table::clone);
    assert_eq!(look_up(&set, &bytes, &twice, "id", &absent)[0], [0, 0, 0, 1, 1, 1, 1].map(|maybe| maybe == 1));
    assert_eq!(look_up(&set, &bytes, &twice, "id", &[Value::Int(2)])[0], [1, 0, 1, 1, 1, 1, 1].map(|maybe| maybe == 1));
    let twice = set.select(selected(&twice));
    assert_eq!((twice.num_known(), twice.num_changed(), twice.num_unknown()), (3, 2, 2));
    // Without their bytes, and where reading fails, blocks are maybe; the next lookup tries again.
    let cold = open(&bytes).expect("a set");
    let (query, selection) = (cold.query(b"id", absent), cold.select(selected(&tables)));
    let mut lookup = cold.lookup(&query, &selection);
    assert_eq!(lookup.any(), FileMask::all(3));
    assert_eq!(lookup.load(0, |_| Err::<Vec<u8>, _>("no network")), Err("no network"));
    lookup.give(0, &vec![0; bytes.len()]);
    assert_eq!((lookup.any(), lookup.bad_units().len()), (FileMask::all(3), 3));
    assert_eq!(look_up(&cold, &bytes, &tables, "id", &absent)[0], [false; 3]);
}

#[test]
fn sets_that_do_not_fit_are_not_continued() {
    let first = tables(0, 2, 10);
    let old = open(&set(&first)).expect("a set");
    let continued = |hasher: KeyHasher, columns: &[SetColumn], tables: &[Table]| {
        let mut builder = SetBuilder::new(&hasher, columns).expect("a builder");
        add(&mut builder, tables);
        builder.finish_append(&old, |_| false, &mut Vec::new())
    };
    // Files of another size, and another rate, have groups of their own.
    assert!(continued(hasher(), &columns(5000), &tables(5, 1, 10)).is_ok());
    let decode = |error: Option<SetBuildError>| match error {
        Some(SetBuildError::Decode(error)) => error,
        other => panic!("{other:?}"),
    };
    let error = continued(KeyHasher::new(0), &columns(40), &[]).err();
    assert_eq!(decode(error), DecodeError::WrongSeed { expected: 0, found: 7 });
    let error = continued(KeyHasher::keyed([7; 16]), &columns(40), &[]).err();
    assert_eq!(decode(error), DecodeError::WrongHash { expected: 2, found: 1 });
    let [id, word] = columns(40);
    let other = SetColumn::new("other", ValueClass::Date, usual(1, 0.1));
    let of_class = SetColumn::new("id", ValueClass::Text, usual(1, 0.1));
    // The first column that differs is named, or the first that only one of the two sets has.
    let (fewer, more, changed) = ([id.clone()], [id, word.clone(), other], [of_class, word]);
    for (asked, named) in [(&changed[..], "id"), (&fewer, "word"), (&more, "other")] {
        let error = continued(hasher(), asked, &[]).err();
        assert!(matches!(error, Some(SetBuildError::ColumnName(name)) if name == named.as_bytes()));
    }
    assert!(matches!(continued(hasher(), &columns(40), &first), Err(SetBuildError::FileName(_))));
}

/// Equal values, in whatever type they come, have equal entries; different values have different ones.
#[test]
fn equal_values_have_equal_entries() {
    let mut numbers = Random::new(1);
    let entry = |value: Value<'_>| value.entry(&mut Default::default()).map(<[u8]>::to_vec);
    let mut seen = std::collections::HashMap::new();
    for _ in 0..20_000 {
        let count = (numbers.next() as i64) >> numbers.index(64);
        let scale = numbers.index(8) as i8;
        let exact = entry(Value::Decimal { unscaled: count.into(), scale }).expect("an entry");
        // One more decimal place of a zero is the same number.
        assert_eq!(entry(Value::Decimal { unscaled: i128::from(count) * 1000, scale: scale + 3 }), Some(exact.clone()));
        assert_eq!(entry(Value::Int(count)), entry(Value::Wide(count.into())));
        assert_eq!(entry(Value::Int(count)), entry(Value::Decimal { unscaled: count.into(), scale: 0 }));
        let million = count / 1_000_000;
        for (finer, unit) in [(1_000, TimeUnit::Millisecond), (1_000_000, TimeUnit::Microsecond)] {
            assert_eq!(entry(Value::Instant(million, TimeUnit::Second)), entry(Value::Instant(million * finer, unit)));
        }
        // The reduced number, worked out another way.
        let mut reduced = (count, scale);
        while reduced.1 > 0 && reduced.0 % 10 == 0 {
            reduced = (reduced.0 / 10, reduced.1 - 1);
        }
        assert_eq!(*seen.entry(exact).or_insert(reduced), reduced);
    }
    assert!(seen.len() > 10_000);
}

/// Numbers of files and columns are a set's own, so a query or a selection of another set, as of the one before files
/// were added, says nothing.
#[test]
fn queries_and_selections_of_another_set_are_maybe() {
    let tables = tables(0, 4, 30);
    let bytes = set(&tables);
    // The other set has more files, in another order.
    let mut reversed = crate::tables(0, 6, 30);
    reversed.reverse();
    let of_reversed = open(&set(&reversed)).expect("a set");
    let own = open(&bytes).expect("a set");
    let absent = [Value::Int(999_999_998)];
    assert_eq!(look_up(&own, &bytes, &tables, "id", &absent)[0], [false; 4]);
    let (query, selection) = (own.query(b"id", absent), own.select(selected(&tables)));
    let (query_of_other, selection_of_other) =
        (of_reversed.query(b"id", absent), of_reversed.select(selected(&tables)));
    for (query, selection) in
        [(&query_of_other, &selection), (&query, &selection_of_other), (&query_of_other, &selection_of_other)]
    {
        let lookup = own.lookup(query, selection);
        assert_eq!(lookup.any(), FileMask::all(4));
        assert!(open(&bytes).expect("a set").lookup(query, selection).plan(0).is_empty());
    }
    assert_eq!(own.lookup(&query, &selection).any().count(), 0);
}

/// Bytes that were not asked for, at any place.
#[test]
fn bytes_given_anywhere_are_maybe() {
    let (tables, mut random) = (tables(0, 3, 6), Random::new(6));
    let set = open(&set(&tables)).expect("a set");
    let (query, selection) = (set.query(b"id", [Value::Int(0)]), set.select(selected(&tables)));
    for _ in 0..2000 {
        let (len, mut lookup) = (random.below(500), set.lookup(&query, &selection));
        let (bytes, near) = (random.bytes(len), random.below(700));
        lookup.give(random.next(), &bytes);
        lookup.give(near, &bytes);
        assert_eq!(lookup.any(), FileMask::all(3));
    }
}
