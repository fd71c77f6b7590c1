//! Interrupts that leave nothing on disk: temporary files and directories are removed before the process ends.

use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

/// The files and directories that an interrupt removes.
static DEBRIS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Attempts to remove a directory that another thread still writes to.
const MAX_ATTEMPTS: u32 = 1000;

/// Has a write beyond the greatest length of files (`ulimit -f`) fail with an error, which is reported and cleaned up
/// after, rather than end the process.
pub(crate) fn catch_file_limit() {
    // If it cannot be caught, the signal ends the process as usual.
    #[cfg(unix)]
    drop(signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()));
}

/// Registers a file or a directory for removal when the process is interrupted. It need not exist then.
pub(crate) fn will_remove(path: &Path) {
    DEBRIS.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    #[cfg(unix)]
    unix::watch(clean_up);
}

#[cfg_attr(not(unix), expect(dead_code, reason = "interrupts are watched for on Unix only"))]
fn clean_up() {
    // Other threads go on: one that fails for want of its files can neither report that nor end the process.
    let _stderr = io::stderr().lock();
    DEBRIS.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|path| remove(path));
}

fn remove(path: &Path) {
    let is_dir = path.is_dir();
    let gone = |result: io::Result<()>| result.map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true);
    let attempt = |_| gone(if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) }) && !path.exists();
    // The process ends in any case.
    let _ = (0..MAX_ATTEMPTS).any(attempt);
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

    /// Returns whether the process was started with the signal ignored, as by `nohup`. See proc_pid_status(5).
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }
}
