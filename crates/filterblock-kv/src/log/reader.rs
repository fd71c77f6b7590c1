//! Reading a log, and distinguishing a torn end from damage.

use super::super::encoding::masked_crc;
use super::super::error::{Damage, Error};
use super::super::storage::{Storage, read_exact_at};
use super::{LogKind, PAYLOAD_CRC_AT, PAYLOAD_LEN_AT, RECORD_HEADER_LEN, SYNCED_AT, VERSION, ZERO_AT, decode_first};
use crate::bytes;
use core::ops::Range;

/// The intact records of a log.
#[derive(Debug)]
pub(crate) struct LogContents {
    pub(crate) file: String,
    pub(crate) number: u64,
    bytes: Vec<u8>,
    /// Ranges of the payloads, except for the first record's.
    payloads: Vec<Range<usize>>,
    /// The first damage of bytes that were durable once.
    pub(crate) damage: Option<Error>,
    /// Bytes that were durable and are in no intact record.
    pub(crate) lost_bytes: u64,
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
        let contents = Self::salvage(storage, file, number, kind, sealed)?;
        contents.damage.clone().map_or(Ok(contents), Err)
    }

    /// Reads the intact part of the log; [`LogContents::damage`] is `None` for a whole one.
    ///
    /// A record proves itself: its checksums cover the log's number and the record's offset. Where the next one is
    /// follows from the header of the one before, which has a checksum of its own. So a damaged payload loses the
    /// writes of its own record. With a damaged header the place of the next record is unknown, and all that follows is
    /// lost: bytes of a value could look like a record. The end that a crash has torn off is not a loss, and nothing
    /// after it is used.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::NewerVersion`].
    pub(crate) fn salvage(
        storage: &dyn Storage,
        file: &str,
        number: u64,
        kind: LogKind,
        sealed: Option<u64>,
    ) -> Result<Self, Error> {
        let mut bytes = read_file(storage, file)?;
        let len = bytes.len() as u64;
        let (mut damage, mut lost_bytes) = (None, 0);
        if let Some(sealed) = sealed {
            if len < sealed {
                let too_short = Damage::Field { name: "length of a closed log", found: len, expected: sealed };
                damage = Some(Error::damaged(file, len, too_short));
                lost_bytes = sealed - len;
            } else {
                // A failed append may have left bytes after the sealed length.
                bytes.truncate(sealed as usize);
            }
        }
        let mut records = Records { number: kind.first_number(number), bytes: &bytes, at: 0 };
        records.at = RECORD_HEADER_LEN + kind.first_payload(number).len();
        match records.record_at(0) {
            Ok(first) => {
                records.at = first.end;
                match check_first(file, &bytes[first], number, kind) {
                    Ok(stored) => records.number = stored,
                    Err(error @ Error::NewerVersion { .. }) => return Err(error),
                    // The others' checksums still prove the number.
                    Err(error) => damage = damage.or(Some(error)),
                }
            }
            Err(first) => damage = damage.or_else(|| Some(Error::damaged(file, 0, first))),
        }
        let mut payloads = Vec::new();
        while let Some(record) = records.peek() {
            let at = records.at;
            match record {
                Ok(payload) => {
                    records.at = payload.end;
                    payloads.push(payload);
                }
                Err(_) if sealed.is_none() && !records.promised_after(at) => break,
                Err(bad) => {
                    damage = damage.or_else(|| Some(Error::damaged(file, at as u64, bad)));
                    let next = records.header_at(at).map_or(bytes.len(), |(payload, _)| payload.end);
                    records.at = next.min(bytes.len());
                    lost_bytes += (records.at - at) as u64;
                }
            }
        }
        Ok(Self { file: file.to_owned(), number: records.number, bytes, payloads, damage, lost_bytes })
    }

    /// The payloads in order, each with its offset in the file.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.payloads.iter().map(|place| (place.start as u64, &self.bytes[place.clone()]))
    }

    /// Bytes read.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

fn read_file(storage: &dyn Storage, file: &str) -> Result<Vec<u8>, Error> {
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
fn check_first(file: &str, payload: &[u8], number: u64, kind: LogKind) -> Result<u64, Error> {
    let damaged = |damage| Error::damaged(file, RECORD_HEADER_LEN as u64, damage);
    let cut_off = Damage::CutOff { unit: "first record", actual_bytes: payload.len() as u64 };
    let (magic, version, stored) = decode_first(payload).ok_or_else(|| damaged(cut_off))?;
    if magic != kind.magic() {
        return Err(damaged(Damage::Magic { unit: kind.name(), found: bytes::u64_from(magic) }));
    }
    if version < VERSION {
        let expected = VERSION.into();
        return Err(damaged(Damage::Field { name: "version of a log", found: version.into(), expected }));
    }
    if version > VERSION {
        return Err(Error::NewerVersion { file: file.to_owned(), found: version, supported: VERSION });
    }
    if stored != number && kind == LogKind::WriteAhead {
        return Err(Error::Misplaced { file: file.to_owned(), named: number, stored });
    }
    Ok(stored)
}

/// A cursor over records.
struct Records<'a> {
    number: u64,
    bytes: &'a [u8],
    at: usize,
}

impl Records<'_> {
    /// The payload of the record at the current offset; `None` at the end of the bytes.
    fn peek(&self) -> Option<Result<Range<usize>, Damage>> {
        (self.at < self.bytes.len()).then(|| self.record_at(self.at))
    }

    fn record_at(&self, at: usize) -> Result<Range<usize>, Damage> {
        let (payload, _) = self.header_at(at)?;
        let unit = "record payload";
        let header = &self.bytes[at..];
        let bytes = self.bytes.get(payload.clone());
        let bytes = bytes.ok_or(Damage::CutOff { unit, actual_bytes: (header.len() - RECORD_HEADER_LEN) as u64 })?;
        let stored = bytes::u32_at(header, PAYLOAD_CRC_AT);
        let computed = masked_crc(self.number, payload.start as u64, bytes);
        if stored != computed {
            return Err(Damage::Checksum { unit, stored, computed });
        }
        Ok(payload)
    }

    /// The range of the payload of the record at `at`, and its synced length, if its header is intact.
    fn header_at(&self, at: usize) -> Result<(Range<usize>, u64), Damage> {
        let unit = "record header";
        let rest = self.bytes.get(at..).unwrap_or_default();
        let header = bytes::array_at::<RECORD_HEADER_LEN>(rest, 0);
        let header = header.ok_or(Damage::CutOff { unit, actual_bytes: rest.len() as u64 })?;
        let stored = bytes::u32_at(&header, 0);
        let computed = masked_crc(self.number, at as u64, &header[PAYLOAD_CRC_AT..]);
        if stored != computed {
            return Err(Damage::Checksum { unit, stored, computed });
        }
        let start = at + RECORD_HEADER_LEN;
        let len = bytes::u32_at(&header, PAYLOAD_LEN_AT) as usize;
        Ok((start..start.saturating_add(len), bytes::u64_at(&header, SYNCED_AT)))
    }

    /// Returns whether the fields at `at` may be a header. Without this a checksum would be computed for each
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

    /// Returns whether the synced length of an intact record after `bad` covers the byte at `bad`. Headers have a
    /// checksum of their own, so that searching for one at every byte costs no more than reading.
    fn promised_after(&self, bad: usize) -> bool {
        let mut at = bad + 1;
        if let Ok((payload, _)) = self.header_at(bad) {
            // The length is right, the payload is not: the next record follows it.
            at = payload.end;
        }
        while at.saturating_add(RECORD_HEADER_LEN) <= self.bytes.len() {
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
