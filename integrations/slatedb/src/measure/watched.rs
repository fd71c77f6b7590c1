//! [`Watched`]: an object store that passes everything on to another one, requests for bytes through a watcher. The module
//! above names the version of `object_store`.

use super::object_store::path::Path;
use super::object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};
use async_trait::async_trait;
use futures::stream::BoxStream;
use std::fmt;
use std::sync::Arc;

/// Sees the requests for bytes of objects.
#[async_trait]
pub trait Watch: Send + Sync + 'static {
    /// Has `store` answer a request.
    async fn get(&self, store: &dyn ObjectStore, location: &Path, options: GetOptions) -> Result<GetResult>;
}

/// A store, and its watcher.
#[derive(Clone)]
pub struct Watched<W> {
    pub(super) inner: Arc<dyn ObjectStore>,
    /// The watcher.
    pub watch: W,
}

impl<W> fmt::Debug for Watched<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watched({:?})", self.inner)
    }
}

impl<W> fmt::Display for Watched<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

// Requests for several ranges take the default way, through `get_opts`.
#[async_trait]
impl<W: Watch> ObjectStore for Watched<W> {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.watch.get(&*self.inner, location, options).await
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

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
