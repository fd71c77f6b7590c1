//! [`Location`]: where a database is stored.

use anyhow::{Context, Result};
use slatedb::Db;
use slatedb::object_store::ObjectStore;
use slatedb::object_store::local::LocalFileSystem;
use slatedb::object_store::path::Path;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// The place where a database is stored.
#[derive(Clone, Debug)]
pub enum Location {
    /// A directory.
    Directory(PathBuf),
    /// A bucket. Endpoint and credentials come from `AWS_ENDPOINT`, `AWS_ACCESS_KEY_ID` and the like.
    Bucket {
        /// The bucket's name.
        bucket: String,
        /// The prefix of the names of the database's objects.
        prefix: String,
    },
}

const S3: &str = "s3://";

impl Location {
    /// The store, and the database's path in it.
    ///
    /// # Errors
    /// If the directory cannot be made, or the environment does not describe a bucket's server.
    pub fn open(&self) -> Result<(Arc<dyn ObjectStore>, Path)> {
        match self {
            Self::Directory(dir) => {
                std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
                Ok((Arc::new(LocalFileSystem::new_with_prefix(dir)?), Path::from("db")))
            }
            Self::Bucket { bucket, prefix } => {
                let store =
                    Db::resolve_object_store(&format!("{S3}{bucket}")).with_context(|| format!("cannot use {self}"))?;
                Ok((store, Path::from(prefix.as_str())))
            }
        }
    }

    /// A place beneath this one.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        match self {
            Self::Directory(dir) => Self::Directory(dir.join(name)),
            Self::Bucket { bucket, prefix } => {
                Self::Bucket { bucket: bucket.clone(), prefix: format!("{}/{name}", prefix.trim_end_matches('/')) }
            }
        }
    }
}

/// `s3://BUCKET/PREFIX`, or a directory.
impl FromStr for Location {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.strip_prefix(S3) {
            Some(rest) => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                Self::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() }
            }
            None => Self::Directory(text.into()),
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(dir) => dir.display().fmt(f),
            Self::Bucket { bucket, prefix } => write!(f, "{S3}{bucket}/{prefix}"),
        }
    }
}
