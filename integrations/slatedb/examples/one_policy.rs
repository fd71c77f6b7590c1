//! A writer, a standalone compactor and a reader with one policy, given as text. In this example they share a process
//! and a store in memory; elsewhere each has its own process, the same bucket, and the same text in its options.
//!
//! ```sh
//! cargo run --release -p filterblock-slatedb --example one_policy -- ribbon:fpr=1%
//! ```

use filterblock_slatedb::FilterBlockPolicy;
use slatedb::config::{FlushOptions, FlushType, Settings};
use slatedb::object_store::ObjectStore;
use slatedb::object_store::memory::InMemory;
use slatedb::{CompactorBuilder, Db, DbReader};
use std::sync::Arc;
use std::time::Duration;

const PATH: &str = "db";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "ribbon:fpr=1%".to_owned());
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());

    // The writer. Its own compactor is off: another process compacts.
    let policy = Arc::new(text.parse::<FilterBlockPolicy>()?);
    let settings = Settings { compactor_options: None, ..Settings::default() };
    let db = Db::builder(PATH, store.clone())
        .with_settings(settings)
        .with_filter_policies(vec![policy.clone()])
        .build()
        .await?;
    for table in 0..4 {
        for i in 0..2_000 {
            db.put(format!("key {i} of table {table}"), b"value").await?;
        }
        db.flush_with_options(FlushOptions { flush_type: FlushType::MemTable }).await?;
    }
    println!("writer: {:?}", policy.outcomes());

    // Without the policy the compactor would write tables with SlateDB's own filter.
    let policy = Arc::new(text.parse::<FilterBlockPolicy>()?);
    let compactor = CompactorBuilder::new(PATH, store.clone()).with_filter_policies(vec![policy.clone()]).build();
    let running = tokio::spawn({
        let compactor = compactor.clone();
        async move { compactor.run().await }
    });
    while db.manifest().compacted().is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    compactor.stop().await?;
    running.await??;
    println!("compactor: {:?}", policy.outcomes());
    db.close().await?;

    // Without the policy the reader would read the tables as if they had no filters.
    let policy = Arc::new(text.parse::<FilterBlockPolicy>()?);
    let reader = DbReader::builder(PATH, store).with_filter_policies(vec![policy.clone()]).build().await?;
    assert!(reader.get("key 1999 of table 3").await?.is_some());
    assert!(reader.get("key 2000 of table 3").await?.is_none());
    reader.close().await?;
    println!("reader: {:?}", policy.outcomes());
    let verdict = policy.verdict(); // are the filters in use, and do they deny anything?
    assert!(verdict.is_fine(), "{verdict}");
    println!("{verdict}");
    Ok(())
}
