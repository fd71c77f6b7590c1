//! Where the demo's stores live for its duration.

use filterblock::kv::{CacheBypass, FileStorage, Storage};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory that goes away with the demo.
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

/// A new directory in `asked`. Unless asked, in the first of some usual places where the page cache can be bypassed
/// (temporary directories are often kept in memory), or else in the first that can be written.
pub(super) fn choose(asked: Option<&Path>) -> io::Result<Place> {
    if let Some(dir) = asked {
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
