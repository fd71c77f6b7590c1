//! The bytes that all parts of a table share: page arithmetic, checksums, bounds-checked reading, and the footer.
//!
//! | footer offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic |
//! | 8 | 4 | version |
//! | 12 | 4 | zero |
//! | 16 | 8 | number of the table |
//! | 24 | 8 | hash seed of its filters |
//! | 32 | 8 | number of cells, tombstones included |
//! | 40 | 8 | number of tombstones |
//! | 48 | 8 | least sequence number |
//! | 56 | 8 | greatest sequence number |
//! | 64 | 8 | length of the data blocks in bytes, a multiple of 4096 |
//! | 72 | 8 | length of the index in bytes, without padding |
//! | 80 | 8 | number of filters, at most 8 |
//! | 88 | 16 each | filter: length in bytes without padding (8), purpose (1), zero (7) |
//! | 4092 | 4 | CRC-32 of everything before it, masked |
//!
//! Lengths say everything about places: data starts at 0, and each part follows the padding of the one before, in the
//! order data, index, filters, footer. There is no offset to contradict them.

use super::super::error::{Damage, Error};
use super::super::options::Purpose;
use super::super::storage::PAGE_LEN;
use crate::KeyHasher;
use crate::bytes;

/// The version of the table format that is written, and the newest that is read.
pub(crate) const TABLE_VERSION: u32 = 1;
/// The first eight bytes of a footer. Not text, no zero byte, CR LF inside: as a filter block's, but its own.
pub(crate) const FOOTER_MAGIC: [u8; 8] = *b"\xf3FBSST\r\n";
/// The footer is the last page.
pub(crate) const FOOTER_LEN: usize = PAGE_LEN;
/// The most filters that a footer can name.
pub(crate) const MAX_FILTERS: usize = 8;

const VERSION_AT: usize = FOOTER_MAGIC.len();
const NUMBER_AT: usize = VERSION_AT + 8;
const SEED_AT: usize = NUMBER_AT + 8;
const NUM_CELLS_AT: usize = SEED_AT + 8;
const NUM_TOMBSTONES_AT: usize = NUM_CELLS_AT + 8;
const MIN_SEQ_AT: usize = NUM_TOMBSTONES_AT + 8;
const MAX_SEQ_AT: usize = MIN_SEQ_AT + 8;
const DATA_LEN_AT: usize = MAX_SEQ_AT + 8;
const INDEX_LEN_AT: usize = DATA_LEN_AT + 8;
const NUM_FILTERS_AT: usize = INDEX_LEN_AT + 8;
const FILTERS_AT: usize = NUM_FILTERS_AT + 8;
const FILTER_STRIDE: usize = 16;
const CRC_AT: usize = FOOTER_LEN - 4;
const _: () = assert!(FILTERS_AT == 88 && FILTERS_AT + MAX_FILTERS * FILTER_STRIDE <= CRC_AT);

/// The next multiple of a page, or `None` beyond 64 bits.
pub(crate) fn padded(len: u64) -> Option<u64> {
    len.checked_next_multiple_of(PAGE_LEN as u64)
}

/// CRC-32 of `bytes` and of the place where they belong, so that intact bytes of another table or offset fail too.
/// Rotated and offset, because a CRC of data that contains its own CRC is weak.
pub(crate) fn masked_crc(table: u64, offset: u64, bytes: &[u8]) -> u32 {
    let mut place = [0; 16];
    bytes::put_u64(&mut place, 0, table);
    bytes::put_u64(&mut place, 8, offset);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&place);
    crc.update(bytes);
    crc.finalize().rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The context that a table's filter block is bound to: a hash of the table's number and the filter's purpose.
pub(crate) fn filter_context(table: u64, purpose: Purpose) -> u64 {
    let mut place = [0; 9];
    bytes::put_u64(&mut place, 0, table);
    place[8] = purpose.id();
    KeyHasher::new(0).hash(&place).get()
}

/// The name of a table's file.
pub(crate) fn table_name(number: u64) -> String {
    format!("{number:06}.sst")
}

/// The number in a table's name; `None` for other files.
pub(crate) fn table_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".sst")?;
    let number = digits.parse().ok()?;
    // Only the one spelling, or two names could claim one number.
    (table_name(number) == name).then_some(number)
}

/// Appends little-endian integers.
pub(crate) trait Push {
    fn push_u16(&mut self, value: u16);
    fn push_u32(&mut self, value: u32);
    fn push_u64(&mut self, value: u64);
}

impl Push for Vec<u8> {
    fn push_u16(&mut self, value: u16) {
        let at = self.len();
        self.resize(at + 2, 0);
        bytes::put_u16(self, at, value);
    }

    fn push_u32(&mut self, value: u32) {
        let at = self.len();
        self.resize(at + 4, 0);
        bytes::put_u32(self, at, value);
    }

    fn push_u64(&mut self, value: u64) {
        let at = self.len();
        self.resize(at + 8, 0);
        bytes::put_u64(self, at, value);
    }
}

/// Reads fields one after the other; `None` at the end of the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|field| bytes::u16_at(field, 0))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|field| bytes::u32_at(field, 0))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|field| bytes::u64_at(field, 0))
    }
}

/// Where a filter block lies in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterHandle {
    /// A [`Purpose::id`], or a later version's.
    pub(crate) purpose_id: u8,
    pub(crate) len: u64,
}

/// The footer's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) number: u64,
    pub(crate) seed: u64,
    pub(crate) num_cells: u64,
    pub(crate) num_tombstones: u64,
    pub(crate) min_seq: u64,
    pub(crate) max_seq: u64,
    pub(crate) data_len: u64,
    pub(crate) index_len: u64,
    pub(crate) filters: Vec<FilterHandle>,
}

impl Footer {
    pub(crate) fn encode(&self, offset: u64) -> Vec<u8> {
        let mut page = vec![0; FOOTER_LEN];
        page[..VERSION_AT].copy_from_slice(&FOOTER_MAGIC);
        bytes::put_u32(&mut page, VERSION_AT, TABLE_VERSION);
        let fields = [
            (NUMBER_AT, self.number),
            (SEED_AT, self.seed),
            (NUM_CELLS_AT, self.num_cells),
            (NUM_TOMBSTONES_AT, self.num_tombstones),
            (MIN_SEQ_AT, self.min_seq),
            (MAX_SEQ_AT, self.max_seq),
            (DATA_LEN_AT, self.data_len),
            (INDEX_LEN_AT, self.index_len),
            (NUM_FILTERS_AT, self.filters.len() as u64),
        ];
        for (at, value) in fields {
            bytes::put_u64(&mut page, at, value);
        }
        for (filter, at) in self.filters.iter().zip((FILTERS_AT..).step_by(FILTER_STRIDE)) {
            bytes::put_u64(&mut page, at, filter.len);
            page[at + 8] = filter.purpose_id;
        }
        let crc = masked_crc(0, offset, &page[..CRC_AT]);
        bytes::put_u32(&mut page, CRC_AT, crc);
        page
    }

    /// Reads the footer from `page`, the last [`FOOTER_LEN`] bytes of `file`, which start at `offset`.
    pub(crate) fn decode(file: &str, page: &[u8], offset: u64) -> Result<Self, Error> {
        let damaged = |damage| Error::damaged(file, offset, damage);
        if page.len() != FOOTER_LEN {
            return Err(damaged(Damage::CutOff { unit: "footer", len_bytes: page.len() as u64 }));
        }
        if page[..VERSION_AT] != FOOTER_MAGIC {
            return Err(damaged(Damage::Magic { unit: "footer", found: bytes::u64_at(page, 0) }));
        }
        let (stored, computed) = (bytes::u32_at(page, CRC_AT), masked_crc(0, offset, &page[..CRC_AT]));
        if stored != computed {
            return Err(damaged(Damage::Checksum { unit: "footer", stored, computed }));
        }
        let version = bytes::u32_at(page, VERSION_AT);
        if version != TABLE_VERSION {
            return Err(Error::NewerVersion { file: file.to_owned(), found: version, supported: TABLE_VERSION });
        }
        let num_filters = bytes::u64_at(page, NUM_FILTERS_AT);
        if num_filters > MAX_FILTERS as u64 {
            let expected = MAX_FILTERS as u64;
            return Err(damaged(Damage::Field { name: "number of filters", found: num_filters, expected }));
        }
        let filter = |at| FilterHandle { purpose_id: page[at + 8], len: bytes::u64_at(page, at) };
        let footer = Self {
            number: bytes::u64_at(page, NUMBER_AT),
            seed: bytes::u64_at(page, SEED_AT),
            num_cells: bytes::u64_at(page, NUM_CELLS_AT),
            num_tombstones: bytes::u64_at(page, NUM_TOMBSTONES_AT),
            min_seq: bytes::u64_at(page, MIN_SEQ_AT),
            max_seq: bytes::u64_at(page, MAX_SEQ_AT),
            data_len: bytes::u64_at(page, DATA_LEN_AT),
            index_len: bytes::u64_at(page, INDEX_LEN_AT),
            filters: (FILTERS_AT..).step_by(FILTER_STRIDE).take(num_filters as usize).map(filter).collect(),
        };
        match footer.offset() {
            Some(found) if found == offset => Ok(footer),
            found => {
                let found = found.unwrap_or(u64::MAX);
                Err(damaged(Damage::Field { name: "sum of the parts' lengths", found, expected: offset }))
            }
        }
    }

    /// Where the footer itself must stand; `None` if the lengths are beyond 64 bits or not whole pages.
    fn offset(&self) -> Option<u64> {
        let data_len = Some(self.data_len).filter(|len| len % PAGE_LEN as u64 == 0)?;
        let index_end = data_len.checked_add(padded(self.index_len)?)?;
        self.filters.iter().try_fold(index_end, |end, filter| end.checked_add(padded(filter.len)?))
    }

    /// The filters and their offsets.
    pub(crate) fn filter_places(&self) -> Vec<(FilterHandle, u64)> {
        let mut offset = self.data_len + self.index_len.next_multiple_of(PAGE_LEN as u64);
        let place = |filter: &FilterHandle| {
            let at = offset;
            offset += filter.len.next_multiple_of(PAGE_LEN as u64);
            (*filter, at)
        };
        self.filters.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, FilterHandle, Footer, table_name, table_number};

    #[test]
    fn names_have_one_spelling() {
        assert_eq!(table_number(&table_name(7)), Some(7));
        assert_eq!(table_number(&table_name(12_345_678)), Some(12_345_678));
        for name in ["7.sst", "0000007.sst", "+00007.sst", "000007.sst.tmp", "000007", ".sst"] {
            assert_eq!(table_number(name), None, "{name}");
        }
    }

    #[test]
    fn a_footer_returns_and_only_at_its_place() {
        let filters = vec![FilterHandle { purpose_id: 1, len: 5000 }, FilterHandle { purpose_id: 77, len: 1 }];
        let (number, seed, num_cells, num_tombstones) = (3, 4, 5, 1);
        let footer = Footer {
            number,
            seed,
            num_cells,
            num_tombstones,
            min_seq: 6,
            max_seq: 7,
            data_len: 8192,
            index_len: 9,
            filters,
        };
        let offset = 8192 + 4096 + 8192 + 4096;
        let page = footer.encode(offset);
        assert_eq!(Footer::decode("t", &page, offset).unwrap(), footer);
        assert_eq!(footer.filter_places()[1], (footer.filters[1], 8192 + 4096 + 8192));
        assert!(Footer::decode("t", &page, offset + 4096).is_err());
        assert!(Footer::decode("t", &footer.encode(offset + 4096), offset + 4096).is_err());
    }

    #[test]
    fn a_cursor_ends_where_its_bytes_end() {
        let mut cursor = Cursor::new(&[1, 2, 0, 3]);
        assert_eq!((cursor.u8(), cursor.u16(), cursor.u16(), cursor.at()), (Some(1), Some(2), None, 3));
        assert_eq!((cursor.take(usize::MAX), cursor.u8(), cursor.is_at_end()), (None, Some(3), true));
    }
}
