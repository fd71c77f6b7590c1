use super::Reached;
use crate::blocks::{Portable, query};
use crate::oracle::Oracle;
use filterblock::{CompactFrameReader, KeyHasher, KeyTransform};

/// Any bytes as a compact frame, which no checksum protects.
pub fn compact(frame: &[u8]) -> Reached {
    match CompactFrameReader::open(frame, KeyHasher::new(7), KeyTransform::WholeKey) {
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
