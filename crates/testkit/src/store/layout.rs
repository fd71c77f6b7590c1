//! The layout of a store's files as the documentation of its modules describes it, read here without the library; for
//! the tests and the fuzz targets.

use std::ops::Range;

pub const PAGE_LEN: usize = 4096;
/// The length of a log record's header.
pub const HEADER_LEN: usize = 24;
pub const FOOTER_MAGIC: &[u8] = b"\xf3FBSST\r\n";
/// Fields of a footer.
pub const NUMBER_AT: usize = 16;
pub const MAX_SEQ_AT: usize = 72;
pub const DATA_LEN_AT: usize = 80;
pub const INDEX_LEN_AT: usize = 88;
pub const NUM_FILTERS_AT: usize = 96;
pub const FILTERS_AT: usize = 104;
pub const CRC_AT: usize = PAGE_LEN - 4;

/// The little-endian integer in `bytes`.
pub fn int(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The bytes of an integer, the least first.
fn bytes_of<const N: usize>(number: u64) -> [u8; N] {
    core::array::from_fn(|i| (number >> (8 * i)) as u8)
}

/// The 64-bit integer at `at`.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    int(&bytes[at..at + 8])
}

/// The checksum of `bytes` at `offset` of the file with this number.
pub fn placed_crc(number: u64, offset: u64, bytes: &[u8]) -> u32 {
    let place = [number, offset].map(bytes_of::<8>).concat();
    crc32fast::hash(&[&place, bytes].concat()).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Makes the checksum of a file's footer right.
pub fn seal_footer(file: &mut [u8]) {
    let footer = file.len() - PAGE_LEN;
    let crc = placed_crc(0, footer as u64, &file[footer..footer + CRC_AT]);
    file[footer + CRC_AT..].copy_from_slice(&bytes_of::<4>(crc.into()));
}

/// The kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Lock,
    Manifest,
    Log,
    Table,
    Filters,
}

impl Kind {
    pub fn of(name: &str) -> Option<Self> {
        match name.split_once('.').map_or(name, |(_, extension)| extension) {
            "LOCK" => Some(Self::Lock),
            "MANIFEST" => Some(Self::Manifest),
            "wal" => Some(Self::Log),
            "sst" => Some(Self::Table),
            "flt" => Some(Self::Filters),
            _ => None,
        }
    }
}

/// The unit that a byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    Data,
    Index,
    Filter,
    /// Padding after an index or a filter, up to the end of the page.
    Padding,
    Footer,
    /// A record of a log, by its number.
    Record(usize),
}

/// The ranges of an intact log's records.
pub fn records(log: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut records) = (0, Vec::new());
    while at < log.len() {
        let end = at + HEADER_LEN + int(&log[at + 8..at + 12]) as usize;
        records.push(at..end);
        at = end;
    }
    assert_eq!(at, log.len());
    records
}

/// The units of an intact file, in order and without gaps.
pub fn units(kind: Kind, file: &[u8]) -> Vec<(Range<usize>, Unit)> {
    match kind {
        Kind::Lock => return Vec::new(),
        Kind::Manifest | Kind::Log => {
            return records(file).into_iter().enumerate().map(|(i, record)| (record, Unit::Record(i))).collect();
        }
        Kind::Table | Kind::Filters => {}
    }
    let parts = Parts::of(file).expect("a footer");
    let filters = parts.filters.into_iter().map(|(_, place)| (place, Unit::Filter));
    let footer = file.len() - PAGE_LEN..file.len();
    let (mut units, mut end) = (Vec::new(), 0);
    let all = [(0..parts.index.start, Unit::Data), (parts.index, Unit::Index)].into_iter().chain(filters);
    for (place, unit) in all.chain([(footer, Unit::Footer)]) {
        if end < place.start {
            units.push((end..place.start, Unit::Padding));
        }
        end = place.end;
        units.push((place, unit));
    }
    assert_eq!(end, file.len());
    units.retain(|(place, _)| !place.is_empty());
    units
}

/// The parts of a table or of a file of filters, according to footer and index, as far as they are within the file.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    pub number: u64,
    pub max_seq: u64,
    pub blocks: Vec<Range<usize>>,
    pub index: Range<usize>,
    /// Each with its purpose.
    pub filters: Vec<(u8, Range<usize>)>,
    /// The length of each filter's index; 0 for one block.
    pub index_lens: Vec<usize>,
}

/// The range from `at` of `len` bytes, if it ends before `end`.
fn within(at: usize, len: u64, end: usize) -> Option<Range<usize>> {
    let range = at..at.checked_add(usize::try_from(len).ok()?)?;
    (range.end <= end).then_some(range)
}

impl Parts {
    /// The parts of a file of a page at least.
    pub fn of(file: &[u8]) -> Option<Self> {
        let footer = file.len().checked_sub(PAGE_LEN)? / PAGE_LEN * PAGE_LEN;
        let fields = &file[footer..footer + PAGE_LEN];
        let (number, max_seq) = (u64_at(fields, NUMBER_AT), u64_at(fields, MAX_SEQ_AT));
        let mut parts = Self { number, max_seq, ..Self::default() };
        parts.find(file, fields, footer);
        Some(parts)
    }

    /// Looks for all that ends before the footer; `None` where something does not.
    fn find(&mut self, file: &[u8], fields: &[u8], footer: usize) -> Option<()> {
        let data = within(0, u64_at(fields, DATA_LEN_AT), footer)?;
        self.index = within(data.end, u64_at(fields, INDEX_LEN_AT), footer)?;
        self.blocks = blocks(&file[self.index.clone()], data.end);
        let mut at = self.index.end.next_multiple_of(PAGE_LEN);
        for filter in 0..u64_at(fields, NUM_FILTERS_AT).min(8) as usize {
            let field = FILTERS_AT + 16 * filter;
            let place = within(at, u64_at(fields, field), footer)?;
            at = place.end.next_multiple_of(PAGE_LEN);
            self.filters.push((fields[field + 8], place));
            self.index_lens.push(int(&fields[field + 12..field + 16]) as usize);
        }
        Some(())
    }
}

/// The places of data blocks that the index gives, as far as they are within the data.
fn blocks(index: &[u8], data_len: usize) -> Vec<Range<usize>> {
    let key_len = |lens: &[u8]| 4 + lens.chunks(2).map(|len| int(len) as usize).sum::<usize>();
    let (mut blocks, mut at) = (Vec::new(), 0);
    // The table's first key precedes the entries.
    let mut entry = 8 + index.get(8..12).map_or(0, key_len);
    for _ in 0..index.get(4..8).map_or(0, int) {
        let Some(head) = index.get(entry..entry + 8) else { break };
        let Some(place) = within(at, int(&head[..4]) * PAGE_LEN as u64, data_len) else { break };
        entry += 4 + key_len(&head[4..]);
        at = place.end;
        blocks.push(place);
    }
    blocks
}
