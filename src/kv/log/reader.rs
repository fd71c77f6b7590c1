//! Reading a log, and distinguishing a torn end from damage.

use super::super::encoding::masked_crc;
use super::super::error::{Damage, Error};
use super::super::storage::{Storage, read_exact_at};
use super::{LogKind, PAYLOAD_CRC_AT, PAYLOAD_LEN_AT, RECORD_HEADER_LEN, SYNCED_AT, ZERO_AT, decode_first};
use crate::bytes;
use core::ops::Range;

/// The intact records of a log.
#[derive(Debug)]
pub(crate) struct LogContents {
    pub(super) file: String,
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    /// Ranges of the payloads, except for the first record's.
    pub(super) payloads: Vec<Range<usize>>,
}

impl LogContents {
    /// Reads the log `file`, whose number is `number` unless it is a manifest. `sealed` is its length, if it was closed
    /// in order. Its first record was durable before any write in it was acknowledged.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::NewerVersion`]; [`Error::Damaged`] for bad bytes that were durable once.
    pub(crate) fn read(
        storage: &dyn Storage,
        file: &str,
        number: u64,
        kind: LogKind,
        sealed: Option<u64>,
    ) -> Result<Self, Error> {
        let mut bytes = read_file(storage, file)?;
        let len = bytes.len() as u64;
        if let Some(sealed) = sealed {
            if len < sealed {
                let damage = Damage::Field { name: "length of a closed log", found: len, expected: sealed };
                return Err(Error::damaged(file, len, damage));
            }
            // A failed append may have left bytes after the sealed length.
            bytes.truncate(sealed as usize);
        }
        let mut records = Records { number: kind.first_number(number), bytes: &bytes, at: 0 };
        let mut payloads = Vec::new();
        if let Some(Ok(first)) = records.peek() {
            records.number = check_first(file, &bytes[first.clone()], number, kind)?;
            records.at = first.end;
            payloads.push(first);
        }
        while let Some(Ok(payload)) = records.peek() {
            records.at = payload.end;
            payloads.push(payload);
        }
        if let Some(Err(damage)) = records.peek() {
            let at = records.at;
            if sealed.is_some() || records.promised_after(at) {
                return Err(Error::damaged(file, at as u64, damage));
            }
        }
        if payloads.is_empty() {
            let damage = records.record_at(0).err();
            let damage = damage.unwrap_or(Damage::CutOff { unit: "log", len_bytes: bytes.len() as u64 });
            return Err(Error::damaged(file, 0, damage));
        }
        let (number, payloads) = (records.number, payloads.split_off(1));
        Ok(Self { file: file.to_owned(), number, bytes, payloads })
    }

    /// The payloads in order, each with its offset in the file.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.payloads.iter().map(|place| (place.start as u64, &self.bytes[place.clone()]))
    }

    /// Bytes read.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The number that its first record has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }
}

pub(super) fn read_file(storage: &dyn Storage, file: &str) -> Result<Vec<u8>, Error> {
    let read = || {
        let source = storage.open(file)?;
        // The allocation is bounded by the real length of the file.
        let mut bytes = vec![0; usize::try_from(source.len()?).map_err(std::io::Error::other)?];
        read_exact_at(&*source, &mut bytes, 0)?;
        Ok(bytes)
    };
    read().map_err(|error| Error::io(file, "read", error))
}

/// Checks a first record, and returns the log's number.
pub(super) fn check_first(file: &str, payload: &[u8], number: u64, kind: LogKind) -> Result<u64, Error> {
    let damaged = |damage| Error::damaged(file, RECORD_HEADER_LEN as u64, damage);
    let cut_off = Damage::CutOff { unit: "first record", len_bytes: payload.len() as u64 };
    let (magic, version, stored) = decode_first(payload).ok_or_else(|| damaged(cut_off))?;
    if magic != kind.magic() {
        return Err(damaged(Damage::Magic { unit: kind.name(), found: bytes::u64_from(magic) }));
    }
    if version > kind.version() {
        return Err(Error::NewerVersion { file: file.to_owned(), found: version, supported: kind.version() });
    }
    let has_generation = kind == LogKind::Manifest && version > 1;
    if stored != number && !has_generation {
        return Err(Error::Misplaced { file: file.to_owned(), named: number, stored });
    }
    Ok(stored)
}

/// A cursor over records.
pub(super) struct Records<'a> {
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl Records<'_> {
    /// The payload of the record at the current offset; `None` at the end of the bytes.
    pub(super) fn peek(&self) -> Option<Result<Range<usize>, Damage>> {
        (self.at < self.bytes.len()).then(|| self.record_at(self.at))
    }

    fn record_at(&self, at: usize) -> Result<Range<usize>, Damage> {
        let (payload, _) = self.header_at(at)?;
        let unit = "record payload";
        let header = &self.bytes[at..];
        let bytes = self.bytes.get(payload.clone());
        let bytes = bytes.ok_or(Damage::CutOff { unit, len_bytes: (header.len() - RECORD_HEADER_LEN) as u64 })?;
        let stored = bytes::u32_at(header, PAYLOAD_CRC_AT);
        let computed = masked_crc(self.number, payload.start as u64, bytes);
        if stored != computed {
            return Err(Damage::Checksum { unit, stored, computed });
        }
        Ok(payload)
    }

    /// The range of the payload of the record at `at`, and its synced length, if its header is intact.
    pub(super) fn header_at(&self, at: usize) -> Result<(Range<usize>, u64), Damage> {
        let unit = "record header";
        let rest = self.bytes.get(at..).unwrap_or_default();
        let header = bytes::array_at::<RECORD_HEADER_LEN>(rest, 0);
        let header = header.ok_or(Damage::CutOff { unit, len_bytes: rest.len() as u64 })?;
        let stored = bytes::u32_at(&header, 0);
        let computed = masked_crc(self.number, at as u64, &header[PAYLOAD_CRC_AT..]);
        if stored != computed {
            return Err(Damage::Checksum { unit, stored, computed });
        }
        let start = at + RECORD_HEADER_LEN;
        let len = bytes::u32_at(&header, PAYLOAD_LEN_AT) as usize;
        Ok((start..start.saturating_add(len), bytes::u64_at(&header, SYNCED_AT)))
    }

    /// Whether a header may be at `at` for what its fields are. Without this a checksum would be computed for each
    /// byte: 18 s for a torn batch of 256 MiB.
    fn may_be_header(&self, at: usize, bad: usize) -> bool {
        let Some(header) = bytes::array_at::<RECORD_HEADER_LEN>(self.bytes, at) else {
            return false;
        };
        if bytes::u32_at(&header, ZERO_AT) != 0 {
            return false;
        }
        let (len, synced) = (bytes::u32_at(&header, PAYLOAD_LEN_AT) as usize, bytes::u64_at(&header, SYNCED_AT));
        // One that promises nothing is worth finding only for the payload that it allows to skip.
        let is_useful = synced > bad as u64 || len > 0;
        is_useful && len <= self.bytes.len() - at - RECORD_HEADER_LEN
    }

    /// Whether the synced length of an intact record after `bad` covers the byte at `bad`. Headers have a checksum of
    /// their own, so that searching for one at every byte costs no more than reading.
    pub(super) fn promised_after(&self, bad: usize) -> bool {
        let mut at = bad + 1;
        if let Ok((payload, _)) = self.header_at(bad) {
            // The length is right, the payload is not: the next record follows it.
            at = payload.end;
        }
        while at + RECORD_HEADER_LEN <= self.bytes.len() {
            let header = self.may_be_header(at, bad).then(|| self.header_at(at)).and_then(Result::ok);
            at = match header {
                Some((_, synced)) if synced > bad as u64 && self.record_at(at).is_ok() => return true,
                // The header is intact, so the next record follows the payload, which ends within the file.
                Some((payload, _)) => payload.end,
                None => at + 1,
            };
        }
        false
    }
}
