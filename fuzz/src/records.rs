//! Logs of records, as the documentation of the store's `log`, `manifest` and `batch` modules describes their bytes;
//! written and read here without the library.

use crate::layout::{HEADER_LEN, int, placed_crc};
use std::collections::BTreeMap;
use std::ops::Range;

/// Ends a record's payload in an input.
const MARK: [u8; 3] = *b"\xa5rc";
/// The most records that an input can stand for.
const MAX_RECORDS: usize = 256;

/// The magic of a write-ahead log's first record, and of a manifest's.
pub const LOG_MAGIC: [u8; 8] = *b"\xf7FBWAL\r\n";
pub const MANIFEST_MAGIC: [u8; 8] = *b"\xf9FBMAN\r\n";

/// A log that is being written.
#[derive(Clone, Debug)]
pub struct LogBytes {
    number: u64,
    pub bytes: Vec<u8>,
}

impl LogBytes {
    pub fn empty(number: u64) -> Self {
        Self { number, bytes: Vec::new() }
    }

    /// A log with its first record.
    pub fn new(magic: [u8; 8], number: u64) -> Self {
        let mut log = Self::empty(number);
        log.push(&[&magic[..], &[1, 0, 0, 0, 0, 0, 0, 0], &number.to_le_bytes()].concat(), 0);
        log
    }

    /// Appends a record with the synced length `synced`.
    pub fn push(&mut self, payload: &[u8], synced: u64) {
        let at = self.bytes.len() as u64;
        let payload_crc = placed_crc(self.number, at + HEADER_LEN as u64, payload);
        let header =
            [&payload_crc.to_le_bytes()[..], &(payload.len() as u32).to_le_bytes(), &[0; 4], &synced.to_le_bytes()]
                .concat();
        self.bytes.extend_from_slice(&placed_crc(self.number, at, &header).to_le_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(payload);
    }
}

/// Appends the records that `input` encodes: they end at marks of three bytes, and each is a byte of faults and a
/// payload. All checksums are right except those that a fault breaks. With faults of 0 the record is intact, and its
/// synced length covers all records before it.
pub fn assemble(log: &mut LogBytes, input: &[u8]) {
    let number = log.number;
    let mut rest = input;
    for _ in 0..MAX_RECORDS {
        let end = rest.windows(MARK.len()).position(|bytes| bytes == MARK);
        let Some((&faults, payload)) = rest[..end.unwrap_or(rest.len())].split_first() else { break };
        let at = log.bytes.len();
        let synced = match faults & 3 {
            0 => at as u64,
            1 => 0,
            2 => (at as u64).saturating_sub(1),
            _ => u64::MAX,
        };
        log.push(payload, synced);
        let header = &mut log.bytes[at..];
        match faults >> 2 & 7 {
            // The payload's checksum, under a header that is intact.
            1 => {
                header[4] ^= 1;
                let crc = placed_crc(number, at as u64, &header[4..HEADER_LEN]);
                header[..4].copy_from_slice(&crc.to_le_bytes());
            }
            // The header's.
            2 => header[0] ^= 1,
            // The length, under a checksum that knows it: one more or one less than is there.
            change @ 3..=4 => {
                header[8] = if change == 3 { header[8].wrapping_add(1) } else { header[8].wrapping_sub(1) };
                let crc = placed_crc(number, at as u64, &header[4..HEADER_LEN]);
                header[..4].copy_from_slice(&crc.to_le_bytes());
            }
            // Zeros in place of the payload, as after a torn write.
            5 => header[HEADER_LEN..].fill(0),
            _ => {}
        }
        match end {
            Some(end) => rest = &rest[end + MARK.len()..],
            None => break,
        }
    }
}

/// An input of [`assemble`] for these payloads.
pub fn disassemble<'a>(payloads: impl IntoIterator<Item = (u8, &'a [u8])>) -> Vec<u8> {
    let records: Vec<Vec<u8>> = payloads.into_iter().map(|(faults, payload)| [&[faults], payload].concat()).collect();
    records.join(&MARK[..])
}

/// A record's place in a log.
#[derive(Clone, Debug)]
struct Record {
    payload: Range<usize>,
    synced: u64,
    /// Whether the payload's checksum holds, too.
    is_intact: bool,
}

/// The record at `at`, if its header is intact. Its payload may end outside of the log.
fn record_at(number: u64, log: &[u8], at: usize) -> Option<Record> {
    let header = log.get(at..at + HEADER_LEN)?;
    let holds = |stored: &[u8], at: usize, bytes: &[u8]| int(stored) == u64::from(placed_crc(number, at as u64, bytes));
    holds(&header[..4], at, &header[4..]).then_some(())?;
    let start = at + HEADER_LEN;
    let payload = start..start.saturating_add(int(&header[8..12]) as usize);
    let is_intact = log.get(payload.clone()).is_some_and(|bytes| holds(&header[4..8], start, bytes));
    Some(Record { payload, synced: int(&header[16..]), is_intact })
}

/// The payloads of the intact records from the beginning of a log on. The first record of a manifest is under the
/// number 0, the others are under the number in the first.
pub fn payloads(mut number: u64, log: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut payloads) = (0, Vec::new());
    while let Some(record) = record_at(number, log, at).filter(|record| record.is_intact) {
        let payload = &log[record.payload.clone()];
        if at == 0 && payload.starts_with(&MANIFEST_MAGIC) && payload.len() >= 24 {
            number = int(&payload[16..24]);
        }
        at = record.payload.end;
        payloads.push(record.payload);
    }
    payloads
}

/// Returns whether the synced length of an intact record after the bad one at `bad` covers it. Records are searched for
/// after those whose headers are intact, and otherwise at every byte.
pub fn was_durable(number: u64, log: &[u8], bad: usize) -> bool {
    let mut at = record_at(number, log, bad).map_or(bad + 1, |record| record.payload.end);
    while at < log.len() {
        at = match record_at(number, log, at) {
            Some(record) if record.is_intact && record.synced > bad as u64 => return true,
            Some(record) if record.payload.end <= log.len() => record.payload.end,
            _ => at + 1,
        };
    }
    false
}

/// A write of a batch: row, column, and a value unless the cell is deleted.
pub type Write<'a> = (&'a [u8], &'a [u8], Option<&'a [u8]>);

/// The writes of a batch's record, each with its sequence number; `None` if it is none.
pub fn writes(record: &[u8]) -> Option<Vec<(u64, Write<'_>)>> {
    let (head, mut rest) = record.split_at_checked(12)?;
    let first_seq = int(&head[..8]);
    let num_writes = int(&head[8..]);
    first_seq.checked_add(num_writes)?;
    let mut writes = Vec::new();
    for seq in first_seq..first_seq + num_writes {
        let lens = rest.get(..9)?;
        let mut parts = rest.get(9..)?;
        let mut part = |field: &[u8]| {
            let part = parts.get(..int(field) as usize)?;
            parts = &parts[part.len()..];
            Some(part)
        };
        let (row, column, value) = (part(&lens[1..3])?, part(&lens[3..5])?, part(&lens[5..9])?);
        let value = match lens[0] {
            0 if value.is_empty() => None,
            1 => Some(value),
            _ => return None,
        };
        writes.push((seq, (row, column, value)));
        rest = parts;
    }
    rest.is_empty().then_some(writes)
}

/// A batch's record.
pub fn batch(first_seq: u64, writes: &[Write<'_>]) -> Vec<u8> {
    let mut record = first_seq.to_le_bytes().to_vec();
    record.extend((writes.len() as u32).to_le_bytes());
    for (row, column, value) in writes {
        record.push(u8::from(value.is_some()));
        record.extend((row.len() as u16).to_le_bytes());
        record.extend((column.len() as u16).to_le_bytes());
        record.extend((value.map_or(0, <[u8]>::len) as u32).to_le_bytes());
        record.extend([row, column, value.unwrap_or_default()].concat());
    }
    record
}

/// An edit of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Seed(u64),
    NextNumber(u64),
    LastSeq(u64),
    LogBegun(u64),
    LogSealed {
        number: u64,
        len: u64,
    },
    LogEnded(u64),
    /// A table that may have any row. Its lengths are those of the file, the data and the index.
    TableAdded {
        number: u64,
        level: u64,
        lens: [u64; 3],
        footer_crc: u32,
        max_seq: u64,
        filter_file: u64,
    },
    TableRemoved(u64),
    TableMoved {
        number: u64,
        level: u64,
    },
    FiltersRebuilt {
        table: u64,
        file: u64,
    },
    Key(u64),
}

/// A record of edits.
pub fn edits(edits: &[Edit]) -> Vec<u8> {
    let mut out = Vec::new();
    for edit in edits {
        let (tag, fields): (u8, &[u64]) = match edit {
            Edit::Seed(seed) => (1, &[*seed]),
            Edit::NextNumber(number) => (2, &[*number]),
            Edit::LastSeq(seq) => (3, &[*seq]),
            Edit::LogBegun(number) => (4, &[*number]),
            Edit::LogSealed { number, len } => (5, &[*number, *len]),
            Edit::LogEnded(number) => (6, &[*number]),
            Edit::TableAdded { number, level, lens: [len, data, index], footer_crc, max_seq, filter_file } => {
                (7, &[*number, *level, *len, *data, *index, u64::from(*footer_crc), *max_seq, *filter_file])
            }
            Edit::TableRemoved(number) => (8, &[*number]),
            Edit::TableMoved { number, level } => (9, &[*number, *level]),
            Edit::FiltersRebuilt { table, file } => (10, &[*table, *file]),
            Edit::Key(id) => (11, &[*id]),
        };
        out.push(tag);
        fields.iter().for_each(|field| out.extend(field.to_le_bytes()));
        if tag == 7 {
            // The empty row, and one above the keys of all inputs.
            out.extend([0, 0, 32, 0].iter().chain(&[0xff; 32]));
        }
    }
    out
}

/// A manifest of one record of edits.
pub fn manifest(edits: &[Edit]) -> Vec<u8> {
    let mut log = LogBytes::new(MANIFEST_MAGIC, 0);
    log.push(&self::edits(edits), 0);
    log.bytes
}

/// The tables after these records of edits, each with its level; `None` if one of the records is no run of edits, or
/// changes a table that is not there.
pub fn tables<'a>(records: impl Iterator<Item = &'a [u8]>) -> Option<BTreeMap<u64, u64>> {
    let mut tables = BTreeMap::new();
    for mut rest in records {
        while let Some((&tag, fields)) = rest.split_first() {
            let len = match tag {
                1..=4 | 6 | 8 | 11 => 8,
                5 | 9 | 10 => 16,
                // With the first and the last row, each after its length.
                7 => {
                    let first = 66 + int(fields.get(64..66)?) as usize;
                    first + 2 + int(fields.get(first..first + 2)?) as usize
                }
                _ => return None,
            };
            let (fields, behind) = fields.split_at_checked(len)?;
            rest = behind;
            let number = int(&fields[..8]);
            let is_there = tables.contains_key(&number);
            match tag {
                7 if !is_there => drop(tables.insert(number, int(&fields[8..16]))),
                8 if is_there => drop(tables.remove(&number)),
                9 if is_there => drop(tables.insert(number, int(&fields[8..16]))),
                7..=9 => return None,
                _ => {}
            }
        }
    }
    Some(tables)
}
