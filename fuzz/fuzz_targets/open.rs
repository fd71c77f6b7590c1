//! Any bytes: opened or refused, with the digest and without, never a panic.
#![no_main]

use filterblock::{DecodeError, FilterBlockReader, OpenOptions};
use filterblock_fuzz::ask;
use filterblock_fuzz::oracle::Oracle;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let opened = FilterBlockReader::open(bytes);
    let trusted = OpenOptions::new().trusted(true).open(bytes);
    match (&opened, &trusted) {
        (Ok(_), Ok(_)) | (Err(DecodeError::PayloadDigest { .. }), _) => {}
        (Err(a), Err(b)) => assert_eq!(a, b),
        _ => panic!("{opened:?}, but trusted: {trusted:?}"),
    }
    for reader in [&opened, &trusted] {
        match reader {
            Ok(reader) => ask(reader, &Oracle::open(bytes), bytes),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
