//! Files of ours that DuckDB reads, and files of DuckDB's. Needs python3 with the package `duckdb`, as `run` installs
//! it: `FILTERBLOCK_PYTHON` names it.

use crate::column::{Column, NAMES};
use crate::file::{self, Chunk, NUM_ROW_GROUPS, absent_numbers, numbers};
use bytes::Bytes;
use parquet::file::properties::WriterProperties;
use serde_json::Value as Json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One in this many values is probed in DuckDB, where each takes statements of its own.
const STRIDE: usize = 10;

/// The rows that each statement returns.
fn run(statements: &[String]) -> Vec<Vec<Vec<Json>>> {
    let python = std::env::var("FILTERBLOCK_PYTHON").expect("FILTERBLOCK_PYTHON, a python3 with duckdb");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filters/sql.py");
    let mut child =
        Command::new(python).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
    let mut input = child.stdin.take().expect("a pipe");
    let lines: String = statements.iter().map(|statement| format!("{statement}\n")).collect();
    // Both pipes have limits: neither side may wait for the other.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("python3 ends");
    assert!(output.status.success(), "{}", output.status);
    writer.join().expect("no panic").expect("python3 reads it all");
    let output = String::from_utf8(output.stdout).expect("text");
    let rows: Vec<_> = output.lines().map(|line| serde_json::from_str(line).expect("rows in JSON")).collect();
    assert_eq!(rows.len(), statements.len());
    rows
}

/// A file in a directory of its own.
struct Stored {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl Stored {
    fn new(bytes: Option<&Bytes>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("values.parquet");
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).expect("a file");
        }
        Self { _directory: directory, path }
    }

    fn read(&self) -> Vec<Chunk> {
        file::read(&std::fs::read(&self.path).expect("a file").into())
    }

    fn probe(&self, column: &str, value: &str) -> String {
        let path = self.path.display();
        format!(
            "SELECT bloom_filter_excludes FROM parquet_bloom_probe('{path}', '{column}', {value}) ORDER BY row_group_id"
        )
    }

    fn count(&self, column: &str, value: &str) -> String {
        format!("SELECT count(*) FROM '{}' WHERE \"{column}\" = {value}", self.path.display())
    }
}

/// Row groups that DuckDB has read, of how many: in the plan that `EXPLAIN ANALYZE` draws.
fn row_groups_scanned(rows: &[Vec<Json>]) -> (u32, u32) {
    let plan = rows[0][1].as_str().expect("a plan");
    let rest = plan.split("Row Groups Scanned: ").nth(1).expect("a scan of row groups");
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let mut next = || numbers.next().and_then(|digits| digits.parse().ok()).expect("a number");
    (next(), next())
}

/// One in `step` of the numbers that are probed for each column, with its name and the row group that has the number.
fn cases(step: usize) -> Vec<(&'static str, u32, Option<u32>)> {
    let present = (0..NUM_ROW_GROUPS).flat_map(|group| numbers(group).step_by(STRIDE).map(move |n| (n, Some(group))));
    let probed: Vec<_> = present.chain(absent_numbers().step_by(STRIDE).map(|n| (n, None))).step_by(step).collect();
    NAMES.into_iter().flat_map(|name| probed.iter().map(move |&(number, group)| (name, number, group))).collect()
}

/// What `statement` makes of a file, a column and a value, for each of `cases`.
fn statements(stored: &Stored, cases: &[(&str, u32, Option<u32>)], statement: Statement) -> Vec<String> {
    cases.iter().map(|(name, number, _)| statement(stored, name, &Column::sql(name, *number))).collect()
}

type Statement = fn(&Stored, &str, &str) -> String;

/// The numbers of values that are probed in row groups which have them, and of those that DuckDB excludes; of all others,
/// and of its answers for these that are not those of the filters as read here.
fn answers(stored: &Stored) -> [u32; 4] {
    let (chunks, cases) = (stored.read(), cases(1));
    let [mut num_stored, mut num_excluded, mut num_others, mut num_different] = [0; 4];
    for ((name, number, group), excludes) in cases.iter().zip(run(&statements(stored, &cases, Stored::probe))) {
        let filters: Vec<_> = chunks.iter().filter(|chunk| chunk.name == *name).map(Chunk::opened).collect();
        let column = Column::of_numbers(name, std::iter::once(*number));
        assert_eq!(excludes.len(), filters.len());
        for (index, (row, filter)) in excludes.iter().zip(&filters).enumerate() {
            let excludes = row[0].as_bool().expect("an answer");
            if *group == Some(index as u32) {
                num_stored += 1;
                num_excluded += u32::from(excludes);
            } else {
                num_others += 1;
                num_different += u32::from(excludes == filter.may_contain(column.values()[0]));
            }
        }
    }
    [num_stored, num_excluded, num_others, num_different]
}

#[test]
#[ignore = "needs python3 with duckdb"]
fn duckdb_reads_ours() {
    let stored = Stored::new(Some(&file::write_with_filters()));
    let [num_stored, num_excluded, num_others, num_different] = answers(&stored);
    assert_eq!((num_excluded, num_different), (0, 0));
    println!("counted: {num_stored} values of files with our filters, none excluded by DuckDB");
    println!("counted: {num_others} values that a row group has not, each answered by DuckDB as here");

    let cases = cases(1);
    for ((name, number, group), rows) in cases.iter().zip(run(&statements(&stored, &cases, Stored::count))) {
        assert_eq!(rows[0][0].as_u64(), Some(group.is_some().into()), "{name}, number {number}");
    }
    println!("counted: {} queries for one value each, answered right", cases.len());
}

/// The filters are used: row groups without the value are not read.
#[test]
#[ignore = "needs python3 with duckdb"]
fn duckdb_leaves_out_row_groups_by_ours() {
    let with = Stored::new(Some(&file::write_with_filters()));
    let without = Stored::new(Some(&file::write(WriterProperties::builder(), |_| None)));
    let cases = cases(STRIDE);
    let scanned = |stored: &Stored| {
        let explain: Statement = |stored, column, value| format!("EXPLAIN ANALYZE {}", stored.count(column, value));
        let plans = run(&statements(stored, &cases, explain));
        let scanned: Vec<_> = plans.iter().map(|rows| row_groups_scanned(rows)).collect();
        assert!(scanned.iter().all(|(_, of)| *of == NUM_ROW_GROUPS));
        for ((name, number, group), (scanned, _)) in cases.iter().zip(&scanned) {
            assert!(group.is_none() || *scanned > 0, "{name}, number {number}");
        }
        scanned.iter().map(|(scanned, _)| scanned).sum::<u32>()
    };
    let (with, without) = (scanned(&with), scanned(&without));
    // Of every three values each is in one of two row groups, or in none.
    let needed = cases.iter().filter(|(_, _, group)| group.is_some()).count() as u32;
    println!("counted: {} queries read {with} row groups with our filters, {without} without", cases.len());
    assert!(with >= needed && with - needed <= needed / 20, "{needed} needed");
    assert!(without > needed * 5 / 2, "{needed} needed");
}

/// Bitsets without their bits, which these tests must notice.
#[test]
#[ignore = "needs python3 with duckdb"]
fn a_false_exclusion_is_noticed() {
    let empty = |column: &Column| Some(vec![0; file::filter_of(column).bitset().len()]);
    let stored = Stored::new(Some(&file::write(WriterProperties::builder(), empty)));
    let [num_stored, num_excluded, ..] = answers(&stored);
    assert_eq!(num_excluded, num_stored);
    let rows = run(&[stored.count("text", &Column::sql("text", 0))]);
    assert_eq!(rows[0][0][0].as_u64(), Some(0), "the row group is left out");
    println!("counted: {num_excluded} values excluded by bitsets without bits, each noticed");
}

/// Columns of DuckDB's types, by what stores them. What has no filter, as `DECIMAL(38, 2)`, is left out by DuckDB.
const EXPRESSIONS: [(&str, &str); 18] = [
    ("tinyint", "(i % 200 - 100)::TINYINT"),
    ("utinyint", "(i % 250)::UTINYINT"),
    ("smallint", "(i - 2500)::SMALLINT"),
    ("usmallint", "(i * 13)::USMALLINT"),
    ("integer", "(i * 7919 - 10000000)::INTEGER"),
    ("uinteger", "(i + 4294900000)::UINTEGER"),
    ("bigint", "(i - 2500)::BIGINT * 1000000000007"),
    ("ubigint", "(i::HUGEINT + 18446744073709000000)::UBIGINT"),
    ("float", "((i - 2500) * 0.25)::FLOAT"),
    ("double", "(i - 2500)::DOUBLE * 1.1"),
    ("varchar", "'schlüssel ' || i"),
    ("blob", "unhex(printf('%08xff80', i))"),
    ("uuid", "('00000000-1234-4000-8000-' || printf('%012x', i * 65537))::UUID"),
    ("date", "DATE '1960-01-01' + i::INTEGER"),
    ("timestamp", "TIMESTAMP '1960-01-01' + to_seconds(i * 86399)"),
    ("decimal4", "(i / 100)::DECIMAL(4, 2)"),
    ("decimal9", "((i - 2500) / 100)::DECIMAL(9, 2)"),
    ("decimal18", "((i - 2500) * 1000000007)::DECIMAL(18, 2)"),
];

#[test]
#[ignore = "needs python3 with duckdb"]
fn we_read_those_of_duckdb() {
    let stored = Stored::new(None);
    let columns: Vec<_> = EXPRESSIONS.iter().map(|(name, expression)| format!("{expression} AS \"{name}\"")).collect();
    // DuckDB writes filters for chunks with a dictionary.
    run(&[format!(
        "COPY (SELECT {} FROM range(5000) t(i)) TO '{}' (FORMAT parquet, ROW_GROUP_SIZE 2048, \
         DICTIONARY_SIZE_LIMIT 5000, BLOOM_FILTER_FALSE_POSITIVE_RATIO 0.01)",
        columns.join(", "),
        stored.path.display()
    )]);
    let chunks = stored.read();
    let (num_filters, num_values) = (chunks.len(), chunks.iter().map(Chunk::check).sum::<usize>());
    println!("counted: {num_values} values in {num_filters} filters of DuckDB, none excluded here");
    println!("counted: {num_filters} filters of DuckDB equal to ours, bit for bit");
}

/// What a search for a value that is equal, and has other bits, finds in a file of ours.
#[test]
#[ignore = "needs python3 with duckdb"]
fn duckdb_finds_zeros_and_nans_in_ours() {
    let doubles = Column::Double(vec![-0.0, 1.0, f64::from_bits(0xfff8_0000_0000_0123), 3.0]);
    let floats = Column::Float(vec![1.0, 3.0, 0.0, f32::NAN]);
    let schema = "message zeros { required double double; required float float; }";
    let file = file::write_columns(schema, WriterProperties::builder(), &[vec![doubles, floats]], |column| {
        Some(file::filter_of(column).into_bitset())
    });
    let stored = Stored::new(Some(&file));
    for column in ["double", "float"] {
        for (value, expected) in [("0.0", 1), ("'-0.0'", 1), ("'nan'", 1), ("3.0", 1), ("2.0", 0)] {
            let rows = run(&[stored.count(column, &format!("{value}::{column}"))]);
            assert_eq!(rows[0][0][0].as_u64(), Some(expected), "{column} = {value}");
        }
    }
}
