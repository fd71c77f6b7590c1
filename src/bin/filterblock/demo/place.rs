//! The directory of the demo's stores.

use filterblock::kv::{CacheBypass, FileStorage, Storage};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory that is removed with the demo.
pub(super) struct Place {
    dir: TempDir,
    bypass: CacheBypass,
}

impl Place {
    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn bypass(&self) -> &CacheBypass {
        &self.bypass
    }
}

/// A new directory in `given`. If `None`, in the first of some usual places where the page cache can be bypassed
/// (temporary directories are often in memory), or else in the first writable one.
pub(super) fn choose(given: Option<&Path>) -> io::Result<Place> {
    if let Some(dir) = given {
        std::fs::create_dir_all(dir)?;
        return make(dir);
    }
    let candidates = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from(".")];
    let mut best: io::Result<Place> = Err(io::ErrorKind::NotFound.into());
    for candidate in candidates {
        let place = make(&candidate);
        if place.as_ref().is_ok_and(|place| place.bypass == CacheBypass::Active) {
            return place;
        }
        if best.is_err() {
            best = place;
        }
    }
    best
}

fn make(parent: &Path) -> io::Result<Place> {
    let dir = tempfile::Builder::new().prefix("filterblock-demo-").tempdir_in(parent)?;
    let bypass = FileStorage::open_direct(dir.path())?.cache_bypass();
    Ok(Place { dir, bypass })
}
