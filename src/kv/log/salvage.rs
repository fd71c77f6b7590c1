//! What of a damaged write-ahead log is still provably the log's.
//!
//! A record proves itself: its checksums cover the log's number and the record's offset. Where the next one is follows
//! from the header of the one before, which has a checksum of its own. So a record with a damaged payload costs its own
//! writes. With a damaged header the place of the next record is unknown, and what follows is lost: bytes of a value
//! could look like a record. The end that a crash has torn off a log is no loss, and nothing after it is used.

use super::super::error::Error;
use super::super::storage::Storage;
use super::reader::{LogContents, Records, check_first, read_file};
use super::{LogKind, RECORD_HEADER_LEN};
use core::ops::Range;

/// The intact records of a damaged log.
#[derive(Debug)]
pub(crate) struct SalvagedLog {
    pub(crate) contents: LogContents,
    /// Bytes that were durable and are in no intact record.
    pub(crate) lost_bytes: u64,
}

impl SalvagedLog {
    /// Reads the log `file` with [`LogKind::WriteAhead`]; otherwise as [`LogContents::read`], which has failed with
    /// [`Error::Damaged`].
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::NewerVersion`].
    pub(crate) fn read(storage: &dyn Storage, file: &str, number: u64, sealed: Option<u64>) -> Result<Self, Error> {
        let mut bytes = read_file(storage, file)?;
        if let Some(sealed) = sealed {
            bytes.truncate(usize::try_from(sealed).unwrap_or(usize::MAX));
        }
        let missing = sealed.map_or(0, |sealed| sealed.saturating_sub(bytes.len() as u64));
        let mut records = Records { number, bytes: &bytes, at: 0 };
        if let Some(Ok(first)) = records.peek() {
            // If it is damaged otherwise, the others' checksums still prove the number.
            let checked = check_first(file, &bytes[first], number, LogKind::WriteAhead);
            if let Err(error @ Error::NewerVersion { .. }) = checked {
                return Err(error);
            }
        }
        records.at = RECORD_HEADER_LEN + LogKind::WriteAhead.first_payload(number).len();
        let (mut payloads, mut lost_bytes) = (Vec::new(), missing);
        while let Some(record) = records.peek() {
            let at = records.at;
            if let Ok(payload) = record {
                records.at = payload.end;
                payloads.push(payload);
                continue;
            }
            if sealed.is_none() && !records.promised_after(at) {
                break;
            }
            records.at = match records.header_at(at) {
                Ok((Range { end, .. }, _)) if end <= bytes.len() => end,
                _ => bytes.len(),
            };
            lost_bytes += (records.at - at) as u64;
        }
        let contents = LogContents { file: file.to_owned(), number, bytes, payloads };
        Ok(Self { contents, lost_bytes })
    }
}
