//! [`Location`]: where a database is stored.

use anyhow::{Context, Result};
use slatedb::Db;
use slatedb::object_store::ObjectStore;
use slatedb::object_store::local::LocalFileSystem;
use slatedb::object_store::path::Path;
use std::fmt;
use std::sync::Arc;

/// The place where a database is stored: a directory, or `s3://BUCKET/PREFIX`. Endpoint and credentials of a bucket come
/// from `AWS_ENDPOINT`, `AWS_ACCESS_KEY_ID` and the like.
#[derive(Clone, Debug)]
pub struct Location(String);

const S3: &str = "s3://";

impl Location {
    /// The store, and the database's path in it.
    ///
    /// # Errors
    /// If the directory cannot be made, or the environment does not describe a bucket's server.
    pub fn open(&self) -> Result<(Arc<dyn ObjectStore>, Path)> {
        let Some(bucket) = self.0.strip_prefix(S3) else {
            std::fs::create_dir_all(&self.0).with_context(|| format!("cannot make {self}"))?;
            return Ok((Arc::new(LocalFileSystem::new_with_prefix(&self.0)?), Path::from("db")));
        };
        let (bucket, prefix) = bucket.split_once('/').unwrap_or((bucket, ""));
        let store = Db::resolve_object_store(&format!("{S3}{bucket}")).with_context(|| format!("cannot use {self}"))?;
        Ok((store, Path::from(prefix)))
    }

    /// A place beneath this one.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        Self(format!("{}/{name}", self.0.trim_end_matches('/')))
    }
}

impl From<String> for Location {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
