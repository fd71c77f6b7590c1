//! The directory of the demo's stores.

use crate::exit::Failure;
use crate::interrupt;
use filterblock_kv::{CacheBypass, FileStorage, PAGE_LEN, PageBuf, Storage};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const NEXT: &str = "Nothing was run. Name a directory that exists and can be written to: `filterblock demo --dir DIR`.";

/// A directory that is removed with the demo, even if it is interrupted.
pub(super) struct Directory {
    dir: TempDir,
    bypass: CacheBypass,
}

impl Directory {
    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn bypass(&self) -> &CacheBypass {
        &self.bypass
    }

    /// A new directory in `given`. If `None`, in the first of some usual places where the page cache can be bypassed
    /// (temporary directories are often in memory), or else in the first writable one.
    pub(super) fn choose(given: Option<&Path>) -> Result<Self, Failure> {
        let failure = |dir: &Path, error: &io::Error| Failure::io(dir, "cannot hold the store", error, NEXT);
        if let Some(dir) = given {
            return Self::make(dir).map_err(|error| failure(dir, &error));
        }
        let candidates = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from(".")];
        let mut made = candidates.map(|dir| Self::make(&dir).map_err(|error| failure(&dir, &error)));
        // The sort is stable.
        made.sort_by_key(|made| match made {
            Ok(made) if made.bypass == CacheBypass::Active => 0,
            Ok(_) => 1,
            Err(_) => 2,
        });
        let [best, ..] = made;
        best
    }

    fn make(parent: &Path) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("filterblock-demo-").tempdir_in(parent)?;
        interrupt::will_remove(dir.path());
        let bypass = try_direct(&FileStorage::open_direct(dir.path())?)?;
        Ok(Self { dir, bypass })
    }
}

/// Returns whether a page that was just written is read past the page cache.
fn try_direct(storage: &FileStorage) -> io::Result<CacheBypass> {
    const NAME: &str = "page";
    let mut page = PageBuf::new(PAGE_LEN);
    let mut file = storage.create(NAME)?;
    file.write_all(page.as_slice())?;
    file.sync()?;
    storage.open(NAME)?.read_at(page.as_mut_slice(), 0)?;
    storage.remove(NAME)?;
    Ok(storage.cache_bypass())
}
