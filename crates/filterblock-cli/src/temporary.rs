//! Temporary files beside a target. They are removed when their process ends, even by an interrupt; those of a process
//! that was killed are removed by the next command that writes the same target.
//!
//! A name states for which target a file was made, and a lock that its process still runs: the system releases it with
//! the process, however that ends. Age and process numbers would prove neither.

use crate::interrupt;
use filterblock::KeyHasher;
use std::fs;
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

const SUFFIX: &str = ".tmp";
#[cfg(unix)]
const MAX_ATTEMPTS: u32 = 10;

pub(crate) fn directory(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The beginning of the names of a target's temporary files. Its own name may be as long as a name can be.
fn prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default();
    format!(".filterblock-{:016x}-", KeyHasher::new(0).hash(name.as_encoded_bytes()).get())
}

/// An empty, locked file beside the target, removed unless it is given the target's name.
pub(crate) fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let prefix = prefix(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The mode is that of the old file, or of any new file: the process's mask is applied to it.
        let mode = fs::metadata(target).map_or(0o666, |old| old.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    let create = || builder.tempfile_in(directory(target));
    #[cfg(unix)]
    let file = unix::locked(create)?;
    #[cfg(not(unix))]
    let file = create()?;
    interrupt::will_remove(file.path());
    Ok(file)
}

/// Removes the files that processes left which were killed while they wrote the target. What fails is left for the next
/// command.
#[cfg_attr(not(unix), expect(unused_variables, reason = "files are locked on Unix only"))]
pub(crate) fn remove_stale(target: &Path) {
    #[cfg(unix)]
    unix::remove_stale(directory(target), &prefix(target));
}

#[cfg(unix)]
mod unix {
    use super::{MAX_ATTEMPTS, NamedTempFile, Path, SUFFIX, fs, io};
    use rustix::fs::{FlockOperation, flock};
    use std::fs::{File, Metadata};
    use std::os::unix::fs::MetadataExt;

    /// A file that is locked and still has its name: another process may have taken it for a stale one before it was
    /// locked. Where files cannot be locked, this one is not, and no process removes it.
    pub(super) fn locked(create: impl Fn() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
        for _ in 0..MAX_ATTEMPTS {
            let file = create()?;
            // Waits for a process that holds it for as long as a removal takes.
            let is_locked = flock(file.as_file(), FlockOperation::LockExclusive).is_ok();
            if !is_locked || is_named(file.as_file(), file.path()) {
                return Ok(file);
            }
        }
        Err(io::Error::other("its temporary file was removed again and again"))
    }

    pub(super) fn remove_stale(dir: &Path, prefix: &str) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_ours = name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(SUFFIX));
            // No link is followed, and no pipe opened.
            if is_ours && entry.file_type().is_ok_and(|file_type| file_type.is_file()) {
                remove_if_stale(&entry.path());
            }
        }
    }

    /// Removes a file that no process has locked. The lock is held until it is removed.
    fn remove_if_stale(path: &Path) {
        // Some network file systems lock only what is open for writing.
        let Ok(file) = File::options().read(true).write(true).open(path) else { return };
        let is_stale = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if is_stale && is_named(&file, path) {
            // It is in nobody's way.
            let _ = fs::remove_file(path);
        }
    }

    /// Returns whether `path` is the name of this file.
    fn is_named(file: &File, path: &Path) -> bool {
        let id = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let ids = (file.metadata().map(id), fs::symlink_metadata(path).map(id));
        matches!(ids, (Ok(file), Ok(named)) if file == named)
    }
}
