//! The writer's side: collects the keys of files, and writes a set, or the continuation of one.
//!
//! Protocol, as a regular expression: `new (file (add | add_null | allow_empty | give_up)* finish | absorb)* (finish |
//! finish_append)`.

use crate::error::SetBuildError;
use crate::footer::check_hasher;
use crate::group::{Column, Group};
use crate::index::{File, Index};
use crate::query;
use crate::set::FilterSet;
use crate::table::Sizing;
use crate::value::{EntryBuffer, Value, ValueClass};
use crate::writer::GroupWriter;
use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyHash, KeyHasher};
use std::collections::HashSet;
use std::io::{self, Cursor, Read, Seek, Write};
use std::ops::Range;

/// A column of a set: its name in the caller's table, the class of its values, and the sizes of its filters.
#[derive(Clone, Debug, PartialEq)]
pub struct SetColumn {
    name: Box<[u8]>,
    class: ValueClass,
    sizing: Sizing,
}

impl SetColumn {
    /// Returns a column whose files' filters are sized by `sizing`.
    pub fn new(name: impl AsRef<[u8]>, class: ValueClass, sizing: Sizing) -> Self {
        Self { name: name.as_ref().into(), class, sizing }
    }

    fn stored(&self) -> Column {
        Column::new(self.name.clone(), self.class.to_wire())
    }
}

/// Makes a set, or the continuation of one.
///
/// Its memory is that of one file's hashes, 8 bytes each; of *strips*, eight times the bytes of a file's filter for each
/// size of filters in use, but at most a limit, or one strip for each column if that is more; of some MiB when it is
/// finished; and of the index. The rest is in a scratch for each column, about as large as its part of the set.
pub struct SetBuilder<S = Cursor<Vec<u8>>> {
    hasher: KeyHasher,
    columns: Vec<SetColumn>,
    writers: Vec<GroupWriter<S>>,
    files: Vec<File>,
    names: HashSet<Box<[u8]>>,
    /// For each column, the hashes of the file that is being added.
    hashes: Vec<Vec<KeyHash>>,
    is_empty_allowed: bool,
}

impl SetBuilder {
    /// Returns a builder of sets with these columns, whose scratch is in memory.
    ///
    /// # Errors
    /// [`SetBuildError::ColumnName`], [`SetBuildError::TooLarge`].
    pub fn new(hasher: &KeyHasher, columns: &[SetColumn]) -> Result<Self, SetBuildError> {
        Self::with_scratch(hasher, columns, 0, || Ok(Cursor::default()))
    }
}

impl<S: Read + Write + Seek> SetBuilder<S> {
    /// Returns a builder of sets with these columns. `scratch` makes an empty file, or the like, for each, which nothing
    /// else may write to; strips of all columns take at most `max_strip_bytes` of memory, or one for each column if that
    /// is more.
    ///
    /// # Errors
    /// [`SetBuildError::ColumnName`], [`SetBuildError::TooLarge`]; the errors of `scratch`.
    pub fn with_scratch(
        hasher: &KeyHasher,
        columns: &[SetColumn],
        max_strip_bytes: usize,
        mut scratch: impl FnMut() -> io::Result<S>,
    ) -> Result<Self, SetBuildError> {
        if columns.len() > usize::from(u16::MAX) {
            return Err(SetBuildError::TooLarge);
        }
        let mut seen = HashSet::new();
        if let Some(column) = columns.iter().find(|column| !seen.insert(&column.name)) {
            return Err(SetBuildError::ColumnName(column.name.to_vec()));
        }
        let each = max_strip_bytes / columns.len().max(1);
        let writer = |column: &SetColumn| Ok(GroupWriter::new(column.sizing, scratch()?, each));
        Ok(Self {
            hasher: hasher.clone(),
            columns: columns.to_vec(),
            writers: columns.iter().map(writer).collect::<io::Result<_>>()?,
            files: Vec::new(),
            names: HashSet::new(),
            hashes: vec![Vec::new(); columns.len()],
            is_empty_allowed: false,
        })
    }

    /// Begins a file: `name` is how the reader's table lists it, `identity` distinguishes its state from all others
    /// ([`file_identity`](crate::file_identity)).
    ///
    /// # Errors
    /// [`SetBuildError::FileName`], [`SetBuildError::TooLarge`].
    pub fn file(&mut self, name: impl AsRef<[u8]>, identity: u64) -> Result<FileWriter<'_, S>, SetBuildError> {
        let name: Box<[u8]> = name.as_ref().into();
        if name.is_empty() || self.names.contains(&name) {
            return Err(SetBuildError::FileName(name.to_vec()));
        }
        if self.files.len() >= u32::MAX as usize {
            return Err(SetBuildError::TooLarge);
        }
        // A file that was begun before and not finished leaves its keys.
        self.hashes.iter_mut().for_each(Vec::clear);
        let states = vec![State::Nothing; self.columns.len()];
        Ok(FileWriter { set: self, file: File { name, identity }, states, buffer: EntryBuffer::default() })
    }

    /// Takes over the files of a set for whose names `keep` returns true, without their keys: compaction, and the union of
    /// sets. Columns that this builder does not have are left out. `fetch` reads ranges of the set, in ascending order for
    /// each group. Units that do not check become *maybe*; returns their number.
    ///
    /// # Errors
    /// [`SetBuildError::Decode`] if the set has another hasher; [`SetBuildError::ColumnName`] if a column has another class
    /// or shape here; [`SetBuildError::FileName`]; [`SetBuildError::Io`]. After an error the builder is of no further use.
    pub fn absorb<B: AsRef<[u8]>>(
        &mut self,
        set: &FilterSet,
        mut keep: impl FnMut(&[u8]) -> bool,
        mut fetch: impl FnMut(Range<u64>) -> io::Result<B>,
    ) -> Result<u64, SetBuildError> {
        let index = &set.index;
        check_hasher(&self.hasher, set.hasher().hash_id(), set.hasher().seed())?;
        let mut numbers = vec![None; index.files.len()];
        for (file, number) in index.files.iter().zip(&mut numbers) {
            if file.name.is_empty() || !keep(&file.name) {
                continue;
            }
            if !self.names.insert(file.name.clone()) {
                return Err(SetBuildError::FileName(file.name.to_vec()));
            }
            *number = Some(u32::try_from(self.files.len()).map_err(|_| SetBuildError::TooLarge)?);
            self.files.push(file.clone());
        }
        let mut num_bad = 0;
        let is_kept = |group: &&Group| group.files.iter().any(|&file| numbers[file as usize].is_some());
        for group in index.groups.iter().filter(is_kept) {
            let stored = &index.columns[usize::from(group.record.column)];
            let Some(column) = self.columns.iter().position(|column| column.name == stored.name) else { continue };
            let is_of_shape = self.columns[column].sizing.shape() == group.record.table.shape;
            if self.columns[column].stored() != *stored || !is_of_shape {
                return Err(SetBuildError::ColumnName(stored.name.to_vec()));
            }
            let of_lane = |file: &u32| Some((index.files[*file as usize].identity, numbers[*file as usize]?));
            let lanes: Vec<Option<(u64, u32)>> = group.files.iter().map(of_lane).collect();
            num_bad += self.writers[column].absorb(group, &lanes, &mut fetch)?;
        }
        Ok(num_bad)
    }

    /// Panics in builds with debug assertions if another hasher has made `hash`, as every builder of filters does.
    #[inline]
    fn check_mark(&self, hash: KeyHash) {
        if cfg!(debug_assertions) {
            let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 8.0)
                .map(|policy| policy.with_hasher(self.hasher.clone()));
            policy.into_iter().for_each(|policy| FilterBlockBuilder::new(&policy).add_hash(hash));
        }
    }

    /// Returns the number of files.
    pub fn num_files(&self) -> usize {
        self.files.len()
    }

    /// Lets [`finish`](Self::finish) write a set without files, of a table that has none.
    pub fn allow_empty(&mut self) -> &mut Self {
        self.is_empty_allowed = true;
        self
    }

    /// Writes the set, and returns its length.
    ///
    /// # Errors
    /// [`SetBuildError::Empty`], [`SetBuildError::Io`], [`SetBuildError::TooLarge`], [`SetBuildError::Check`]. What was
    /// written is then not a set.
    pub fn finish(self, sink: &mut impl Write) -> Result<u64, SetBuildError> {
        if self.files.is_empty() && !self.is_empty_allowed {
            return Err(SetBuildError::Empty);
        }
        let columns = self.columns.iter().map(SetColumn::stored).collect();
        self.finish_after(Index { columns, ..Index::default() }, sink)
    }

    /// Writes the bytes that, appended to the set `old`, make it a set with the files of both, and returns their number.
    /// Nothing of the old groups is read. Files for whose names `drop` returns true are dropped: no lookup finds them, and
    /// their lanes stay in the object until it is compacted ([`absorb`](Self::absorb)), as does the old index.
    ///
    /// # Errors
    /// [`SetBuildError::ColumnName`] unless both sets have the same columns, [`SetBuildError::FileName`] if a file is in
    /// both, [`SetBuildError::Decode`] if the old set has another hasher, [`SetBuildError::Empty`] if there is neither a
    /// file to add nor one to drop; and those of [`finish`](Self::finish).
    pub fn finish_append(
        self,
        old: &FilterSet,
        mut drop: impl FnMut(&[u8]) -> bool,
        sink: &mut impl Write,
    ) -> Result<u64, SetBuildError> {
        check_hasher(&self.hasher, old.hasher().hash_id(), old.hasher().seed())?;
        let mut index = old.index.clone();
        let columns: Vec<Column> = self.columns.iter().map(SetColumn::stored).collect();
        if index.columns != columns {
            // The first column that differs, or that only the longer of both lists has.
            let equal = columns.iter().zip(&index.columns).take_while(|(a, b)| a == b).count();
            let name =
                columns.get(equal).or(index.columns.get(equal)).map_or(Vec::new(), |column| column.name.to_vec());
            return Err(SetBuildError::ColumnName(name));
        }
        let mut changes = !self.files.is_empty();
        for file in index.files.iter_mut().filter(|file| !file.name.is_empty()) {
            if drop(&file.name) {
                file.name = Box::default();
                changes = true;
            } else if self.names.contains(&file.name) {
                return Err(SetBuildError::FileName(file.name.to_vec()));
            }
        }
        if !changes {
            return Err(SetBuildError::Empty);
        }
        // The old index and footer stay where they are.
        (index.data_len, index.base_len) = (old.set_len, old.set_len);
        self.finish_after(index, sink)
    }

    /// Writes the groups, the index and the footer that follow what `index` describes.
    fn finish_after(self, mut index: Index, sink: &mut impl Write) -> Result<u64, SetBuildError> {
        let (begin, first) = (index.data_len, index.files.len() as u64);
        index.files.extend(self.files);
        let names = index.files.iter().map(|file| file.name.len()).sum::<usize>()
            + index.columns.iter().map(|column| column.name.len()).sum::<usize>();
        if index.files.len() > u32::MAX as usize || names > u32::MAX as usize {
            return Err(SetBuildError::TooLarge);
        }
        for (number, writer) in (0..=u16::MAX).zip(self.writers) {
            let column = &index.columns[usize::from(number)];
            for (record, files) in writer.finish(number, column, &self.hasher, index.data_len, sink)? {
                index.data_len += record.group_len();
                index.push(record, files.into_iter().map(|file| file + first as u32).collect(), &self.hasher);
            }
        }
        if index.groups.len() > u32::MAX as usize {
            return Err(SetBuildError::TooLarge);
        }
        let end = index.encode(&self.hasher);
        sink.write_all(&end)?;
        Ok(index.data_len - begin + end.len() as u64)
    }
}

/// The filter that a column of the file that is being written will have.
#[derive(Clone, Copy)]
enum State {
    /// Nothing was added: the file is in no group.
    Nothing,
    /// A lane with what was added: values, or nulls, which have no entries.
    Keys,
    /// Some value cannot be looked up, or the caller gave up: the file is in no group.
    GivenUp,
}

/// Takes the keys of one file. All values of a column must be added before it is finished: the filter denies what was
/// not. A column to which nothing was added, neither a value nor a null, has no filter, so that values that were never
/// read deny nothing. A file that is not finished is not in the set.
pub struct FileWriter<'a, S> {
    set: &'a mut SetBuilder<S>,
    file: File,
    states: Vec<State>,
    buffer: EntryBuffer,
}

impl<S: Read + Write + Seek> FileWriter<'_, S> {
    /// Adds a value of column number `column`. Returns false if the value cannot be looked up, as it is not indexable or
    /// of another class than the column's: the file then has no filter for this column.
    ///
    /// # Panics
    /// If there is no such column, here and in the calls below.
    #[inline]
    pub fn add(&mut self, column: usize, value: Value<'_>) -> bool {
        let hash = query::hash_of(&self.set.hasher, self.set.columns[column].class, &value, &mut self.buffer);
        match hash {
            Some(hash) => self.add_hash(column, hash),
            None => self.give_up(column),
        }
        hash.is_some()
    }

    /// Adds the hash of a value's entry, made by the set's hasher.
    #[inline]
    pub fn add_hash(&mut self, column: usize, hash: KeyHash) {
        self.set.check_mark(hash);
        self.add_null(column);
        if let State::Keys = self.states[column] {
            self.set.hashes[column].push(hash);
        }
    }

    /// Adds a null. It equals nothing, so it has no entry: a column of nulls alone has a filter that denies every value.
    #[inline]
    pub fn add_null(&mut self, column: usize) {
        if let State::Nothing = self.states[column] {
            self.states[column] = State::Keys;
        }
    }

    /// States that the file has no row, or that all its rows are null in this column: if nothing is added, the filter
    /// denies every value. Call it only where the caller itself has counted the rows.
    pub fn allow_empty(&mut self, column: usize) {
        self.add_null(column);
    }

    /// Leaves the file without a filter for this column: *maybe* for all keys.
    pub fn give_up(&mut self, column: usize) {
        self.states[column] = State::GivenUp;
        self.set.hashes[column].clear();
    }

    /// Adds the file to the set. Returns the numbers of the columns for which the file has no filter, as nothing was
    /// added, or they were given up: it is *maybe* for all their values.
    ///
    /// # Errors
    /// [`SetBuildError`]: the file is in the set, and *maybe* for all values of columns that were not added. After
    /// [`SetBuildError::Io`] other files may be, too: better begin anew.
    pub fn finish(self) -> Result<Vec<usize>, SetBuildError> {
        let Self { set, file, states, .. } = self;
        let (mut without, number, identity) = (Vec::new(), set.files.len() as u32, file.identity);
        // First, so that no other file is given the number after an error.
        set.names.insert(file.name.clone());
        set.files.push(file);
        for (column, state) in states.into_iter().enumerate() {
            match state {
                State::Keys => {
                    set.writers[column].add_file(identity, number, &mut set.hashes[column])?;
                }
                State::Nothing | State::GivenUp => without.push(column),
            }
        }
        Ok(without)
    }
}
