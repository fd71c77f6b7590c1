//! Files that hold a compact frame.

use crate::block_file;
use crate::exit::{Code, Failure};
use filterblock::{CompactFrameReader, DecodeError, EntryHasher, MAGIC};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most that is read: nothing in a frame shows where it ends.
const MAX_BYTES: u64 = 1 << 30;

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failure = |error: io::Error| block_file::unreadable(path, &error);
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(failure)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failure(io::Error::other(format!("more than {MAX_BYTES} bytes"))));
    }
    Ok(bytes)
}

/// Opens a file's only frame with what it does not store.
pub(crate) fn open<'a>(
    path: &Path,
    bytes: &'a [u8],
    entries: &'a EntryHasher,
) -> Result<CompactFrameReader<'a>, Failure> {
    // A block's last bytes might look like those of a frame.
    if bytes.starts_with(&MAGIC) {
        let message = format!(
            "{}: begins as a block does, and was not queried. Leave out --compact-frame, and what is given with it.",
            path.display()
        );
        return Err(Failure::new(Code::Usage, message));
    }
    CompactFrameReader::open(bytes, entries).map_err(|error| Failure::damaged(describe(path, bytes, &error)))
}

fn describe(path: &Path, bytes: &[u8], error: &DecodeError) -> String {
    let (path, len, ignored) = (path.display(), bytes.len(), block_file::ignored(error));
    format!("{path}: compact frame at offset 0 ({len} bytes): {error}. {ignored}")
}
