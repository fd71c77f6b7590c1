//! Any bytes as a compact frame, which no checksum protects.
#![no_main]

use filterblock::{FilterBlockReader, KeyHasher, KeyTransform};
use filterblock_fuzz::ask;
use filterblock_fuzz::oracle::Oracle;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|frame: &[u8]| {
    match FilterBlockReader::open_compact(frame, KeyHasher::new(7), KeyTransform::WholeKey) {
        Ok(reader) => ask(&reader, &Oracle::open_compact(frame), frame),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
