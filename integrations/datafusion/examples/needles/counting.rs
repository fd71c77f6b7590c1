//! [`CountingStore`]: an object store that records what is read.

#[path = "../../../slatedb/src/measure/watched.rs"]
mod watched;

use async_trait::async_trait;
use datafusion::object_store;
use datafusion::object_store::path::Path;
use datafusion::object_store::{GetOptions, GetResult, ObjectStore, Result};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Barrier;
use watched::{Watch, Watched};

/// What was read.
#[derive(Debug, Default)]
pub struct Reads {
    /// Requests.
    pub requests: u64,
    /// Bytes of their answers, without what a protocol adds.
    pub bytes: u64,
    /// Those of sets.
    pub of_sets: u64,
    /// Parquet files of which anything was read.
    pub files: BTreeSet<String>,
}

/// Passes everything on to another store, and records the requests for objects' bytes.
pub type CountingStore = Watched<Counting>;

/// The requests for objects' bytes.
pub struct Counting {
    reads: Mutex<Reads>,
    /// No request for bytes is answered before as many have come.
    pub gate: Mutex<Arc<Barrier>>,
}

impl CountingStore {
    /// Returns a recorder in front of `inner`.
    pub fn new(inner: Arc<dyn ObjectStore>) -> Arc<Self> {
        let watch = Counting { reads: Mutex::default(), gate: Mutex::new(Arc::new(Barrier::new(1))) };
        Arc::new(Self { inner, watch })
    }

    /// Returns the reads since the last call.
    pub fn take(&self) -> Reads {
        std::mem::take(&mut *self.watch.reads.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Watch for Counting {
    async fn get(&self, store: &dyn ObjectStore, location: &Path, options: GetOptions) -> Result<GetResult> {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner).clone();
        gate.wait().await;
        let head = options.head;
        let result = store.get_opts(location, options).await?;
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        reads.requests += 1;
        let bytes = if head { 0 } else { result.range.end - result.range.start };
        reads.bytes += bytes;
        match location.extension() {
            Some("parquet") => drop(reads.files.insert(location.to_string())),
            _ => reads.of_sets += bytes,
        }
        drop(reads);
        Ok(result)
    }
}
