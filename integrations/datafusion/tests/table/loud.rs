//! What keeps a set from being of use is shown, and queries do not wait for each other.

use crate::doubts::{numbers, row};
use crate::lake::{self, Lake};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::listing::ListingTable;
use datafusion::object_store::{ObjectMeta, ObjectStoreExt};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, IsNullExpr, Literal, case};
use datafusion::physical_expr_adapter::{
    DefaultPhysicalExprAdapterFactory, PhysicalExprAdapter, PhysicalExprAdapterFactory,
};
use datafusion::prelude::{SessionConfig, col, lit};
use filterblock_datafusion::{Doubt, FileFilter, FilteredTable, Finding};
use filterblock_set::FileMask;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;

/// The metrics of a set in `EXPLAIN ANALYZE` of a query for the number.
async fn explained(lake: &Lake, filter: &Arc<FileFilter>, number: i64) -> Vec<String> {
    let context = lake.context(SessionConfig::new());
    let query = context.read_table(lake.filtered(filter)).unwrap().filter(col("number").eq(lit(number))).unwrap();
    let plan = query.explain(false, true).unwrap().collect().await.unwrap();
    let text = pretty_format_batches(&plan).unwrap().to_string();
    let metrics = text.split([',', '[', ']']).map(str::trim).filter(|metric| metric.starts_with("set_"));
    metrics.map(str::to_owned).collect()
}

#[tokio::test]
async fn explain_analyze_shows_the_set() {
    let lake = numbers(6).await;
    let set = lake.set(&["number"]).await;
    let len = set.len();
    let filter = lake.filter(set).await;
    let [cold, warm, none] =
        [explained(&lake, &filter, 2).await, explained(&lake, &filter, 2).await, explained(&lake, &filter, 77).await];
    let shown = |known: u64, skipped: u64, requests: u64, errors: u64| {
        let counts = [("files", 6), ("files_known", known), ("files_skipped", skipped), ("requests", requests)];
        let counts = counts.iter().map(|(name, count)| format!("set_{name}={count}")).collect::<Vec<_>>();
        move |metrics: &[String]| {
            let missing = counts.iter().find(|count| !metrics.contains(count));
            assert!(missing.is_none() && metrics.contains(&format!("set_errors={errors}")), "{missing:?}: {metrics:?}");
        }
    };
    shown(6, 5, 2, 0)(&cold);
    shown(6, 5, 0, 0)(&warm);
    assert!(warm.contains(&"set_bytes=0".to_owned()) && none.contains(&"set_files_skipped=6".to_owned()));
    let counts = filter.outcomes().counts;
    assert_eq!((counts.files, counts.known, counts.skipped, counts.errors), (18, 18, 16, 0));
    assert_eq!(filter.outcomes().verdict(), []);
    assert!(counts.requests == 2 && counts.bytes > len as u64 && counts.bytes < 2 * len as u64, "{counts:?}");

    // A set that is not there.
    lake.store.delete(&"lake.set".into()).await.unwrap();
    let filter = Arc::new(FileFilter::new(lake.store.clone(), "lake.set".into()));
    let metrics = explained(&lake, &filter, 2).await;
    assert!(metrics.contains(&"set_errors=1".to_owned()) && metrics.contains(&"set_files_skipped=0".to_owned()));
    assert_eq!(filter.outcomes().verdict(), [Finding::NeverAsked, Finding::Errors { errors: 1 }]);
}

#[tokio::test]
async fn names_of_another_form_are_reported() {
    let lake = numbers(3).await;
    let mut writer = lake::writer(&lake.schema, &["number"]);
    let files = lake.files().await;
    for (number, file) in (0..).zip(&files) {
        let mut keys = writer.keys();
        keys.add(&row(&lake, number, number)).unwrap();
        let location = format!("bucket/{}", file.location).into();
        writer.add_file(&ObjectMeta { location, ..file.clone() }, keys).unwrap();
    }
    let filter = lake.filter(lake::finished(&mut writer)).await;
    assert_eq!(lake.rows(lake.filtered(&filter), col("number").eq(lit(1_i64))).await, Ok(vec![1]));
    let outcomes = filter.outcomes();
    assert_eq!((outcomes.counts.known, outcomes.doubts(Doubt::File), outcomes.doubts(Doubt::Names)), (0, 3, 1));
    assert_eq!(outcomes.verdict(), [Finding::KnowsNone { files: 3 }]);
    let said = filter.first(Doubt::Names).unwrap();
    assert!(said.contains("`bucket/data/0.parquet`, the table `data/0.parquet`"), "{said}");
    // Files without a tag say nothing of names.
    let untagged: Vec<_> = files.into_iter().map(|file| ObjectMeta { e_tag: Some(String::new()), ..file }).collect();
    assert_eq!(lake.may_match(&filter, col("number").eq(lit(1_i64)), &untagged).await, [0, 1, 2]);
    assert_eq!(filter.outcomes().doubts(Doubt::Names), 1);
}

/// An adapter that has 7 in place of null.
#[derive(Debug)]
struct Sevens(Arc<dyn PhysicalExprAdapter>);

#[derive(Debug)]
struct SevensFactory;

impl PhysicalExprAdapterFactory for SevensFactory {
    fn create(&self, logical: SchemaRef, physical: SchemaRef) -> Result<Arc<dyn PhysicalExprAdapter>> {
        Ok(Arc::new(Sevens(DefaultPhysicalExprAdapterFactory.create(logical, physical)?)))
    }
}

impl PhysicalExprAdapter for Sevens {
    fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = self.0.rewrite(expr)?;
        let or_seven = |expr: Arc<dyn PhysicalExpr>| match expr.downcast_ref::<Column>() {
            Some(column) if column.name() == "number" => {
                let seven = Arc::new(Literal::new(ScalarValue::Int64(Some(7)))) as Arc<dyn PhysicalExpr>;
                let is_null = Arc::new(IsNullExpr::new(expr.clone())) as Arc<dyn PhysicalExpr>;
                Ok(Transformed::yes(case(None, vec![(is_null, seven)], Some(expr))?))
            }
            _ => Ok(Transformed::no(expr)),
        };
        Ok(expr.transform_up(or_seven)?.data)
    }
}

/// A null that the table shows as 7 is in no filter as 7.
#[tokio::test]
async fn substituted_values_are_maybe() {
    let lake = Lake::numbers();
    // Minimum and maximum do not rule 7 out.
    let (null, others) = (lake.batch(0, [None]), [5, 9].map(|n| lake.batch(n, [Some(n)])));
    lake.put("0", &concat_batches(&lake.schema, [&null].into_iter().chain(&others)).unwrap()).await;
    lake.put("1", &lake.batch(1, [Some(1)])).await;
    lake.put("2", &lake.batch(2, [Some(7)])).await;
    let filter = lake.filter(lake.set(&["number"]).await).await;
    let table = || ListingTable::try_new(lake.config().with_expr_adapter_factory(Arc::new(SevensFactory))).unwrap();
    let sevens = col("number").eq(lit(7_i64));
    assert_eq!(lake.rows(Arc::new(table()), sevens.clone()).await, Ok(vec![0, 2]));
    let filtered = Arc::new(FilteredTable::new(table(), filter.clone()));
    assert_eq!(lake.rows(filtered, sevens.clone()).await, Ok(vec![0, 2]));
    assert_eq!((filter.outcomes().doubts(Doubt::Adapter), filter.outcomes().counts.skipped), (1, 0));
    assert_eq!(filter.outcomes().verdict(), [Finding::NeverAsked, Finding::Adapter { queries: 1 }]);
    // Functions over the column are no lookups.
    let coalesced = datafusion::functions::expr_fn::coalesce(vec![col("number"), lit(7_i64)]).eq(lit(7_i64));
    assert_eq!(lake.rows(lake.filtered(&filter), coalesced).await, Ok(vec![0, 2]));
    assert_eq!(lake.rows(lake.filtered(&filter), sevens).await, Ok(vec![2]), "a table that shows nulls");
}

/// A list of files that is older than a file: the set answers for the state that the list names. With the list as it is
/// now, the file is *maybe*.
#[tokio::test]
async fn a_list_that_is_older_than_a_file() {
    let lake = numbers(2).await;
    let filter = lake.filter(lake.set(&["number"]).await).await;
    let old = lake.files().await;
    lake.put("1", &row(&lake, 1, 99)).await;
    let new = lake.files().await;
    assert_eq!(lake.may_match(&filter, col("number").eq(lit(99_i64)), &new).await, [1]);
    assert_eq!(lake.may_match(&filter, col("number").eq(lit(99_i64)), &old).await, [0; 0], "as README.md says");
    assert_eq!(lake.may_match(&filter, col("number").eq(lit(1_i64)), &old).await, [1]);
    assert_eq!(filter.outcomes().verdict(), [Finding::Unknown { unknown: 1, files: 6 }]);
    assert_eq!(lake.rows(lake.filtered(&filter), col("number").eq(lit(99_i64))).await, Ok(vec![1]));
}

/// Every file has the value: the set is asked in vain, and says so.
#[tokio::test]
async fn a_value_of_every_file() {
    let lake = Lake::numbers();
    for row in 0..10 {
        lake.put(&row.to_string(), &lake.batch(row, [Some(7)])).await;
    }
    let (filter, files) = (lake.filter(lake.set(&["number"]).await).await, lake.files().await);
    let (files, sevens) = (files.iter().collect::<Vec<_>>(), [col("number").eq(lit(7_i64)), col("row").lt(lit(5_i64))]);
    for _ in 0..100 {
        assert_eq!(filter.may_match(&lake.schema, &sevens, &files).await, FileMask::all(10));
    }
    assert_eq!(filter.outcomes().verdict(), [Finding::MostRead { read: 1000, known: 1000 }]);
    assert_eq!(filter.outcomes().counts.unanswered, 100);
    // A filter that never gets a question that it answers.
    let idle = FileFilter::new(lake.store.clone(), "lake.set".into());
    assert_eq!(idle.may_match(&lake.schema, &sevens[1..], &files).await, FileMask::all(10));
    assert_eq!(idle.outcomes().verdict(), [Finding::NeverAsked, Finding::Unanswered { filters: 1 }]);
}

/// Four queries read the index, and then their rows, at once. If one waited for another, none would end.
#[tokio::test]
async fn queries_read_at_once() {
    const QUERIES: usize = 4;
    let lake = numbers(5).await;
    let files = lake.files().await;
    let filter = lake.filter(lake.set(&["number"]).await).await;
    *lake.store.watch.gate.lock().unwrap() = Arc::new(Barrier::new(QUERIES));
    let query = async |number: i64| lake.may_match(&filter, col("number").eq(lit(number)), &files).await;
    let all = futures::future::join_all((0..QUERIES as i64).map(query));
    let all = tokio::time::timeout(Duration::from_secs(60), all).await.expect("no query waits for another");
    for (number, may_match) in all.iter().enumerate() {
        assert_eq!(*may_match, [number]);
    }
    assert_eq!(filter.outcomes().counts.requests, 2 * QUERIES as u64);
}
