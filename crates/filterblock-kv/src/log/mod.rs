//! Logs: files that only grow, record by record; the write-ahead log and the manifest are two of them.
//!
//! | record offset | size | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32 of the rest of the header and of the record's location (number of the log, offset), masked |
//! | 4 | 4 | CRC-32 of the payload and of its location, masked |
//! | 8 | 4 | length of the payload in bytes |
//! | 12 | 4 | zero |
//! | 16 | 8 | synced length: how many bytes of the file were durable when the record was written |
//! | 24 | | payload |
//!
//! Records follow each other without gaps. The payload of the first identifies the log: magic (8), version (4), zero
//! (4), number (8).
//!
//! A write-ahead log has the number in its file's name. All manifests have one name, so that blocks of an older one,
//! where a file system shows them after a crash, would pass its checksums: a manifest has the number of its generation,
//! one more than the number of the manifest it replaced. Its first record is checked as if the number were 0, because
//! nothing else states the number.
//!
//! # What a bad record means
//!
//! A crash loses and tears what was not synced, so a log may end in the middle of a record that was never acknowledged
//! as durable. Synced bytes that are wrong are damage, and cutting them off would lose durable writes. The synced
//! length distinguishes the two: if any intact record after a bad one has a synced length beyond the start of the bad
//! one, the log is damaged. Otherwise the log ends at the bad record. A log that was closed in order is *sealed*: the
//! manifest has its length, and every bad byte within that length is damage.

mod reader;
mod writer;

pub(crate) use reader::LogContents;
pub(crate) use writer::LogWriter;

use super::encoding::{Cursor, Push};

/// The contents of a log, stored in its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogKind {
    WriteAhead,
    Manifest,
}

/// The version of both kinds.
const VERSION: u32 = 1;
const RECORD_HEADER_LEN: usize = 24;
const PAYLOAD_CRC_AT: usize = 4;
const PAYLOAD_LEN_AT: usize = 8;
const ZERO_AT: usize = 12;
const SYNCED_AT: usize = 16;

impl LogKind {
    /// The first bytes of a log. Like the magic of tables, they are not text, have no zero byte, and contain CR LF.
    const fn magic(self) -> [u8; 8] {
        match self {
            Self::WriteAhead => *b"\xf7FBWAL\r\n",
            Self::Manifest => *b"\xf9FBMAN\r\n",
        }
    }

    /// The number under which the first record is checked.
    const fn first_number(self, number: u64) -> u64 {
        match self {
            Self::WriteAhead => number,
            Self::Manifest => 0,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::WriteAhead => "write-ahead log",
            Self::Manifest => "manifest",
        }
    }

    fn first_payload(self, number: u64) -> Vec<u8> {
        let mut payload = self.magic().to_vec();
        payload.push_u32(VERSION);
        payload.push_u32(0);
        payload.push_u64(number);
        payload
    }
}

/// Magic, version and number in a first record; `None` if it is too short.
fn decode_first(payload: &[u8]) -> Option<([u8; 8], u32, u64)> {
    let mut cursor = Cursor::new(payload);
    let magic = *cursor.take(8)?.first_chunk()?;
    let (version, _zero) = (cursor.u32()?, cursor.u32()?);
    Some((magic, version, cursor.u64()?))
}

#[cfg(test)]
mod tests;
