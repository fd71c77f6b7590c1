//! Sets of small files, and what is known of them without any filter.

use crate::*;
use filterblock_set::{Sizing, file_identity};
use std::convert::Infallible;
use std::io::{Read, Seek, Write};

pub const COLUMNS: [&str; 2] = ["id", "word"];

/// A file of the table: its rows' values.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub identity: u64,
    pub ids: BTreeSet<i64>,
    pub words: BTreeSet<String>,
}

/// Files with about `keys` keys each; the keys of file number i are i, i + `num_files` and so on.
pub fn tables(first: usize, num_files: usize, keys: usize) -> Vec<Table> {
    let table = |file: usize| {
        let ids = (0..keys).map(|key| (file + key * 1000) as i64);
        let name = format!("data/{file:05}.parquet");
        Table {
            identity: file_identity(&[name.as_bytes(), b"state 1"]),
            words: ids.clone().map(|id| format!("word {id}")).collect(),
            ids: ids.collect(),
            name,
        }
    };
    (first..first + num_files).map(table).collect()
}

pub fn hasher() -> KeyHasher {
    KeyHasher::new(7)
}

pub fn usual(usual_keys: u64, rate: f64) -> Sizing {
    Sizing::new(usual_keys, rate).expect("a small file")
}

/// The columns, for files that usually have `usual_keys` keys.
pub fn columns(usual_keys: u64) -> [SetColumn; 2] {
    columns_of(usual(usual_keys, 0.01))
}

pub fn columns_of(sizing: Sizing) -> [SetColumn; 2] {
    let [id, word] = COLUMNS;
    [SetColumn::new(id, ValueClass::Number, sizing), SetColumn::new(word, ValueClass::Text, sizing)]
}

pub fn builder() -> SetBuilder {
    SetBuilder::new(&hasher(), &columns(40)).expect("a builder")
}

pub fn add(builder: &mut SetBuilder<impl Read + Write + Seek>, tables: &[Table]) {
    add_some(builder, tables, || true);
}

/// The files of which `has_words` says so have the column of words.
pub fn add_some<F: Read + Write + Seek>(
    builder: &mut SetBuilder<F>,
    tables: &[Table],
    mut has_words: impl FnMut() -> bool,
) {
    for table in tables {
        let mut file = builder.file(&table.name, table.identity).expect("a new file");
        table.ids.iter().for_each(|&id| assert!(file.add(0, Value::Int(id))));
        table.words.iter().for_each(|word| assert!(file.add(1, Value::Text(word))));
        file.allow_empty(0);
        if has_words() {
            file.allow_empty(1)
        } else {
            file.give_up(1)
        };
        file.finish().expect("a file in memory");
    }
}

pub fn finish(builder: SetBuilder) -> Vec<u8> {
    let mut object = Vec::new();
    assert_eq!(builder.finish(&mut object).expect("a set in memory"), object.len() as u64);
    object
}

pub fn set(tables: &[Table]) -> Vec<u8> {
    let mut builder = builder();
    add(&mut builder, tables);
    finish(builder)
}

/// The opened index of a set that is in memory.
pub fn open(bytes: &[u8]) -> Option<FilterSet> {
    match FilterSet::open(bytes.len() as u64, bytes, None).ok()? {
        Opening::Ready(set) => Some(*set),
        Opening::Needs(range) => panic!("all bytes were given, {range:?} is asked for"),
    }
}

pub fn selected(tables: &[Table]) -> impl Iterator<Item = (&str, u64)> {
    tables.iter().map(|table| (table.name.as_str(), table.identity))
}

/// For each file of a mask, whether it is *maybe*.
pub fn bools(mask: &FileMask) -> Vec<bool> {
    (0..mask.num_files()).map(|file| mask.contains(file)).collect()
}

/// Looks up values in the files of `tables`, fetching what is needed of `bytes`; an answer for each value and file.
pub fn look_up(set: &FilterSet, bytes: &[u8], tables: &[Table], column: &str, values: &[Value<'_>]) -> Vec<Vec<bool>> {
    let query = set.query(column.as_bytes(), values.iter().copied());
    let selection = set.select(selected(tables));
    // Bytes beyond the end are none.
    let fetch = |range: Range<u64>| {
        Ok::<_, Infallible>(bytes.get(range.start as usize..range.end as usize).unwrap_or_default())
    };
    let mut lookup = set.lookup(&query, &selection);
    let Ok(()) = lookup.load(64, fetch);
    let each = lookup.each();
    let any = each.iter().cloned().reduce(|mut any, more| {
        any.or(&more);
        any
    });
    assert!(any.is_none_or(|any| any == lookup.any()));
    each.iter().map(bools).collect()
}

/// What lookups of all stored values found: how many answers were *no*, and whether the index opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub opened: bool,
    pub denied: usize,
}

/// Looks up every value of every file in all files, and fails where a file that has it is denied.
pub fn no_row_lost(bytes: &[u8], tables: &[Table]) -> Seen {
    let Some(set) = open(bytes) else { return Seen::default() };
    let mut seen = Seen { opened: true, ..Seen::default() };
    let ids: Vec<Value<'_>> = tables.iter().flat_map(|table| &table.ids).map(|&id| Value::Int(id)).collect();
    let words: Vec<Value<'_>> = tables.iter().flat_map(|table| &table.words).map(|word| Value::Text(word)).collect();
    for (column, values) in [("id", &ids), ("word", &words)] {
        let answers = look_up(&set, bytes, tables, column, values);
        for (key, value) in values.iter().enumerate() {
            for (table, may_contain) in tables.iter().zip(&answers[key]) {
                let has = match value {
                    Value::Int(id) => table.ids.contains(id),
                    Value::Text(word) => table.words.contains(*word),
                    _ => unreachable!("no other values"),
                };
                assert!(*may_contain || !has, "{} is denied {value:?}", table.name);
                seen.denied += usize::from(!*may_contain);
            }
        }
    }
    seen
}
