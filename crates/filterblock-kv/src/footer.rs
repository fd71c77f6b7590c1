//! The common parts of a table: page arithmetic, the contexts of filters, and the footer.
//!
//! | footer offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic |
//! | 8 | 4 | version |
//! | 12 | 4 | zero |
//! | 16 | 8 | number of the file |
//! | 24 | 8 | number of the table that the filters belong to: the same, except in a file of rebuilt filters |
//! | 32 | 8 | seed of its filters' hashes, or the id of the secret key that they are made under |
//! | 40 | 8 | number of cells, tombstones included |
//! | 48 | 8 | number of tombstones |
//! | 56 | 8 | number of distinct rows |
//! | 64 | 8 | least sequence number |
//! | 72 | 8 | greatest sequence number |
//! | 80 | 8 | length of the data blocks in bytes, a multiple of 4096 |
//! | 88 | 8 | length of the index in bytes, without padding |
//! | 96 | 8 | number of filters, at most 8 |
//! | 104 | 16 each | filter: length without padding (8), purpose (1), zero (1), parameter (2), index length (4) |
//! | 4092 | 4 | CRC-32 of everything before it, masked |
//!
//! Offsets follow from the lengths: data starts at 0, and each part follows the padding of the one before, in the order
//! data, index, filters, footer. No offset is stored that could contradict them.
//!
//! A filter's parameter is the length in bytes of a prefix filter's prefixes, at least 1; for prefixes that end with a
//! delimiter, whose purpose is stored as 5, the delimiter and 256 times the levels, at least 1; 0 for the other purposes.
//! A range filter is of a format of its own, with as many keys as the table has rows.
//! A filter with any other parameter is not probed, like one with an unknown purpose.
//!
//! A filter whose index length is 0 is one block. Otherwise it is partitioned: its last bytes, of that length, are an
//! index, written under the filter's context; the partitions are before it, at the index's offsets from the filter's start. A writer
//! gives each a multiple of 64, and a place where it lies in no more pages than its length takes.

use super::encoding::masked_crc;
use super::error::{Damage, Error};
use super::purpose::Purpose;
use super::storage::{PAGE_LEN, PageBuf, ReadableFile, read_exact_at};
use crate::bytes;
use filterblock::{KeyHasher, KeyTransform};

/// The version of the table format.
pub(crate) const TABLE_VERSION: u32 = 1;
/// The first eight bytes of a footer. Like a filter block's magic, they are not text, have no zero byte, and contain CR
/// LF.
pub(crate) const FOOTER_MAGIC: [u8; 8] = *b"\xf3FBSST\r\n";
/// The footer is the last page.
pub(crate) const FOOTER_LEN: usize = PAGE_LEN;
/// The most filters that a footer can name.
pub(crate) const MAX_FILTERS: usize = 8;

const VERSION_AT: usize = FOOTER_MAGIC.len();
/// The fields of eight bytes, from the file's number to the number of filters.
const FIELDS_AT: usize = VERSION_AT + 8;
const NUM_FIELDS: usize = 11;
const FILTERS_AT: usize = FIELDS_AT + NUM_FIELDS * 8;
const FILTER_STRIDE: usize = 16;
/// Within a filter's 16 bytes.
const PURPOSE_AT: usize = 8;
const PARAM_AT: usize = 10;
const FILTER_INDEX_LEN_AT: usize = 12;
pub(crate) const CRC_AT: usize = FOOTER_LEN - 4;
const _: () = assert!(FILTERS_AT == 104 && FILTERS_AT + MAX_FILTERS * FILTER_STRIDE <= CRC_AT);

/// The next multiple of a page, or `None` beyond 64 bits.
pub(crate) fn padded(len: u64) -> Option<u64> {
    len.checked_next_multiple_of(PAGE_LEN as u64)
}

/// The context that a filter block is bound to: a hash of the number of its file and of the filter's purpose.
pub(crate) fn filter_context(file: u64, purpose: Purpose) -> u64 {
    let mut place = [0; 9];
    bytes::put_u64(&mut place, 0, file);
    place[8] = purpose.id();
    KeyHasher::new(0).hash(&place).get()
}

/// A filter block in the footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterHandle {
    /// A [`Purpose::id`], or a later version's.
    pub(crate) purpose_id: u8,
    /// That of a prefix filter's transform, 0 for the other purposes; or a later version's.
    pub(crate) param: u16,
    pub(crate) len: u64,
    /// The length of a partitioned filter's index; 0 for a filter that is one block.
    pub(crate) index_len: u32,
}

impl FilterHandle {
    /// The filter's purpose and the transform of its entries; `None` for a purpose or a parameter that this version does
    /// not write.
    pub(crate) fn purpose(&self) -> Option<(Purpose, KeyTransform)> {
        Purpose::of_footer(self.purpose_id, self.param)
    }
}

/// The footer's fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) number: u64,
    pub(crate) table: u64,
    pub(crate) seed: u64,
    pub(crate) num_cells: u64,
    pub(crate) num_tombstones: u64,
    pub(crate) num_rows: u64,
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
        let Self { number, table, seed, num_cells, num_tombstones, num_rows, min_seq, max_seq, data_len, .. } = *self;
        let ends = [min_seq, max_seq, data_len, self.index_len, self.filters.len() as u64];
        let fields = [number, table, seed, num_cells, num_tombstones, num_rows].into_iter().chain(ends);
        for (at, value) in (FIELDS_AT..).step_by(8).zip(fields) {
            bytes::put_u64(&mut page, at, value);
        }
        for (filter, at) in self.filters.iter().zip((FILTERS_AT..).step_by(FILTER_STRIDE)) {
            bytes::put_u64(&mut page, at, filter.len);
            page[at + PURPOSE_AT] = filter.purpose_id;
            bytes::put_u16(&mut page, at + PARAM_AT, filter.param);
            bytes::put_u32(&mut page, at + FILTER_INDEX_LEN_AT, filter.index_len);
        }
        let crc = masked_crc(0, offset, &page[..CRC_AT]);
        bytes::put_u32(&mut page, CRC_AT, crc);
        page
    }

    /// Reads the footer from `page`, the last [`FOOTER_LEN`] bytes of `file`, which start at `offset`.
    pub(crate) fn decode(file: &str, page: &[u8], offset: u64) -> Result<Self, Error> {
        let damaged = |damage| Error::damaged(file, offset, damage);
        if page.len() != FOOTER_LEN {
            return Err(damaged(Damage::CutOff { unit: "footer", actual_bytes: page.len() as u64 }));
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
        let field = |index: usize| bytes::u64_at(page, FIELDS_AT + 8 * index);
        let num_filters = field(NUM_FIELDS - 1);
        if num_filters > MAX_FILTERS as u64 {
            let expected = MAX_FILTERS as u64;
            return Err(damaged(Damage::Field { name: "number of filters", found: num_filters, expected }));
        }
        let filter = |at: usize| FilterHandle {
            purpose_id: page[at + PURPOSE_AT],
            param: bytes::u16_at(page, at + PARAM_AT),
            len: bytes::u64_at(page, at),
            index_len: bytes::u32_at(page, at + FILTER_INDEX_LEN_AT),
        };
        let footer = Self {
            number: field(0),
            table: field(1),
            seed: field(2),
            num_cells: field(3),
            num_tombstones: field(4),
            num_rows: field(5),
            min_seq: field(6),
            max_seq: field(7),
            data_len: field(8),
            index_len: field(9),
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

    /// The offset of the footer itself; `None` if the lengths exceed 64 bits or the data is not whole pages.
    fn offset(&self) -> Option<u64> {
        let data_len = Some(self.data_len).filter(|len| len % PAGE_LEN as u64 == 0)?;
        let index_end = data_len.checked_add(padded(self.index_len)?)?;
        self.filters.iter().try_fold(index_end, |end, filter| end.checked_add(padded(filter.len)?))
    }

    /// Returns the hasher of its filters: the store's, if it has this seed or key, otherwise XXH3-64 with the table's
    /// seed. Filters under another key then do not open.
    pub(crate) fn hasher(&self, store: &KeyHasher) -> KeyHasher {
        if store.seed() == self.seed { store.clone() } else { KeyHasher::new(self.seed) }
    }

    /// Returns whether a cell of this sequence number may be in the table.
    pub(crate) fn covers(&self, seq: u64) -> bool {
        (self.min_seq..=self.max_seq).contains(&seq)
    }

    /// Distinct entries that a filter of this purpose can have, if a row has one prefix.
    pub(crate) fn max_entries(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::RowColumn => self.num_cells,
            Purpose::Row | Purpose::Prefix | Purpose::Range => self.num_rows,
        }
    }

    /// The filters and their offsets.
    pub(crate) fn filter_locations(&self) -> Vec<(FilterHandle, u64)> {
        let mut offset = self.data_len + self.index_len.next_multiple_of(PAGE_LEN as u64);
        let place = |filter: &FilterHandle| {
            let at = offset;
            offset += filter.len.next_multiple_of(PAGE_LEN as u64);
            (*filter, at)
        };
        self.filters.iter().map(place).collect()
    }
}

/// The footer of `file` with its CRC, and the file's length.
pub(crate) fn open_footer(file: &str, source: &dyn ReadableFile) -> Result<(Footer, u32, u64), Error> {
    let file_len = source.len().map_err(|error| Error::io(file, "get the length", error))?;
    let footer_at = file_len.checked_sub(FOOTER_LEN as u64).filter(|&at| padded(at) == Some(at));
    let Some(footer_at) = footer_at else {
        return Err(Error::damaged(file, 0, Damage::FileLength { actual_bytes: file_len }));
    };
    let page = read_pages(file, source, footer_at, FOOTER_LEN as u64)?;
    let footer = Footer::decode(file, page.as_slice(), footer_at)?;
    Ok((footer, bytes::u32_at(page.as_slice(), CRC_AT), file_len))
}

pub(crate) fn read_pages(file: &str, source: &dyn ReadableFile, offset: u64, len: u64) -> Result<PageBuf, Error> {
    let read = || {
        let mut pages = PageBuf::for_stored(len)?;
        read_exact_at(source, pages.as_mut_slice(), offset).map(|()| pages)
    };
    read().map_err(|error| Error::io(file, "read", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_round_trips_at_its_own_offset_only() {
        let filters = vec![
            FilterHandle { purpose_id: 1, param: 0, len: 5000, index_len: 70 },
            FilterHandle { purpose_id: 77, param: 0xabcd, len: 1, index_len: 0 },
        ];
        let footer = Footer { num_cells: 5, num_tombstones: 1, num_rows: 2, ..Footer::default() };
        let footer = Footer { number: 3, table: 3, seed: 4, min_seq: 6, max_seq: 7, ..footer };
        let footer = Footer { data_len: 8192, index_len: 9, filters, ..footer };
        let offset = 8192 + 4096 + 8192 + 4096;
        let page = footer.encode(offset);
        assert_eq!(Footer::decode("t", &page, offset).unwrap(), footer);
        assert_eq!(footer.filter_locations()[1], (footer.filters[1], 8192 + 4096 + 8192));
        assert!(Footer::decode("t", &page, offset + 4096).is_err());
        assert!(Footer::decode("t", &footer.encode(offset + 4096), offset + 4096).is_err());
    }

    /// A checksum does not help if wrong bytes, or bytes of a later version, were written.
    #[test]
    fn a_footer_with_a_right_checksum_is_still_checked() {
        let filters = vec![FilterHandle { purpose_id: 1, param: 0, len: 4096, index_len: 0 }; MAX_FILTERS];
        let offset = (1 + 1 + MAX_FILTERS as u64) * 4096;
        let footer = Footer { number: 3, table: 3, seed: 4, min_seq: 6, max_seq: 9, ..Footer::default() };
        let footer = Footer { data_len: 4096, index_len: 4096, filters, ..footer };
        let covered: Vec<u64> = (0..20).filter(|&seq| footer.covers(seq)).collect();
        assert_eq!(covered, [6, 7, 8, 9], "both ends are within");

        let page = footer.encode(offset);
        assert_eq!(Footer::decode("t", &page, offset).unwrap(), footer, "as many filters as may be");
        let changed = |at: usize, value: u8| {
            let mut page = page.clone();
            page[at] = value;
            let crc = masked_crc(0, offset, &page[..CRC_AT]);
            bytes::put_u32(&mut page, CRC_AT, crc);
            Footer::decode("t", &page, offset).unwrap_err()
        };
        let damage = |error| match error {
            Error::Damaged { damage, .. } => damage,
            other => panic!("{other}"),
        };
        let (found, expected) = (MAX_FILTERS as u64 + 1, MAX_FILTERS as u64);
        let too_many = Damage::Field { name: "number of filters", found, expected };
        assert_eq!(damage(changed(96, MAX_FILTERS as u8 + 1)), too_many);
        let sum = |found| Damage::Field { name: "sum of the parts' lengths", found, expected: offset };
        assert_eq!(damage(changed(96, MAX_FILTERS as u8 - 1)), sum(offset - 4096));
        assert_eq!(damage(changed(80, 1)), sum(u64::MAX), "data is whole pages");
        assert_eq!(damage(changed(80 + 1, 0x20)), sum(offset + 4096));
        assert_eq!(damage(changed(88, 1)), sum(offset + 4096));
        let newer = changed(VERSION_AT, TABLE_VERSION as u8 + 1);
        assert!(matches!(newer, Error::NewerVersion { found, .. } if found == TABLE_VERSION + 1), "{newer}");
        for len in [0, 8, page.len() - 1] {
            let cut_off = Damage::CutOff { unit: "footer", actual_bytes: len as u64 };
            assert_eq!(damage(Footer::decode("t", &page[..len], offset).unwrap_err()), cut_off);
        }
    }

    /// A filter is bound to its file and purpose: the context is the XXH3 of nine bytes, so stored blocks keep theirs.
    #[test]
    fn filter_contexts_differ_by_file_and_purpose() {
        let mut contexts = std::collections::BTreeSet::new();
        for file in [0, 1, 2, 256, 1 << 56] {
            for purpose in Purpose::OF_KEYS {
                let place: Vec<u8> = (0..8).map(|i| (file >> (8 * i)) as u8).chain([purpose.id()]).collect();
                let context = super::filter_context(file, purpose);
                assert_eq!(context, filterblock::KeyHasher::new(0).hash(&place).get());
                assert!(contexts.insert(context));
            }
        }
    }

    #[test]
    fn parameters_decide_with_the_purpose_what_a_filter_is() {
        let purpose = |purpose_id, param| FilterHandle { purpose_id, param, len: 1, index_len: 0 }.purpose();
        assert_eq!(purpose(1, 0), Some((Purpose::Row, KeyTransform::Row)));
        assert_eq!(purpose(3, 5), Some((Purpose::Prefix, KeyTransform::FixedPrefix { len: 5 })));
        assert_eq!(purpose(4, 0).map(|(purpose, _)| purpose), Some(Purpose::Range));
        for (purpose_id, param) in [(1, 5), (2, 1), (3, 0), (4, 1), (0, 0)] {
            assert_eq!(purpose(purpose_id, param), None, "{purpose_id} {param}");
        }
    }
}
