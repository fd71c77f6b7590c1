//! Keys from a file or standard input, one at a time through one buffer.
//!
//! A key is the bytes up to the delimiter, whatever they are: no character set is assumed, a carriage return before
//! the newline belongs to the key, and an empty line is the empty key. The last key needs no delimiter after it.

use crate::exit::{self, Code, Failure};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::TryReserveError;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Take};
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
/// The longest line: room for the longest cell of a store with each of its bytes escaped.
const MAX_KEY_BYTES: usize = 128 << 20;
/// The most that is read from a device, which may have no end.
const MAX_DEVICE_BYTES: u64 = 16 << 20;

/// A source of keys.
pub(crate) struct Keys {
    input: BufReader<Take<File>>,
    name: PathBuf,
    delimiter: u8,
    key: Vec<u8>,
    seen: Seen,
    num_bytes: u64,
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

/// Whether `path` denotes standard input or output.
pub(crate) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Keys {
    /// Opens `path`, or standard input for `-`.
    pub(crate) fn open(path: &Path, null: bool, consequence: &'static str) -> Result<Self, Failure> {
        let name = if is_dash(path) { PathBuf::from("standard input") } else { path.to_owned() };
        let failure = |error| Failure::io(&name, "cannot open", &error, consequence);
        let file = if is_dash(path) { stdin() } else { File::open(path) }.map_err(failure)?;
        let metadata = file.metadata().map_err(failure)?;
        if metadata.is_dir() {
            return Err(failure(io::ErrorKind::IsADirectory.into()));
        }
        if file.is_terminal() {
            exit::message(format_args!("{}: reading lines from the terminal, up to Ctrl-D", name.display()));
        }
        let limit = if is_device(&file, &metadata) { MAX_DEVICE_BYTES + 1 } else { u64::MAX };
        let len = metadata.is_file().then_some(metadata.len());
        let input = BufReader::with_capacity(BUFFER_BYTES, file.take(limit));
        let delimiter = if null { 0 } else { b'\n' };
        let (key, seen, num_bytes, progress) = (Vec::new(), Seen::default(), 0, progress_bar(len));
        Ok(Self { input, name, delimiter, key, seen, num_bytes, progress, consequence })
    }

    /// Shows no progress: for output that goes to the same terminal.
    pub(crate) fn without_progress(self) -> Self {
        Self { progress: ProgressBar::hidden(), ..self }
    }

    /// The next key; `None` after the last one. Warns of an input that is empty or not in bytes of one character each.
    pub(crate) fn next_key(&mut self) -> Result<Option<&[u8]>, Failure> {
        if self.num_bytes == 0 {
            self.warn_of_encoding()?;
        }
        self.key.clear();
        let mut is_ended = false;
        while !is_ended {
            let (name, consequence) = (&self.name, self.consequence);
            let failure = |error| Failure::io(name, "cannot read", &error, consequence);
            let chunk = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.map_err(failure)?,
            };
            let end = chunk.iter().position(|&byte| byte == self.delimiter);
            let (part, len) = end.map_or((chunk, chunk.len()), |end| (&chunk[..end], end + 1));
            if self.key.len() + part.len() > MAX_KEY_BYTES {
                return Err(failure(io::Error::other(format!("a line of more than {MAX_KEY_BYTES} bytes"))));
            }
            self.key.try_reserve(part.len()).map_err(|error| failure(error.into()))?;
            self.key.extend_from_slice(part);
            // Only the end of the input gives nothing.
            is_ended = end.is_some() || len == 0;
            self.input.consume(len);
            self.num_bytes += len as u64;
            if len == 0 && self.input.get_ref().limit() == 0 {
                let reason = format!("more than {MAX_DEVICE_BYTES} bytes from a device, which may have no end");
                return Err(failure(io::Error::other(reason)));
            }
            if len == 0 && self.key.is_empty() {
                self.progress.finish_and_clear();
                self.warn_if_empty();
                return Ok(None);
            }
        }
        self.seen.num_keys += 1;
        self.seen.num_ending_in_cr += u64::from(self.key.last() == Some(&b'\r'));
        if self.seen.num_keys % KEYS_PER_UPDATE == 0 {
            self.progress.set_position(self.num_bytes);
            self.progress.set_message(format!("{} keys", self.seen.num_keys));
        }
        Ok(Some(&self.key))
    }

    /// Whether the next key may have to be waited for.
    pub(crate) fn is_drained(&self) -> bool {
        self.input.buffer().is_empty()
    }

    /// The keys so far.
    pub(crate) fn seen(&self) -> Seen {
        self.seen
    }

    /// The failure to remember a key.
    pub(crate) fn out_of_memory(&self, error: TryReserveError) -> Failure {
        let failed = format!("cannot keep key {} in memory", self.seen.num_keys);
        Failure::io(&self.name, &failed, &error.into(), self.consequence)
    }

    /// The failure to find a column in the last key.
    pub(crate) fn without_column(&self) -> Failure {
        let message = format!(
            "{}: line {}: no tab: expected a row, a tab and a column, of which the entries are made. {}",
            self.name.display(),
            self.seen.num_keys,
            self.consequence
        );
        Failure::new(Code::Usage, message)
    }

    fn warn_of_encoding(&mut self) -> Result<(), Failure> {
        let start =
            self.input.fill_buf().map_err(|error| Failure::io(&self.name, "cannot read", &error, self.consequence))?;
        let name = self.name.display();
        if start.starts_with(b"\xef\xbb\xbf") {
            exit::message(format_args!(
                "{name}: begins with a UTF-8 byte-order mark, whose bytes are now part of the first line. To drop \
                 them, run `tail -c +4` on it."
            ));
        } else if self.delimiter != 0 && is_utf16(start) {
            let is_marked = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
            let form = match (is_marked, start.first()) {
                (true, _) => "UTF-16",
                (false, Some(0)) => "UTF-16BE",
                (false, _) => "UTF-16LE",
            };
            exit::message(format_args!(
                "{name}: looks like UTF-16, but lines are taken as bytes, NULs included. To convert it, run `iconv -f \
                 {form} -t UTF-8` on it."
            ));
        }
        Ok(())
    }

    fn warn_if_empty(&self) {
        if self.seen.num_keys == 0 {
            let name = self.name.display();
            exit::message(format_args!(
                "{name}: empty: nothing was read. Check the file, or the command that writes it."
            ));
        }
    }
}

/// Standard input without a buffer that other readers would share.
#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

/// Whether `file` is a device such as /dev/zero.
fn is_device(file: &File, metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        metadata.file_type().is_char_device() && !file.is_terminal()
    }
    #[cfg(not(unix))]
    {
        let _ = (file, metadata);
        false
    }
}

/// Whether text begins with UTF-16's byte-order mark, or holds NULs at every other byte only, as that of western
/// languages does.
fn is_utf16(start: &[u8]) -> bool {
    let start = &start[..start.len().min(4096)];
    let nuls = |parity| start.iter().skip(parity).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd) = (nuls(0), nuls(1));
    let has_mark = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    // Sixteen bytes: numbers as keys have NULs, too, but not often in this pattern.
    (has_mark && even + odd > 0) || (start.len() >= 16 && even.min(odd) == 0 && even.max(odd) >= start.len() * 2 / 5)
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

#[cfg(test)]
mod tests {
    use super::is_utf16;

    #[test]
    fn utf16_is_told_from_other_bytes() {
        let little: Vec<u8> = "a line of text\n".bytes().flat_map(|byte| [byte, 0]).collect();
        let big: Vec<u8> = "a line of text\n".bytes().flat_map(|byte| [0, byte]).collect();
        for text in [&little, &big, &[b"\xff\xfe", &little[..2]].concat(), &[b"\xfe\xff", &big[..2]].concat()] {
            assert!(is_utf16(text), "{text:?}");
        }
        let numbers: Vec<u8> = (0..100u8).flat_map(|number| [0, 0, 0, number, b'\n']).collect();
        for bytes in [&b""[..], b"a\0b\0", b"a line of text, and another\n", b"\xff\xfe\x80\n", &[0; 100], &numbers] {
            assert!(!is_utf16(bytes), "{bytes:?}");
        }
    }
}
