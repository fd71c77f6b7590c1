//! Directories whose names are durable: a synced file is lost with the directory that it is in.

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Makes what was created, renamed and removed in a directory durable.
pub(super) fn sync(dir: &File) -> io::Result<()> {
    #[cfg(test)]
    tests::note(dir);
    dir.sync_all()
}

/// Whether a directory's own name was made durable.
#[derive(Debug, Default)]
pub(super) struct NameSync(AtomicBool);

impl NameSync {
    /// Syncs the parent of `dir`, unless that was done before. Whoever created the directory may have been interrupted
    /// before syncing its name.
    pub(super) fn sync_once(&self, dir: &File) -> io::Result<()> {
        if !self.0.load(Ordering::Acquire) {
            sync_parent(dir)?;
            self.0.store(true, Ordering::Release);
        }
        Ok(())
    }
}

/// Creates a directory and those above it that do not exist, the outermost first. Each name is durable before anything
/// is created under it, so that an interruption leaves at most the innermost in doubt.
pub(super) fn create_dir(dir: &Path) -> io::Result<()> {
    match fs::create_dir(dir) {
        Ok(()) => {
            let dir = open_dir(dir)?;
            let parent = open_parent(&dir)?;
            sync_parent(&dir)?;
            // The parent may be what an earlier, interrupted creation left.
            parent.map_or(Ok(()), |parent| sync_parent(&parent))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let above = dir.parent().filter(|above| !above.as_os_str().is_empty()).ok_or(error)?;
            create_dir(above)?;
            create_dir(dir)
        }
        // Created meanwhile, or before.
        Err(_) if dir.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

pub(super) fn open_dir(dir: &Path) -> io::Result<File> {
    Ok(File::from(retry_on_intr(|| rustix::fs::open(dir, DIRECTORY, Mode::empty()))?))
}

/// The parent of a directory; `None` if it may not be read.
fn open_parent(dir: &File) -> io::Result<Option<File>> {
    match retry_on_intr(|| openat(dir, "..", DIRECTORY, Mode::empty())) {
        Ok(parent) => Ok(Some(File::from(parent))),
        Err(Errno::ACCESS | Errno::PERM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes the name of `dir` durable.
fn sync_parent(dir: &File) -> io::Result<()> {
    let Some(parent) = open_parent(dir)? else {
        return sync_file_system(dir);
    };
    match sync(&parent).map_err(|error| (Errno::from_io_error(&error), error)) {
        // The parent is in a file system without syncs of directories, or one that is read-only: there is nothing to
        // sync. This is so where the directory is a mount point.
        Err((Some(Errno::INVAL | Errno::ROFS), _)) => Ok(()),
        other => other.map_err(|(_, error)| error),
    }
}

/// Syncs the whole file system, for a parent that may not be read.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn sync_file_system(dir: &File) -> io::Result<()> {
    Ok(retry_on_intr(|| rustix::fs::syncfs(dir))?)
}

/// Does nothing: other systems have no such call, and the name is left to them.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn sync_file_system(_dir: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{FileStorage, Storage};
    use std::cell::RefCell;
    use std::fs::{self, File};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    thread_local! {
        /// The directories that were synced, by inode.
        static SYNCED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn note(dir: &File) {
        let inode = dir.metadata().unwrap().ino();
        SYNCED.with_borrow_mut(|synced| synced.push(inode));
    }

    /// The inodes that `act` syncs.
    fn synced(act: impl FnOnce()) -> Vec<u64> {
        SYNCED.take();
        act();
        SYNCED.take()
    }

    fn inode(dir: &Path) -> u64 {
        fs::metadata(dir).unwrap().ino()
    }

    #[test]
    fn a_new_directory_and_its_names_are_synced_from_the_outside_in() {
        let top = tempfile::tempdir().unwrap();
        let dirs: Vec<_> = ["", "a", "a/b", "a/b/db"].iter().map(|name| top.path().join(name)).collect();
        let of_opening = synced(|| drop(FileStorage::open(&dirs[3]).unwrap()));
        let position = |dir: &Path| of_opening.iter().position(|&synced| synced == inode(dir));
        let positions: Vec<_> = dirs[..3].iter().map(|dir| position(dir).unwrap()).collect();
        assert!(positions.is_sorted(), "{positions:?}");
    }

    #[test]
    fn the_first_sync_of_a_directory_syncs_its_name() {
        // This is the state after a process was killed that had created the directory.
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("db");
        fs::create_dir(&dir).unwrap();
        let storage = FileStorage::open(&dir).unwrap();
        let of_syncs = synced(|| (0..2).for_each(|_| storage.sync_dir().unwrap()));
        assert_eq!(of_syncs, [inode(&dir), inode(top.path()), inode(&dir)]);
        // Above an interrupted creation too.
        let inner = dir.join("inner");
        assert!(synced(|| drop(FileStorage::open(&inner).unwrap())).contains(&inode(top.path())));
    }
}
