//! What a reader must know to open a block: the number that it is bound to, and a secret key.

use crate::exit::{Code, Failure};
use crate::units::parse_u64;
use filterblock::{KeyHasher, OpenOptions};
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

/// The flag of all subcommands that read filters, be it in a block, a table or a store.
#[derive(clap::Args)]
pub(crate) struct HashKeyArgs {
    /// The secret key under which filters are hashed: a file of 16 bytes, or of 32 hexadecimal digits
    #[arg(long, value_name = "F")]
    hash_key_file: Option<PathBuf>,
}

impl HashKeyArgs {
    /// The hasher under the given key.
    pub(crate) fn hasher(&self) -> Result<Option<KeyHasher>, Failure> {
        self.hash_key_file.as_deref().map(read_hash_key).transpose()
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

    pub(crate) fn options(&self) -> Result<OpenOptions, Failure> {
        let options = OpenOptions::new().context(self.context);
        Ok(self.key.hasher()?.map_or(options, |hasher| options.expect_hasher(hasher)))
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
