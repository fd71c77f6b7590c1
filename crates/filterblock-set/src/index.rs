//! The index of a set: which files and columns it knows, and where their blocks are.
//!
//! It lies between the blocks and the footer:
//!
//! | bytes | field |
//! |---|---|
//! | 8 | length of the set that this one continues |
//! | 8 each | columns: end of the name among the names (4), class (1), zero (1), number of slices (2) |
//! | 12 each | files: identity (8), end of the name (4) |
//! | 20 each | sections: offset (8), first file (4), number of files (4), column (2), slice (2) |
//! | 4 each | lengths of blocks, section after section |
//! | | names of the columns, then of the files, without gaps |

use crate::bytes;
use crate::format::{self, Column, FOOTER_LEN, SET_MAGIC, SET_VERSION};
use crate::value::ValueClass;
use filterblock::{DecodeError, KeyHasher};
use std::collections::HashSet;
use std::ops::Range;

const BASE_LEN: u64 = 8;
const COLUMN_LEN: u64 = 8;
const FILE_LEN: u64 = 12;
const SECTION_LEN: u64 = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// Empty: the file was dropped.
    pub(crate) name: Box<[u8]>,
    pub(crate) identity: u64,
}

/// Blocks of one column and slice, one after the other, for files with consecutive numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) column: u16,
    pub(crate) slice: u16,
    pub(crate) first_file: u32,
    pub(crate) offset: u64,
    /// The lengths of the blocks; 0 where a file has none.
    pub(crate) lens: Vec<u32>,
}

impl Section {
    /// Returns the column, the slice and the first file, by which sections are ordered.
    pub(crate) fn place(&self) -> (u16, u16, u32) {
        (self.column, self.slice, self.first_file)
    }

    /// Returns the number of each file, and the place of its block; an empty one where the file has none.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (usize, Range<u64>)> {
        let mut end = self.offset;
        (self.first_file as usize..).zip(&self.lens).map(move |(file, &len)| {
            let start = end;
            end += u64::from(len);
            (file, start..end)
        })
    }
}

/// All that an index states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) columns: Vec<Column>,
    pub(crate) files: Vec<File>,
    pub(crate) sections: Vec<Section>,
    /// The number of bytes before the index.
    pub(crate) data_len: u64,
    /// The length of the set that this one continues; 0 if it continues none.
    pub(crate) base_len: u64,
    /// The number of bytes between that set and the blocks of its continuation, of which the continuation's writer did
    /// not know: what another writer has appended to the same set.
    pub(crate) foreign_len: u64,
}

/// The footer's fields, after its checksum and its length were checked.
pub(crate) struct Footer {
    bytes: [u8; FOOTER_LEN],
    pub(crate) index_len: u64,
    /// As the writer knew it.
    data_len: u64,
    /// The bytes of the set beyond those that its writer knew.
    foreign_len: u64,
}

/// Returns the error of a field that is outside its range.
fn range_error(name: &'static str, value: u64, min: u64, max: u64) -> DecodeError {
    DecodeError::Parameter { name, value, min, max }
}

/// Returns `value` if it is in its range.
fn check_range(name: &'static str, value: u64, min: u64, max: u64) -> Result<u64, DecodeError> {
    if (min..=max).contains(&value) { Ok(value) } else { Err(range_error(name, value, min, max)) }
}

impl Footer {
    /// Returns a number that no other set has, nor an earlier state of this one: the hash of all that the footer states.
    pub(crate) fn id(&self) -> u64 {
        KeyHasher::new(0).hash(&self.bytes).get()
    }

    /// Reads the footer at the end of `tail`, the last bytes of a set of `set_len` bytes.
    pub(crate) fn read(tail: &[u8], set_len: u64) -> Result<Self, DecodeError> {
        let Some(&bytes) = tail.last_chunk::<FOOTER_LEN>().filter(|_| set_len >= FOOTER_LEN as u64) else {
            let actual_bytes = set_len.min(tail.len() as u64);
            return Err(DecodeError::TooShort { actual_bytes, min_bytes: FOOTER_LEN as u64 });
        };
        if bytes[..format::VERSION_AT] != SET_MAGIC {
            return Err(DecodeError::Magic { found: bytes::u64_at(&bytes, 0) });
        }
        let (stored, computed) = (bytes::u32_at(&bytes, format::CRC_AT), format::masked_crc(&bytes));
        if stored != computed {
            return Err(DecodeError::HeaderChecksum { stored, computed });
        }
        match bytes[format::VERSION_AT] {
            0 => return Err(range_error("version", 0, 1, SET_VERSION.into())),
            SET_VERSION => {}
            found => return Err(DecodeError::NewerVersion { found, supported: SET_VERSION }),
        }
        if ![1, 2].contains(&bytes[format::HASH_AT]) {
            return Err(DecodeError::UnknownHash { found: bytes[format::HASH_AT] });
        }
        let bits = bytes::u16_at(&bytes, format::FEATURES_AT) & 0xff00;
        if bits != 0 {
            return Err(DecodeError::UnknownFeatures { bits });
        }
        if let Some(at) = format::RESERVED.into_iter().find(|&at| bytes[at] != 0) {
            return Err(DecodeError::Reserved { offset_bytes: at as u64, found: bytes[at] });
        }
        let index_len = bytes::u64_at(&bytes, format::INDEX_LEN_AT);
        let data_len = bytes::u64_at(&bytes, format::DATA_LEN_AT);
        let actual_bytes = set_len - FOOTER_LEN as u64;
        let declared_bytes = index_len.saturating_add(data_len);
        match actual_bytes.checked_sub(declared_bytes) {
            Some(foreign_len) => Ok(Self { bytes, index_len, data_len, foreign_len }),
            None => Err(DecodeError::PayloadLength { declared_bytes, actual_bytes }),
        }
    }

    /// Checks the index's digest, and that `expected`, if given, is the hasher of the entries. Returns the hasher.
    pub(crate) fn check(&self, index: &[u8], expected: Option<&KeyHasher>) -> Result<KeyHasher, DecodeError> {
        let (stored, computed) = (bytes::u64_at(&self.bytes, format::DIGEST_AT), format::xxh3(index));
        if stored != computed {
            return Err(DecodeError::PayloadDigest { stored, computed });
        }
        let (id, found) = (self.bytes[format::HASH_AT], bytes::u64_at(&self.bytes, format::SEED_AT));
        match expected {
            Some(hasher) => check_hasher(hasher, id, found).map(|()| hasher.clone()),
            None if id == 1 => Ok(KeyHasher::new(found)),
            None => Err(DecodeError::KeyNeeded { key_id: found }),
        }
    }
}

/// Checks that `expected` has the hash function `id` and the seed `found`, or that this is the id of its secret key.
pub(crate) fn check_hasher(expected: &KeyHasher, id: u8, found: u64) -> Result<(), DecodeError> {
    let (hash_id, expected) = (expected.hash_id(), expected.seed());
    match id {
        _ if hash_id != id => Err(DecodeError::WrongHash { expected: hash_id, found: id }),
        _ if expected == found => Ok(()),
        1 => Err(DecodeError::WrongSeed { expected, found }),
        _ => Err(DecodeError::WrongKey { expected, found }),
    }
}

/// Takes parts off the beginning of an index.
struct Parts<'a> {
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Takes `count` records of `len` bytes, if there are that many.
    fn take(
        &mut self,
        name: &'static str,
        count: u64,
        len: u64,
    ) -> Result<std::slice::ChunksExact<'a, u8>, DecodeError> {
        check_range(name, count, 0, self.rest.len() as u64 / len)?;
        let (records, rest) = self.rest.split_at((count * len) as usize);
        self.rest = rest;
        Ok(records.chunks_exact(len as usize))
    }
}

impl Layout {
    /// Decodes an index whose checksums were verified. Work and memory are linear in its length.
    pub(crate) fn decode(index: &[u8], footer: &Footer) -> Result<Self, DecodeError> {
        let mut parts = Parts { rest: index };
        let num_columns = bytes::u16_at(&footer.bytes, format::NUM_COLUMNS_AT);
        let num_files = bytes::u32_at(&footer.bytes, format::NUM_FILES_AT);
        let num_sections = bytes::u32_at(&footer.bytes, format::NUM_SECTIONS_AT);
        let base_len = parts.take("base_len", 1, BASE_LEN)?.fold(0, |_, base| bytes::u64_at(base, 0));
        let columns = parts.take("num_columns", num_columns.into(), COLUMN_LEN)?;
        let files = parts.take("num_files", num_files.into(), FILE_LEN)?;
        let sections = parts.take("num_sections", num_sections.into(), SECTION_LEN)?;
        let num_blocks = sections.clone().map(|section| u64::from(bytes::u32_at(section, 12))).sum();
        let mut lens = parts.take("num_blocks", num_blocks, 4)?.map(|len| bytes::u32_at(len, 0));

        check_range("base_len", base_len, 0, footer.data_len)?;
        let (names, mut start) = (parts.rest, 0);
        let mut name = |end: u32| -> Result<Box<[u8]>, DecodeError> {
            let end = check_range("name_end", end.into(), start as u64, names.len() as u64)? as usize;
            Ok(Box::from(&names[std::mem::replace(&mut start, end)..end]))
        };
        let column = |record: &[u8]| {
            if record[5] != 0 {
                return Err(DecodeError::Reserved { offset_bytes: 5, found: record[5] });
            }
            check_range("num_slices", bytes::u16_at(record, 6).into(), 1, u16::MAX.into())?;
            let name = name(bytes::u32_at(record, 0))?;
            Ok(Column { name, class: record[4], num_slices: bytes::u16_at(record, 6) })
        };
        let columns: Vec<_> = columns.map(column).collect::<Result<_, _>>()?;
        let file = |record: &[u8]| {
            name(bytes::u32_at(record, 8)).map(|name| File { name, identity: bytes::u64_at(record, 0) })
        };
        let files: Vec<_> = files.map(file).collect::<Result<_, _>>()?;
        check_range("names_len", names.len() as u64, start as u64, start as u64)?;
        let section = |record: &[u8]| Section {
            offset: bytes::u64_at(record, 0),
            first_file: bytes::u32_at(record, 8),
            column: bytes::u16_at(record, 16),
            slice: bytes::u16_at(record, 18),
            lens: lens.by_ref().take(bytes::u32_at(record, 12) as usize).collect(),
        };
        let sections = sections.map(section).collect();
        let (data_len, foreign_len) = (footer.data_len, footer.foreign_len);
        let mut layout = Self { columns, files, sections, data_len, base_len, foreign_len };
        layout.check_names()?;
        layout.check_sections()?;
        layout.make_room();
        Ok(layout)
    }

    /// Moves the sections that follow the continued set to their places after the bytes that another writer has
    /// appended.
    fn make_room(&mut self) {
        let (base_len, foreign_len) = (self.base_len, self.foreign_len);
        let moved = self.sections.iter_mut().filter(|section| section.offset >= base_len);
        moved.for_each(|section| section.offset += foreign_len);
        self.data_len += foreign_len;
    }

    /// Checks that no two files or columns have one name: a query could be about either.
    fn check_names(&self) -> Result<(), DecodeError> {
        let names = self.columns.iter().map(|column| &column.name);
        let (mut seen, mut number) = (HashSet::new(), 0);
        for name in names {
            if !seen.insert(name) {
                return Err(range_error("column_name", number, number + 1, number + 1));
            }
            number += 1;
        }
        let names = self.files.iter().map(|file| &file.name);
        (seen, number) = (HashSet::with_capacity(self.files.len()), 0);
        for name in names.filter(|name| !name.is_empty()) {
            if !seen.insert(name) {
                return Err(range_error("file_name", number, number + 1, number + 1));
            }
            number += 1;
        }
        Ok(())
    }

    /// Checks that sections are sorted by column, slice and file, share no file, and lie within the data, before the
    /// end of the continued set or after it.
    fn check_sections(&self) -> Result<(), DecodeError> {
        let mut before = None;
        for section in &self.sections {
            let Some(column) = self.columns.get(usize::from(section.column)) else {
                let max = (self.columns.len() as u64).saturating_sub(1);
                return Err(range_error("column", section.column.into(), 0, max));
            };
            check_range("slice", section.slice.into(), 0, u64::from(column.num_slices) - 1)?;
            let num_files = section.lens.len() as u64;
            let (first, all) = (u64::from(section.first_file), self.files.len() as u64);
            check_range("section_files", num_files, 1, all.saturating_sub(first))?;
            if before.is_some_and(|before| before > section.place()) {
                return Err(range_error("first_file", first, first + 1, all));
            }
            before = Some((section.column, section.slice, (first + num_files) as u32));
            let len = section.lens.iter().fold(0, |sum: u64, &len| sum.saturating_add(len.into()));
            check_range("section_offset", section.offset, 0, self.data_len)?;
            let end = if section.offset < self.base_len { self.base_len } else { self.data_len };
            check_range("section_len", len, 0, end - section.offset)?;
        }
        Ok(())
    }

    /// Returns the index and the footer, with which a set ends.
    pub(crate) fn encode(&self, hasher: &KeyHasher) -> Vec<u8> {
        let (mut index, mut names) = (vec![0; BASE_LEN as usize], Vec::new());
        bytes::put_u64(&mut index, 0, self.base_len);
        for column in &self.columns {
            names.extend_from_slice(&column.name);
            let mut record = [0; COLUMN_LEN as usize];
            bytes::put_u32(&mut record, 0, names.len() as u32);
            record[4] = column.class;
            bytes::put_u16(&mut record, 6, column.num_slices);
            index.extend_from_slice(&record);
        }
        for file in &self.files {
            names.extend_from_slice(&file.name);
            let mut record = [0; FILE_LEN as usize];
            bytes::put_u64(&mut record, 0, file.identity);
            bytes::put_u32(&mut record, 8, names.len() as u32);
            index.extend_from_slice(&record);
        }
        for section in &self.sections {
            let mut record = [0; SECTION_LEN as usize];
            bytes::put_u64(&mut record, 0, section.offset);
            bytes::put_u32(&mut record, 8, section.first_file);
            bytes::put_u32(&mut record, 12, section.lens.len() as u32);
            bytes::put_u16(&mut record, 16, section.column);
            bytes::put_u16(&mut record, 18, section.slice);
            index.extend_from_slice(&record);
        }
        for &len in self.sections.iter().flat_map(|section| &section.lens) {
            let mut record = [0; 4];
            bytes::put_u32(&mut record, 0, len);
            index.extend_from_slice(&record);
        }
        index.extend_from_slice(&names);
        let mut footer = [0; FOOTER_LEN];
        footer[..format::VERSION_AT].copy_from_slice(&SET_MAGIC);
        footer[format::VERSION_AT] = SET_VERSION;
        footer[format::HASH_AT] = hasher.hash_id();
        bytes::put_u16(&mut footer, format::NUM_COLUMNS_AT, self.columns.len() as u16);
        bytes::put_u64(&mut footer, format::SEED_AT, hasher.seed());
        bytes::put_u32(&mut footer, format::NUM_FILES_AT, self.files.len() as u32);
        bytes::put_u32(&mut footer, format::NUM_SECTIONS_AT, self.sections.len() as u32);
        bytes::put_u64(&mut footer, format::INDEX_LEN_AT, index.len() as u64);
        bytes::put_u64(&mut footer, format::DATA_LEN_AT, self.data_len);
        bytes::put_u64(&mut footer, format::DIGEST_AT, format::xxh3(&index));
        let crc = format::masked_crc(&footer);
        bytes::put_u32(&mut footer, format::CRC_AT, crc);
        index.extend_from_slice(&footer);
        index
    }

    /// Returns the class of a column, if this version knows it.
    pub(crate) fn class(&self, column: usize) -> Option<ValueClass> {
        ValueClass::from_wire(self.columns[column].class)
    }

    /// Returns the number of the column of this name.
    pub(crate) fn column_number(&self, name: &[u8]) -> Option<usize> {
        self.columns.iter().position(|column| *column.name == *name)
    }

    /// Returns the context of a file's block in a section.
    pub(crate) fn context(&self, section: &Section, file: usize) -> u64 {
        let column = &self.columns[usize::from(section.column)];
        format::block_context(self.files[file].identity, column, section.slice)
    }
}
