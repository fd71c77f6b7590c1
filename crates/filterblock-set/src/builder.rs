//! The writer's side: collects the keys of files, makes their blocks, and returns a set.
//!
//! Protocol, as a regular expression: `new ((file (add | add_null | allow_empty | give_up)* finish | absorb)+ (finish |
//! finish_append))*`.

use crate::format::{self, Column, FOOTER_LEN};
use crate::index::{File, Layout, Section, check_hasher};
use crate::query;
use crate::reader::{FilterSet, Opening};
use crate::value::{EntryBuffer, Value, ValueClass};
use filterblock::{
    BuildError, DecodeError, EntryHasher, FilterBlockBuilder, FilterPolicy, KeyHash, KeyTransform, OpenOptions,
};
use std::collections::HashSet;
use std::fmt;

/// A column of a set: its name in the caller's table, and the class of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetColumn {
    class: ValueClass,
    stored: Column,
}

impl SetColumn {
    /// Returns a column of one slice: a lookup reads each file's block as a whole.
    pub fn new(name: impl AsRef<[u8]>, class: ValueClass) -> Self {
        Self { class, stored: Column { name: name.as_ref().into(), class: class.to_wire(), num_slices: 1 } }
    }

    /// Divides the keys of each file by their hashes among `num_slices` blocks (0 counts as 1). The blocks of a slice
    /// lie together, for all files, so that a lookup of one key reads one part in `num_slices` of the column's blocks,
    /// in one piece. Each block has a header of 64 bytes: slices of [some thousand keys](SetColumn::slices_for) a file
    /// cost little.
    #[must_use]
    pub fn with_slices(mut self, num_slices: u16) -> Self {
        self.stored.num_slices = num_slices.max(1);
        self
    }

    /// Returns the number of slices, at most 256, with which files of `keys_per_file` keys have 4 096 keys a block.
    pub fn slices_for(keys_per_file: u64) -> u16 {
        u16::try_from(keys_per_file / 4096).map_or(256, |slices| slices.clamp(1, 256))
    }
}

/// The reason why a set, or a file's part of it, was not built.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SetBuildError {
    /// The policy hashes prefixes or rows; a set's entries are whole values.
    Transform,
    /// Nothing was added since the last finish, and no set without files was permitted ([`SetBuilder::allow_empty`]);
    /// or nothing is added to the set that was to be continued, nor dropped from it.
    Empty,
    /// A file's name is empty, or already in the set.
    FileName(Vec<u8>),
    /// Two columns have this name, or it is another column in the set that was to be continued.
    ColumnName(Vec<u8>),
    /// More columns, files or bytes than the format describes.
    TooLarge,
    /// A block could not be built; the file is not in the set.
    Block(BuildError),
    /// The set that was to be continued, or a block that was to be taken, is not usable.
    Decode(DecodeError),
}

impl fmt::Display for SetBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transform => f.write_str("the entries of a set are whole values: the policy's transform is another"),
            Self::Empty => f.write_str("no file was added since the last finish, and no empty set was asked for"),
            Self::FileName(name) => {
                write!(f, "file {:?} is empty or already in the set", String::from_utf8_lossy(name))
            }
            Self::ColumnName(name) => write!(f, "column {:?} does not fit the set", String::from_utf8_lossy(name)),
            Self::TooLarge => f.write_str("more columns, files or bytes than a set can have"),
            Self::Block(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SetBuildError {}

impl From<BuildError> for SetBuildError {
    fn from(error: BuildError) -> Self {
        Self::Block(error)
    }
}

impl From<DecodeError> for SetBuildError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

/// A finished file: for each column its blocks, one a slice; none where the column has no filter here.
struct Done {
    file: File,
    blocks: Vec<Vec<Vec<u8>>>,
}

/// Makes a set, or the continuation of one. All blocks are kept in memory until it is finished.
pub struct SetBuilder {
    policy: FilterPolicy,
    columns: Vec<SetColumn>,
    /// For each column, a builder a slice.
    builders: Vec<Vec<FilterBlockBuilder>>,
    done: Vec<Done>,
    names: HashSet<Box<[u8]>>,
    is_empty_allowed: bool,
}

impl SetBuilder {
    /// Returns a builder of sets with these columns, whose blocks all have `policy`.
    ///
    /// # Errors
    /// [`SetBuildError::Transform`], [`SetBuildError::ColumnName`], [`SetBuildError::TooLarge`].
    pub fn new(policy: &FilterPolicy, columns: &[SetColumn]) -> Result<Self, SetBuildError> {
        if policy.transform() != KeyTransform::WholeKey {
            return Err(SetBuildError::Transform);
        }
        if columns.len() > usize::from(u16::MAX) {
            return Err(SetBuildError::TooLarge);
        }
        let mut seen = HashSet::new();
        if let Some(column) = columns.iter().find(|column| !seen.insert(&column.stored.name)) {
            return Err(SetBuildError::ColumnName(column.stored.name.to_vec()));
        }
        let of = |column: &SetColumn| vec![FilterBlockBuilder::new(policy); usize::from(column.stored.num_slices)];
        let builders = columns.iter().map(of).collect();
        let (policy, columns) = (policy.clone(), columns.to_vec());
        Ok(Self { policy, columns, builders, done: Vec::new(), names: HashSet::new(), is_empty_allowed: false })
    }

    /// Begins a file: `name` is how the reader's table lists it, `identity` distinguishes its state from all others
    /// ([`file_identity`](crate::file_identity)).
    ///
    /// # Errors
    /// [`SetBuildError::FileName`].
    pub fn file(&mut self, name: impl AsRef<[u8]>, identity: u64) -> Result<FileWriter<'_>, SetBuildError> {
        let name: Box<[u8]> = name.as_ref().into();
        if name.is_empty() || self.names.contains(&name) {
            return Err(SetBuildError::FileName(name.to_vec()));
        }
        // A file that was begun before and not finished leaves its keys.
        self.builders.iter_mut().flatten().for_each(FilterBlockBuilder::clear);
        let states = vec![State::Nothing; self.columns.len()];
        Ok(FileWriter { set: self, file: File { name, identity }, states, buffer: EntryBuffer::default() })
    }

    /// Takes over the files of a set for whose names `keep` returns true, without their keys: compaction, and the union
    /// of sets. Columns that this builder does not have are left out, as are blocks that do not open: for the keys of
    /// these their files are *maybe*. Returns the number of such blocks.
    ///
    /// # Errors
    /// [`SetBuildError::Decode`] if the set's index does not open with the policy's hasher; [`SetBuildError::ColumnName`]
    /// if a column has another class or number of slices here; [`SetBuildError::FileName`]. The files taken over before
    /// the error stay.
    pub fn absorb(&mut self, set: &[u8], mut keep: impl FnMut(&[u8]) -> bool) -> Result<usize, SetBuildError> {
        let opened = open_whole(set, &self.policy)?;
        let layout = opened.layout();
        let same = |SetColumn { stored, .. }: &SetColumn| match layout.column_number(&stored.name) {
            Some(found) if layout.columns[found] != *stored => Err(SetBuildError::ColumnName(stored.name.to_vec())),
            found => Ok(found),
        };
        let columns: Vec<Option<usize>> = self.columns.iter().map(same).collect::<Result<_, _>>()?;
        let options = OpenOptions::new().expect(&self.policy);
        let (first, mut num_bad) = (self.done.len(), 0);
        let mut position = vec![None; layout.files.len()];
        for (number, file) in layout.files.iter().enumerate() {
            if file.name.is_empty() || !keep(&file.name) {
                continue;
            }
            if !self.names.insert(file.name.clone()) {
                return Err(SetBuildError::FileName(file.name.to_vec()));
            }
            position[number] = Some(self.done.len() - first);
            let of = |column: &SetColumn| vec![Vec::new(); usize::from(column.stored.num_slices)];
            self.done.push(Done { file: file.clone(), blocks: self.columns.iter().map(of).collect() });
        }
        for section in &layout.sections {
            let Some(column) = columns.iter().position(|found| *found == Some(section.column.into())) else {
                continue;
            };
            for (number, place) in section.blocks() {
                let block = &set[place.start as usize..place.end as usize];
                let Some(position) = position[number].filter(|_| !block.is_empty()) else {
                    continue;
                };
                let context = layout.context(section, number);
                match options.clone().with_context(context).open(block) {
                    Ok(_) => {
                        self.done[first + position].blocks[column][usize::from(section.slice)] = block.to_vec();
                    }
                    Err(_) => num_bad += 1,
                }
            }
        }
        Ok(num_bad)
    }

    /// Returns the number of files.
    pub fn num_files(&self) -> usize {
        self.done.len()
    }

    /// Lets the next [`finish`](Self::finish) return a set without files, of a table that has none. Without this call
    /// there is nothing to finish, as after a finish before: the set that would replace the first has none of its files.
    pub fn allow_empty(&mut self) -> &mut Self {
        self.is_empty_allowed = true;
        self
    }

    /// Returns the set, and leaves the builder empty.
    ///
    /// # Errors
    /// [`SetBuildError::Empty`], [`SetBuildError::TooLarge`].
    pub fn finish(&mut self) -> Result<Vec<u8>, SetBuildError> {
        if self.done.is_empty() && !self.is_empty_allowed {
            return Err(SetBuildError::Empty);
        }
        self.finish_after(Layout { columns: self.wire_columns(), ..Layout::default() })
    }

    /// Returns the columns as the index states them.
    fn wire_columns(&self) -> Vec<Column> {
        self.columns.iter().map(|column| column.stored.clone()).collect()
    }

    /// Returns the bytes that, appended to the set whose index is `old`, make it a set with the files of both. Files
    /// for whose names `drop` returns true are dropped: no lookup finds them, and their blocks stay in the object until
    /// it is compacted ([`SetBuilder::absorb`]). So does the old index. The builder is left empty.
    ///
    /// If another writer has appended to the same set meanwhile, or these bytes are appended again, the set stays
    /// readable, and has the files that its last writer knew ([`FilterSet::foreign_append`]). Where the object is put
    /// as a whole, the last put decides in the same way. A put on the condition that the object is the one of `old` (by
    /// its entity tag, or its length) avoids both: on failure, open the object as it is now, and finish anew.
    ///
    /// # Errors
    /// [`SetBuildError::ColumnName`] unless both sets have the same columns, [`SetBuildError::FileName`] if a file is in
    /// both, [`SetBuildError::Decode`] if the old set has another hasher, [`SetBuildError::Empty`] if there is neither a
    /// file to add nor one to drop, [`SetBuildError::TooLarge`].
    pub fn finish_append(
        &mut self,
        old: &FilterSet,
        mut drop: impl FnMut(&[u8]) -> bool,
    ) -> Result<Vec<u8>, SetBuildError> {
        let mut layout = old.layout().clone();
        check_hasher(self.policy.hasher(), old.hasher().hash_id(), old.hasher().seed())?;
        let columns = self.wire_columns();
        if layout.columns != columns {
            // The first column that differs, or that only the longer of both lists has.
            let equal = columns.iter().zip(&layout.columns).take_while(|(a, b)| a == b).count();
            let name =
                columns.get(equal).or(layout.columns.get(equal)).map_or(Vec::new(), |column| column.name.to_vec());
            return Err(SetBuildError::ColumnName(name));
        }
        // The old index and footer stay where they are.
        (layout.data_len, layout.base_len) = (old.set_len(), old.set_len());
        let mut changes = !self.done.is_empty();
        for file in &mut layout.files {
            if !file.name.is_empty() && drop(&file.name) {
                *file = File { name: Box::default(), identity: 0 };
                changes = true;
            } else if self.names.contains(&file.name) {
                return Err(SetBuildError::FileName(file.name.to_vec()));
            }
        }
        if !changes {
            return Err(SetBuildError::Empty);
        }
        self.finish_after(layout)
    }

    /// Returns the blocks, the index and the footer that follow what `layout` describes.
    fn finish_after(&mut self, mut layout: Layout) -> Result<Vec<u8>, SetBuildError> {
        let (begin, first_file) = (layout.data_len, layout.files.len());
        if first_file + self.done.len() > u32::MAX as usize {
            return Err(SetBuildError::TooLarge);
        }
        let mut out = Vec::new();
        for (column, of) in self.columns.iter().enumerate() {
            for slice in 0..of.stored.num_slices {
                let blocks = || self.done.iter().map(|done| &done.blocks[column][usize::from(slice)]);
                if blocks().all(Vec::is_empty) {
                    continue;
                }
                let offset = begin + out.len() as u64;
                blocks().for_each(|block| out.extend_from_slice(block));
                let lens = blocks().map(|block| u32::try_from(block.len())).collect::<Result<_, _>>();
                let lens = lens.map_err(|_| SetBuildError::TooLarge)?;
                layout.sections.push(Section {
                    column: column as u16,
                    slice,
                    first_file: first_file as u32,
                    offset,
                    lens,
                });
            }
        }
        layout.sections.sort_by_key(Section::place);
        layout.files.extend(self.done.iter().map(|done| done.file.clone()));
        layout.data_len += out.len() as u64;
        let names = layout.files.iter().map(|file| file.name.len()).sum::<usize>();
        if names + layout.columns.iter().map(|column| column.name.len()).sum::<usize>() > u32::MAX as usize
            || layout.sections.len() > u32::MAX as usize
        {
            return Err(SetBuildError::TooLarge);
        }
        out.extend_from_slice(&layout.encode(self.policy.hasher()));
        self.done.clear();
        self.names.clear();
        self.is_empty_allowed = false;
        Ok(out)
    }
}

/// Opens the index of a set that is in memory as a whole.
fn open_whole(set: &[u8], policy: &FilterPolicy) -> Result<FilterSet, DecodeError> {
    match FilterSet::open(set.len() as u64, set, Some(policy.hasher()))? {
        Opening::Ready(opened) => Ok(*opened),
        Opening::Needs(range) => {
            Err(DecodeError::TooShort { actual_bytes: set.len() as u64, min_bytes: range.end + FOOTER_LEN as u64 })
        }
    }
}

/// The filter that a column of the file that is being written will have.
#[derive(Clone)]
enum State {
    /// Nothing was added: no block.
    Nothing,
    /// A block for each slice, of what was added: values, or nulls, which have no entries.
    Keys,
    /// Some value cannot be looked up, or the caller gave up: no block.
    GivenUp,
    /// A finished block, which the caller has given.
    Taken(Vec<u8>),
}

/// Takes the keys of one file. All values of a column must be added before it is finished: the filter denies what was
/// not. A column to which nothing was added, neither a value nor a null, has no filter, so that values that were never
/// read deny nothing. A file that is not finished is not in the set.
pub struct FileWriter<'a> {
    set: &'a mut SetBuilder,
    file: File,
    states: Vec<State>,
    buffer: EntryBuffer,
}

impl FileWriter<'_> {
    /// Adds a value of column number `column`. Returns false if the value cannot be looked up, as it is not indexable or
    /// of another class than the column's: the file then has no filter for this column.
    ///
    /// # Panics
    /// If there is no such column, here and in the calls below.
    #[inline]
    pub fn add(&mut self, column: usize, value: Value<'_>) -> bool {
        let hash = query::hash_of(self.set.policy.hasher(), self.set.columns[column].class, &value, &mut self.buffer);
        match hash {
            Some(hash) => self.add_hash(column, hash),
            None => self.give_up(column),
        }
        hash.is_some()
    }

    /// Adds the hash of a value's entry, made by the policy's hasher.
    #[inline]
    pub fn add_hash(&mut self, column: usize, hash: KeyHash) {
        match self.states[column] {
            State::Nothing => self.states[column] = State::Keys,
            // Keys beside a block that does not have them.
            State::Taken(_) => self.give_up(column),
            State::Keys | State::GivenUp => {}
        }
        let slice = format::slice_of(hash.get(), self.set.columns[column].stored.num_slices);
        self.set.builders[column][usize::from(slice)].add_hash(hash);
    }

    /// Takes a finished filter block of this column as it is, as a file may have its own, written under `context` with
    /// the policy's hasher and whole keys as entries. It is bound to its place in the set; no key is needed. A column
    /// that has a block or keys already is given up.
    ///
    /// # Errors
    /// [`SetBuildError::Decode`] if the block does not open; [`SetBuildError::ColumnName`] if the column has slices.
    pub fn take_block(&mut self, column: usize, block: &[u8], context: u64) -> Result<(), SetBuildError> {
        let stored = &self.set.columns[column].stored;
        if stored.num_slices != 1 {
            return Err(SetBuildError::ColumnName(stored.name.to_vec()));
        }
        let whole = EntryHasher::new(self.set.policy.hasher().clone(), KeyTransform::WholeKey);
        OpenOptions::new().expect(&whole).with_context(context).open(block)?;
        let mut block = block.to_vec();
        format::rebind(&mut block, context, format::block_context(self.file.identity, stored, 0))?;
        self.states[column] = match self.states[column] {
            State::Nothing => State::Taken(block),
            _ => State::GivenUp,
        };
        Ok(())
    }

    /// Adds a null. It equals nothing, so it has no entry: a column of nulls alone has a filter that denies every value.
    #[inline]
    pub fn add_null(&mut self, column: usize) {
        match self.states[column] {
            State::Nothing => self.states[column] = State::Keys,
            // A block that was taken has no entries of nulls either.
            State::Keys | State::Taken(_) | State::GivenUp => {}
        }
    }

    /// States that the file has no row, or that all its rows are null in this column: if nothing is added, the filter
    /// denies every value. Call it only where the caller itself has counted the rows; an iterator that happened to
    /// yield nothing is not such a count.
    pub fn allow_empty(&mut self, column: usize) {
        self.add_null(column);
    }

    /// Leaves the file without a filter for this column: *maybe* for all keys.
    pub fn give_up(&mut self, column: usize) {
        self.states[column] = State::GivenUp;
    }

    /// Builds the blocks, and adds the file to the set. Returns the numbers of the columns for which the file has no
    /// filter, as nothing was added, or they were given up: it is *maybe* for all their values.
    ///
    /// # Errors
    /// [`SetBuildError::Block`]; the file is then not in the set.
    pub fn finish(self) -> Result<Vec<usize>, SetBuildError> {
        let Self { set, file, states, .. } = self;
        let has_none = |state: &State| matches!(state, State::Nothing | State::GivenUp);
        let without = (0..states.len()).filter(|&column| has_none(&states[column])).collect();
        let mut blocks = Vec::with_capacity(states.len());
        for ((column, builders), state) in set.columns.iter().zip(&mut set.builders).zip(states) {
            let mut of_column = vec![Vec::new(); builders.len()];
            match state {
                State::Keys => {
                    for (slice, (builder, block)) in (0..).zip(builders.iter_mut().zip(&mut of_column)) {
                        let context = format::block_context(file.identity, &column.stored, slice);
                        *block = builder.set_context(context).allow_empty().finish()?;
                    }
                }
                State::Taken(block) => of_column[0] = block,
                State::Nothing | State::GivenUp => {}
            }
            blocks.push(of_column);
        }
        set.names.insert(file.name.clone());
        set.done.push(Done { file, blocks });
        Ok(without)
    }
}
