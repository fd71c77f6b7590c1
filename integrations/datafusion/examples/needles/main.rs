//! Looks for needles in many Parquet files, and prints what DataFusion reads: with minimum and maximum only, with
//! Parquet's own Bloom filters, and with filter sets.
//!
//! `cargo run --example needles [FILES [BUCKET]]`; 650 files of 100 000 rows take 2 GB of the directory for temporary files,
//! and are removed. A bucket is one of the S3-compatible server that the environment names (`AWS_ENDPOINT`); it is left as
//! it is then.

mod counting;
mod lake;

use counting::CountingStore;
use datafusion::catalog::TableProvider;
use datafusion::common::config::TableParquetOptions;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::ObjectStore;
use datafusion::object_store::aws::AmazonS3Builder;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{Expr, SessionContext, col, lit};
use filterblock_datafusion::{FileFilter, FilteredTable};
use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

/// Needles of each row of the table.
const NEEDLES: i64 = 3;

const METHODS: [&str; 4] = ["min/max", "Parquet's Bloom", "set: 0.01", "set: 0.001"];

/// What some queries took.
#[derive(Default)]
struct Cost {
    planned: usize,
    opened: usize,
    /// Requests, bytes, those of the set, and microseconds.
    cold: [u64; 4],
    warm: [u64; 4],
    rows: usize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let num_files: i64 = args.next().map_or(Ok(650), |files| files.parse())?;
    let scratch = tempfile::tempdir()?;
    let store: Arc<dyn ObjectStore> = match args.next() {
        Some(bucket) => Arc::new(AmazonS3Builder::from_env().with_bucket_name(bucket).build()?),
        None => Arc::new(LocalFileSystem::new_with_prefix(scratch.path())?),
    };
    let store = CountingStore::new(store);
    let sizes = lake::write(&store, num_files).await?;
    println!(
        "{num_files} files of {} rows: {} bytes, with Parquet's filters of three columns",
        lake::ROWS,
        sizes.files
    );
    println!("filters: Parquet's, at 0.01, {} bytes", sizes.parquet_filters);
    for (rate, len) in lake::RATES.iter().zip(sizes.sets) {
        println!("         the set at {rate} {len} bytes");
    }
    println!("\n{:>43}{:>35}{:>35}", "files a query", "cold, a query", "again");
    print!("{:<13}{:<16}{:>7}{:>7}", "column", "by", "plan", "open");
    let of_reads = format!("{:>9}{:>11}{:>8}{:>7}", "requests", "bytes", "of set", "ms");
    println!("{of_reads}{of_reads}{:>5}", "rows");
    let mut requests = 0;
    for (column, is_present) in ["id", "user", "name"].into_iter().flat_map(|column| [(column, true), (column, false)])
    {
        for method in METHODS {
            let mut cost = Cost::default();
            for needle in 0..NEEDLES {
                let id = (2 * needle + 1) * num_files * lake::ROWS / (2 * NEEDLES) + 7 * needle;
                let rows = cost.rows;
                query(&store, method, needle_filter(column, id, is_present, num_files), &mut cost).await?;
                assert_eq!(cost.rows > rows, is_present, "{method}: a row was lost, or found where none is");
            }
            let a_query = |count: f64| count / NEEDLES as f64;
            let of = format!("{column} {}", if is_present { "present" } else { "absent" });
            print!("{of:<13}{method:<16}{:>7.1}", a_query(cost.planned as f64));
            print!("{:>7.1}", a_query(cost.opened as f64));
            for reads in [cost.cold, cost.warm] {
                let [requests, bytes, of_set, micros] = reads.map(|count| a_query(count as f64));
                print!("{requests:>9.1}{bytes:>11.0}{of_set:>8.0}{:>7.1}", micros / 1000.0);
            }
            println!("{:>5.1}", a_query(cost.rows as f64));
            requests += cost.cold[0] + cost.warm[0];
        }
    }
    println!("\n{requests} requests in all");
    Ok(())
}

/// A filter for a value that a row has, or one that none has but which lies between the least and the greatest.
fn needle_filter(column: &str, id: i64, is_present: bool, num_files: i64) -> Expr {
    let beyond = if is_present { id } else { id + num_files * lake::ROWS };
    match column {
        // Numbers in order leave no gap for an absent one.
        "id" => col("id").eq(lit(beyond)),
        "user" => col("user").eq(lit(lake::user(beyond))),
        _ => col("name").eq(lit(lake::name(beyond))),
    }
}

/// Runs the query in a new context, and again in the same.
async fn query(store: &Arc<CountingStore>, method: &str, filter: Expr, cost: &mut Cost) -> Result<(), Box<dyn Error>> {
    let context = SessionContext::new();
    let url = ObjectStoreUrl::parse("lake://files")?;
    context.register_object_store(url.as_ref(), store.clone());
    let mut options = TableParquetOptions::default();
    options.global.bloom_filter_on_read = method == METHODS[1];
    let options = ListingOptions::new(Arc::new(ParquetFormat::default().with_options(options)));
    let config = ListingTableConfig::new(ListingTableUrl::parse("lake://files/data/")?);
    let table = ListingTable::try_new(config.with_listing_options(options).with_schema(lake::schema()))?;
    let table: Arc<dyn TableProvider> = match method.strip_prefix("set: ") {
        Some(rate) => {
            let filter = FileFilter::new(store.clone(), format!("{rate}.set").into());
            Arc::new(FilteredTable::new(table, Arc::new(filter)))
        }
        None => Arc::new(table),
    };
    for is_cold in [true, false] {
        store.take();
        let begun = Instant::now();
        let plan = context.read_table(table.clone())?.filter(filter.clone())?.create_physical_plan().await?;
        let planned = num_planned(&plan);
        let rows = collect(plan, context.task_ctx()).await?.iter().map(|batch| batch.num_rows()).sum::<usize>();
        let (reads, micros) = (store.take(), begun.elapsed().as_micros() as u64);
        let sums = if is_cold { &mut cost.cold } else { &mut cost.warm };
        let counts = [reads.requests, reads.bytes, reads.of_sets, micros];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        if is_cold {
            cost.planned += planned;
            cost.opened += reads.files.len();
            cost.rows += rows;
        }
    }
    Ok(())
}

/// The number of files in a plan.
fn num_planned(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let scan =
        plan.downcast_ref::<DataSourceExec>().and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
    let own = scan.map_or(0, |scan| {
        let files = scan.file_groups.iter().flat_map(|group| group.iter());
        files.map(|file| file.object_meta.location.clone()).collect::<BTreeSet<_>>().len()
    });
    own + plan.children().into_iter().map(num_planned).sum::<usize>()
}
