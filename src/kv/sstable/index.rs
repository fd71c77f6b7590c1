//! The index: the first and the last key of every data block, held in memory while the table is open.
//!
//! With both keys a lookup that falls between two blocks is decided without reading either, and without the filter.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32 of all that follows, masked |
//! | 4 | 4 | number of blocks |
//! | 8 | | for each block: pages (4), lengths of first row, first column, last row, last column (2 each), their bytes |
//!
//! Blocks follow each other without gaps, so their offsets are sums of pages.

use super::super::cell::CellKey;
use super::super::encoding::{Cursor, Push, masked_crc};
use super::super::error::{Damage, Error};
use super::super::fences::{Fences, partition_point};
use super::super::range::{is_after, is_before};
use super::super::storage::PAGE_LEN;
use crate::bytes;
use core::cmp::Ordering;
use core::ops::{Bound, Range};

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

    /// The index's bytes, which will be stored at `offset` of table `table`.
    pub(super) fn finish(mut self, table: u64, offset: u64) -> Vec<u8> {
        bytes::put_u32(&mut self.index, NUM_BLOCKS_AT, self.num_blocks);
        let crc = masked_crc(table, offset, &self.index[NUM_BLOCKS_AT..]);
        bytes::put_u32(&mut self.index, 0, crc);
        self.index
    }
}

/// Where a data block is.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockHandle {
    pub(super) offset: u64,
    pub(super) len: usize,
}

/// A block's entry. Its keys are ranges of the index's bytes, so that opening a table allocates no keys.
#[derive(Clone, Debug)]
struct Entry {
    handle: BlockHandle,
    keys_at: usize,
    lens: [u16; 4],
}

/// The index of an open table.
#[derive(Debug)]
pub(super) struct Index {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Fences of the blocks' first rows.
    firsts: Fences,
    /// Fences of the blocks' last rows.
    lasts: Fences,
}

impl Index {
    /// Decodes and checks the bytes that were read at `offset` of table `table`, whose data is `data_len` bytes long.
    pub(super) fn decode(file: &str, table: u64, offset: u64, bytes: Vec<u8>, data_len: u64) -> Result<Self, Error> {
        let damaged = |damage| Error::damaged(file, offset, damage);
        let too_long = |found| Damage::Field { name: "length of the blocks", found, expected: data_len };
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
        // An entry takes 12 bytes at least, which bounds the allocation for a wrong number.
        let mut entries = Vec::with_capacity((num_blocks as usize).min(bytes.len() / 12));
        let mut data_end = 0u64;
        for _ in 0..num_blocks {
            let entry = next_entry(&mut cursor, data_end).ok_or_else(cut_off)?;
            let end = data_end.checked_add(entry.handle.len as u64).filter(|&end| end <= data_len);
            data_end = end.ok_or_else(|| damaged(too_long(data_end)))?;
            entries.push(entry);
        }
        if !cursor.is_at_end() {
            return Err(cut_off());
        }
        if data_end != data_len {
            return Err(damaged(Damage::Field { name: "length of the blocks", found: data_end, expected: data_len }));
        }
        let mut index = Self { bytes, entries, firsts: Fences::default(), lasts: Fences::default() };
        if let Some(position) = index.first_out_of_order() {
            return Err(damaged(Damage::Order { position: position as u64 }));
        }
        index.build_fences();
        Ok(index)
    }

    fn build_fences(&mut self) {
        if let Some((first, last)) = self.key_range() {
            let firsts = (0..self.len()).map(|block| self.keys(block).0.row);
            let lasts = (0..self.len()).map(|block| self.keys(block).1.row);
            let fences = (Fences::new(first.row, last.row, firsts), Fences::new(first.row, last.row, lasts));
            (self.firsts, self.lasts) = fences;
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

    pub(super) fn handle(&self, block: usize) -> BlockHandle {
        self.entries[block].handle
    }

    /// First and last key of a block.
    pub(super) fn keys(&self, block: usize) -> (CellKey<'_>, CellKey<'_>) {
        self.keys_of(&self.entries[block])
    }

    fn keys_of(&self, Entry { keys_at, lens, .. }: &Entry) -> (CellKey<'_>, CellKey<'_>) {
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

    /// The block whose key range includes `key`; no other can hold it.
    pub(super) fn find(&self, key: CellKey<'_>) -> Option<usize> {
        let block = self.first_block_ending_at_or_after(key.row, |last| last < key);
        if block == self.len() {
            return None;
        }
        let starts_before = match self.firsts.compare(block, key.row) {
            Some(order) => order == Ordering::Less,
            None => self.keys(block).0 <= key,
        };
        starts_before.then_some(block)
    }

    /// The blocks whose key ranges include `row`.
    pub(super) fn find_row(&self, row: &[u8]) -> Range<usize> {
        self.find_rows(Bound::Included(row), Bound::Included(row))
    }

    /// The blocks whose key ranges overlap a range of rows.
    pub(super) fn find_rows(&self, start: Bound<&[u8]>, end: Bound<&[u8]>) -> Range<usize> {
        let first = match start {
            Bound::Included(row) | Bound::Excluded(row) => {
                self.first_block_ending_at_or_after(row, |last| is_before(last.row, start))
            }
            Bound::Unbounded => 0,
        };
        let reaches = |entry: &Entry| !is_after(self.keys_of(entry).0.row, end);
        // A row takes a block or two: these are tried before the rest.
        let (mut low, mut step) = (first, 1);
        while low + step <= self.len() && reaches(&self.entries[low + step - 1]) {
            low += step;
            step *= 2;
        }
        first..partition_point(&self.entries, low..self.len().min(low + step), reaches)
    }

    /// The first block whose last key is not `before`. `before` may be true for last rows up to `row` only.
    fn first_block_ending_at_or_after(&self, row: &[u8], before: impl Fn(CellKey<'_>) -> bool) -> usize {
        partition_point(&self.entries, self.lasts.around(row), |entry| before(self.keys_of(entry).1))
    }
}

fn next_entry(cursor: &mut Cursor<'_>, offset: u64) -> Option<Entry> {
    let pages = cursor.u32().filter(|&pages| pages > 0)?;
    let lens = [cursor.u16()?, cursor.u16()?, cursor.u16()?, cursor.u16()?];
    let keys_at = ENTRIES_AT + cursor.at();
    cursor.take(lens.iter().map(|&len| usize::from(len)).sum())?;
    // Within the limit of an allocation. The block of the largest cell has 4 129 pages.
    let len = (pages as usize).checked_mul(PAGE_LEN).filter(|&len| len < isize::MAX as usize - PAGE_LEN)?;
    Some(Entry { handle: BlockHandle { offset, len }, keys_at, lens })
}

#[cfg(test)]
mod tests {
    use super::{Bound, CellKey, Damage, ENTRIES_AT, Error, Index, IndexBuilder, PAGE_LEN};

    /// Rows with long and short common prefixes, rows that are prefixes of others, and many columns in one row.
    fn tables() -> Vec<Vec<(Vec<u8>, Vec<u8>)>> {
        let numbered = |head: &str| {
            let key = |i: u32| (format!("{head}{i:03}").into_bytes(), vec![]);
            (0..60).map(key).collect::<Vec<_>>()
        };
        let columns = (0..40u8).map(|i| (b"the same row".to_vec(), vec![i])).collect();
        let mut nested: Vec<_> = (0..30).map(|len| (vec![0; len], b"c".to_vec())).collect();
        nested.extend((0..10).map(|len| ([&[0; 12][..], &vec![0xff; len + 1]].concat(), vec![])));
        nested.sort();
        vec![numbered(""), numbered("a long common beginning "), columns, nested, vec![(vec![], vec![])]]
    }

    fn index(keys: &[(Vec<u8>, Vec<u8>)], per_block: usize) -> Index {
        let key = |(row, column): &'_ (Vec<u8>, Vec<u8>)| (row.clone(), column.clone());
        let mut builder = IndexBuilder::new();
        let blocks: Vec<_> =
            keys.chunks(per_block).map(|block| (key(&block[0]), key(&block[block.len() - 1]))).collect();
        for ((first_row, first_column), (last_row, last_column)) in &blocks {
            let first = CellKey { row: first_row, column: first_column };
            builder.push(1, first, CellKey { row: last_row, column: last_column });
        }
        let data_len = (blocks.len() * PAGE_LEN) as u64;
        Index::decode("index", 1, data_len, builder.finish(1, data_len), data_len).unwrap()
    }

    #[test]
    fn blocks_are_found_as_by_a_linear_search() {
        let mut asked = 0;
        for keys in tables() {
            for per_block in [1, 3, 4] {
                let index = index(&keys, per_block);
                let around = |row: &[u8]| [row.to_vec(), [row, &[0]].concat(), row[..row.len() / 2].to_vec()];
                let mut rows: Vec<Vec<u8>> = keys.iter().flat_map(|(row, _)| around(row)).collect();
                rows.extend([b"a long common".to_vec(), b"b".to_vec(), vec![0xff; 40]]);
                rows.dedup();
                for row in &rows {
                    for column in [&b""[..], b"c", &[20]] {
                        let key = CellKey { row, column };
                        let holds = |block: &usize| index.keys(*block).0 <= key && key <= index.keys(*block).1;
                        assert_eq!(index.find(key), (0..index.len()).find(holds), "{key:?}");
                    }
                    let bounds = [Bound::Included(&row[..]), Bound::Excluded(&row[..]), Bound::Unbounded];
                    for start in bounds {
                        for end_row in [row, &rows[asked % rows.len()]] {
                            for end in [Bound::Included(&end_row[..]), Bound::Excluded(&end_row[..]), Bound::Unbounded]
                            {
                                check_rows(&index, start, end);
                                asked += 1;
                            }
                        }
                    }
                }
            }
        }
        assert!(asked > 5_000, "{asked}");
    }

    /// The number of blocks of an index of `blocks` (pages, first row, last row) whose stored number is `more` too
    /// high, or its damage.
    fn decoded(blocks: &[(u32, &str, &str)], more: i32, data_pages: usize) -> Result<usize, Damage> {
        fn key(row: &str) -> CellKey<'_> {
            CellKey { row: row.as_bytes(), column: b"" }
        }
        let mut builder = IndexBuilder::new();
        blocks.iter().for_each(|&(pages, first, last)| builder.push(pages, key(first), key(last)));
        builder.num_blocks = builder.num_blocks.wrapping_add_signed(more);
        let index = Index::decode("index", 1, 0, builder.finish(1, 0), (data_pages * PAGE_LEN) as u64);
        index.map(|index| index.len()).map_err(|error| match error {
            Error::Damaged { damage, .. } => damage,
            other => panic!("{other}"),
        })
    }

    /// A checksum does not help where wrong bytes were written.
    #[test]
    fn an_index_with_a_right_checksum_is_still_checked() {
        assert_eq!(decoded(&[], 0, 0), Ok(0));
        assert_eq!(decoded(&[(1, "a", "b"), (2, "c", "c")], 0, 3), Ok(2));
        // Keys descend within a block or from one to the next, or are in both.
        assert_eq!(decoded(&[(1, "b", "a")], 0, 1), Err(Damage::Order { position: 0 }));
        assert_eq!(decoded(&[(1, "a", "b"), (1, "d", "c")], 0, 2), Err(Damage::Order { position: 1 }));
        assert_eq!(decoded(&[(1, "a", "c"), (1, "b", "d")], 0, 2), Err(Damage::Order { position: 1 }));
        assert_eq!(decoded(&[(1, "a", "b"), (1, "c", "d"), (1, "d", "e")], 0, 3), Err(Damage::Order { position: 2 }));
        // Blocks have at least one page, and together as many as the data.
        let cut_off = |entries: usize| Err(Damage::CutOff { unit: "index", len_bytes: (ENTRIES_AT + entries) as u64 });
        assert_eq!(decoded(&[(1, "a", "b"), (0, "c", "c")], 0, 1), cut_off(2 * 14));
        let pages = |found, expected| {
            let [found, expected] = [found, expected].map(|pages: usize| (pages * PAGE_LEN) as u64);
            Err(Damage::Field { name: "length of the blocks", found, expected })
        };
        assert_eq!(decoded(&[(1, "a", "b"), (2, "c", "c")], 0, 2), pages(1, 2));
        assert_eq!(decoded(&[(1, "a", "b"), (2, "c", "c")], 0, 4), pages(3, 4));
        // Exactly as many entries as its number.
        assert_eq!(decoded(&[(1, "a", "b")], 1, 1), cut_off(14));
        assert_eq!(decoded(&[(1, "a", "b"), (1, "c", "d")], -1, 1), cut_off(2 * 14));
        for len in 0..ENTRIES_AT {
            let error = Index::decode("index", 1, 0, vec![0; len], 0).expect_err("too short for the number of blocks");
            assert!(matches!(error, Error::Damaged { damage: Damage::CutOff { .. }, .. }), "{len}: {error}");
        }
    }

    fn check_rows(index: &Index, start: Bound<&[u8]>, end: Bound<&[u8]>) {
        let overlaps = |block: &usize| {
            let (first, last) = index.keys(*block);
            !super::is_before(last.row, start) && !super::is_after(first.row, end)
        };
        let expected: Vec<usize> = (0..index.len()).filter(overlaps).collect();
        assert_eq!(index.find_rows(start, end).collect::<Vec<_>>(), expected, "{start:?} {end:?}");
    }
}
