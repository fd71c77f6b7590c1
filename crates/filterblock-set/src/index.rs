//! The index of a set of groups: columns, files, groups and their files, between the groups and the footer.

use crate::bytes;
use crate::footer::{Footer, check_range, check_reserved, range_error};
use crate::format::{self, SET_MAGIC, SET_VERSION};
use crate::group::{Column, Group, Record};
use filterblock::{DecodeError, KeyHasher};
use std::collections::HashSet;

const COLUMN_LEN: u64 = 8;
const FILE_LEN: u64 = 16;

/// A file. Its identity stays when it is dropped: contexts are made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// Empty: the file was dropped.
    pub(crate) name: Box<[u8]>,
    pub(crate) identity: u64,
}

/// All that an index states. Groups have their contexts, and are where the set has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    pub(crate) columns: Vec<Column>,
    pub(crate) files: Vec<File>,
    pub(crate) groups: Vec<Group>,
    /// The number of bytes before the index, as its writer knew it.
    pub(crate) data_len: u64,
    /// The length of the set that this one continues; 0 if it continues none.
    pub(crate) base_len: u64,
    /// What another writer has appended to that set.
    pub(crate) foreign_len: u64,
}

/// Checks that no name comes twice.
fn check_distinct<'a>(what: &'static str, mut names: impl Iterator<Item = &'a [u8]>) -> Result<(), DecodeError> {
    let mut seen = HashSet::new();
    let twice = names.position(|name| !seen.insert(name)).map(|number| number as u64);
    twice.map_or(Ok(()), |number| Err(range_error(what, number, number + 1, number + 1)))
}

impl Index {
    /// Decodes an index whose checksums were verified. Work and memory are linear in its length.
    pub(crate) fn decode(index: &[u8], footer: &Footer, hasher: &KeyHasher) -> Result<Self, DecodeError> {
        let mut rest = index;
        let mut take = |name, count: u64, len: u64| {
            check_range(name, count, 0, rest.len() as u64 / len)?;
            let (records, after) = rest.split_at((count * len) as usize);
            rest = after;
            Ok::<_, DecodeError>(records.chunks_exact(len as usize))
        };
        let (num_columns, num_files) =
            (bytes::u16_at(&footer.bytes, format::NUM_COLUMNS_AT), bytes::u32_at(&footer.bytes, format::NUM_FILES_AT));
        let num_groups = bytes::u32_at(&footer.bytes, format::NUM_GROUPS_AT);
        let base_len = take("base_len", 1, 8)?.fold(0, |_, base| bytes::u64_at(base, 0));
        let columns = take("num_columns", num_columns.into(), COLUMN_LEN)?;
        let files = take("num_files", num_files.into(), FILE_LEN)?;
        let records = take("num_groups", num_groups.into(), Record::LEN as u64)?;
        let num_members = records.clone().map(|record| u64::from(bytes::u32_at(record, 16))).sum();
        let mut members = take("num_members", num_members, 4)?.map(|file| bytes::u32_at(file, 0));
        check_range("base_len", base_len, 0, footer.data_len)?;

        let (names, mut start) = (rest, 0);
        let mut name = |end: u32| {
            let end = check_range("name_end", end.into(), start as u64, names.len() as u64)? as usize;
            Ok::<Box<[u8]>, DecodeError>(names[std::mem::replace(&mut start, end)..end].into())
        };
        let column = |record: &[u8]| {
            check_reserved(record, 5..8)?;
            Ok(Column::new(name(bytes::u32_at(record, 0))?, record[4]))
        };
        let columns: Vec<_> = columns.map(column).collect::<Result<_, DecodeError>>()?;
        let file = |record: &[u8]| {
            check_reserved(record, 13..16)?;
            let name = name(bytes::u32_at(record, 8))?;
            check_range("is_dropped", record[12].into(), name.is_empty().into(), name.is_empty().into())?;
            Ok(File { name, identity: bytes::u64_at(record, 0) })
        };
        let files: Vec<_> = files.map(file).collect::<Result<_, DecodeError>>()?;
        check_range("names_len", names.len() as u64, start as u64, start as u64)?;
        check_distinct("column_name", columns.iter().map(|column| &*column.name))?;
        check_distinct("file_name", files.iter().map(|file| &*file.name).filter(|name| !name.is_empty()))?;

        let &Footer { data_len, foreign_len, .. } = footer;
        let mut decoded = Self { columns, files, groups: Vec::new(), data_len, base_len, foreign_len };
        let mut seen = HashSet::new();
        for record in records {
            let record = Record::decode(record.try_into().unwrap_or(&[0; Record::LEN]))?;
            let files: Vec<u32> = members.by_ref().take(record.num_lanes as usize).collect();
            decoded.check_group(&record, &files, &mut seen)?;
            decoded.push(record, files, hasher);
        }
        // Groups that follow the continued set are after the bytes that another writer has appended.
        let moved = decoded.groups.iter_mut().filter(|group| group.record.offset >= base_len);
        moved.for_each(|group| group.record.offset += foreign_len);
        Ok(decoded)
    }

    /// Checks that a group's column, files and bytes exist, and that no file has two lanes for one column.
    fn check_group(&self, record: &Record, files: &[u32], seen: &mut HashSet<(u16, u32)>) -> Result<(), DecodeError> {
        let last = |len: usize| (len as u64).saturating_sub(1);
        if usize::from(record.column) >= self.columns.len() {
            return Err(range_error("column", record.column.into(), 0, last(self.columns.len())));
        }
        let end = if record.offset < self.base_len { self.base_len } else { self.data_len };
        check_range("group_offset", record.offset, 0, self.data_len)?;
        check_range("group_len", record.group_len(), 0, end - record.offset)?;
        for &file in files {
            if file as usize >= self.files.len() || !seen.insert((record.column, file)) {
                return Err(range_error("member", file.into(), 0, last(self.files.len())));
            }
        }
        Ok(())
    }

    /// Adds a group of files of this index.
    pub(crate) fn push(&mut self, record: Record, files: Vec<u32>, hasher: &KeyHasher) {
        let identities: Vec<u64> = files.iter().map(|&file| self.files[file as usize].identity).collect();
        let context = record.context(hasher, &self.columns[usize::from(record.column)], &identities);
        self.groups.push(Group { record, context, files });
    }

    /// Returns the index and the footer, with which a set ends.
    pub(crate) fn encode(&self, hasher: &KeyHasher) -> Vec<u8> {
        let (mut index, mut names) = (Vec::new(), Vec::new());
        bytes::append(&mut index, &[self.base_len], 8);
        for column in &self.columns {
            names.extend_from_slice(&column.name);
            bytes::append(&mut index, &[names.len() as u64, column.class.into()], 4);
        }
        for file in &self.files {
            names.extend_from_slice(&file.name);
            bytes::append(&mut index, &[file.identity], 8);
            bytes::append(&mut index, &[names.len() as u64, file.name.is_empty().into()], 4);
        }
        index.extend(self.groups.iter().flat_map(|group| group.record.encode()));
        let members = self.groups.iter().flat_map(|group| &group.files);
        members.for_each(|&file| bytes::append(&mut index, &[file.into()], 4));
        index.extend_from_slice(&names);
        let mut footer = SET_MAGIC.to_vec();
        footer.extend_from_slice(&[SET_VERSION, 0, hasher.hash_id(), 0]);
        // No features.
        bytes::append(&mut footer, &[0, self.columns.len() as u64], 2);
        bytes::append(&mut footer, &[hasher.seed()], 8);
        bytes::append(&mut footer, &[self.files.len() as u64, self.groups.len() as u64], 4);
        bytes::append(&mut footer, &[index.len() as u64, self.data_len], 8);
        bytes::append(&mut footer, &[0], 4);
        bytes::append(&mut footer, &[format::xxh3(&index)], 8);
        let crc = format::masked_crc(&footer);
        bytes::append(&mut footer, &[crc.into()], 4);
        index.extend_from_slice(&footer);
        index
    }
}
