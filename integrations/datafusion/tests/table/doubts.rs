//! Whatever is missing, damaged, changed or of another type is *maybe*.

use crate::lake::{self, Lake};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::object_store::ObjectStoreExt;
use datafusion::parquet::data_type::{Int64Type, Int96Type};
use datafusion::parquet::file::writer::SerializedFileWriter;
use datafusion::parquet::schema::parser::parse_message_type;
use datafusion::prelude::{col, lit};
use filterblock_datafusion::Doubt;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

const FILES: i64 = 6;

/// Files of one number and one text each.
async fn numbers() -> Lake {
    let lake = Lake::new(lake::schema(&[("number", DataType::Int64), ("text", DataType::Utf8)]));
    for number in 0..FILES {
        lake.put(&format!("{number}"), &row(&lake, number, number)).await;
    }
    lake
}

fn row(lake: &Lake, row: i64, number: i64) -> datafusion::arrow::array::RecordBatch {
    let columns = [DataType::Int64, DataType::Utf8].map(|data_type| vec![lake::scalar(&data_type, Some(number))]);
    lake::batch(&lake.schema, row, &columns)
}

/// Every file is kept by a lookup of what it has, in every column. Returns how many files were left out.
async fn nothing_is_lost(lake: &Lake, set: Vec<u8>) -> u64 {
    let (filter, files) = (lake.filter(set).await, lake.files().await);
    for number in 0..FILES {
        let expr = col("number").eq(lit(number)).or(col("text").eq(lit(number.to_string())));
        let keep = lake.may_match(&filter, expr, &files).await;
        assert!(keep.contains(&(number as usize)), "{number}: {:?}", filter.outcomes());
    }
    filter.outcomes().counts.skipped
}

#[tokio::test]
async fn damaged_sets_lose_no_row() {
    let (lake, mut random) = (numbers().await, StdRng::seed_from_u64(1));
    let set = lake.set(&["number", "text"]).await;
    let all = FILES * (FILES - 1);
    assert_eq!(nothing_is_lost(&lake, set.clone()).await as i64, all);
    let (mut num_sets, mut skipped) = (0, 0);
    let mut lookup = async |set: Vec<u8>| {
        num_sets += 1;
        skipped += nothing_is_lost(&lake, set).await;
    };
    for position in 0..set.len() {
        let mut damaged = set.clone();
        damaged[position] ^= 1 << random.random_range(0..8);
        lookup(damaged).await;
    }
    for len in (0..set.len()).step_by(7) {
        lookup(set[..len].to_vec()).await;
        lookup(set[len..].to_vec()).await;
    }
    for _ in 0..1000 {
        let mut damaged = set.clone();
        let (from, to) = (random.random_range(0..set.len()), random.random_range(0..set.len()));
        let len = random.random_range(0..set.len() - from.max(to));
        damaged.copy_within(from..from + len, to);
        lookup(damaged).await;
    }
    println!("counted: {num_sets} damaged sets, no file lost; {skipped} times a file was still left out");
    // Damage to a unit is that of one group, whose other rows still answer.
    assert!(skipped > 0 && num_sets > 1500);
}

#[tokio::test]
async fn what_is_unknown_is_counted_and_said_once() {
    let lake = numbers().await;
    let set = lake.set(&["number"]).await;
    let equals = |number: i64| col("number").eq(lit(number));

    let filter = lake.filter(set.clone()).await;
    lake.store.delete(&"lake.set".into()).await.unwrap();
    assert_eq!(lake.rows(lake.filtered(&filter), equals(2)).await, Ok(vec![2]));
    assert_eq!(filter.outcomes().doubts(Doubt::Set), 1);
    assert!(filter.first(Doubt::Set).unwrap().contains("lake.set was not read"));
    // It is tried again.
    lake.filter(set.clone()).await;
    assert_eq!(lake.rows(lake.filtered(&filter), equals(2)).await, Ok(vec![2]));
    assert_eq!(filter.outcomes().counts.skipped as i64, FILES - 1);

    // A changed file and a new one.
    lake.put("3", &row(&lake, 3, 100)).await;
    lake.put("new", &row(&lake, 50, 100)).await;
    assert_eq!(lake.rows(lake.filtered(&filter), equals(100)).await, Ok(vec![3, 50]));
    assert_eq!(lake.rows(lake.filtered(&filter), equals(101)).await, Ok(vec![]));
    assert_eq!(filter.outcomes().doubts(Doubt::File), 4);

    for expr in [col("text").eq(lit("100")), col("text").eq(lit("100")).or(equals(7)), equals(100).is_not_false()] {
        assert_eq!(lake.rows(lake.filtered(&filter), expr).await, Ok(vec![3, 50]));
    }
    assert_eq!(filter.outcomes().doubts(Doubt::Filter), 3);
    assert!(filter.first(Doubt::Filter).unwrap().contains("text = Utf8(\"100\")"), "{:?}", filter.first(Doubt::Filter));

    let mut damaged = set.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let filter = lake.filter(damaged).await;
    assert_eq!(lake.rows(lake.filtered(&filter), equals(2)).await, Ok(vec![2]));
    assert_eq!(filter.outcomes().doubts(Doubt::Set), 1);
    assert!(filter.first(Doubt::Set).unwrap().contains("lake.set is not used"));
}

/// DataFusion cuts a file's milliseconds for a table that has seconds, and a decimal's places for one of integers.
#[tokio::test]
async fn converted_values_are_found() {
    let (milliseconds, seconds) =
        [TimeUnit::Millisecond, TimeUnit::Second].map(|unit| DataType::Timestamp(unit, None)).into();
    let file_schema = lake::schema(&[("time", milliseconds), ("price", DataType::Decimal128(10, 2))]);
    let values =
        [vec![ScalarValue::TimestampMillisecond(Some(1_500), None)], vec![ScalarValue::Decimal128(Some(525), 10, 2)]];
    let mut lake = Lake::new(file_schema.clone());
    lake.put("1", &lake::batch(&file_schema, 1, &values)).await;
    let of_file = lake.set(&["time", "price"]).await;
    lake.schema = lake::schema(&[("time", seconds), ("price", DataType::Int64)]);
    let of_table = lake.set(&["time", "price"]).await;
    for set in [of_file, of_table] {
        let filter = lake.filter(set).await;
        for expr in [col("time").eq(lit(ScalarValue::TimestampSecond(Some(1), None))), col("price").eq(lit(5_i64))] {
            let found = lake.rows(lake.filtered(&filter), expr.clone()).await;
            assert_eq!(found, lake.rows(Arc::new(lake.table()), expr.clone()).await, "{expr}");
            println!("{expr}: {found:?}");
        }
        assert_eq!(filter.outcomes().counts.skipped, 0);
    }
}

/// The table's format, and so a session's `coerce_int96`, decides in what unit DataFusion reads INT96, and the value is
/// then converted to the table's: one file has other values in each of these tables, and a set serves all of them.
#[tokio::test]
async fn int96_is_maybe() {
    let mut lake = Lake::new(lake::schema(&[("time", DataType::Timestamp(TimeUnit::Nanosecond, None))]));
    let schema = parse_message_type("message file { required int64 row; required int96 time; }").unwrap();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Default::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[1], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    // Nanoseconds of the day, in two words, and the Julian day, of 1970-01-01.
    column.typed::<Int96Type>().write_batch(&[vec![1_001_001_001, 0, 2_440_588].into()], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
    lake.store.put(&"data/1.parquet".into(), bytes.into()).await.unwrap();
    let filter = lake.filter(lake.set(&["row", "time"]).await).await;
    for (unit, shown) in [("ns", 1_001_001_001), ("us", 1_001_001_000), ("ms", 1_001_000_000), ("s", 1_000_000_000)] {
        lake.format = Arc::new(ParquetFormat::default().with_coerce_int96(Some(unit.into())));
        let equals = col("time").eq(lit(ScalarValue::TimestampNanosecond(Some(shown), None)));
        assert_eq!(lake.rows(Arc::new(lake.table()), equals.clone()).await, Ok(vec![1]), "{unit} without a set");
        assert_eq!(lake.rows(lake.filtered(&filter), equals).await, Ok(vec![1]), "{unit}");
        assert_eq!(lake.rows(lake.filtered(&filter), col("row").eq(lit(2_i64))).await, Ok(vec![]), "{unit}");
    }
    assert_eq!(filter.outcomes().counts.skipped, 4, "the other column has a filter");
}
