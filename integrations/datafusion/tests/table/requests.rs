//! What a lookup reads.

use crate::lake::{self, Lake};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::prelude::{col, lit};
use filterblock::KeyHasher;
use filterblock_datafusion::{FileFilter, SetWriter, identity};
use filterblock_set::{FilterSet, Opening, Sizing, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;

#[tokio::test]
async fn two_requests_cold_none_warm_and_files_stay_closed() {
    let lake = Lake::numbers();
    for file in 0..12_i64 {
        lake.put(&format!("{file:02}"), &lake.batch(file * 3000, (0..3000).map(|row| Some(24 * row + 2 * file)))).await;
    }
    let filter = lake.filter(lake.set(&["number"]).await).await;
    let expr = col("number").eq(lit(2 * (5 * 12 + 7_i64)));

    lake.store.take();
    assert_eq!(lake.rows(Arc::new(lake.table()), expr.clone()).await, Ok(vec![21_005]));
    let without = lake.store.take();
    assert_eq!(without.files.len(), 12);

    assert_eq!(lake.rows(lake.filtered(&filter), expr.clone()).await, Ok(vec![21_005]));
    let cold = lake.store.take();
    assert_eq!(cold.files.iter().collect::<Vec<_>>(), ["data/07.parquet"]);
    assert_eq!(lake.rows(lake.filtered(&filter), expr.clone()).await, Ok(vec![21_005]));
    let warm = lake.store.take();
    assert_eq!((cold.requests - warm.requests, warm.files), (2, cold.files));
    // Of rows that are not kept in memory only the index is not read again.
    let forgetful = Arc::new(FileFilter::new(lake.store.clone(), "lake.set".into()).with_max_held_bytes(0));
    for requests in [cold.requests, warm.requests + 1] {
        lake.rows(lake.filtered(&forgetful), expr.clone()).await.unwrap();
        assert_eq!(lake.store.take().requests, requests);
    }

    // A value that no file has, between minimum and maximum of all: nothing is read but, once, its rows.
    for (expr, files) in
        [(col("number").eq(lit(135_i64)), 0), (col("number").in_list(vec![lit(0_i64), lit(26_i64)], false), 2)]
    {
        let expected = lake.rows(Arc::new(lake.table()), expr.clone()).await;
        lake.store.take();
        assert_eq!(lake.rows(lake.filtered(&filter), expr).await, expected);
        assert_eq!(lake.store.take().files.len(), files);
    }
    println!("counted: {} requests without a set, {} cold, {} warm", without.requests, cold.requests, warm.requests);
}

/// A query over two columns reads the three pages of each at once: the store answers none before all six have come.
#[tokio::test]
async fn the_requests_of_a_query_are_made_at_once() {
    const FILES: i64 = 64;
    const ROWS: i64 = 4000;
    let lake = Lake::new(lake::schema(&[("a", DataType::Int64), ("b", DataType::Int64)]));
    let sizing = Sizing::new(ROWS as u64, 0.01).unwrap();
    let mut writer = SetWriter::new(&KeyHasher::new(7), &lake.schema, &["a", "b"], sizing).unwrap();
    // Files of which only what a store would say is made.
    let objects: Vec<_> = (0..FILES).map(|file| lake::object(&format!("data/{file:02}.parquet"), "1")).collect();
    for (file, object) in (0..).zip(&objects) {
        let numbers = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| FILES * row + file))) as ArrayRef;
        let mut keys = writer.keys();
        keys.add(&RecordBatch::try_new(lake.schema.clone(), vec![numbers; 3]).unwrap()).unwrap();
        assert_eq!(writer.add_file(object, keys).unwrap(), 0);
    }
    let bytes = lake::finished(&mut writer);
    let Opening::Ready(set) = FilterSet::open(bytes.len() as u64, &bytes, None).unwrap() else { panic!("all bytes") };
    let selection = set.select(objects.iter().map(|object| (object.location.as_ref(), identity(object).unwrap())));
    let ranges = |number: i64| {
        let of_column = |column: &[u8]| set.lookup(&set.query(column, [Value::Int(number)]), &selection).plan(64 << 10);
        [of_column(b"a\xff0"), of_column(b"b\xff0")].concat()
    };
    let number = (0..FILES * ROWS).find(|&number| ranges(number).len() == 6).expect("pages far apart");
    let expected: u64 = ranges(number).iter().map(|range| range.end - range.start).sum();

    let (filter, files) = (lake.filter(bytes).await, objects.iter().collect::<Vec<_>>());
    let filters = [col("a").eq(lit(number)), col("b").eq(lit(number))];
    assert_eq!(filter.may_match(&lake.schema, &filters, &[]).await.num_files(), 0, "the index alone is read");
    *lake.store.watch.gate.lock().unwrap() = Arc::new(Barrier::new(6));
    let may_match = filter.may_match(&lake.schema, &filters, &files);
    let may_match =
        tokio::time::timeout(Duration::from_secs(60), may_match).await.expect("no request waits for another");
    assert!(may_match.contains((number % FILES) as usize) && may_match.count() < 8);
    let counts = filter.outcomes().counts;
    assert_eq!((counts.requests, counts.bytes), (7, FilterSet::TAIL_LEN + expected));
    println!("counted: {} requests at once, {expected} bytes of {FILES} files", counts.requests - 1);
}
