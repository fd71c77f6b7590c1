use super::Reached;
use crate::blocks::{Portable, query};
use crate::oracle::Oracle;
use filterblock::{CompactFrameReader, EntryHasher, KeyHasher, KeyTransform};

/// Any bytes as a compact frame, which no checksum protects.
pub fn compact(frame: &[u8]) -> Reached {
    let entries = EntryHasher::new(KeyHasher::new(7), KeyTransform::WholeKey);
    match CompactFrameReader::open(frame, &entries) {
        Ok(reader) => {
            assert_eq!(reader.frame_len(), frame.len());
            query(&reader, &Portable::open_compact(frame), &Oracle::open_compact(frame), frame);
            Reached::Compared
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Reached::Refused
        }
    }
}
