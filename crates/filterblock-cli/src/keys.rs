//! Keys from a file or standard input, one at a time through one buffer.
//!
//! A key is any bytes up to the delimiter: no character set is assumed, a carriage return before the newline belongs to
//! the key, and an empty line is the empty key. The last key needs no delimiter after it.

use crate::exit::{self, Code, Failure};
use crate::output::shell_word;
use crate::progress::Reading;
use std::collections::TryReserveError;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Take};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 18;
/// The longest line: room for the longest cell of a store with each of its bytes escaped.
const MAX_KEY_BYTES: usize = 128 << 20;
/// The most that is read from a device, which may have no end.
const MAX_DEVICE_BYTES: u64 = 16 << 20;

/// A source of keys.
pub(crate) struct Keys {
    input: BufReader<Take<File>>,
    name: PathBuf,
    is_stdin: bool,
    delimiter: u8,
    key: Vec<u8>,
    num_keys: u64,
    carriage_returns: CarriageReturns,
    num_bytes: u64,
    progress: Reading,
    /// The consequence of a failure to read, for its message.
    consequence: &'static str,
}

/// Keys of text with a carriage return at the end.
#[derive(Clone, Copy, Default)]
struct CarriageReturns {
    num_keys: u64,
    /// The number of the first of them, from 1.
    first: u64,
}

/// Returns whether `path` denotes standard input or output.
pub(crate) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Keys {
    /// Opens `path`, or standard input for `-`.
    pub(crate) fn open(path: &Path, null: bool, consequence: &'static str) -> Result<Self, Failure> {
        let is_stdin = is_dash(path);
        let name = if is_stdin { PathBuf::from("standard input") } else { path.to_owned() };
        let failure = |error| Failure::io(&name, "cannot open", &error, consequence);
        let file = if is_stdin { stdin() } else { File::open(path) }.map_err(failure)?;
        let metadata = file.metadata().map_err(failure)?;
        if metadata.is_dir() {
            return Err(failure(io::ErrorKind::IsADirectory.into()));
        }
        if file.is_terminal() {
            exit::message(format_args!("{}: reading lines from the terminal, up to Ctrl-D", name.display()));
        }
        // A person who types the list sees how far it is.
        let mut progress = Reading::new(metadata.is_file().then_some(metadata.len()));
        if file.is_terminal() {
            progress.hide();
        }
        let limit = if is_device(&file, &metadata) { MAX_DEVICE_BYTES + 1 } else { u64::MAX };
        let input = BufReader::with_capacity(BUFFER_BYTES, file.take(limit));
        let delimiter = if null { 0 } else { b'\n' };
        let (key, carriage_returns) = (Vec::new(), CarriageReturns::default());
        Ok(Self {
            input,
            name,
            is_stdin,
            delimiter,
            key,
            num_keys: 0,
            carriage_returns,
            num_bytes: 0,
            progress,
            consequence,
        })
    }

    /// The next key; `None` after the last one. Warns of an input that is empty, or begins with a byte-order mark, or has
    /// lines that end in CR LF.
    pub(crate) fn next_key(&mut self) -> Result<Option<&[u8]>, Failure> {
        if self.num_bytes == 0 {
            self.warn_of_encoding()?;
        }
        self.key.clear();
        let mut is_ended = false;
        while !is_ended {
            let (name, consequence) = (&self.name, self.consequence);
            let failure = |error| Failure::io(name, "cannot read", &error, consequence);
            if self.input.buffer().is_empty() {
                self.progress.at(self.num_bytes, self.num_keys);
            }
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
            // Nothing is returned only at the end of the input.
            is_ended = end.is_some() || len == 0;
            self.input.consume(len);
            self.num_bytes += len as u64;
            if len == 0 && self.input.get_ref().limit() == 0 {
                let reason = format!("more than {MAX_DEVICE_BYTES} bytes from a device, which may have no end");
                return Err(failure(io::Error::other(reason)));
            }
            if len == 0 && self.key.is_empty() {
                self.progress.end();
                self.warn_at_end();
                return Ok(None);
            }
        }
        self.num_keys += 1;
        // A line with a NUL is no text, whose lines an editor might have ended so.
        if self.key.last() == Some(&b'\r') && !self.key.contains(&0) {
            let seen = &mut self.carriage_returns;
            seen.num_keys += 1;
            seen.first = if seen.num_keys == 1 { self.num_keys } else { seen.first };
        }
        Ok(Some(&self.key))
    }

    /// Returns whether the next key may have to be waited for.
    pub(crate) fn is_drained(&self) -> bool {
        self.input.buffer().is_empty()
    }

    /// Shows no progress.
    pub(crate) fn hide_progress(&mut self) {
        self.progress.hide();
    }

    /// The list, for messages.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// The number of keys so far.
    pub(crate) fn num_keys(&self) -> u64 {
        self.num_keys
    }

    /// The failure to remember a key.
    pub(crate) fn out_of_memory(&self, error: TryReserveError) -> Failure {
        let failed = format!("cannot keep key {} in memory", self.num_keys);
        Failure::io(&self.name, &failed, &error.into(), self.consequence)
    }

    /// The failure to find a column in the last key.
    pub(crate) fn without_column(&self) -> Failure {
        let message = format!(
            "{}: line {}: no tab: expected a row, a tab and a column, of which the entries are made. {}",
            self.name.display(),
            self.num_keys,
            self.consequence
        );
        Failure::new(Code::Usage, message)
    }

    /// Lines that end in CR LF are rarely meant to: the keys without the carriage return are other keys.
    fn warn_at_end(&self) {
        let name = self.name.display();
        if self.num_keys == 0 {
            exit::message(format_args!(
                "{name}: empty: nothing was read. Check the file, or the command that writes it."
            ));
        }
        let CarriageReturns { num_keys, first } = self.carriage_returns;
        if num_keys > 0 && self.delimiter == b'\n' {
            exit::message(format_args!(
                "{name}: lines that end in a carriage return: {num_keys} of {}, the first at line {first}. It is part of the \
                 key (of a cell, of the value), which is another without it. If the lines were meant to end in CR LF, run \
                 the same command on the output of `{}`.",
                self.num_keys,
                self.without_carriage_returns()
            ));
        }
    }

    /// A command that prints the list without the carriage returns before its line ends.
    fn without_carriage_returns(&self) -> String {
        let sed = "sed 's/\\r$//'";
        if self.is_stdin { sed.to_owned() } else { format!("{sed} {}", shell_word(&self.name)) }
    }

    fn warn_of_encoding(&mut self) -> Result<(), Failure> {
        let start = self.input.fill_buf();
        let start = start.map_err(|error| Failure::io(&self.name, "cannot read", &error, self.consequence))?;
        let (encoding, command) = match start {
            [0xef, 0xbb, 0xbf, ..] => ("UTF-8", "tail -c +4"),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => ("UTF-16", "iconv -f UTF-16 -t UTF-8"),
            _ => return Ok(()),
        };
        exit::message(format_args!(
            "{}: begins with a {encoding} byte-order mark, which is in the keys. If it is text, run `{command}` on it.",
            self.name.display()
        ));
        Ok(())
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

/// Returns whether `file` is a device such as /dev/zero.
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
