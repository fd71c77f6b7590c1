use super::Reached;
use crate::blocks::{Portable, query};
use crate::oracle::Oracle;
use filterblock::{FilterBlockReader, KeyHasher, KeyTransform};

/// Any bytes as a compact frame, which no checksum protects.
pub fn compact(frame: &[u8]) -> Reached {
    match FilterBlockReader::open_compact(frame, KeyHasher::new(7), KeyTransform::WholeKey) {
        Ok(reader) => {
            query(&reader, &Portable::open_compact(frame), &Oracle::open_compact(frame), frame);
            Reached::Compared
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Reached::Refused
        }
    }
}
