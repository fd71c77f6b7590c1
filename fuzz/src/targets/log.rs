use super::Reached;
use crate::records::{Edit, LOG_MAGIC, LogBytes, assemble, manifest, payloads, was_durable, writes};
use crate::sample::{Cells, Files, options};
use crate::store::{all, ask, go_on, is_ascending, open};
use filterblock_kv::Cell;
use std::collections::BTreeMap;

/// The number of the log.
pub const NUMBER: u64 = 1;
/// More writes than a store ever makes: a log that claims them is damaged.
const MAX_SEQ: u64 = 1 << 56;

/// Any bytes as a write-ahead log. The input's first byte states what it is and what becomes of the bytes after it:
///
/// | bits | |
/// |---|---|
/// | 0 | 0: they are the log as it is; 1: they stand for records whose checksums are made right ([`assemble`]) |
/// | 1 | 1: the log's first record is written in front of them |
/// | 2, 3 | 0: the manifest says that the log has begun; 1: that it was sealed at its length; 2: at half of that; 3: nothing |
/// | 4 | the store is written to, closed, opened again and compacted |
///
/// Whether the store opens, and what it then holds, is what the records say, read here on their own.
pub fn log(input: &[u8]) -> Reached {
    let Some((&mode, bytes)) = input.split_first() else { return Reached::Nothing };
    let mut log = match mode >> 1 & 1 {
        0 => LogBytes::empty(NUMBER),
        _ => LogBytes::new(LOG_MAGIC, NUMBER),
    };
    match mode & 1 {
        0 => log.bytes.extend_from_slice(bytes),
        _ => assemble(&mut log, bytes),
    }
    let log = log.bytes;
    let sealed = match mode >> 2 & 3 {
        1 => Some(log.len()),
        2 => Some(log.len() / 2),
        _ => None,
    };
    let is_named = mode >> 2 & 3 != 3;
    let mut edits = vec![Edit::Seed(5), Edit::NextNumber(NUMBER + 1), Edit::LastSeq(0)];
    if is_named {
        edits.push(Edit::LogBegun(NUMBER));
        edits.extend(sealed.map(|len| Edit::LogSealed { number: NUMBER, len: len as u64 }));
    }
    let mut files = Files::from([("MANIFEST".to_owned(), manifest(&edits))]);
    files.insert(format!("{NUMBER:06}.wal"), log.clone());
    let opened = open(&files, options());

    let log = &log[..sealed.unwrap_or(log.len())];
    let payloads = payloads(NUMBER, log);
    let end = payloads.last().map_or(0, |last| last.end);
    let has_first = payloads.first().is_some_and(|first| is_first(&log[first.clone()]));
    let is_readable = end == log.len() || (sealed.is_none() && !was_durable(NUMBER, log, end));
    let held = match is_named {
        true => replay(payloads.iter().skip(1).map(|payload| &log[payload.clone()])),
        // It is no log of the store's.
        false => Some(Cells::new()),
    };
    let opens = match is_named {
        true => is_readable && has_first && held.is_some(),
        // Writes in it show that the manifest is damaged.
        false if is_readable && has_first => payloads.len() == 1,
        // Of a number or version that is not this store's, it may be refused.
        false => opened.is_some(),
    };
    assert_eq!(opened.is_some(), opens, "a log of {} records up to {end} of {}", payloads.len(), log.len());
    let (Some(opened), Some(held)) = (opened, held) else { return Reached::Refused };
    let expected: Vec<Cell> = held.into_iter().map(|((row, column), value)| Cell::new(row, column, value)).collect();
    let cells = all(&opened.store).expect("no table is damaged");
    assert_eq!(cells, expected);
    assert!(is_ascending(&cells));
    ask(&opened.store, &cells, true);
    if mode >> 4 & 1 == 1 {
        go_on(opened, cells, true);
    }
    Reached::Compared
}

fn is_first(payload: &[u8]) -> bool {
    // Bytes 12 to 16 are not looked at.
    payload.len() >= 24
        && payload[..8] == LOG_MAGIC
        && payload[8..12] == [1, 0, 0, 0]
        && payload[16..24] == NUMBER.to_le_bytes()
}

/// The live cells after these records; `None` if one of them is no batch, or counts too many writes.
fn replay<'a>(records: impl Iterator<Item = &'a [u8]>) -> Option<Cells> {
    let mut newest = BTreeMap::new();
    for record in records {
        for (seq, (row, column, value)) in writes(record)? {
            if seq > MAX_SEQ {
                return None;
            }
            let write = newest.entry((row.to_vec(), column.to_vec())).or_insert((seq, value));
            // Of two writes with one number, which no store makes, the later one counts.
            if seq >= write.0 {
                *write = (seq, value);
            }
        }
    }
    let live = |(key, (_, value)): (_, (u64, Option<&[u8]>))| Some((key, value?.to_vec()));
    Some(newest.into_iter().filter_map(live).collect())
}
