use super::Reached;
use crate::blocks::{Portable, ask};
use crate::oracle::Oracle;
use filterblock::{DecodeError, FilterBlockReader, OpenOptions};

/// Any bytes as a block: opened or refused, with the digest and without, never a panic.
pub fn open(bytes: &[u8]) -> Reached {
    let opened = FilterBlockReader::open(bytes);
    let trusted = OpenOptions::new().trusted(true).open(bytes);
    match (&opened, &trusted) {
        (Ok(_), Ok(_)) | (Err(DecodeError::PayloadDigest { .. }), _) => {}
        (Err(a), Err(b)) => assert_eq!(a, b),
        _ => panic!("{opened:?}, but trusted: {trusted:?}"),
    }
    for reader in [&opened, &trusted] {
        match reader {
            Ok(reader) => ask(reader, &Portable::open(bytes, 0), &Oracle::open(bytes), bytes),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    if opened.is_ok() { Reached::Compared } else { Reached::Refused }
}
