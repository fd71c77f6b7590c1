//! Has a Ballista cluster compute plans that a filter set has made smaller, and prints what its executor reads.
//!
//! The set is queried where a query is planned. What is sent to the scheduler is a plan of ordinary Parquet scans, so
//! neither the scheduler nor the executors know of sets.

#[path = "../../datafusion/examples/needles/counting.rs"]
mod counting;
#[path = "../../datafusion/examples/needles/lake.rs"]
mod lake;

use ballista_core::execution_plans::execute_physical_plan;
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_executor::new_standalone_executor_from_state;
use ballista_scheduler::standalone::new_standalone_scheduler_from_state;
use counting::CountingStore;
use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
use datafusion::catalog::TableProvider;

use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::object_store::local::LocalFileSystem;
use datafusion::physical_plan::common::collect;
use datafusion::prelude::{SessionConfig, SessionContext, col, lit};
use datafusion_proto::protobuf::PhysicalPlanNode;
use filterblock_datafusion::{FileFilter, FilteredTable};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const FILES: i64 = 65;

/// Rows that are looked for, one by one.
const IDS: [i64; 3] = [123_456, 3_000_003, 6_400_000];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let store = CountingStore::new(Arc::new(LocalFileSystem::new_with_prefix(scratch.path())?));
    lake::write(&store, FILES).await?;
    let url = ObjectStoreUrl::parse("lake://files")?;
    let config = SessionConfig::new_with_ballista();
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    state.runtime_env().register_object_store(url.as_ref(), store.clone());
    let scheduler = start(&state).await?;

    println!("{FILES} files, queries for a number that one row has; means of {}", IDS.len());
    println!("{:<12}{:>12}{:>14}{:>12}{:>14}", "", "planning", "", "executor", "");
    println!("{:<12}{:>12}{:>14}{:>12}{:>14}{:>8}", "by", "requests", "bytes", "requests", "bytes", "files");
    for is_filtered in [false, true] {
        let mut sums = [0; 5];
        for id in IDS {
            let [planning, executor] = query(&state, &scheduler, &store, id, is_filtered).await?;
            let files = executor.files.len() as u64;
            assert!(!is_filtered || files < 10, "{files} of {FILES} files for one row");
            let counts = [planning.requests, planning.bytes, executor.requests, executor.bytes, files];
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let [planning, planning_bytes, executor, bytes, files] = sums.map(|sum| sum as f64 / IDS.len() as f64);
        print!("{:<12}", if is_filtered { "set: 0.01" } else { "min/max" });
        println!("{planning:>12.1}{planning_bytes:>14.0}{executor:>12.1}{bytes:>14.0}{files:>8.1}");
    }
    Ok(())
}

/// Starts a scheduler and an executor, and returns the scheduler's address.
async fn start(state: &SessionState) -> Result<String, Box<dyn Error>> {
    let address = new_standalone_scheduler_from_state(state).await?;
    let scheduler = format!("http://localhost:{}", address.port());
    let client = loop {
        match SchedulerGrpcClient::connect(scheduler.clone()).await {
            Ok(client) => break client,
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    };
    new_standalone_executor_from_state(client, 2, state).await?;
    Ok(scheduler)
}

/// Plans a query for one row here, has the cluster compute it, and returns what was read for both.
async fn query(
    state: &SessionState,
    scheduler: &str,
    store: &Arc<CountingStore>,
    id: i64,
    is_filtered: bool,
) -> Result<[counting::Reads; 2], Box<dyn Error>> {
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()));
    let config = ListingTableConfig::new(ListingTableUrl::parse("lake://files/data/")?);
    let table = ListingTable::try_new(config.with_listing_options(options).with_schema(lake::schema()))?;
    let table: Arc<dyn TableProvider> = if is_filtered {
        let filter = FileFilter::new(store.clone(), "0.01.set".into());
        Arc::new(FilteredTable::new(table, Arc::new(filter)).with_plain_scans())
    } else {
        Arc::new(table)
    };
    store.take();
    let found = SessionContext::new_with_state(state.clone())
        .read_table(table)?
        .filter(col("user").eq(lit(lake::user(id))))?
        .select_columns(&["id", "name"])?
        // Two stages, with files that pass between them.
        .distinct()?;
    let plan = found.create_physical_plan().await?;
    let planning = store.take();
    let config = SessionConfig::new_with_ballista();
    let codec = config.ballista_physical_extension_codec();
    let settings = config.ballista_config();
    let session = format!("row-{id}-{is_filtered}");
    let rows =
        execute_physical_plan::<PhysicalPlanNode>(scheduler.into(), &settings, plan, codec.as_ref(), session, config);
    let rows = collect(rows.await?).await?;
    let rows = rows.into_iter().filter(|batch| batch.num_rows() > 0).collect::<Vec<_>>();
    let expected: [ArrayRef; 2] =
        [Arc::new(Int64Array::from(vec![id])), Arc::new(StringArray::from(vec![lake::name(id)]))];
    let [row] = &rows[..] else { return Err(format!("{} batches of rows", rows.len()).into()) };
    assert_eq!(row.columns(), expected);
    Ok([planning, store.take()])
}
