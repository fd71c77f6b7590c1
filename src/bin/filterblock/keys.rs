//! Keys from a file or standard input, one at a time through one buffer.
//!
//! A key is the bytes up to the delimiter, whatever they are: no character set is assumed, a carriage return before
//! the newline belongs to the key, and an empty line is the empty key. The last key needs no delimiter after it.

use crate::exit::Failure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Part of the help of every subcommand that reads keys.
pub(crate) const NOTATION: &str = "\
Keys in files:
  A key is the bytes of a line without its newline; with --null, the bytes up to a NUL.
  Any bytes will do. A carriage return before the newline belongs to the key. An empty
  line is the empty key. The last line may lack its newline. '-' is standard input.";

/// Keys between two updates of the progress bar.
const KEYS_PER_UPDATE: u64 = 1 << 14;
const BUFFER_BYTES: usize = 1 << 18;

/// A source of keys.
pub(crate) struct Keys {
    input: Box<dyn BufRead>,
    name: PathBuf,
    delimiter: u8,
    progress: ProgressBar,
    /// The consequence of a failure to read, for its message.
    consequence: &'static str,
}

/// Counts of the keys.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) num_keys: u64,
    /// Keys with a carriage return at the end.
    pub(crate) num_ending_in_cr: u64,
}

/// Whether `path` stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Keys {
    /// Opens `path`, or standard input for `-`.
    pub(crate) fn open(path: &Path, null: bool, consequence: &'static str) -> Result<Self, Failure> {
        let (input, name, len): (Box<dyn BufRead>, _, _) = if is_stdin(path) {
            let stdin = BufReader::with_capacity(BUFFER_BYTES, io::stdin());
            (Box::new(stdin), PathBuf::from("standard input"), None)
        } else {
            let failure = |error| Failure::io(path, "cannot open", &error, consequence);
            let file = File::open(path).map_err(failure)?;
            let metadata = file.metadata().map_err(failure)?;
            if metadata.is_dir() {
                return Err(failure(io::ErrorKind::IsADirectory.into()));
            }
            let len = metadata.is_file().then_some(metadata.len());
            (Box::new(BufReader::with_capacity(BUFFER_BYTES, file)), path.to_owned(), len)
        };
        let delimiter = if null { 0 } else { b'\n' };
        Ok(Self { input, name, delimiter, progress: progress_bar(len), consequence })
    }

    /// Shows no progress: for output that goes to the same terminal.
    pub(crate) fn without_progress(self) -> Self {
        Self { progress: ProgressBar::hidden(), ..self }
    }

    /// Passes every key to `visit`, until it breaks.
    pub(crate) fn for_each(mut self, mut visit: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<Seen, Failure> {
        let (mut key, mut seen, mut num_bytes) = (Vec::new(), Seen::default(), 0);
        loop {
            key.clear();
            let read = self.input.read_until(self.delimiter, &mut key);
            num_bytes += read.map_err(|error| Failure::io(&self.name, "cannot read", &error, self.consequence))? as u64;
            if key.is_empty() {
                break;
            }
            if key.last() == Some(&self.delimiter) {
                key.pop();
            }
            seen.num_keys += 1;
            seen.num_ending_in_cr += u64::from(key.last() == Some(&b'\r'));
            if visit(&key).is_break() {
                break;
            }
            if seen.num_keys % KEYS_PER_UPDATE == 0 {
                self.progress.set_position(num_bytes);
                self.progress.set_message(format!("{} keys", seen.num_keys));
            }
        }
        self.progress.finish_and_clear();
        Ok(seen)
    }
}

/// A bar over `len` bytes, or a count of them if the number is unknown.
fn progress_bar(len: Option<u64>) -> ProgressBar {
    match len {
        Some(len) => progress(ProgressBar::new(len), "{wide_bar} {bytes}/{total_bytes} {msg} {eta}"),
        None => progress(ProgressBar::no_length(), "{spinner} {bytes} {msg}"),
    }
}

/// `bar` drawn by `template`, or hidden unless standard error is a terminal.
pub(crate) fn progress(bar: ProgressBar, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    bar.set_draw_target(ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Shows a spinner while `work` runs, if standard error is a terminal.
pub(crate) fn with_spinner<T>(message: &'static str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let spinner = ProgressBar::new_spinner().with_message(message);
    spinner.enable_steady_tick(Duration::from_millis(200));
    let result = work();
    spinner.finish_and_clear();
    result
}
