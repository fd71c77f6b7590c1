//! Interrupts that leave nothing behind: temporary files and directories are removed before the process ends.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

/// The files that an interrupt removes.
enum Debris {
    /// A file, or a directory with all in it.
    Path(PathBuf),
    /// The files that the store in this directory has not finished.
    UnfinishedFiles(PathBuf),
}

static DEBRIS: Mutex<Vec<Debris>> = Mutex::new(Vec::new());
/// Attempts to remove a directory that another thread still writes to.
const MAX_ATTEMPTS: u32 = 1000;

/// Registers a file or a directory for removal when the process is interrupted. It need not exist then.
pub(crate) fn will_remove(path: &Path) {
    add(Debris::Path(path.to_owned()));
}

/// Has an interrupt remove the files that the store in `dir`, which this process has open, has not finished. All that
/// it has acknowledged stays.
pub(crate) fn will_remove_unfinished(dir: &Path) {
    add(Debris::UnfinishedFiles(dir.to_owned()));
}

/// The store in `dir` is about to be closed: from then on its files may be another process's.
pub(crate) fn forget_unfinished(dir: &Path) {
    let mut debris = DEBRIS.lock().unwrap_or_else(PoisonError::into_inner);
    debris.retain(|debris| !matches!(debris, Debris::UnfinishedFiles(other) if other == dir));
}

fn add(debris: Debris) {
    DEBRIS.lock().unwrap_or_else(PoisonError::into_inner).push(debris);
    #[cfg(unix)]
    unix::watch(clean_up);
}

#[cfg_attr(not(unix), expect(dead_code, reason = "interrupts are watched for on Unix only"))]
fn clean_up() {
    // Other threads go on: one that fails for want of its files can neither report that nor end the process.
    let _stderr = io::stderr().lock();
    for debris in &*DEBRIS.lock().unwrap_or_else(PoisonError::into_inner) {
        match debris {
            Debris::Path(path) => remove(path),
            Debris::UnfinishedFiles(dir) => {
                let entries = fs::read_dir(dir).into_iter().flatten().flatten();
                let unfinished = entries.filter(|entry| is_unfinished(&entry.file_name().to_string_lossy()));
                // Files only: a directory of such a name is not the store's.
                unfinished.for_each(|entry| drop(fs::remove_file(entry.path())));
            }
        }
    }
}

fn remove(path: &Path) {
    let is_dir = path.is_dir();
    let gone = |result: io::Result<()>| result.map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true);
    let attempt = |_| gone(if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) }) && !path.exists();
    // The process ends in any case.
    let _ = (0..MAX_ATTEMPTS).any(attempt);
}

/// Whether a store writes its files under such names first.
fn is_unfinished(name: &str) -> bool {
    let is_numbered = |stem: &str| {
        stem.split_once('.').is_some_and(|(number, extension)| {
            number.len() >= 6
                && number.bytes().all(|digit| digit.is_ascii_digit())
                && ["wal", "sst", "flt"].contains(&extension)
        })
    };
    name.strip_suffix(".tmp").is_some_and(|stem| stem == "MANIFEST" || is_numbered(stem))
}

#[cfg(unix)]
mod unix {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    use std::sync::{Once, mpsc};
    use std::thread;

    /// Starts the thread that waits for interrupts and then cleans up, once; on return it is waiting. If it cannot be
    /// started, interrupts end the process as usual.
    pub(super) fn watch(clean_up: fn()) {
        static START: Once = Once::new();
        let (sender, is_waiting) = mpsc::channel();
        let wait = move || {
            let watched = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
            let Ok(mut signals) = Signals::new(watched) else {
                return;
            };
            let _ = sender.send(());
            for signal in signals.forever() {
                clean_up();
                // Ends the process by the signal, so that a shell sees what happened.
                let _ = emulate_default_handler(signal);
            }
        };
        START.call_once(|| {
            let started = thread::Builder::new().name("interrupts".to_owned()).spawn(wait);
            // A thread that ends before it waits sends nothing.
            drop(started.map(|_| is_waiting.recv()));
        });
    }

    /// Whether the process was started with the signal ignored, as by `nohup`. See proc_pid_status(5).
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::is_unfinished;

    #[test]
    fn only_files_of_a_store_are_unfinished_ones() {
        for name in ["MANIFEST.tmp", "000007.sst.tmp", "000007.flt.tmp", "12345678.wal.tmp"] {
            assert!(is_unfinished(name), "{name}");
        }
        for name in [
            "MANIFEST",
            "000007.sst",
            "notes.tmp",
            "notes.sst.tmp",
            ".tmp",
            ".sst.tmp",
            "7.sst.tmp",
            "7.txt.tmp",
            "7.tmp",
        ] {
            assert!(!is_unfinished(name), "{name}");
        }
    }
}
