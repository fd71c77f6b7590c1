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
use filterblock::KeyHasher;
use filterblock_datafusion::{Doubt, identity};
use filterblock_set::{FilterSet, Opening, SetBuilder, SetColumn, Sizing, Value, ValueClass};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::ops::Range;
use std::sync::Arc;

const FILES: i64 = 6;

/// Files of one number and one text each.
pub async fn numbers(count: i64) -> Lake {
    let lake = Lake::new(lake::schema(&[("number", DataType::Int64), ("text", DataType::Utf8)]));
    for number in 0..count {
        lake.put(&format!("{number}"), &row(&lake, number, number)).await;
    }
    lake
}

pub fn row(lake: &Lake, row: i64, number: i64) -> datafusion::arrow::array::RecordBatch {
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
    let (lake, mut random) = (numbers(FILES).await, StdRng::seed_from_u64(1));
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
    let lake = numbers(FILES).await;
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

/// DataFusion cuts a file's milliseconds for a table that has seconds, and a decimal's places for one of integers. Parquet
/// has no unit of seconds: without Arrow's types beside its own, they are read as counts of the table's unit.
#[tokio::test]
async fn converted_values_are_found() {
    let [seconds, milliseconds] = [TimeUnit::Second, TimeUnit::Millisecond].map(|unit| DataType::Timestamp(unit, None));
    let schema = |time: &DataType, price, count: &DataType| {
        lake::schema(&[("time", time.clone()), ("price", price), ("count", count.clone()), ("text", DataType::Utf8)])
    };
    let names = ["time", "price", "count", "text"];
    // The first row is looked for; the others keep DataFusion from denying it by minimum and maximum.
    let rows = [(1_500, 525, 5), (0, 400, 0), (9_000, 600, 9)];
    let columns = [
        rows.map(|(time, ..)| ScalarValue::TimestampMillisecond(Some(time), None)).to_vec(),
        rows.map(|(_, price, _)| ScalarValue::Decimal128(Some(price), 10, 2)).to_vec(),
        rows.map(|(.., count)| ScalarValue::TimestampSecond(Some(count), None)).to_vec(),
        vec!["a".into(); 3],
    ];
    let mut lake = Lake { is_bare: true, ..Lake::new(schema(&milliseconds, DataType::Decimal128(10, 2), &seconds)) };
    let batch = lake::batch(&lake.schema, 1, &columns);
    let object = lake.put("1", &batch).await;
    let by_types_of_file = lake.set(&names).await;
    lake.schema = schema(&seconds, DataType::Int64, &milliseconds);
    let by_file = lake.set(&names).await;
    let [mut by_batch, mut absorbing] = [(); 2].map(|()| lake::writer(&lake.schema, &names));
    let mut keys = by_batch.keys();
    keys.add(&batch).unwrap_err();
    assert_eq!(by_batch.add_file(&object, keys).unwrap(), 3, "columns");

    // By another writer, which names columns plainly.
    let columns = [("time", ValueClass::LocalTimestamp), ("price", ValueClass::Number), ("text", ValueClass::Text)];
    let columns = columns.map(|(name, class)| SetColumn::new(name, class, Sizing::new(100, 0.001).unwrap()));
    let (mut builder, mut foreign) = (SetBuilder::new(&KeyHasher::new(7), &columns).unwrap(), Vec::new());
    let mut file = builder.file(object.location.as_ref(), identity(&object).unwrap()).unwrap();
    for (time, unscaled, _) in rows {
        file.add(0, Value::LocalTimestamp(time, filterblock_set::TimeUnit::Millisecond));
        file.add(1, Value::Decimal { unscaled, scale: 2 });
        file.add(2, Value::Text("a"));
    }
    file.finish().unwrap();
    let len = builder.finish(&mut foreign).unwrap();
    let Ok(Opening::Ready(opened)) = FilterSet::open(len, &foreign, None) else { panic!("all bytes") };
    let part = |range: Range<u64>| Ok(&foreign[range.start as usize..range.end as usize]);
    absorbing.builder().absorb(&opened, |_| true, part).unwrap();

    let [by_batch, absorbed] = [by_batch, absorbing].map(|mut writer| lake::finished(&mut writer));
    for set in [by_types_of_file, by_file, by_batch, absorbed, foreign] {
        let filter = lake.filter(set).await;
        let (second, count) =
            (ScalarValue::TimestampSecond(Some(1), None), ScalarValue::TimestampMillisecond(Some(5), None));
        for expr in [col("time").eq(lit(second)), col("price").eq(lit(5_i64)), col("count").eq(lit(count))] {
            for table in [Arc::new(lake.table()), lake.filtered(&filter)] {
                assert_eq!(lake.rows(table, expr.clone()).await, Ok(vec![1]), "{expr}");
            }
        }
        assert_eq!(lake.rows(lake.filtered(&filter), col("text").eq(lit("b"))).await, Ok(vec![]));
        assert_eq!(filter.outcomes().counts.skipped, 1, "text has no decimal places");
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
