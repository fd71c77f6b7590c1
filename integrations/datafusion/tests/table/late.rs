//! Filters that a plan makes while it runs: those of joins, and others.

use crate::lake::Lake;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::catalog::TableProvider;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::JoinType;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, in_list, lit};
use datafusion::physical_plan::collect;
use datafusion::prelude::{SessionConfig, SessionContext};
use filterblock_datafusion::FilteredTable;
use std::sync::Arc;

const FILES: i64 = 20;

/// Number n is in file n mod 20, so that minimum and maximum deny no file.
async fn numbers() -> Lake {
    let lake = Lake::numbers();
    for file in 0..FILES {
        lake.put(&format!("{file:02}"), &lake.batch(file * 100, (0..100).map(|row| Some(row * FILES + file)))).await;
    }
    lake
}

/// A context that plans by hash tables of at most `threshold` rows for all partitions, or one for each.
fn context(lake: &Lake, threshold: usize) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(4).with_collect_statistics(false);
    config.options_mut().optimizer.hash_join_single_partition_threshold = threshold;
    config.options_mut().optimizer.hash_join_single_partition_threshold_rows = threshold;
    lake.context(config)
}

/// The lines of the join of some numbers with the table, in order, and how many files were opened for it.
async fn joined(
    lake: &Lake,
    table: Arc<dyn TableProvider>,
    (wanted, join, threshold): (&[Option<i64>], JoinType, usize),
) -> (Vec<String>, usize) {
    let context = context(lake, threshold);
    let wanted = Arc::new(Int64Array::from(wanted.to_vec())) as ArrayRef;
    let wanted = context.read_batch(RecordBatch::try_from_iter([("wanted", wanted)]).unwrap()).unwrap();
    let joined = wanted.join(context.read_table(table).unwrap(), join, &["wanted"], &["number"], None).unwrap();
    lake.store.take();
    let lines = pretty_format_batches(&joined.collect().await.unwrap()).unwrap().to_string();
    let mut lines: Vec<_> = lines.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    (lines, lake.store.take().files.len())
}

#[tokio::test]
async fn a_join_opens_the_files_of_its_numbers() {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
    let lake = numbers().await;
    let filter = lake.filter(lake.set(&["number"]).await).await;
    let plain: Arc<dyn TableProvider> = Arc::new(FilteredTable::new(lake.table(), filter.clone()).with_plain_scans());
    for threshold in [usize::MAX, 0] {
        for wanted in [&[Some(7), Some(45), Some(1999)][..], &[Some(7), None], &[None], &[], &[Some(-1)]] {
            for join in [Inner, Left, Right, Full, LeftSemi, RightSemi, LeftAnti, RightAnti] {
                let asked = (wanted, join, threshold);
                let (expected, of_plain) = joined(&lake, plain.clone(), asked).await;
                let (found, opened) = joined(&lake, lake.filtered(&filter), asked).await;
                assert_eq!(found, expected, "{asked:?}");
                // Not if the join shows all rows of the table, or those that it has not joined.
                let is_smaller = ![Right, Full, RightAnti].contains(&join) && wanted.len() == 3;
                let is_as_expected =
                    if is_smaller { (opened, of_plain) == (3, FILES as usize) } else { opened <= of_plain };
                assert!(is_as_expected, "{asked:?}: {opened} of {of_plain} files");
            }
        }
    }
    println!("counted: 80 joins found what they find without a set");
}

/// A filter that may still change is not asked: if it widens, no row is lost.
#[tokio::test]
async fn a_filter_that_widens_loses_no_row() {
    let lake = numbers().await;
    let filter = lake.filter(lake.set(&["number"]).await).await;
    let (context, schema) = (context(&lake, 0), lake.schema.clone());
    let plan = lake.filtered(&filter).scan(&context.state(), None, &[], None).await.unwrap();
    let number = Arc::new(Column::new("number", 1)) as Arc<dyn PhysicalExpr>;
    let one_of = |numbers: &[i64]| {
        in_list(number.clone(), numbers.iter().map(|&number| lit(number)).collect(), &false, &schema).unwrap()
    };
    let late = Arc::new(DynamicFilterPhysicalExpr::new(vec![number.clone()], one_of(&[7])));
    let scan = plan.downcast_ref::<DataSourceExec>().unwrap().data_source();
    let pushed = scan.try_pushdown_filters(vec![late.clone()], context.state().config_options()).unwrap();
    let pushed = pushed.updated_node.unwrap();
    let opened = async || {
        lake.store.take();
        collect(Arc::new(DataSourceExec::new(pushed.clone())), context.task_ctx()).await.unwrap();
        lake.store.take().files
    };
    assert_eq!(opened().await.len(), FILES as usize);
    late.update(one_of(&[7, 45])).unwrap();
    assert_eq!((opened().await.len(), filter.outcomes().lookups), (FILES as usize, 0));
    late.mark_complete();
    assert!(opened().await.iter().eq(["data/05.parquet", "data/07.parquet"]));
    assert!(filter.outcomes().lookups > 0);
}
