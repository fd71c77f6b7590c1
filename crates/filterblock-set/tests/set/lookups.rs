//! Lookups: answers beside a reader written from the document, requests, appending and compaction.

use crate::plain::PlainSet;
use crate::*;
use filterblock_set::FetchError;
use std::cell::RefCell;

/// Every answer of the library is that of the plain reader, which looks at one block at a time.
#[test]
fn answers_are_those_of_a_plain_reader() {
    for (policy, slices) in
        [("bloom:8", 1), ("golomb:8", 2), ("ribbon:fpr=1%", 5), ("blocked:8", 1), ("fuse:fpr=1%", 3)]
    {
        let tables = tables(0, 20, 60);
        let bytes = set(policy, slices, &tables);
        let plain = PlainSet::read(&bytes);
        let opened = open(&bytes).expect("a set");
        let keys: Vec<i64> = (0..300).map(|key| key * 331 % 60_000).collect();
        let values: Vec<Value<'_>> = keys.iter().map(|&key| Value::Int(key)).collect();
        let all = look_up(&opened, &bytes, &tables, "id", &values);
        let mut denied = 0;
        for (key, value) in values.iter().enumerate() {
            let one = look_up(&opened, &bytes, &tables, "id", &[*value]);
            assert_eq!(one.of_key(0), all.of_key(key));
            for (table, answer) in tables.iter().zip(all.of_key(key)) {
                let entry: Vec<u8> = (0..8).map(|i| (keys[key] >> (8 * i)) as u8).collect();
                assert_eq!(*answer, plain.may_contain(&table.name, "id", &entry), "{policy} {key}");
                denied += usize::from(!answer);
            }
        }
        assert!(denied > 300 * 20 * 9 / 10, "{policy}: {denied}");
        let any: Vec<bool> = (0..tables.len()).map(|file| (0..keys.len()).any(|key| all.of_key(key)[file])).collect();
        assert_eq!(all.of_any_key(), any);
    }
}

/// A store of objects that counts requests.
struct Counted<'a> {
    bytes: &'a [u8],
    requests: RefCell<Vec<Range<u64>>>,
}

impl Counted<'_> {
    fn fetch(&self, range: Range<u64>) -> Result<Vec<u8>, String> {
        self.requests.borrow_mut().push(range.clone());
        let bytes = self.bytes.get(range.start as usize..range.end as usize);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| "out of the object".into())
    }

    fn taken(&self) -> (usize, u64) {
        let requests = self.requests.take();
        (requests.len(), requests.iter().map(|range| range.end - range.start).sum())
    }
}

#[test]
fn two_requests_cold_and_none_warm() {
    let tables = tables(0, 200, 8000);
    let bytes = set("ribbon:fpr=1%,seed=7", 16, &tables);
    let store = Counted { bytes: &bytes, requests: RefCell::default() };
    let set = FilterSet::fetch_index(bytes.len() as u64, None, |range| store.fetch(range)).expect("an index");
    let selection = set.select(selected(&tables));
    assert_eq!((selection.num_files(), selection.num_known()), (200, 200));
    let query = set.query(b"id", [Value::Int(17)]);
    set.load(&query, &selection, 4096, |range| store.fetch(range)).expect("blocks");
    let (requests, read) = store.taken();
    assert_eq!(requests, 2);
    assert!(read < FilterSet::TAIL_LEN + bytes.len() as u64 / 16, "{read} of {} bytes", bytes.len());
    let answers = set.answer(&query, &selection);
    assert!(answers.of_key(0)[17]);
    let planned = answers.of_key(0).iter().filter(|may_contain| **may_contain).count();
    assert!(planned <= 12, "{planned} of 200 files");
    set.load(&query, &selection, 4096, |range| store.fetch(range)).expect("no request");
    assert_eq!(store.taken(), (0, 0));
    assert!(set.held_bytes() > 0);

    // A tail that is too short for the index names what is missing; bytes that end early do not loop.
    let footer = &bytes[bytes.len() - 64..];
    let needs = FilterSet::open(bytes.len() as u64, footer, None).expect("a footer");
    let filterblock_set::Opening::Needs(range) = needs else { panic!("{needs:?}") };
    assert!(FilterSet::open(bytes.len() as u64, &bytes[range.start as usize..], None).is_ok());
    let short = FilterSet::fetch_index(bytes.len() as u64, None, |_| Ok::<_, String>(footer));
    assert!(matches!(short, Err(FetchError::Decode(DecodeError::TooShort { .. }))));
}

#[test]
fn what_cannot_be_looked_up_is_maybe() {
    let tables = tables(0, 3, 30);
    let bytes = set("bloom:10", 1, &tables);
    let set = open(&bytes).expect("a set");
    let absent = [Value::Int(999_999_999)];
    assert_eq!(look_up(&set, &bytes, &tables, "id", &absent).of_key(0), [false; 3]);
    // A column that the set does not have, values of another class, values without an entry.
    assert_eq!(look_up(&set, &bytes, &tables, "other", &absent).of_key(0), [true; 3]);
    let others = [Value::Text("x"), Value::NotIndexable, Value::Decimal { unscaled: i128::MAX, scale: -1 }];
    for value in others {
        let answers = look_up(&set, &bytes, &tables, "id", &[value, absent[0]]);
        assert_eq!((answers.of_key(0), answers.of_key(1)), (&[true; 3][..], &[false; 3][..]));
    }
    let query = set.query(b"id", others);
    assert_eq!(query.unanswerable().count(), query.num_keys());
    // Files that it does not know, and files that have changed.
    let mut others = tables.clone();
    others[1].identity ^= 1;
    others[2].name.push('x');
    assert_eq!(look_up(&set, &bytes, &others, "id", &absent).of_key(0), [false, true, true]);
    // A file may be named twice, and in any order.
    let twice = [tables[2].clone(), tables[0].clone(), tables[2].clone()];
    assert_eq!(look_up(&set, &bytes, &twice, "id", &[Value::Int(2)]).of_key(0), [true, false, true]);
    // Without their bytes, and where reading fails, blocks are maybe; the next lookup tries again.
    let cold = open(&bytes).expect("a set");
    let (query, selection) = (cold.query(b"id", absent), cold.select(selected(&tables)));
    assert_eq!(cold.answer(&query, &selection).of_key(0), [true; 3]);
    assert_eq!(cold.load(&query, &selection, 0, |_| Err::<Vec<u8>, _>("no network")), Err("no network"));
    assert_eq!(cold.answer(&query, &selection).of_key(0), [true; 3]);
    assert_eq!(look_up(&cold, &bytes, &tables, "id", &absent).of_key(0), [false; 3]);
}

#[test]
fn files_without_filters_are_maybe() {
    let mut builder = SetBuilder::new(&policy("bloom:10"), &columns(1)).expect("a builder");
    let mut tables = tables(0, 4, 10);
    tables[3].ids.clear();
    for (number, table) in tables.iter().enumerate() {
        let mut file = builder.file(&table.name, table.identity).expect("a file");
        table.ids.iter().for_each(|&id| assert!(file.add(0, Value::Int(id))));
        match number {
            0 => {}
            1 => file.give_up(0),
            2 => assert!(!file.add(0, Value::Text("not a number"))),
            _ => file.allow_empty(0),
        }
        file.finish().expect("blocks");
    }
    // Begun and given up: not in the set, and its keys are not in the next file.
    let mut file = builder.file("abandoned", 1).expect("a file");
    file.add(0, Value::Int(77));
    let _ = file;
    let mut file = builder.file("after", 2).expect("a file");
    file.allow_empty(0);
    file.finish().expect("blocks");
    assert_eq!(builder.file(&tables[0].name, 1).err(), Some(SetBuildError::FileName(tables[0].name.clone().into())));
    let bytes = builder.finish().expect("a set");
    let set = open(&bytes).expect("a set");
    let mut files = tables;
    files.push(Table { name: "after".into(), identity: 2, ids: [].into(), words: [].into() });
    let answers = look_up(&set, &bytes, &files, "id", &[Value::Int(77)]);
    assert_eq!(answers.of_key(0), [false, true, true, false, false]);
    // No value of `word` was added to any file.
    assert_eq!(look_up(&set, &bytes, &files, "word", &[Value::Text("x")]).of_key(0), [true; 5]);
}

#[test]
fn blocks_are_taken_as_they_are() {
    let policy = policy("ribbon:10,seed=9");
    let mut filter = FilterBlockBuilder::new(&policy);
    (0..1000u32).for_each(|key| filter.add_key(format!("key {key}").as_bytes()));
    let block = filter.set_context(42).finish().expect("a block");
    let mut builder = SetBuilder::new(&policy, &[SetColumn::new("k", ValueClass::Text)]).expect("a builder");
    let mut file = builder.file("f", 1).expect("a file");
    assert!(file.take_block(0, &block, 41).is_err());
    file.take_block(0, &block, 42).expect("the block");
    file.finish().expect("the file");
    // Keys beside a block that does not have them: neither is used.
    let mut file = builder.file("g", 1).expect("a file");
    file.take_block(0, &block, 42).expect("the block");
    file.add(0, Value::Text("another"));
    file.finish().expect("the file");
    let bytes = builder.finish().expect("a set");
    let set = open(&bytes).expect("a set");
    let tables = ["f", "g"].map(|name| Table { name: name.into(), identity: 1, ids: [].into(), words: [].into() });
    let keys: Vec<String> = (0..1000).map(|key| format!("key {key}")).collect();
    let values: Vec<_> = keys.iter().map(|key| Value::Text(key)).chain([Value::Text("absent")]).collect();
    let answers = look_up(&set, &bytes, &tables, "k", &values);
    assert!((0..1000).all(|key| answers.of_key(key) == [true, true]));
    assert_eq!(answers.of_key(1000), [false, true]);
    assert!(set.take_bad_blocks().is_empty());
}

/// Sets that are appended to, from which files are dropped, and that are compacted, lose no row; compaction makes the
/// bytes of a set that was written at once.
#[test]
fn appended_and_compacted() {
    for slices in [1, 3] {
        let all = tables(0, 9, 40);
        let mut bytes = set("blocked:10,seed=3", slices, &all[..4]);
        let mut builder = SetBuilder::new(&policy("blocked:10,seed=3"), &columns(slices)).expect("a builder");
        for batch in [&all[4..6], &all[6..9]] {
            add(&mut builder, batch);
            let more = builder.finish_append(&open(&bytes).expect("a set"), |name| name == all[1].name.as_bytes());
            bytes.extend(more.expect("more bytes"));
        }
        let seen = no_row_lost(&bytes, &all);
        assert!(seen.opened && seen.bad_blocks == 0, "{seen:?}");
        let set_of_all = open(&bytes).expect("a set");
        let absent = look_up(&set_of_all, &bytes, &all, "id", &[Value::Int(-1)]);
        let dropped = std::array::from_fn::<bool, 9, _>(|file| file == 1);
        assert_eq!(absent.of_key(0), dropped, "only the dropped file is maybe");

        // Compaction: only the files of the table that are left.
        let is_left = |name: &[u8]| name != all[2].name.as_bytes();
        assert_eq!(builder.absorb(&bytes, is_left), Ok(0));
        let compacted = builder.finish().expect("a set");
        let left: Vec<Table> =
            all.iter().enumerate().filter(|(at, _)| ![1, 2].contains(at)).map(|(_, t)| t.clone()).collect();
        assert_eq!(compacted, set("blocked:10,seed=3", slices, &left));

        // A damaged block is left out, and the file is maybe.
        let mut damaged = compacted.clone();
        damaged[3] ^= 1;
        assert_eq!(builder.absorb(&damaged, |_| true), Ok(1));
        let without = builder.finish().expect("a set");
        let seen = no_row_lost(&without, &left);
        assert!(seen.opened && seen.bad_blocks == 0);
        assert!(without.len() < compacted.len());
    }
}

#[test]
fn sets_that_do_not_fit_are_not_continued() {
    let first = tables(0, 2, 10);
    let old = open(&set("bloom:10,seed=1", 1, &first)).expect("a set");
    let continued = |policy_text: &str, columns: &[SetColumn], tables: &[Table]| {
        let mut builder = SetBuilder::new(&policy(policy_text), columns).expect("a builder");
        add(&mut builder, tables);
        builder.finish_append(&old, |_| false)
    };
    assert!(continued("ribbon:8,seed=1", &columns(1), &tables(5, 1, 10)).is_ok());
    let seed = DecodeError::WrongSeed { expected: 0, found: 1 };
    assert_eq!(continued("bloom:10", &columns(1), &[]).err(), Some(seed.into()));
    let hasher = SetBuilder::new(&policy("bloom:10").with_hasher(KeyHasher::keyed([7; 16])), &columns(1));
    let hash = DecodeError::WrongHash { expected: 2, found: 1 };
    assert_eq!(hasher.expect("a builder").finish_append(&old, |_| false).err(), Some(hash.into()));
    let [id, word] = columns(1);
    let other = SetColumn::new("other", ValueClass::Date);
    // The first column that differs is named, or the first that only one of the two sets has.
    let (fewer, more) = ([id.clone()], [id, word, other]);
    for (asked, named) in [(&columns(2)[..], "id"), (&fewer, "word"), (&more, "other")] {
        let error = continued("bloom:10,seed=1", asked, &[]).err();
        assert_eq!(error, Some(SetBuildError::ColumnName(named.into())));
    }
    assert!(matches!(continued("bloom:10,seed=1", &columns(1), &first), Err(SetBuildError::FileName(_))));
    let rows = policy("bloom:10").with_transform(filterblock::KeyTransform::Row);
    assert_eq!(SetBuilder::new(&rows, &[]).err(), Some(SetBuildError::Transform));
    let twice = [SetColumn::new("a", ValueClass::Text), SetColumn::new("a", ValueClass::Date)];
    assert_eq!(SetBuilder::new(&policy("bloom:10"), &twice).err(), Some(SetBuildError::ColumnName(b"a".to_vec())));
}

#[test]
fn hashers_are_compared() {
    let tables = tables(0, 2, 10);
    let bytes = set("bloom:10,seed=1", 1, &tables);
    let open = |bytes: &[u8], hasher: Option<KeyHasher>| {
        FilterSet::open(bytes.len() as u64, bytes, hasher.as_ref()).map(|_| ())
    };
    assert_eq!(open(&bytes, None), Ok(()));
    assert_eq!(open(&bytes, Some(KeyHasher::new(1))), Ok(()));
    assert_eq!(open(&bytes, Some(KeyHasher::new(2))), Err(DecodeError::WrongSeed { expected: 2, found: 1 }));
    let key = KeyHasher::keyed([7; 16]);
    assert_eq!(open(&bytes, Some(key.clone())), Err(DecodeError::WrongHash { expected: 2, found: 1 }));
    let mut builder = SetBuilder::new(&policy("bloom:10").with_hasher(key.clone()), &columns(2)).expect("a builder");
    add(&mut builder, &tables);
    let secret = builder.finish().expect("a set");
    assert_eq!(open(&secret, None), Err(DecodeError::KeyNeeded { key_id: key.seed() }));
    assert!(matches!(open(&secret, Some(KeyHasher::keyed([8; 16]))), Err(DecodeError::WrongKey { .. })));
    assert_eq!(open(&secret, Some(key)), Ok(()));
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
    let bytes = set("bloom:10", 1, &tables);
    let reversed: Vec<_> = tables.iter().rev().cloned().collect();
    let of_reversed = open(&set("bloom:10", 2, &reversed)).expect("a set");
    let own = open(&bytes).expect("a set");
    let absent = [Value::Int(999_999_999)];
    assert_eq!(look_up(&own, &bytes, &tables, "id", &absent).of_key(0), [false; 4]);
    let (query, selection) = (own.query(b"id", absent), own.select(selected(&tables)));
    let (query_of_other, selection_of_other) =
        (of_reversed.query(b"id", absent), of_reversed.select(selected(&tables)));
    for (query, selection) in
        [(&query_of_other, &selection), (&query, &selection_of_other), (&query_of_other, &selection_of_other)]
    {
        assert_eq!(own.answer(query, selection).of_key(0), [true; 4]);
        assert!(open(&bytes).expect("a set").plan(query, selection, 0).is_empty());
    }
    assert_eq!(own.answer(&query, &selection).of_key(0), [false; 4]);
}
