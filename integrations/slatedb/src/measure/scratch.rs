//! [`Scratch`]: a directory for a test's database.

use super::Location;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new directory among the system's temporary ones, removed with everything in it when this is dropped. (A crate for
/// it would change the features of SlateDB's dependencies: the tests would compile SlateDB once more.)
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the directory.
    ///
    /// # Errors
    /// The system's; also if the directory exists.
    pub fn new() -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("filterblock-slatedb-{}-{number}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Self { path })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A database in it.
    pub fn location(&self) -> Location {
        self.path.display().to_string().into()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Files that cannot be removed are left to the system.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
