//! The index: the first and the last key of every data block, held in memory while the table is open.
//!
//! With both keys a lookup that falls between two blocks is settled without reading either, and without the filter.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32 of all that follows, masked |
//! | 4 | 4 | number of blocks |
//! | 8 | | for each block: pages (4), lengths of first row, first column, last row, last column (2 each), their bytes |
//!
//! Blocks follow each other without gaps, so offsets are sums of pages.

use super::super::cell::CellKey;
use super::super::error::{Damage, Error};
use super::super::storage::PAGE_LEN;
use super::format::{Cursor, Push, masked_crc};
use crate::bytes;
use core::ops::Range;

const NUM_BLOCKS_AT: usize = 4;
const ENTRIES_AT: usize = NUM_BLOCKS_AT + 4;

/// Collects the entries of an index.
#[derive(Debug)]
pub(super) struct IndexBuilder {
    index: Vec<u8>,
    num_blocks: u32,
}

impl IndexBuilder {
    pub(super) fn new() -> Self {
        Self { index: vec![0; ENTRIES_AT], num_blocks: 0 }
    }

    pub(super) fn push(&mut self, pages: u32, first: CellKey<'_>, last: CellKey<'_>) {
        self.index.push_u32(pages);
        let parts = [first.row, first.column, last.row, last.column];
        for part in parts {
            self.index.push_u16(part.len() as u16);
        }
        for part in parts {
            self.index.extend_from_slice(part);
        }
        self.num_blocks += 1;
    }

    /// The index's bytes, which will stand at `offset` of table `table`.
    pub(super) fn finish(mut self, table: u64, offset: u64) -> Vec<u8> {
        bytes::put_u32(&mut self.index, NUM_BLOCKS_AT, self.num_blocks);
        let crc = masked_crc(table, offset, &self.index[NUM_BLOCKS_AT..]);
        bytes::put_u32(&mut self.index, 0, crc);
        self.index
    }
}

/// A data block's place.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPlace {
    pub(super) offset: u64,
    pub(super) len: usize,
}

/// One block's entry; keys are ranges of the index's bytes, so that opening a table allocates no key.
#[derive(Clone, Debug)]
struct Entry {
    place: BlockPlace,
    keys_at: usize,
    lens: [u16; 4],
}

/// The index of an open table.
#[derive(Debug)]
pub(super) struct Index {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Index {
    /// Checks and takes the bytes that were read at `offset` of table `table`, whose data is `data_len` bytes long.
    pub(super) fn decode(file: &str, table: u64, offset: u64, bytes: Vec<u8>, data_len: u64) -> Result<Self, Error> {
        let damaged = |damage| Error::damaged(file, offset, damage);
        let cut_off = || damaged(Damage::CutOff { unit: "index", len_bytes: bytes.len() as u64 });
        if bytes.len() < ENTRIES_AT {
            return Err(cut_off());
        }
        let (stored, computed) = (bytes::u32_at(&bytes, 0), masked_crc(table, offset, &bytes[NUM_BLOCKS_AT..]));
        if stored != computed {
            return Err(damaged(Damage::Checksum { unit: "index", stored, computed }));
        }
        let num_blocks = bytes::u32_at(&bytes, NUM_BLOCKS_AT);
        let mut cursor = Cursor::new(&bytes[ENTRIES_AT..]);
        // An entry takes 12 bytes at least, which bounds what a wrong number could make us reserve.
        let mut entries = Vec::with_capacity((num_blocks as usize).min(bytes.len() / 12));
        let mut data_end = 0u64;
        for _ in 0..num_blocks {
            let entry = next_entry(&mut cursor, data_end).ok_or_else(cut_off)?;
            data_end += entry.place.len as u64;
            entries.push(entry);
        }
        if !cursor.is_at_end() {
            return Err(cut_off());
        }
        if data_end != data_len {
            return Err(damaged(Damage::Field { name: "length of the blocks", found: data_end, expected: data_len }));
        }
        let index = Self { bytes, entries };
        match index.first_out_of_order() {
            None => Ok(index),
            Some(position) => Err(damaged(Damage::Order { position: position as u64 })),
        }
    }

    fn first_out_of_order(&self) -> Option<usize> {
        (0..self.len()).find(|&i| {
            let (first, last) = self.keys(i);
            first > last || (i > 0 && self.keys(i - 1).1 >= first)
        })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn place(&self, block: usize) -> BlockPlace {
        self.entries[block].place
    }

    /// First and last key of a block.
    pub(super) fn keys(&self, block: usize) -> (CellKey<'_>, CellKey<'_>) {
        let Entry { keys_at, lens, .. } = &self.entries[block];
        let mut rest = &self.bytes[*keys_at..];
        let mut part = |len: u16| {
            let (part, behind) = rest.split_at(usize::from(len));
            rest = behind;
            part
        };
        let first = CellKey { row: part(lens[0]), column: part(lens[1]) };
        let last = CellKey { row: part(lens[2]), column: part(lens[3]) };
        (first, last)
    }

    /// The table's first and last key; `None` for a table of no blocks.
    pub(super) fn key_range(&self) -> Option<(CellKey<'_>, CellKey<'_>)> {
        let last_block = self.len().checked_sub(1)?;
        Some((self.keys(0).0, self.keys(last_block).1))
    }

    /// The block whose key range holds `key`; no other can have it.
    pub(super) fn find(&self, key: CellKey<'_>) -> Option<usize> {
        let block = self.first_block_ending_at_or_after(|last| last < key);
        (block < self.len() && self.keys(block).0 <= key).then_some(block)
    }

    /// The blocks whose key ranges reach into `row`.
    pub(super) fn find_row(&self, row: &[u8]) -> Range<usize> {
        let start = self.first_block_ending_at_or_after(|last| last.row < row);
        let more = (start..self.len()).take_while(|&block| self.keys(block).0.row <= row).count();
        start..start + more
    }

    /// The first block whose last key is not `before` what is sought.
    pub(super) fn first_block_ending_at_or_after(&self, before: impl Fn(CellKey<'_>) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match before(self.keys(middle).1) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

fn next_entry(cursor: &mut Cursor<'_>, offset: u64) -> Option<Entry> {
    let pages = cursor.u32().filter(|&pages| pages > 0)?;
    let lens = [cursor.u16()?, cursor.u16()?, cursor.u16()?, cursor.u16()?];
    let keys_at = ENTRIES_AT + cursor.at();
    cursor.take(lens.iter().map(|&len| usize::from(len)).sum())?;
    let len = (pages as usize).checked_mul(PAGE_LEN)?;
    Some(Entry { place: BlockPlace { offset, len }, keys_at, lens })
}
