//! Writer, standalone compactor and reader in processes of their own, which have the policy as text: on local files,
//! and in a bucket.

use anyhow::{Context, Result, ensure};
use filterblock_slatedb::measure::{Caching, Database, FilterChoice, Location, Reader, Scratch, absent_key, fill, row};
use serde_json::Value;
use tokio::process::Command;

const TABLES: u64 = 4;
const POLICY: &str = "golomb:fpr=0.5%,seed=7";

/// How much is written and looked up.
#[derive(Clone, Copy)]
struct Plan {
    rows: u64,
    /// Rows that a reading process looks up.
    verified: u64,
    absent: u64,
}

const ON_LOCAL_FILES: Plan = Plan { rows: 20_000, verified: 20_000, absent: 5_000 };

/// Each lookup without filters is several requests.
const IN_A_BUCKET: Plan = Plan { rows: 4_000, verified: 200, absent: 500 };

/// Where the server's bucket is; see `run`.
const BUCKET: &str = "FILTERBLOCK_BUCKET";

/// Runs the program with words that are separated by spaces, and returns its output.
async fn run(words: &str, location: &Location) -> Result<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_filterblock-slatedb"));
    let (subcommand, options) = words.split_once(' ').unwrap_or((words, ""));
    command.arg(subcommand).arg(location.to_string()).args(options.split_whitespace());
    let output = command.output().await?;
    ensure!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// What a reading process has counted.
async fn read(policy: &str, location: &Location, plan: Plan) -> Result<Value> {
    let Plan { verified, absent, .. } = plan;
    let words = format!("read --filters {policy} --rows {verified} --absent {absent} --caching metadata");
    let line = run(&words, location).await?;
    Ok(serde_json::from_str(&line)?)
}

fn number(counts: &Value, name: &str) -> u64 {
    counts[name].as_u64().unwrap_or_else(|| panic!("no {name} in {counts}"))
}

/// Filled, read, compacted and read again, by a process each.
async fn processes_share_filters(location: &Location, plan: Plan) -> Result<()> {
    let rows = plan.rows;
    run(&format!("fill --filters {POLICY} --rows {rows} --tables {TABLES}"), location).await?;
    let unfiltered = read("none", location, plan).await?;
    assert_eq!((number(&unfiltered, "ruled_out"), number(&unfiltered, "absent_found")), (0, 0));
    let filtered = read(POLICY, location, plan).await?;
    saved(&filtered, TABLES, &unfiltered, plan);
    assert_eq!(number(&filtered, "level_0_tables"), TABLES);

    run(&format!("compact --filters {POLICY}"), location).await?;
    let unfiltered = read("none", location, plan).await?;
    let compacted = read(POLICY, location, plan).await?;
    saved(&compacted, 1, &unfiltered, plan);
    assert_eq!((number(&compacted, "level_0_tables"), number(&compacted, "tables")), (0, 1));
    // The compactor's filter is of the policy, and not SlateDB's default, which has 10 bits a key.
    let bits_per_key = number(&compacted, "filter_bytes") as f64 * 8.0 / rows as f64;
    assert!((8.5..9.8).contains(&bits_per_key), "{bits_per_key} bits a key");
    Ok(())
}

/// Every filter was used, and the answers were right: a reading process fails where a row is missed.
fn saved(counts: &Value, tables: u64, unfiltered: &Value, plan: Plan) {
    let Plan { verified, absent, .. } = plan;
    assert_eq!((number(counts, "filters_opened"), number(counts, "filters_ignored")), (tables, 0), "{counts}");
    assert_eq!((number(counts, "rows_found"), number(counts, "absent_found")), (verified, 0), "{counts}");
    assert!(number(counts, "ruled_out") >= absent * tables * 98 / 100, "{counts}");
    assert!(number(counts, "requests") * 40 < number(unfiltered, "requests"), "{counts} and {unfiltered}");
}

/// A writer stays open while another process compacts its tables and a third reads them.
async fn a_writer_goes_on_beside_a_compactor(location: &Location, plan: Plan) -> Result<()> {
    let rows = plan.rows;
    let database = Database::at(location, POLICY.parse::<FilterChoice>()?)?;
    let db = database.open_uncompacted().await?;
    fill(&db, rows, TABLES).await?;
    run(&format!("compact --filters {POLICY}"), location).await?;
    db.refresh_manifest().await?;
    assert!(db.manifest().l0().is_empty());
    for i in 0..rows {
        assert_eq!(db.get(row(i).key).await?.map(Vec::from), Some(row(i).value.to_vec()), "row {i}");
        assert_eq!(db.get(absent_key(i)).await?, None);
    }
    db.put(row(rows).key, row(rows).value).await?;
    db.close().await?;
    let reader = Reader::open(&database, Caching::Everything).await?;
    reader.verify_in_parallel(0..rows + 1).await?;
    reader.close().await?;
    let outcomes = database.filters().blocks().context("filter blocks")?.outcomes();
    assert_eq!(outcomes.ignored(), 0);
    assert!(outcomes.opened >= 2, "by the writer and by the reader, from the compactor's table: {outcomes:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_share_filters_on_local_files() -> Result<()> {
    let scratch = Scratch::new()?;
    processes_share_filters(&scratch.location(), ON_LOCAL_FILES).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_goes_on_beside_a_compactor_on_local_files() -> Result<()> {
    let scratch = Scratch::new()?;
    a_writer_goes_on_beside_a_compactor(&scratch.location(), ON_LOCAL_FILES).await
}

fn bucket(name: &str) -> Result<Location> {
    let bucket = std::env::var(BUCKET).with_context(|| format!("{BUCKET} is not set"))?;
    Ok(Location::from(bucket).join(name))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server with a bucket, which `run` starts"]
async fn processes_share_filters_in_a_bucket() -> Result<()> {
    processes_share_filters(&bucket("processes")?, IN_A_BUCKET).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server with a bucket, which `run` starts"]
async fn a_writer_goes_on_beside_a_compactor_in_a_bucket() -> Result<()> {
    a_writer_goes_on_beside_a_compactor(&bucket("writer")?, IN_A_BUCKET).await
}
