//! What a lookup reads.

use crate::lake::{self, Lake};
use datafusion::arrow::datatypes::DataType;
use datafusion::prelude::{col, lit};
use std::sync::Arc;

#[tokio::test]
async fn two_requests_cold_none_warm_and_files_stay_closed() {
    let lake = Lake::new(lake::schema(&[("number", DataType::Int64)]));
    for file in 0..12_i64 {
        let numbers = (0..3000).map(|row| lake::scalar(&DataType::Int64, Some(2 * (row * 12 + file)))).collect();
        lake.put(&format!("{file:02}"), &lake::batch(&lake.schema, file * 3000, &[numbers])).await;
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
    assert_eq!(lake.rows(lake.filtered(&filter), expr).await, Ok(vec![21_005]));
    let warm = lake.store.take();
    assert_eq!((cold.requests - warm.requests, warm.files), (2, cold.files));

    // A value that no file has, between minimum and maximum of all: nothing is read but, once, its slice.
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
