//! Keeps the files of a store out of the operating system's page cache.

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::path::Path;

/// The open files of a store that nobody writes to.
pub struct PageCache {
    files: Vec<File>,
}

impl PageCache {
    /// Of the files under `dir`, which are synced: pages that are not on the disk cannot be dropped.
    pub fn of(dir: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(dir, &mut files).with_context(|| format!("{}", dir.display()))?;
        Ok(Self { files })
    }

    /// Drops all pages of the files.
    pub fn drop_pages(&self) -> Result<()> {
        let drop_pages = |file| fadvise(file, 0, None, Advice::DontNeed).context("posix_fadvise");
        self.files.iter().try_for_each(drop_pages)
    }
}

fn collect(dir: &Path, files: &mut Vec<File>) -> Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.metadata()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            let file = File::open(entry.path())?;
            file.sync_data()?;
            files.push(file);
        }
    }
    Ok(())
}
