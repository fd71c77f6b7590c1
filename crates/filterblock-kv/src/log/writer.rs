//! Writing a log.

use super::super::encoding::masked_crc;
use super::super::error::Error;
use super::super::storage::{Storage, WritableFile};
use super::{LogKind, PAYLOAD_CRC_AT, PAYLOAD_LEN_AT, RECORD_HEADER_LEN, SYNCED_AT};
use crate::bytes;

/// A log being written.
///
/// After a failed [`LogWriter::append`] the last bytes may be a part of a record, and nothing more may be appended.
#[derive(Debug)]
pub(crate) struct LogWriter {
    file: Box<dyn WritableFile>,
    name: String,
    pub(crate) number: u64,
    /// Bytes of whole records that were written.
    len: u64,
    /// Bytes known to be durable.
    synced: u64,
    pending: Vec<u8>,
    /// Whether an append has failed.
    pub(crate) is_broken: bool,
}

impl LogWriter {
    /// Creates the file `name` and writes its first record. Neither is durable yet.
    pub(crate) fn create(storage: &dyn Storage, name: &str, number: u64, kind: LogKind) -> Result<Self, Error> {
        let file = storage.create(name).map_err(|error| Error::io(name, "create", error))?;
        let (name, mut pending) = (name.to_owned(), Vec::new());
        push_record(&mut pending, kind.first_number(number), 0, 0, &kind.first_payload(number));
        let mut log = Self { file, name, number, len: 0, synced: 0, pending, is_broken: false };
        log.append()?;
        Ok(log)
    }

    /// Adds a record to the records of the next [`LogWriter::append`]. Payloads are shorter than 4 GiB.
    pub(crate) fn push(&mut self, payload: &[u8]) {
        let offset = self.len + self.pending.len() as u64;
        push_record(&mut self.pending, self.number, offset, self.synced, payload);
    }

    /// Writes the added records, in one call if the system takes them all.
    pub(crate) fn append(&mut self) -> Result<(), Error> {
        let written = self.file.write_all(&self.pending);
        match written {
            Ok(()) => self.len += self.pending.len() as u64,
            Err(_) => self.is_broken = true,
        }
        self.pending.clear();
        // The memory of a large batch is not kept.
        self.pending.shrink_to(1 << 20);
        written.map_err(|error| Error::io(&self.name, "write", error))
    }

    /// Makes everything appended durable.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        if self.synced < self.len {
            self.file.sync().map_err(|error| Error::io(&self.name, "sync", error))?;
            self.synced = self.len;
        }
        Ok(())
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.synced == self.len
    }

    /// Gives the file another name, durable after a sync of the directory.
    pub(crate) fn rename(&mut self, storage: &dyn Storage, to: &str) -> Result<(), Error> {
        storage.rename(&self.name, to).map_err(|error| Error::io(&self.name, "rename", error))?;
        to.clone_into(&mut self.name);
        Ok(())
    }

    /// Length of its whole records in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }
}

/// Appends a record for `offset` of log `number` to `out`.
pub(super) fn push_record(out: &mut Vec<u8>, number: u64, offset: u64, synced: u64, payload: &[u8]) {
    let start = out.len();
    out.resize(start + RECORD_HEADER_LEN, 0);
    let header = &mut out[start..];
    let payload_crc = masked_crc(number, offset + RECORD_HEADER_LEN as u64, payload);
    bytes::put_u32(header, PAYLOAD_CRC_AT, payload_crc);
    bytes::put_u32(header, PAYLOAD_LEN_AT, payload.len() as u32);
    bytes::put_u64(header, SYNCED_AT, synced);
    let header_crc = masked_crc(number, offset, &header[PAYLOAD_CRC_AT..]);
    bytes::put_u32(header, 0, header_crc);
    out.extend_from_slice(payload);
}
