//! [`CountingStore`]: an object store that records what is read.

use async_trait::async_trait;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};
use futures::stream::BoxStream;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Barrier;

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
pub struct CountingStore {
    inner: Arc<dyn ObjectStore>,
    reads: Mutex<Reads>,
    /// No request for bytes is answered before as many have come.
    pub gate: Mutex<Arc<Barrier>>,
}

impl CountingStore {
    /// Returns a recorder in front of `inner`.
    pub fn new(inner: Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self { inner, reads: Mutex::default(), gate: Mutex::new(Arc::new(Barrier::new(1))) })
    }

    /// Returns the reads since the last call.
    pub fn take(&self) -> Reads {
        std::mem::take(&mut *self.reads.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountingStore({:?})", self.inner)
    }
}

impl fmt::Display for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

// Requests for several ranges take the default way, through `get_opts`.
#[async_trait]
impl ObjectStore for CountingStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner).clone();
        gate.wait().await;
        let head = options.head;
        let result = self.inner.get_opts(location, options).await?;
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

    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
