//! The index: the table's first key, and the last key of every data block, held in memory while the table is open.
//!
//! A block covers all keys after the last one of the block before it, up to its own last key: each key within the
//! table's range is in exactly one block. So a filter that denies such a key has saved the read of one block, and a
//! lookup queries the filter before it searches the index. With the first key of every block, lookups between two
//! blocks would need no filter, but those are one in the number of a block's cells, and the index twice as long.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32 of all that follows, masked |
//! | 4 | 4 | number of blocks |
//! | 8 | | the table's first key: lengths of row and column (2 each), their bytes |
//! | | | for each block: pages (4), lengths of last row and last column (2 each), their bytes |
//!
//! Blocks follow each other without gaps, so their offsets are sums of pages.

use super::{
    Bound, CellKey, Cursor, Damage, Error, Fences, Footer, PAGE_LEN, PageBuf, Push, Range, is_after, is_before,
    masked_crc, partition_point,
};
use crate::bytes;

const NUM_BLOCKS_AT: usize = 4;
const KEYS_AT: usize = NUM_BLOCKS_AT + 4;
/// A block's entry has at least its pages and the lengths of its key.
const ENTRY_LEN_MIN: usize = 8;

/// Collects the entries of an index.
#[derive(Debug)]
pub(super) struct IndexBuilder {
    index: Vec<u8>,
    num_blocks: u32,
}

impl IndexBuilder {
    /// Starts the index of a table whose first key is `first`; its parts are empty for a table without cells.
    pub(super) fn new(first: CellKey<'_>) -> Self {
        let mut builder = Self { index: vec![0; KEYS_AT], num_blocks: 0 };
        builder.push_key(first);
        builder
    }

    pub(super) fn push(&mut self, pages: u32, last: CellKey<'_>) {
        self.index.push_u32(pages);
        self.push_key(last);
        self.num_blocks += 1;
    }

    fn push_key(&mut self, key: CellKey<'_>) {
        for part in [key.row, key.column] {
            self.index.push_u16(part.len() as u16);
        }
        self.index.extend_from_slice(key.row);
        self.index.extend_from_slice(key.column);
    }

    /// The index's bytes, which will be stored at `offset` of table `table`.
    pub(super) fn finish(mut self, table: u64, offset: u64) -> Vec<u8> {
        bytes::put_u32(&mut self.index, NUM_BLOCKS_AT, self.num_blocks);
        let crc = masked_crc(table, offset, &self.index[NUM_BLOCKS_AT..]);
        bytes::put_u32(&mut self.index, 0, crc);
        self.index
    }
}

/// The place of a data block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockHandle {
    pub(super) offset: u64,
    pub(super) len: usize,
}

/// A key within the index's bytes, so that opening a table allocates no keys.
#[derive(Clone, Copy, Debug)]
struct KeyAt {
    at: usize,
    row_len: u16,
    column_len: u16,
}

impl KeyAt {
    /// Reads a key, whose lengths precede its bytes.
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let (row_len, column_len) = (cursor.u16()?, cursor.u16()?);
        let at = KEYS_AT + cursor.at();
        cursor.take(usize::from(row_len) + usize::from(column_len))?;
        Some(Self { at, row_len, column_len })
    }

    fn of<'a>(&self, index: &'a [u8]) -> CellKey<'a> {
        let (row, rest) = index[self.at..].split_at(usize::from(self.row_len));
        CellKey { row, column: &rest[..usize::from(self.column_len)] }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    offset: u64,
    pages: u32,
    last: KeyAt,
}

/// The index of an open table.
#[derive(Debug)]
pub(super) struct Index {
    bytes: PageBuf,
    first: KeyAt,
    entries: Vec<Entry>,
    /// Fences of the blocks' last rows.
    lasts: Fences,
}

impl Index {
    /// Decodes and checks the pages that were read from the table of `footer`, up to the index's end.
    pub(super) fn decode(file: &str, footer: &Footer, pages: PageBuf) -> Result<Self, Error> {
        let (offset, data_len) = (footer.data_len, footer.data_len);
        let bytes = pages.as_slice();
        let damaged = |damage| Error::damaged(file, offset, damage);
        let too_long = |found| Damage::Field { name: "length of the blocks", found, expected: data_len };
        let cut_off = || damaged(Damage::CutOff { unit: "index", actual_bytes: bytes.len() as u64 });
        if bytes.len() < KEYS_AT {
            return Err(cut_off());
        }
        let (stored, computed) = (bytes::u32_at(bytes, 0), masked_crc(footer.number, offset, &bytes[NUM_BLOCKS_AT..]));
        if stored != computed {
            return Err(damaged(Damage::Checksum { unit: "index", stored, computed }));
        }
        let num_blocks = bytes::u32_at(bytes, NUM_BLOCKS_AT);
        let mut cursor = Cursor::new(&bytes[KEYS_AT..]);
        let first = KeyAt::read(&mut cursor).ok_or_else(cut_off)?;
        // The bytes bound the allocation for a wrong number.
        let mut entries = Vec::with_capacity((num_blocks as usize).min(bytes.len() / ENTRY_LEN_MIN));
        let mut data_end = 0u64;
        for _ in 0..num_blocks {
            let pages = cursor.u32().filter(|&pages| pages > 0).ok_or_else(cut_off)?;
            let len = block_len(pages).ok_or_else(cut_off)?;
            let entry = Entry { offset: data_end, pages, last: KeyAt::read(&mut cursor).ok_or_else(cut_off)? };
            let end = data_end.checked_add(len as u64).filter(|&end| end <= data_len);
            data_end = end.ok_or_else(|| damaged(too_long(data_end)))?;
            entries.push(entry);
        }
        if !cursor.is_at_end() {
            return Err(cut_off());
        }
        if data_end != data_len {
            return Err(damaged(Damage::Field { name: "length of the blocks", found: data_end, expected: data_len }));
        }
        let mut index = Self { bytes: pages, first, entries, lasts: Fences::default() };
        if let Some(position) = index.first_out_of_order() {
            return Err(damaged(Damage::Order { position: position as u64 }));
        }
        if let Some((first, last)) = index.key_range() {
            index.lasts = Fences::new(first.row, last.row, (0..index.len()).map(|block| index.last(block).row));
        }
        Ok(index)
    }

    fn first_out_of_order(&self) -> Option<usize> {
        (0..self.len()).find(|&block| match block {
            0 => self.first.of(self.bytes.as_slice()) > self.last(0),
            _ => self.last(block - 1) >= self.last(block),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn handle(&self, block: usize) -> BlockHandle {
        let Entry { offset, pages, .. } = self.entries[block];
        BlockHandle { offset, len: pages as usize * PAGE_LEN }
    }

    /// The last key of a block.
    pub(super) fn last(&self, block: usize) -> CellKey<'_> {
        self.entries[block].last.of(self.bytes.as_slice())
    }

    /// The bounds of a block's keys: the table's first key or the last one of the block before, which is not among
    /// them, and the block's last key.
    pub(super) fn bounds(&self, block: usize) -> (Bound<CellKey<'_>>, CellKey<'_>) {
        let start = match block.checked_sub(1) {
            Some(before) => Bound::Excluded(self.last(before)),
            None => Bound::Included(self.first.of(self.bytes.as_slice())),
        };
        (start, self.last(block))
    }

    /// The table's first and last key; `None` for a table of no blocks.
    pub(super) fn key_range(&self) -> Option<(CellKey<'_>, CellKey<'_>)> {
        let last_block = self.len().checked_sub(1)?;
        Some((self.first.of(self.bytes.as_slice()), self.last(last_block)))
    }

    /// The block that covers `key`, which is within the table's range.
    pub(super) fn find(&self, key: CellKey<'_>) -> usize {
        self.first_block_ending_at_or_after(key.row, |last| last < key)
    }

    /// The blocks that cover a range of rows, which is not empty.
    pub(super) fn find_rows(&self, start: Bound<&[u8]>, end: Bound<&[u8]>) -> Range<usize> {
        let is_before_first = self.key_range().is_none_or(|(first, _)| is_after(first.row, end));
        if is_before_first {
            return 0..0;
        }
        let first = match start {
            Bound::Included(row) | Bound::Excluded(row) => {
                self.first_block_ending_at_or_after(row, |last| is_before(last.row, start))
            }
            Bound::Unbounded => 0,
        };
        // The first block whose last row is after the range is the last that covers some of it: a row that ends a block
        // may go on in the next. A row takes a block or two: these are tried before the rest.
        let is_within = |entry: &Entry| !is_after(entry.last.of(self.bytes.as_slice()).row, end);
        let (mut low, mut step) = (first, 1);
        while low + step <= self.len() && is_within(&self.entries[low + step - 1]) {
            low += step;
            step *= 2;
        }
        let last = partition_point(&self.entries, low..self.len().min(low + step), is_within);
        first..self.len().min(last + 1)
    }

    /// The first block whose last key is not `before`. `before` may be true for last rows up to `row` only.
    fn first_block_ending_at_or_after(&self, row: &[u8], before: impl Fn(CellKey<'_>) -> bool) -> usize {
        partition_point(&self.entries, self.lasts.around(row), |entry| before(entry.last.of(self.bytes.as_slice())))
    }
}

/// The length of a block, within the limit of an allocation. The block of the largest cell has 4 129 pages.
fn block_len(pages: u32) -> Option<usize> {
    (pages as usize).checked_mul(PAGE_LEN).filter(|&len| len < isize::MAX as usize - PAGE_LEN)
}

#[cfg(test)]
mod tests {
    use super::super::super::range::RowRange;
    use super::{
        Bound, CellKey, Damage, Error, Footer, Index, IndexBuilder, KEYS_AT, PAGE_LEN, PageBuf, is_after, is_before,
    };
    use core::ops::RangeBounds;

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

    fn key_of((row, column): &(Vec<u8>, Vec<u8>)) -> CellKey<'_> {
        CellKey { row, column }
    }

    fn footer(data_len: u64) -> Footer {
        Footer { number: 1, data_len, ..Footer::default() }
    }

    fn buf(bytes: &[u8]) -> PageBuf {
        let mut buf = PageBuf::new(bytes.len());
        buf.as_mut_slice().copy_from_slice(bytes);
        buf
    }

    fn index(keys: &[(Vec<u8>, Vec<u8>)], per_block: usize) -> Index {
        let mut builder = IndexBuilder::new(key_of(&keys[0]));
        keys.chunks(per_block).for_each(|block| builder.push(1, key_of(&block[block.len() - 1])));
        let data_len = (keys.len().div_ceil(per_block) * PAGE_LEN) as u64;
        Index::decode("index", &footer(data_len), buf(&builder.finish(1, data_len))).unwrap()
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
                        let covers = |block: &usize| {
                            (index.bounds(*block).0, Bound::Included(index.last(*block))).contains(&key)
                        };
                        if let Some(block) = (0..index.len()).find(covers) {
                            assert_eq!(index.find(key), block, "{key:?}");
                        }
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

    /// The number of blocks of an index of `blocks` (pages, last row) whose stored number is `more` too high, or its
    /// damage.
    fn decoded(first: &str, blocks: &[(u32, &str)], more: i32, data_pages: usize) -> Result<usize, Damage> {
        fn key(row: &str) -> CellKey<'_> {
            CellKey { row: row.as_bytes(), column: b"" }
        }
        let mut builder = IndexBuilder::new(key(first));
        blocks.iter().for_each(|&(pages, last)| builder.push(pages, key(last)));
        builder.num_blocks = builder.num_blocks.wrapping_add_signed(more);
        let footer = footer((data_pages * PAGE_LEN) as u64);
        let index = Index::decode("index", &footer, buf(&builder.finish(1, footer.data_len)));
        index.map(|index| index.len()).map_err(|error| match error {
            Error::Damaged { damage, .. } => damage,
            other => panic!("{other}"),
        })
    }

    /// A checksum does not help where wrong bytes were written.
    #[test]
    fn an_index_with_a_right_checksum_is_still_checked() {
        assert_eq!(decoded("", &[], 0, 0), Ok(0));
        assert_eq!(decoded("a", &[(1, "b"), (2, "c")], 0, 3), Ok(2));
        assert_eq!(decoded("b", &[(1, "b")], 0, 1), Ok(1));
        // Keys descend within the first block or from one to the next, or end both.
        assert_eq!(decoded("b", &[(1, "a")], 0, 1), Err(Damage::Order { position: 0 }));
        assert_eq!(decoded("a", &[(1, "d"), (1, "c")], 0, 2), Err(Damage::Order { position: 1 }));
        assert_eq!(decoded("a", &[(1, "b"), (1, "d"), (1, "d")], 0, 3), Err(Damage::Order { position: 2 }));
        // Each block has at least one page, and together they have the pages of the data.
        let cut_off = |len: usize| Err(Damage::CutOff { unit: "index", actual_bytes: (KEYS_AT + len) as u64 });
        assert_eq!(decoded("a", &[(1, "b"), (0, "c")], 0, 1), cut_off(5 + 2 * 9));
        let pages = |found, expected| {
            let [found, expected] = [found, expected].map(|pages: usize| (pages * PAGE_LEN) as u64);
            Err(Damage::Field { name: "length of the blocks", found, expected })
        };
        assert_eq!(decoded("a", &[(1, "b"), (2, "c")], 0, 2), pages(1, 2));
        assert_eq!(decoded("a", &[(1, "b"), (2, "c")], 0, 4), pages(3, 4));
        // Exactly as many entries as its number.
        assert_eq!(decoded("a", &[(1, "b")], 1, 1), cut_off(5 + 9));
        assert_eq!(decoded("a", &[(1, "b"), (1, "d")], -1, 1), cut_off(5 + 2 * 9));
        for len in 0..KEYS_AT {
            let error =
                Index::decode("index", &footer(0), PageBuf::new(len)).expect_err("too short for the number of blocks");
            assert!(matches!(error, Error::Damaged { damage: Damage::CutOff { .. }, .. }), "{len}: {error}");
        }
        // Too short for the first key.
        for len in 0..4 {
            let mut index = vec![0; KEYS_AT + len];
            let crc = super::masked_crc(1, 0, &index[super::NUM_BLOCKS_AT..]);
            crate::bytes::put_u32(&mut index, 0, crc);
            let refused = Index::decode("index", &footer(0), buf(&index)).map(|index| index.len());
            assert!(matches!(refused, Err(Error::Damaged { damage: Damage::CutOff { .. }, .. })), "{len}: {refused:?}");
        }
    }

    fn check_rows(index: &Index, start: Bound<&[u8]>, end: Bound<&[u8]>) {
        if (RowRange { start: start.map(<[u8]>::to_vec), end: end.map(<[u8]>::to_vec) }).is_empty() {
            return;
        }
        let overlaps = |block: &usize| {
            let (Bound::Included(first) | Bound::Excluded(first), last) = index.bounds(*block) else { return false };
            !is_before(last.row, start) && !is_after(first.row, end)
        };
        let expected: Vec<usize> = (0..index.len()).filter(overlaps).collect();
        assert_eq!(index.find_rows(start, end).collect::<Vec<_>>(), expected, "{start:?} {end:?}");
    }
}
