//! What a reader must know to open a block: the number that it is bound to, and a secret key.

use crate::exit::{Code, Failure};
use crate::output::shell_word;
use crate::units::parse_u64;
use filterblock::{KeyHasher, KeyTransform, OpenOptions};
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Flags of all subcommands that open a block.
#[derive(clap::Args)]
pub(crate) struct ExpectedArgs {
    /// The number that the block was bound to when it was built
    #[arg(long, value_name = "C", default_value = "0", value_parser = parse_u64)]
    context: u64,
    #[command(flatten)]
    key: HashKeyArgs,
}

/// Flags for what a compact frame does not store.
#[derive(clap::Args)]
#[command(next_help_heading = "For a compact frame")]
pub(crate) struct FrameArgs {
    /// F is a compact frame: it stores neither hash nor transform, which must be those that it was built with
    #[arg(long)]
    compact: bool,
    /// The seed of the hash, decimal or 0x…
    #[arg(long, value_name = "S", requires = "compact", conflicts_with = "hash_key_file", value_parser = parse_u64)]
    seed: Option<u64>,
    /// What entries are made of: whole-key, row, row+column, prefix:LEN or whole-key+prefix:LEN
    #[arg(long, value_name = "T", requires = "compact", value_parser = parse_transform)]
    transform: Option<KeyTransform>,
}

impl FrameArgs {
    /// Whether F is a compact frame.
    pub(crate) fn is_given(&self) -> bool {
        self.compact
    }

    /// Hasher and transform of a compact frame, for its figures.
    pub(crate) fn read(&self, key: &HashKey) -> (KeyHasher, KeyTransform) {
        let hasher = key.hasher.unwrap_or_else(|| KeyHasher::new(self.seed.unwrap_or(0)));
        (hasher, self.transform.unwrap_or_default())
    }

    /// Hasher and transform for queries. Neither has a default: under another one keys that are present are denied.
    pub(crate) fn read_all(&self, key: &HashKey) -> Result<(KeyHasher, KeyTransform), Failure> {
        if (self.seed.is_none() && key.hasher.is_none()) || self.transform.is_none() {
            let message = "a compact frame stores neither hash nor transform, and under others keys that are present are \
                           denied: give --transform and --seed or --hash-key-file as `filterblock build` was given them \
                           (by default whole-key and 0)";
            return Err(Failure::usage("query", message));
        }
        Ok(self.read(key))
    }
}

/// A transform by its name, of those whose code this tool has.
pub(crate) fn parse_transform(text: &str) -> Result<KeyTransform, String> {
    match text.parse() {
        Ok(KeyTransform::Custom(_)) => Err("the engine's own code is needed, which this tool does not have".to_owned()),
        Ok(transform) => Ok(transform),
        Err(error) => Err(error.to_string()),
    }
}

/// The flag of all subcommands that read filters, be it in a block, a table or a store.
#[derive(clap::Args)]
pub(crate) struct HashKeyArgs {
    /// The secret key under which filters are hashed: a file of 16 bytes, or of 32 hexadecimal digits
    #[arg(long, value_name = "F")]
    hash_key_file: Option<PathBuf>,
}

impl HashKeyArgs {
    /// Reads the file, once: it may be a pipe.
    pub(crate) fn read(&self) -> Result<HashKey, Failure> {
        let hasher = self.hash_key_file.as_deref().map(read_hash_key).transpose()?;
        Ok(HashKey { hasher, file: self.hash_key_file.clone() })
    }
}

/// The secret key that was given, if any.
#[derive(Clone)]
pub(crate) struct HashKey {
    pub(crate) hasher: Option<KeyHasher>,
    file: Option<PathBuf>,
}

impl HashKey {
    pub(crate) fn none() -> Self {
        Self { hasher: None, file: None }
    }

    /// A command for messages, between backquotes and with this key, so that it can be followed word for word.
    pub(crate) fn command(&self, line: impl Display) -> String {
        let flag = |file: &PathBuf| format!(" --hash-key-file {}", shell_word(file));
        format!("`filterblock {line}{}`", self.file.as_ref().map(flag).unwrap_or_default())
    }
}

/// What a block must match.
#[derive(Clone)]
pub(crate) struct Expected {
    context: u64,
    pub(crate) key: HashKey,
}

impl Expected {
    pub(crate) fn options(&self) -> OpenOptions {
        let options = OpenOptions::new().context(self.context);
        self.key.hasher.map_or(options, |hasher| options.expect_hasher(hasher))
    }

    /// As [`HashKey::command`], with the context.
    pub(crate) fn command(&self, line: impl Display) -> String {
        self.key.command(format_args!("{line}{}", self.context_flag()))
    }

    /// The flag of the context, if it is not the default.
    pub(crate) fn context_flag(&self) -> String {
        if self.context == 0 { String::new() } else { format!(" --context {:#x}", self.context) }
    }
}

impl ExpectedArgs {
    /// Refuses --context for a table or a store: there it follows from a filter's place.
    pub(crate) fn without_context(&self, subcommand: &str, path: &Path) -> Result<(), Failure> {
        match self.context {
            0 => Ok(()),
            _ => {
                let message = format!("{} has filters whose context is known: leave out --context", path.display());
                Err(Failure::usage(subcommand, message))
            }
        }
    }

    /// Refuses --context for a compact frame, which has no checksum that it could be bound by.
    pub(crate) fn without_context_of_frame(&self, subcommand: &str) -> Result<(), Failure> {
        match self.context {
            0 => Ok(()),
            _ => Err(Failure::usage(subcommand, "a compact frame is bound to no number: leave out --context")),
        }
    }

    pub(crate) fn read(&self) -> Result<Expected, Failure> {
        Ok(Expected { context: self.context, key: self.key.read()? })
    }
}

/// Two lines of digits: whatever is longer is no key.
const MAX_KEY_FILE_BYTES: u64 = 64;

/// The hasher under the secret key in a file. Not an argument, because every user of the machine can see those.
pub(crate) fn read_hash_key(path: &Path) -> Result<KeyHasher, Failure> {
    const NEXT: &str = "Nothing was read or written. Name the file that holds the key.";
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(MAX_KEY_FILE_BYTES).read_to_end(&mut bytes));
    file.map_err(|error| Failure::io(path, "cannot read the hash key", &error, NEXT))?;
    let key = bytes.as_slice().try_into().ok().or_else(|| unhex(bytes.trim_ascii_end()));
    key.map(KeyHasher::keyed).ok_or_else(|| {
        let (path, len) = (path.display(), bytes.len());
        let more = if len as u64 == MAX_KEY_FILE_BYTES { " or more" } else { "" };
        let message =
            format!("{path}: no hash key: {len} bytes{more}, expected 16 bytes or 32 hexadecimal digits. {NEXT}");
        Failure::new(Code::Usage, message)
    })
}

fn unhex(digits: &[u8]) -> Option<[u8; 16]> {
    let digit = |&byte: &u8| char::from(byte).to_digit(16);
    let digits: Vec<u32> = digits.iter().map(digit).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
    if digits.len() == 32 { bytes.try_into().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::unhex;

    #[test]
    fn keys_are_read_from_hexadecimal_digits() {
        let key = *b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\xfe\xff";
        assert_eq!(unhex(b"000102030405060708090a0b0c0dfeFF"), Some(key));
        for wrong in [&b""[..], b"00", &[b'0'; 31], &[b'0'; 33], &[b'0'; 34], b"000102030405060708090a0b0c0dfeFg"] {
            assert_eq!(unhex(wrong), None);
        }
    }
}
