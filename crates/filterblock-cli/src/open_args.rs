//! The arguments that a reader needs to open a block: the number to which it is bound, and a secret key.

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
    pub(crate) key: HashKeyArgs,
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
    pub(crate) hash_key_file: Option<PathBuf>,
}

impl HashKeyArgs {
    /// Reads the file, once: it may be a pipe.
    pub(crate) fn read(&self) -> Result<HashKey, Failure> {
        let hasher = self.hash_key_file.as_deref().map(read_hash_key).transpose()?;
        Ok(HashKey { hasher, file: self.hash_key_file.clone() })
    }
}

/// The secret key that was given, if any.
#[derive(Default)]
pub(crate) struct HashKey {
    pub(crate) hasher: Option<KeyHasher>,
    file: Option<PathBuf>,
}

impl HashKey {
    /// A command for messages, between backquotes and with this key, so that it can be followed word for word.
    pub(crate) fn command(&self, line: impl Display) -> String {
        let flag = |file: &PathBuf| format!(" --hash-key-file {}", shell_word(file));
        format!("`filterblock {line}{}`", self.file.as_ref().map(flag).unwrap_or_default())
    }
}

/// The properties that a block must match.
#[derive(Default)]
pub(crate) struct Expected {
    context: u64,
    pub(crate) key: HashKey,
}

impl Expected {
    pub(crate) fn options(&self) -> OpenOptions {
        let options = OpenOptions::new().with_context(self.context);
        match &self.key.hasher {
            Some(hasher) => options.expect_hasher(hasher),
            None => options,
        }
    }

    /// Returns [`HashKey::command`] with the context.
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
        if self.context == 0 {
            return Ok(());
        }
        let message = format!("{} has filters whose context is known: leave out --context", path.display());
        Err(Failure::usage(subcommand, message))
    }

    pub(crate) fn read(&self) -> Result<Expected, Failure> {
        Ok(Expected { context: self.context, key: self.key.read()? })
    }
}

/// The length of two lines of digits: anything longer is not a key.
const MAX_KEY_FILE_BYTES: u64 = 64;

/// Returns the hasher under the secret key in a file. The key is not an argument, because every user of the machine can
/// see arguments.
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
