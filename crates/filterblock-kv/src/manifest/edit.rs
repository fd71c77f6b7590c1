//! The manifest's edits, their encoding, and the state that results from them.
//!
//! A record is a sequence of edits, each a tag (1) and its fields, of 8 bytes each except rows:
//!
//! | tag | edit | fields |
//! |---|---|---|
//! | 1 | seed | of the hash of filters to be written, XXH3-64 |
//! | 2 | next number | for the next file |
//! | 3 | last sequence number | of all writes in tables and closed logs |
//! | 4 | log begun | number |
//! | 5 | log sealed | number, length |
//! | 6 | log ended | number: its writes are in tables |
//! | 7 | table added | number, level, lengths of the file, its data and its index, CRC of its footer, greatest sequence number, file of rebuilt filters or 0; length (2) and bytes of the first row, and of the last |
//! | 8 | table removed | number |
//! | 9 | table moved | number, level |
//! | 10 | filters rebuilt | number of the table, of the file of its filters |
//! | 11 | hash key | id of the secret key of filters to be written, SipHash-1-3, in place of a seed |

use super::super::encoding::{Cursor, Push};
use super::super::error::Damage;
use super::super::names::FileName;
use core::cmp::Reverse;
use core::ops::RangeInclusive;
use filterblock::KeyHasher;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The greatest tag of an edit.
const MAX_TAG: u8 = 11;

/// Number of levels.
pub(crate) const NUM_LEVELS: usize = 7;

/// The manifest's record of the filters' hasher: its seed, or the id of its secret key, which does not reveal the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HasherId {
    Seed(u64),
    Key(u64),
}

impl HasherId {
    /// The id of XXH3-64 in a filter block.
    const XXH3: u8 = 1;

    pub(crate) fn of(hasher: &KeyHasher) -> Self {
        if hasher.hash_id() == Self::XXH3 { Self::Seed(hasher.seed()) } else { Self::Key(hasher.seed()) }
    }

    pub(crate) fn key_id(self) -> Option<u64> {
        match self {
            Self::Seed(_) => None,
            Self::Key(id) => Some(id),
        }
    }
}

impl Default for HasherId {
    fn default() -> Self {
        Self::Seed(0)
    }
}

/// The first and the last row of a table.
pub(crate) type Rows = Arc<RangeInclusive<Vec<u8>>>;

/// A table in the manifest, with enough to distinguish it from another file of the same name, to know what is hidden
/// if it cannot be read, and to find what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableState {
    pub(crate) number: u64,
    pub(crate) level: usize,
    pub(crate) len: u64,
    pub(crate) data_len: u64,
    pub(crate) index_len: u64,
    pub(crate) footer_crc: u32,
    /// Tables of level 0 are searched in the descending order of these.
    pub(crate) max_seq: u64,
    /// The file of its filters, unless they are in the table's own.
    pub(crate) filter_file: Option<u64>,
    pub(crate) rows: Rows,
}

/// The order in which lookups search tables: by level, and in level 0, whose tables' sequence numbers do not overlap,
/// the newest first. Tables of a deeper level have different cells.
pub(crate) fn search_order(level: usize, max_seq: u64) -> (usize, Option<Reverse<u64>>) {
    (level, (level == 0).then_some(Reverse(max_seq)))
}

impl TableState {
    pub(crate) fn search_order(&self) -> (usize, Option<Reverse<u64>>) {
        search_order(self.level, self.max_seq)
    }
}

/// A log whose writes are not all in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogState {
    pub(crate) number: u64,
    /// Its length, if it was closed in order.
    pub(crate) sealed: Option<u64>,
}

/// A change of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Hasher(HasherId),
    NextNumber(u64),
    LastSeq(u64),
    LogBegun(u64),
    LogSealed { number: u64, len: u64 },
    LogEnded(u64),
    TableAdded(TableState),
    TableRemoved(u64),
    TableMoved { number: u64, level: usize },
    FiltersRebuilt { table: u64, file: u64 },
}

/// The state that results from the edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The number of the manifest that it is from; 0 for none.
    pub(crate) generation: u64,
    pub(crate) hasher: HasherId,
    pub(crate) next_number: u64,
    pub(crate) last_seq: u64,
    /// Oldest first.
    pub(crate) logs: Vec<LogState>,
    pub(crate) tables: BTreeMap<u64, TableState>,
}

impl State {
    /// The state after all of `edits`, or the damage in the first that contradicts the state.
    pub(crate) fn applied(mut self, edits: &[Edit]) -> Result<Self, Damage> {
        edits.iter().try_for_each(|edit| self.apply(edit.clone()))?;
        Ok(self)
    }

    fn apply(&mut self, edit: Edit) -> Result<(), Damage> {
        let wrong = |name, found| Damage::Contradiction { name, found };
        match edit {
            Edit::Hasher(hasher) => self.hasher = hasher,
            Edit::NextNumber(number) => self.next_number = number,
            Edit::LastSeq(seq) => self.last_seq = seq,
            Edit::LogBegun(number) => {
                if self.logs.iter().any(|log| log.number >= number || log.sealed.is_none()) {
                    return Err(wrong("number of a new log", number));
                }
                self.logs.push(LogState { number, sealed: None });
            }
            Edit::LogSealed { number, len } => {
                let log = self.logs.iter_mut().find(|log| log.number == number && log.sealed.is_none());
                log.ok_or(wrong("number of a sealed log", number))?.sealed = Some(len);
            }
            Edit::LogEnded(number) => {
                let position = self.logs.iter().position(|log| log.number == number);
                self.logs.remove(position.ok_or(wrong("number of an ended log", number))?);
            }
            Edit::TableAdded(table) => {
                if table.level >= NUM_LEVELS {
                    return Err(wrong("level of a table", table.level as u64));
                }
                let number = table.number;
                if self.tables.insert(number, table).is_some() {
                    return Err(wrong("number of a new table", number));
                }
            }
            Edit::TableRemoved(number) => {
                self.tables.remove(&number).ok_or(wrong("number of a removed table", number))?;
            }
            Edit::TableMoved { number, level } if level < NUM_LEVELS => {
                self.tables.get_mut(&number).ok_or(wrong("number of a moved table", number))?.level = level;
            }
            Edit::TableMoved { level, .. } => return Err(wrong("level of a table", level as u64)),
            Edit::FiltersRebuilt { table, file } => {
                let state = self.tables.get_mut(&table).ok_or(wrong("number of a table with new filters", table))?;
                state.filter_file = Some(file);
            }
        }
        Ok(())
    }

    /// Returns whether a file is part of this state.
    pub(crate) fn has(&self, file: FileName) -> bool {
        match file {
            FileName::Log(number) => self.logs.iter().any(|log| log.number == number),
            FileName::Table(number) => self.tables.contains_key(&number),
            FileName::Filters(number) => self.tables.values().any(|table| table.filter_file == Some(number)),
        }
    }

    /// Edits that produce this state from an empty one.
    pub(crate) fn as_edits(&self) -> Vec<Edit> {
        let mut edits =
            vec![Edit::Hasher(self.hasher), Edit::NextNumber(self.next_number), Edit::LastSeq(self.last_seq)];
        for &LogState { number, sealed } in &self.logs {
            edits.push(Edit::LogBegun(number));
            edits.extend(sealed.map(|len| Edit::LogSealed { number, len }));
        }
        edits.extend(self.tables.values().cloned().map(Edit::TableAdded));
        edits
    }
}

pub(super) fn encode(edits: &[Edit]) -> Vec<u8> {
    let mut out = Vec::new();
    for edit in edits {
        let (tag, numbers): (u8, &[u64]) = match edit {
            Edit::Hasher(HasherId::Seed(seed)) => (1, &[*seed]),
            Edit::NextNumber(number) => (2, &[*number]),
            Edit::LastSeq(seq) => (3, &[*seq]),
            Edit::LogBegun(number) => (4, &[*number]),
            Edit::LogSealed { number, len } => (5, &[*number, *len]),
            Edit::LogEnded(number) => (6, &[*number]),
            Edit::TableAdded(TableState { number, level, len, data_len, index_len, footer_crc, max_seq, .. }) => {
                (7, &[*number, *level as u64, *len, *data_len, *index_len, u64::from(*footer_crc), *max_seq])
            }
            Edit::TableRemoved(number) => (8, &[*number]),
            Edit::TableMoved { number, level } => (9, &[*number, *level as u64]),
            Edit::FiltersRebuilt { table, file } => (10, &[*table, *file]),
            Edit::Hasher(HasherId::Key(id)) => (11, &[*id]),
        };
        out.push(tag);
        numbers.iter().for_each(|&number| out.push_u64(number));
        if let Edit::TableAdded(TableState { filter_file, rows, .. }) = edit {
            out.push_u64(filter_file.unwrap_or(0));
            for row in [rows.start(), rows.end()] {
                // Rows have at most 65 535 bytes.
                out.push_u16(row.len() as u16);
                out.extend_from_slice(row);
            }
        }
    }
    out
}

pub(super) fn decode(payload: &[u8]) -> Result<Vec<Edit>, Damage> {
    let mut cursor = Cursor::new(payload);
    let mut edits = Vec::new();
    let cut_off = Damage::CutOff { unit: "edit", actual_bytes: payload.len() as u64 };
    while let Some(tag) = cursor.u8() {
        if !(1..=MAX_TAG).contains(&tag) {
            return Err(Damage::Field { name: "tag of an edit", found: tag.into(), expected: MAX_TAG.into() });
        }
        edits.push(next_edit(tag, &mut cursor).ok_or(cut_off)?);
    }
    Ok(edits)
}

fn row(cursor: &mut Cursor<'_>) -> Option<Vec<u8>> {
    let len = cursor.u16()?;
    cursor.take(len.into()).map(<[u8]>::to_vec)
}

fn next_edit(tag: u8, cursor: &mut Cursor<'_>) -> Option<Edit> {
    let first = cursor.u64()?;
    Some(match tag {
        1 => Edit::Hasher(HasherId::Seed(first)),
        2 => Edit::NextNumber(first),
        3 => Edit::LastSeq(first),
        4 => Edit::LogBegun(first),
        5 => Edit::LogSealed { number: first, len: cursor.u64()? },
        6 => Edit::LogEnded(first),
        7 => Edit::TableAdded(TableState {
            number: first,
            level: usize::try_from(cursor.u64()?).ok()?,
            len: cursor.u64()?,
            data_len: cursor.u64()?,
            index_len: cursor.u64()?,
            footer_crc: u32::try_from(cursor.u64()?).ok()?,
            max_seq: cursor.u64()?,
            filter_file: Some(cursor.u64()?).filter(|&file| file != 0),
            rows: Arc::new(row(cursor)?..=row(cursor)?),
        }),
        8 => Edit::TableRemoved(first),
        9 => Edit::TableMoved { number: first, level: usize::try_from(cursor.u64()?).ok()? },
        10 => Edit::FiltersRebuilt { table: first, file: cursor.u64()? },
        11 => Edit::Hasher(HasherId::Key(first)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::error::Damage;
    use super::{Arc, Edit, HasherId, State, TableState, decode, encode};

    fn all_edits() -> Vec<Edit> {
        let rows = Arc::new(b"first".to_vec()..=vec![7; 300]);
        let (len, data_len, index_len) = (12_288, 4096, 100);
        let table = TableState {
            number: 5,
            level: 1,
            len,
            data_len,
            index_len,
            footer_crc: 77,
            max_seq: 9,
            filter_file: None,
            rows,
        };
        vec![
            Edit::Hasher(HasherId::Seed(1)),
            Edit::Hasher(HasherId::Key(2)),
            Edit::NextNumber(9),
            Edit::LastSeq(100),
            Edit::LogBegun(3),
            Edit::LogSealed { number: 3, len: 50 },
            Edit::LogBegun(4),
            Edit::LogEnded(3),
            Edit::TableAdded(table.clone()),
            Edit::TableAdded(TableState { number: 6, filter_file: Some(7), ..table }),
            Edit::TableRemoved(6),
            Edit::TableMoved { number: 5, level: 6 },
            Edit::FiltersRebuilt { table: 5, file: 8 },
        ]
    }

    #[test]
    fn edits_round_trip_and_no_part_of_one_decodes() {
        let edits = all_edits();
        let bytes = encode(&edits);
        assert_eq!(decode(&bytes).unwrap(), edits);
        let whole: Vec<usize> = (0..=edits.len()).map(|n| encode(&edits[..n]).len()).collect();
        for len in 0..bytes.len() {
            assert_eq!(decode(&bytes[..len]).is_ok(), whole.contains(&len), "{len}");
        }
        assert!(decode(&[0]).is_err() && decode(&[12]).is_err());
        assert_eq!(encode(&[Edit::Hasher(HasherId::Seed(5))]), b"\x01\x05\0\0\0\0\0\0\0");
    }

    #[test]
    fn a_state_round_trips_through_its_edits() {
        let state = State::default().applied(&all_edits()).unwrap();
        assert_eq!((state.logs.len(), state.tables.len(), state.tables[&5].filter_file), (1, 1, Some(8)));
        assert_eq!(State::default().applied(&state.as_edits()).unwrap(), state);
    }

    #[test]
    fn edits_that_contradict_the_state_are_refused() {
        let state = State::default().applied(&all_edits()).unwrap();
        let table = state.tables[&5].clone();
        for edit in [
            Edit::LogBegun(4),
            Edit::LogBegun(5),
            Edit::LogSealed { number: 3, len: 1 },
            Edit::LogEnded(3),
            Edit::TableAdded(table.clone()),
            Edit::TableAdded(TableState { number: 50, level: 7, ..table }),
            Edit::TableRemoved(6),
            Edit::TableMoved { number: 6, level: 1 },
            Edit::TableMoved { number: 5, level: 7 },
            Edit::FiltersRebuilt { table: 6, file: 1 },
        ] {
            let refused = state.clone().applied(core::slice::from_ref(&edit));
            assert!(matches!(refused, Err(Damage::Contradiction { .. })), "{edit:?}");
        }
    }
}
