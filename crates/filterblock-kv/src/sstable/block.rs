//! Data blocks: cells in order, in whole pages, under one checksum.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | magic |
//! | 4 | 4 | CRC-32 of all that follows, padding and location included, masked |
//! | 8 | 4 | length of the cells in bytes |
//! | 12 | 4 | number of cells |
//! | 16 | | cells, then zeros to the end of the page |
//!
//! A cell is a header, row, column and value. The header has the first of these forms that holds the cell's numbers:
//!
//! | kind: tombstone, value | row length | column length | value length | sequence number |
//! |---|---|---|---|---|
//! | 2, 3 (1) | (1) | (1) | (2) | (5) |
//! | 0, 1 (1) | (2) | (2) | (4) | (8) |
//!
//! A reader takes either.
//!
//! A cell too large for a page has a block of several pages of its own; every other block is one page.

use super::{CellKey, CellRef, Damage, Error, PAGE_LEN, Push, Range, masked_crc};
use crate::bytes;

/// The first bytes of a data block, so that a table can be recognised by its start too.
pub(super) const BLOCK_MAGIC: [u8; 4] = *b"\xf5FBD";

const CRC_AT: usize = BLOCK_MAGIC.len();
const CONTENT_LEN_AT: usize = CRC_AT + 4;
const NUM_CELLS_AT: usize = CONTENT_LEN_AT + 4;
const CELLS_AT: usize = NUM_CELLS_AT + 4;
pub(super) const SHORT_HEADER_LEN: usize = 1 + 1 + 1 + 2 + 5;
const LONG_HEADER_LEN: usize = 1 + 2 + 2 + 4 + 8;
const LONG_TOMBSTONE: u8 = 0;
const LONG_VALUE: u8 = 1;
const SHORT_TOMBSTONE: u8 = 2;
const SHORT_VALUE: u8 = 3;
const SHORT_SEQ_MAX: u64 = (1 << 40) - 1;

/// Collects the cells of one block.
#[derive(Debug)]
pub(super) struct BlockBuilder {
    block: Vec<u8>,
    num_cells: u32,
}

impl BlockBuilder {
    pub(super) fn new() -> Self {
        Self { block: vec![0; CELLS_AT], num_cells: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.num_cells == 0
    }

    /// The block's length so far.
    pub(super) fn len(&self) -> usize {
        self.block.len()
    }

    /// Returns whether the block stays within one page with `cell` added.
    pub(super) fn fits(&self, cell: &CellRef<'_>) -> bool {
        self.block.len() + cell_len(cell) <= PAGE_LEN
    }

    /// Appends a cell whose parts are within their limits.
    pub(super) fn push(&mut self, cell: &CellRef<'_>) {
        let CellKey { row, column } = cell.key;
        let value_len = cell.value.map_or(0, <[u8]>::len) as u32;
        if header_len(cell) == SHORT_HEADER_LEN {
            let kind = if cell.value.is_some() { SHORT_VALUE } else { SHORT_TOMBSTONE };
            self.block.extend_from_slice(&[kind, row.len() as u8, column.len() as u8]);
            self.block.push_u16(value_len as u16);
            self.block.push_u32(cell.seq as u32);
            self.block.push((cell.seq >> 32) as u8);
        } else {
            self.block.push(if cell.value.is_some() { LONG_VALUE } else { LONG_TOMBSTONE });
            self.block.push_u16(row.len() as u16);
            self.block.push_u16(column.len() as u16);
            self.block.push_u32(value_len);
            self.block.push_u64(cell.seq);
        }
        self.block.extend_from_slice(row);
        self.block.extend_from_slice(column);
        self.block.extend_from_slice(cell.value.unwrap_or_default());
        self.num_cells += 1;
    }

    /// Appends the block, in whole pages, to `out`; it will be stored at `offset` of table `table`. Returns its pages.
    pub(super) fn finish_into(&mut self, table: u64, offset: u64, out: &mut Vec<u8>) -> u32 {
        let content_len = self.block.len() - CELLS_AT;
        self.block.resize(self.block.len().next_multiple_of(PAGE_LEN), 0);
        self.block[..CRC_AT].copy_from_slice(&BLOCK_MAGIC);
        bytes::put_u32(&mut self.block, CONTENT_LEN_AT, content_len as u32);
        bytes::put_u32(&mut self.block, NUM_CELLS_AT, self.num_cells);
        let crc = masked_crc(table, offset, &self.block[CONTENT_LEN_AT..]);
        bytes::put_u32(&mut self.block, CRC_AT, crc);
        let pages = (self.block.len() / PAGE_LEN) as u32;
        out.append(&mut self.block);
        *self = Self::new();
        pages
    }
}

fn header_len(cell: &CellRef<'_>) -> usize {
    let (key, value_len) = (cell.key, cell.value.map_or(0, <[u8]>::len));
    let byte = usize::from(u8::MAX);
    let is_short = key.row.len() <= byte && key.column.len() <= byte && value_len <= usize::from(u16::MAX);
    if is_short && cell.seq <= SHORT_SEQ_MAX { SHORT_HEADER_LEN } else { LONG_HEADER_LEN }
}

fn cell_len(cell: &CellRef<'_>) -> usize {
    header_len(cell) + cell.key.row.len() + cell.key.column.len() + cell.value.map_or(0, <[u8]>::len)
}

/// The length, in whole pages, that the header of a block claims.
pub(super) fn claimed_len(header: &[u8]) -> Option<usize> {
    let header = bytes::array_at::<CELLS_AT>(header, 0).filter(|header| header[..CRC_AT] == BLOCK_MAGIC)?;
    (bytes::u32_at(&header, CONTENT_LEN_AT) as usize).checked_add(CELLS_AT)?.checked_next_multiple_of(PAGE_LEN)
}

/// The cells of a block whose checksum holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockReader<'a> {
    file: &'a str,
    offset: u64,
    cells: &'a [u8],
    num_cells: u32,
}

impl<'a> BlockReader<'a> {
    /// Checks `block`, which was read at `offset` of table `table`.
    pub(super) fn open(file: &'a str, table: u64, offset: u64, block: &'a [u8]) -> Result<Self, Error> {
        let unit = "data block";
        let damaged = |damage| Error::damaged(file, offset, damage);
        let Some(header) = bytes::array_at::<CELLS_AT>(block, 0) else {
            return Err(damaged(Damage::CutOff { unit, actual_bytes: block.len() as u64 }));
        };
        if header[..CRC_AT] != BLOCK_MAGIC {
            return Err(damaged(Damage::Magic { unit, found: u64::from(bytes::u32_at(&header, 0)) }));
        }
        let stored = bytes::u32_at(&header, CRC_AT);
        let computed = masked_crc(table, offset, &block[CONTENT_LEN_AT..]);
        if stored != computed {
            return Err(damaged(Damage::Checksum { unit, stored, computed }));
        }
        Self::open_checked(file, offset, block)
    }

    /// Opens a block whose checksum was verified before.
    pub(super) fn open_checked(file: &'a str, offset: u64, block: &'a [u8]) -> Result<Self, Error> {
        let damaged = |damage| Error::damaged(file, offset, damage);
        let Some(header) = bytes::array_at::<CELLS_AT>(block, 0) else {
            return Err(damaged(Damage::CutOff { unit: "data block", actual_bytes: block.len() as u64 }));
        };
        let content_len = bytes::u32_at(&header, CONTENT_LEN_AT);
        let Some(cells) = block[CELLS_AT..].get(..content_len as usize) else {
            let expected = (block.len() - CELLS_AT) as u64;
            return Err(damaged(Damage::Field { name: "length of the cells", found: content_len.into(), expected }));
        };
        Ok(Self::new(file, offset, cells, bytes::u32_at(&header, NUM_CELLS_AT)))
    }

    /// The cells of a block that was checked before.
    pub(super) fn new(file: &'a str, offset: u64, cells: &'a [u8], num_cells: u32) -> Self {
        Self { file, offset, cells, num_cells }
    }

    /// Returns the cells in order. The iterator ends with an error if the block has fewer cells than its header claims.
    pub(super) fn cells(&self) -> impl Iterator<Item = Result<CellRef<'a>, Error>> + use<'a> {
        let Self { file, offset, cells, num_cells } = *self;
        let (mut at, mut left) = (0, num_cells);
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let Some(location) = CellLocation::read(cells, at) else {
                left = 0;
                return Some(Err(Error::damaged(file, offset, cell_cut_off(cells))));
            };
            at = location.end();
            Some(Ok(location.cell(cells)))
        })
    }

    pub(super) fn damaged(&self, damage: Damage) -> Error {
        Error::damaged(self.file, self.offset, damage)
    }

    /// Returns the place of the cells in the block, for a walk from one location to the next, and their number.
    pub(super) fn extent(&self) -> (Range<usize>, u32) {
        (CELLS_AT..CELLS_AT + self.cells.len(), self.num_cells)
    }
}

/// A block whose bytes do not hold as many cells as its header claims.
pub(super) fn cell_cut_off(cells: &[u8]) -> Damage {
    Damage::CutOff { unit: "cell", actual_bytes: cells.len() as u64 }
}

/// The places of a cell's parts among the bytes of its block's cells, all in bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellLocation {
    row_at: usize,
    column_at: usize,
    value_at: usize,
    end: usize,
    pub(super) seq: u64,
    has_value: bool,
}

impl CellLocation {
    /// The cell at `at`; `None` if the bytes there are none.
    pub(super) fn read(cells: &[u8], at: usize) -> Option<Self> {
        let kind = *cells.get(at)?;
        let (header_len, lens, seq) = match kind {
            SHORT_TOMBSTONE | SHORT_VALUE => {
                let header = bytes::array_at::<SHORT_HEADER_LEN>(cells, at)?;
                let lens = [header[1].into(), header[2].into(), bytes::u16_at(&header, 3).into()];
                (header.len(), lens, u64::from(bytes::u32_at(&header, 5)) | u64::from(header[9]) << 32)
            }
            LONG_TOMBSTONE | LONG_VALUE => {
                let header = bytes::array_at::<LONG_HEADER_LEN>(cells, at)?;
                let lens =
                    [bytes::u16_at(&header, 1).into(), bytes::u16_at(&header, 3).into(), bytes::u32_at(&header, 5)];
                (header.len(), lens, bytes::u64_at(&header, 9))
            }
            _ => return None,
        };
        let row_at = at + header_len;
        let column_at = row_at + lens[0] as usize;
        let value_at = column_at + lens[1] as usize;
        let end = value_at.checked_add(lens[2] as usize)?;
        (end <= cells.len()).then_some(())?;
        let has_value = matches!(kind, SHORT_VALUE | LONG_VALUE);
        Some(Self { row_at, column_at, value_at, end, seq, has_value })
    }

    /// Returns the start of the next cell.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// The cell, in the bytes that the location was read from.
    pub(super) fn cell<'a>(&self, cells: &'a [u8]) -> CellRef<'a> {
        let row = &cells[self.row_at..self.column_at];
        let column = &cells[self.column_at..self.value_at];
        let value = self.has_value.then(|| &cells[self.value_at..self.end]);
        CellRef { key: CellKey { row, column }, seq: self.seq, value }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        BlockBuilder, BlockReader, CELLS_AT, CellLocation, CellRef, Damage, Error, LONG_HEADER_LEN, PAGE_LEN,
        SHORT_HEADER_LEN,
    };
    use crate::cell::CellKey;

    fn cell<'a>(row: &'a [u8], column: &'a [u8], value: Option<&'a [u8]>, seq: u64) -> CellRef<'a> {
        CellRef { key: CellKey { row, column }, seq, value }
    }

    #[test]
    fn cells_round_trip_at_their_own_location_only() {
        // The greatest parts of a short header, and the least that need a long one.
        let long = [b'l'; 256];
        let written = [
            cell(b"a", b"", Some(b"one"), 9),
            cell(b"a", b"bc", None, 8),
            cell(&long[..255], &long[..255], Some(b""), (1 << 40) - 1),
            cell(&long, b"", Some(b"value"), 1),
            cell(b"m", &long, None, 1),
            cell(b"n", b"c", Some(b"1"), 1 << 40),
            cell(b"row", b"c", Some(b""), u64::MAX),
        ];
        let mut builder = BlockBuilder::new();
        assert!(builder.is_empty());
        let mut len = CELLS_AT;
        for cell in &written {
            builder.push(cell);
            let is_long = cell.key.row.len() > 255 || cell.key.column.len() > 255 || cell.seq >= 1 << 40;
            len += if is_long { 17 } else { 10 };
            len += cell.key.row.len() + cell.key.column.len() + cell.value.map_or(0, <[u8]>::len);
            assert!(!builder.is_empty());
            assert_eq!(builder.len(), len);
        }
        let mut out = vec![0xee; 5];
        assert_eq!(builder.finish_into(7, 4096, &mut out), 1);
        assert!(builder.is_empty(), "ready for the next block");
        let block = &out[5..];
        assert_eq!(block.len(), PAGE_LEN);
        let reader = BlockReader::open("t", 7, 4096, block).expect("intact");
        assert_eq!(reader.extent(), (CELLS_AT..len, 7));
        let cells: Vec<_> = reader.cells().collect::<Result<_, _>>().expect("as many cells");
        let facts = |cell: &CellRef<'_>| {
            (cell.key.row.to_vec(), cell.key.column.to_vec(), cell.value.map(<[u8]>::to_vec), cell.seq)
        };
        assert_eq!(cells.iter().map(facts).collect::<Vec<_>>(), written.iter().map(facts).collect::<Vec<_>>());
        for (table, offset) in [(8, 4096), (7, 8192)] {
            let error = BlockReader::open("t", table, offset, block).expect_err("another location");
            assert!(matches!(error, Error::Damaged { damage: Damage::Checksum { .. }, .. }), "{error}");
        }
    }

    #[test]
    fn a_page_is_filled_to_its_last_byte() {
        let parts = CELLS_AT + SHORT_HEADER_LEN + b"row".len() + b"column".len();
        for (value_len, fits) in [(PAGE_LEN - parts, true), (PAGE_LEN - parts + 1, false)] {
            let value = vec![1; value_len];
            let cell = cell(b"row", b"column", Some(&value), 1);
            let mut builder = BlockBuilder::new();
            assert_eq!(builder.fits(&cell), fits, "{value_len}");
            builder.push(&cell);
            let mut out = Vec::new();
            assert_eq!(builder.finish_into(1, 0, &mut out), if fits { 1 } else { 2 });
            let reader = BlockReader::open("t", 1, 0, &out).expect("intact");
            assert_eq!(reader.extent().0.end, CELLS_AT + SHORT_HEADER_LEN + 9 + value_len);
        }
    }

    #[test]
    fn cells_that_are_cut_off_or_of_no_kind_are_refused() {
        let mut out = Vec::new();
        for (seq, header_len) in [(300, SHORT_HEADER_LEN), (1 << 40, LONG_HEADER_LEN)] {
            let mut builder = BlockBuilder::new();
            builder.push(&cell(b"r", b"c", Some(b"value"), seq));
            out.clear();
            builder.finish_into(1, 0, &mut out);
            let len = header_len + 7;
            let cells = &out[CELLS_AT..CELLS_AT + len];
            assert_eq!(CellLocation::read(cells, 0).map(|location| (location.end(), location.seq)), Some((len, seq)));
            for cut in 0..len {
                assert!(CellLocation::read(&cells[..cut], 0).is_none(), "{cut} bytes");
            }
            let mut unknown = cells.to_vec();
            unknown[0] = 4;
            assert!(CellLocation::read(&unknown, 0).is_none());
        }
        // A length beyond the block is damage even where the checksum is not verified.
        let content_len = PAGE_LEN - CELLS_AT;
        for (claimed, sound) in [(content_len, true), (content_len + 1, false)] {
            (out[8], out[9]) = (claimed as u8, (claimed >> 8) as u8);
            match BlockReader::open_checked("t", 0, &out) {
                Ok(_) => assert!(sound),
                Err(Error::Damaged { damage: Damage::Field { found, expected, .. }, .. }) => {
                    assert_eq!((sound, found, expected), (false, claimed as u64, content_len as u64));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
