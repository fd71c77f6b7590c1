//! The tables of mistakes: those that are refused or cost reads, and those that cannot be seen from inside, which
//! EMBEDDING.md lists under the same names. Each row commits its mistake.

use crate::*;
use testkit::mistakes::Outcome::{Denies, Maybe, PanicsInDebug, Refused};
use testkit::mistakes::{Row, Tried, assert_listed, commit, refused};

const KEYS: i64 = 400;

/// Value number k, which may borrow from the text.
type Make = for<'a> fn(&'a mut String, i64) -> Value<'a>;

type Files<'a> = FileWriter<'a, std::io::Cursor<Vec<u8>>>;

/// A set with all its bytes.
type Whole = (FilterSet, Vec<u8>);

fn builder(class: ValueClass) -> SetBuilder {
    SetBuilder::new(&hasher(), &[SetColumn::new("c", class, usual(400, 1e-6))]).expect("a builder")
}

/// The set of the file `f` of identity 1, whose only column `write` wrote; all of it is in memory.
fn file(class: ValueClass, write: impl FnOnce(&mut Files<'_>)) -> Result<Whole, String> {
    file_of(1, class, write)
}

fn file_of(identity: u64, class: ValueClass, write: impl FnOnce(&mut Files<'_>)) -> Result<Whole, String> {
    let mut builder = builder(class);
    let mut file = builder.file("f", identity).expect("a file");
    write(&mut file);
    file.finish().map_err(refused)?;
    let mut bytes = Vec::new();
    builder.finish(&mut bytes).map_err(refused)?;
    open(&bytes, None)
}

fn open(bytes: &[u8], hasher: Option<KeyHasher>) -> Result<Whole, String> {
    match FilterSet::open(bytes.len() as u64, bytes, hasher.as_ref()) {
        Ok(Opening::Ready(set)) => Ok((*set, bytes.to_vec())),
        Ok(Opening::Needs(range)) => panic!("all bytes were given, {range:?} is asked for"),
        Err(error) => Err(refused(error)),
    }
}

fn add_all(make: Make) -> impl FnOnce(&mut Files<'_>) {
    move |file| {
        (0..KEYS).for_each(|key| {
            file.add(0, make(&mut String::new(), key));
        });
    }
}

/// The answer for one file.
fn may_match<'a>(
    (set, bytes): &Whole,
    file: (&str, u64),
    column: &str,
    values: impl IntoIterator<Item = Value<'a>>,
) -> FileMask {
    let (query, files) = (set.query(column.as_bytes(), values), set.select([file]));
    let mut lookup = set.lookup(&query, &files);
    lookup.give(0, bytes);
    lookup.any()
}

/// The stored values that the set denies, asked for as `make` makes them.
fn denied(set: &Whole, name: &str, identity: u64, column: &str, make: Make) -> Tried {
    let may_match = |key| may_match(set, (name, identity), column, [make(&mut String::new(), key)]);
    Ok((0..KEYS).filter(|&key| !may_match(key).contains(0)).count())
}

/// Added in one way, asked for in another.
fn asked_otherwise(class: ValueClass, add: Make, ask: Make) -> Tried {
    denied(&file(class, add_all(add))?, "f", 1, "c", ask)
}

fn int(_: &mut String, key: i64) -> Value<'_> {
    Value::Int(key)
}

/// The set of numbers, asked for by other names or another identity.
fn numbers(name: &str, identity: u64, column: &str) -> Tried {
    denied(&file(ValueClass::Number, add_all(int))?, name, identity, column, int)
}

/// The set of the file with numbers, by a builder of its own.
fn of_numbers(mut builder: SetBuilder) -> Tried {
    let mut file = builder.file("f", 1).map_err(refused)?;
    add_all(int)(&mut file);
    file.finish().map_err(refused)?;
    denied(&open(&finish(builder), None)?, "f", 1, "c", int)
}

/// The set of the file when it had other numbers.
fn other_values(identity: u64) -> Result<Whole, String> {
    file_of(identity, ValueClass::Number, |file| (KEYS..2 * KEYS).for_each(|key| assert!(file.add(0, Value::Int(key)))))
}

fn text<'a>(of: &'a mut String, key: i64, suffix: &str) -> Value<'a> {
    *of = format!("value {key}{suffix}");
    Value::Text(of)
}

/// What is refused or *maybe*.
const NOTICED: &[Row] = &[
    ("nothing was added to a column", Maybe, || denied(&file(ValueClass::Number, |_| {})?, "f", 1, "c", int)),
    ("a set without files", Refused, || {
        builder(ValueClass::Number).finish(&mut Vec::new()).map(|_| 0).map_err(refused)
    }),
    ("a file is begun and not finished", Maybe, || {
        let mut builder = builder(ValueClass::Number);
        add_all(int)(&mut builder.file("f", 1).expect("a file"));
        builder.file("g", 1).expect("a file").finish().expect("a file without filters");
        denied(&open(&finish(builder), None)?, "f", 1, "c", int)
    }),
    ("two parts of a file under one name", Refused, || {
        let mut builder = builder(ValueClass::Number);
        builder.file("f", 1).expect("a file").finish().expect("a file without filters");
        builder.file("f", 1).map(|_| 0).map_err(refused)
    }),
    ("names of another form", Maybe, || numbers("./f", 1, "c")),
    ("an identity of other parts", Maybe, || numbers("f", 2, "c")),
    ("the column was renamed", Maybe, || numbers("f", 1, "d")),
    ("values of another class than the column's are added", Maybe, || {
        let set = file(ValueClass::Number, |file| {
            add_all(int)(file);
            assert!(!file.add(0, Value::Text("7")));
        })?;
        denied(&set, "f", 1, "c", int)
    }),
    ("values of another class than the column's are queried", Maybe, || {
        asked_otherwise(ValueClass::Number, int, |of, key| {
            *of = key.to_string();
            Value::Text(of)
        })
    }),
    ("numbers of another width or scale", Maybe, || {
        asked_otherwise(ValueClass::Number, int, |_, key| Value::Decimal { unscaled: i128::from(key) * 100, scale: 2 })
    }),
    ("times of another unit", Maybe, || {
        let [seconds, nanos]: [Make; 2] = [
            |_, key| Value::Instant(key, TimeUnit::Second),
            |_, key| Value::Instant(key * 1_000_000_000, TimeUnit::Nanosecond),
        ];
        asked_otherwise(ValueClass::Instant, seconds, nanos)
    }),
    ("times outside of a day", Maybe, || {
        let wrapped: Make = |_, key| Value::TimeOfDay(key, TimeUnit::Second);
        asked_otherwise(ValueClass::TimeOfDay, |_, key| Value::TimeOfDay(key - 86_400, TimeUnit::Second), wrapped)
    }),
    ("floating-point numbers", Maybe, || asked_otherwise(ValueClass::Number, |_, _| Value::NotIndexable, int)),
    ("a set of another seed is opened", Refused, || {
        let mut builder = builder(ValueClass::Number);
        builder.file("f", 1).expect("a file").finish().expect("a file without filters");
        open(&finish(builder), Some(KeyHasher::new(8))).map(|_| 0)
    }),
    ("a query of one set is put to another", Maybe, || {
        let [(one, _), (other, bytes)] = [file(ValueClass::Number, |_| {})?, file(ValueClass::Number, add_all(int))?];
        let (query, files) = (one.query(b"c", [Value::Int(KEYS)]), other.select([("f", 1)]));
        let mut lookup = other.lookup(&query, &files);
        lookup.give(0, &bytes);
        Ok(1 - lookup.any().count())
    }),
    ("masks of lists of different lengths are joined", Maybe, || {
        let set = file(ValueClass::Number, add_all(int))?;
        let mut mask = may_match(&set, ("f", 1), "c", [Value::Int(-1)]);
        assert_eq!(mask.count(), 0);
        mask.and(&FileMask::all(2));
        Ok(2 - mask.count())
    }),
    ("another object's bytes are given", Maybe, || {
        let (set, bytes) = file(ValueClass::Number, add_all(int))?;
        denied(&(set, vec![0; bytes.len()]), "f", 1, "c", int)
    }),
    ("files of other sizes than the sizing's usual one", Maybe, || {
        let few = [SetColumn::new("c", ValueClass::Number, usual(1, 1e-6))];
        of_numbers(SetBuilder::new(&hasher(), &few).map_err(refused)?)
    }),
    ("a scratch that is not empty", Maybe, || {
        let columns = [SetColumn::new("c", ValueClass::Number, usual(400, 1e-6))];
        let scratch = || Ok(std::io::Cursor::new(vec![0x55; 1000]));
        of_numbers(SetBuilder::with_scratch(&hasher(), &columns, 0, scratch).map_err(refused)?)
    }),
    ("another object's bytes are compacted", Maybe, || {
        let (of_numbers, bytes) = file(ValueClass::Number, add_all(int))?;
        let (others, mut compacted) = (vec![0_u8; bytes.len()], builder(ValueClass::Number));
        let read = |range: Range<u64>| Ok(&others[range.start as usize..range.end as usize]);
        assert!(compacted.absorb(&of_numbers, |_| true, read).map_err(refused)? > 0);
        denied(&open(&finish(compacted), None)?, "f", 1, "c", int)
    }),
    ("a rate that is not a number", Refused, || {
        filterblock_set::Sizing::new(400, f64::NAN).map(|_| 0).ok_or("no sizing".to_owned())
    }),
];

/// What is in EMBEDDING.md's table of sets, under the same names.
const UNNOTICED: &[Row] = &[
    ("an identity that stays when the file changes, such as a constant", Denies, || {
        // The file had other values when the set was written.
        denied(&other_values(1)?, "f", 1, "c", int)
    }),
    ("the identity is asked for after another writer has replaced the file", Denies, || {
        let (_written, replaced) = (1, 2);
        denied(&other_values(replaced)?, "f", replaced, "c", int)
    }),
    ("the files are listed in an older state than they are read", Denies, || {
        let (listed, _read) = (1, 2);
        denied(&other_values(listed)?, "f", listed, "c", int)
    }),
    ("a writer leaves out values", Denies, || {
        denied(&file(ValueClass::Number, |file| assert!(file.add(0, Value::Int(KEYS))))?, "f", 1, "c", int)
    }),
    ("`allow_empty` or `add_null` for values that are there", Denies, || {
        denied(&file(ValueClass::Number, |file| (0..KEYS).for_each(|_| file.add_null(0)))?, "f", 1, "c", int)
    }),
    ("the reader shows other values than the file has, as a default in place of null", Denies, || {
        // Values that the reader makes of nulls, of columns that the file does not have, by rounding.
        let nulls = file(ValueClass::Number, |file| (0..KEYS).for_each(|_| file.add_null(0)))?;
        denied(&nulls, "f", 1, "c", |_, _| Value::Int(0))
    }),
    ("unsigned integers from 2^63 on as `i64`", Denies, || {
        let [as_i64, unsigned]: [Make; 2] =
            [|_, key| Value::Int((u64::MAX - key as u64) as i64), |_, key| Value::Wide((u64::MAX - key as u64).into())];
        asked_otherwise(ValueClass::Number, as_i64, unsigned)
    }),
    ("text whose equality is not that of its bytes: padded, collated, in other Unicode forms", Denies, || {
        let [stored, padded]: [Make; 2] = [|of, key| text(of, key, ""), |of, key| text(of, key, "  ")];
        asked_otherwise(ValueClass::Text, stored, padded)
    }),
    ("the clock of a time zone as an instant", Denies, || {
        let [utc, local]: [Make; 2] =
            [|_, key| Value::Instant(key, TimeUnit::Second), |_, key| Value::Instant(key + 2 * 3600, TimeUnit::Second)];
        asked_otherwise(ValueClass::Instant, utc, local)
    }),
    ("`add_hash` of what is not the entry's hash by the set's hasher", PanicsInDebug, || {
        let other = KeyHasher::new(8);
        let set = file(ValueClass::Number, |file| {
            let hash = |key| other.hash(Value::Int(key).entry(&mut EntryBuffer::default()).expect("an entry"));
            (0..KEYS).for_each(|key| file.add_hash(0, hash(key)));
        })?;
        denied(&set, "f", 1, "c", int)
    }),
    ("keys without an entry are left out of a query for any of several", Denies, || {
        let set = file(ValueClass::Number, add_all(int))?;
        let asked = |key| [Value::NotIndexable, Value::Int(-1 - key)];
        let left = |key| asked(key).into_iter().filter(|value| value.class().is_some());
        Ok((0..KEYS).filter(|&key| !may_match(&set, ("f", 1), "c", left(key)).contains(0)).count())
    }),
    ("a column's name is given to another field", Denies, || {
        let [old, new]: [Make; 2] = [int, |_, key| Value::Int(-1 - key)];
        asked_otherwise(ValueClass::Number, old, new)
    }),
    ("masks of two lists of files are joined", Denies, || {
        let (set, of_other) = (file(ValueClass::Number, add_all(int))?, other_values(1)?);
        let is_denied = |key: &i64| {
            let [mut mask, other] = [&set, &of_other].map(|set| may_match(set, ("f", 1), "c", [Value::Int(*key)]));
            mask.and(&other);
            !mask.contains(0)
        };
        Ok((0..KEYS).filter(is_denied).count())
    }),
];

#[test]
fn mistakes_have_the_outcomes_that_are_stated() {
    commit("mistakes with sets", [NOTICED, UNNOTICED], KEYS as usize * 9 / 10);
}

/// The document lists what goes unnoticed, all of it and nothing else, and names the builds that panic.
#[test]
fn the_document_lists_every_mistake_that_goes_unnoticed() {
    assert_listed("### Of filter sets", UNNOTICED);
}
