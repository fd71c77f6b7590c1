//! Random filters, beside the same query without a set.

use crate::lake::{self, Lake};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::prelude::{Expr, cast, col, lit, not};
use filterblock_datafusion::Doubt;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

/// Numbers that stand for values; each file has some of them.
const NUM_VALUES: i64 = 60;

fn columns() -> Vec<(&'static str, DataType)> {
    vec![
        ("i32", DataType::Int32),
        ("u64", DataType::UInt64),
        ("decimal", DataType::Decimal128(12, 2)),
        ("text", DataType::Utf8View),
        ("tag", DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))),
        ("bytes", DataType::Binary),
        ("day", DataType::Date32),
        ("time", DataType::Time64(TimeUnit::Microsecond)),
        ("local", DataType::Timestamp(TimeUnit::Millisecond, None)),
        ("instant", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))),
        ("f64", DataType::Float64),
        ("bool", DataType::Boolean),
        ("unlisted", DataType::Int64),
    ]
}

const INDEXED: [&str; 10] = ["i32", "u64", "decimal", "text", "tag", "bytes", "day", "time", "local", "instant"];

async fn random_lake(random: &mut StdRng) -> Lake {
    let lake = Lake::new(lake::schema(&columns()));
    for file in 0..8 {
        let num_rows = random.random_range(1..40);
        let of_column = |(_, data_type): &(_, DataType), random: &mut StdRng| {
            let few: Vec<i64> = (0..5).map(|_| random.random_range(0..NUM_VALUES)).collect();
            let nulls = [0.0, 0.3, 1.0][random.random_range(0..6_usize).saturating_sub(3)];
            let value = |random: &mut StdRng| match (data_type, few[random.random_range(0..5)]) {
                _ if random.random_bool(nulls) => lake::scalar(data_type, None),
                (DataType::Float64, 0..20) => ScalarValue::Float64(Some(-0.0)),
                (DataType::Float64, 20..40) => ScalarValue::Float64(Some(f64::NAN)),
                (_, number) => lake::scalar(data_type, Some(number)),
            };
            (0..num_rows).map(|_| value(random)).collect::<Vec<_>>()
        };
        let columns: Vec<_> = columns().iter().map(|column| of_column(column, random)).collect();
        lake.put(&format!("{file}"), &lake::batch(&lake.schema, file * 100, &columns)).await;
    }
    lake
}

/// A literal to compare a column with: of its type, null, or of another type, which DataFusion makes equal to it.
fn literal(data_type: &DataType, random: &mut StdRng) -> Expr {
    let number = random.random_range(0..NUM_VALUES + 5);
    match random.random_range(0..12) {
        0 => lit(lake::scalar(data_type, None)),
        1 if data_type.is_numeric() => lit(number),
        2 if data_type.is_numeric() => lit(number as f64),
        3 if *data_type == DataType::Float64 => lit(0.0),
        4 if *data_type == DataType::Float64 => lit(f64::NAN),
        _ => lit(lake::scalar(data_type, Some(number))),
    }
}

fn random_filter(depth: usize, random: &mut StdRng) -> Expr {
    if depth > 0 && random.random_bool(0.6) {
        let (left, right) = (random_filter(depth - 1, random), random_filter(depth - 1, random));
        return match random.random_range(0..7) {
            0 => not(left),
            1..4 => left.and(right),
            _ => left.or(right),
        };
    }
    let columns = columns();
    let (name, data_type) = &columns[random.random_range(0..columns.len())];
    let (column, value) = (col(*name), literal(data_type, random));
    let list: Vec<_> = (0..random.random_range(1..5)).map(|_| literal(data_type, random)).collect();
    match random.random_range(0..14) {
        0 => column.not_eq(value),
        1 => column.lt(value),
        2 => column.is_null(),
        3 => cast(column, DataType::Utf8).eq(cast(value, DataType::Utf8)),
        4 => column.in_list(list, true),
        5..8 => column.in_list(list, false),
        8 => value.eq(column),
        _ => column.eq(value),
    }
}

#[tokio::test]
async fn a_table_with_a_set_finds_the_same_rows() {
    let mut random = StdRng::seed_from_u64(35);
    let (mut num_queries, mut num_rows, mut num_errors) = (0, 0, 0);
    let (mut files, mut skipped, mut doubts) = (0, 0, 0);
    for _ in 0..6 {
        let lake = random_lake(&mut random).await;
        let filter = lake.filter(lake.set(&INDEXED).await).await;
        for _ in 0..60 {
            let expr = random_filter(3, &mut random);
            let expected = lake.rows(Arc::new(lake.table()), expr.clone()).await;
            let found = lake.rows(lake.filtered(&filter), expr.clone()).await;
            // A conversion can fail in a file that is left out.
            match expected {
                Ok(expected) => assert_eq!(found, Ok(expected), "{expr}"),
                Err(_) => num_errors += 1,
            }
            num_queries += 1;
            num_rows += found.map_or(0, |rows| rows.len());
        }
        let outcomes = filter.outcomes();
        files += outcomes.counts.files;
        skipped += outcomes.counts.skipped;
        doubts += outcomes.doubts(Doubt::Filter);
        assert_eq!(outcomes.doubts(Doubt::Set) + outcomes.doubts(Doubt::Unit) + outcomes.doubts(Doubt::File), 0);
    }
    println!(
        "counted: {num_queries} random queries, {num_rows} rows, none lost; {skipped} of {files} files not opened; \
         {doubts} filters without an answer; {num_errors} queries that fail without a set"
    );
    assert!(skipped * 4 > files && doubts > 0 && num_rows > 0 && num_errors * 10 < num_queries);
}

/// Each column alone: a stored value, and one that no file has.
#[tokio::test]
async fn every_indexable_type_is_looked_up() {
    let lake = Lake::new(lake::schema(&columns()));
    for file in 0..4 {
        let value = |(_, data_type): &(_, DataType)| vec![lake::scalar(data_type, Some(file))];
        let columns: Vec<_> = columns().iter().map(value).collect();
        lake.put(&format!("{file}"), &lake::batch(&lake.schema, file, &columns)).await;
    }
    let filter = lake.filter(lake.set(&INDEXED).await).await;
    for (name, data_type) in columns().iter().filter(|(name, _)| INDEXED.contains(name)) {
        let before = filter.outcomes().counts.skipped;
        let equals = |number| col(*name).eq(lit(lake::scalar(data_type, Some(number))));
        assert_eq!(lake.rows(lake.filtered(&filter), equals(2)).await, Ok(vec![2]), "{name}");
        assert_eq!(lake.rows(lake.filtered(&filter), equals(59)).await, Ok(vec![]), "{name}");
        assert_eq!(filter.outcomes().counts.skipped - before, 7, "{name}");
    }
}

/// The comparison notices a set that denies stored values.
#[tokio::test]
async fn control_a_set_without_the_values_loses_rows() {
    let lake = Lake::numbers();
    let object = lake.put("1", &lake.batch(1, [Some(1)])).await;
    let mut writer = lake::writer(&lake.schema, &["number"]);
    let mut keys = writer.keys();
    keys.add(&lake.batch(2, [Some(2)])).unwrap();
    writer.add_file(&object, keys).unwrap();
    let filter = lake.filter(lake::finished(&mut writer)).await;
    let expr = col("number").eq(lit(1_i64));
    assert_eq!(lake.rows(Arc::new(lake.table()), expr.clone()).await, Ok(vec![1]));
    assert_eq!(lake.rows(lake.filtered(&filter), expr).await, Ok(vec![]));
}
