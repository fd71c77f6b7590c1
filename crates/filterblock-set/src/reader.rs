//! The reader's side: opens an index, plans which bytes a lookup needs, takes them, and answers.

use crate::format::FOOTER_LEN;
use crate::index::{Footer, Layout, Section};
use crate::query::{Answers, Query, Selection};
use crate::value::{Value, ValueClass};
use filterblock::{
    AlignedBytes, DecodeError, EntryHasher, FilterBlock, FilterBlockReader, KeyHash, KeyHasher, KeyTransform,
    OpenOptions, probe_tables,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A stored block, once it was given. `None` if the file has no block here, or the block did not open: it stays
/// *maybe*.
type Slot = OnceLock<Option<Box<FilterBlock<AlignedBytes>>>>;

/// A block of a set and its place, as [`FilterSet::blocks`] lists them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetBlock<'a> {
    /// The file's name.
    pub file: &'a [u8],
    /// The column's name.
    pub column: &'a [u8],
    /// The number of the slice.
    pub slice: u16,
    /// The block's place in the set.
    pub range: Range<u64>,
    /// The context under which it opens.
    pub context: u64,
}

/// A block that did not open. The answer for its file is *maybe* for the keys that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBlock {
    /// The file's name.
    pub file: Vec<u8>,
    /// The column's name.
    pub column: Vec<u8>,
    /// The defect.
    pub error: DecodeError,
}

/// The result of reading the end of a set.
#[derive(Debug)]
pub enum Opening {
    /// The index is open.
    Ready(Box<FilterSet>),
    /// The index is longer than the bytes that were given: read this range, and pass its bytes to
    /// [`FilterSet::open`].
    Needs(Range<u64>),
}

/// A set whose index is open, with the blocks that lookups have fetched so far.
///
/// Blocks stay in memory, so that a lookup that needs no others makes no request. The set does no input or output of
/// its own: [`FilterSet::plan`] names ranges of the object, the caller reads them as it likes, and
/// [`FilterSet::give`] takes their bytes. [`FilterSet::load`] is that loop for a function that reads at once.
///
/// Threads share a set: no call waits for another, nor needs it exclusively. Two lookups that miss the same block may
/// both fetch it, and the first to give it decides.
#[derive(Debug)]
pub struct FilterSet {
    /// Distinguishes queries and selections of this set from those of another set or of another state of this one.
    id: u64,
    set_len: u64,
    layout: Layout,
    hasher: KeyHasher,
    by_name: HashMap<Box<[u8]>, u32>,
    /// For each section, its blocks' slots and offsets.
    slots: Vec<Vec<(u64, Slot)>>,
    bad: Mutex<Vec<BadBlock>>,
    held_bytes: AtomicUsize,
}

impl FilterSet {
    /// A number of bytes at the end of a set to read first. It covers the index of some thousand files, so that the
    /// index takes one request; where the index's length is known (as from a table's metadata), read that and
    /// [`FOOTER_LEN`].
    pub const TAIL_LEN: u64 = 256 << 10;

    /// Opens the index of a set of `set_len` bytes from `tail`, its last bytes. `hasher` must be the set's; `None`
    /// takes the set's seed as it is, but opens no set that was hashed under a secret key.
    ///
    /// # Errors
    /// A [`DecodeError`] for anything that is not an intact index. It means *maybe* for all files.
    pub fn open(set_len: u64, tail: &[u8], hasher: Option<&KeyHasher>) -> Result<Opening, DecodeError> {
        let footer = Footer::read(tail, set_len)?;
        let before_footer = &tail[..tail.len() - FOOTER_LEN];
        let index_at = usize::try_from(footer.index_len).ok().and_then(|len| before_footer.len().checked_sub(len));
        let Some(index_at) = index_at else {
            return Ok(Opening::Needs(set_len - footer.index_len - FOOTER_LEN as u64..set_len));
        };
        let index = &before_footer[index_at..];
        let hasher = footer.check(index, hasher)?;
        let layout = Layout::decode(index, &footer)?;
        let named = layout.files.iter().enumerate().filter(|(_, file)| !file.name.is_empty());
        let by_name = named.map(|(number, file)| (file.name.clone(), number as u32)).collect();
        let slot = |(_, place): (usize, Range<u64>)| {
            (place.start, if place.is_empty() { Slot::from(None) } else { Slot::new() })
        };
        let slots = layout.sections.iter().map(|section| section.blocks().map(slot).collect()).collect();
        Ok(Opening::Ready(Box::new(Self {
            id: footer.id(),
            set_len,
            layout,
            hasher,
            by_name,
            slots,
            bad: Mutex::default(),
            held_bytes: AtomicUsize::new(0),
        })))
    }

    /// Opens the index by one or two calls of `fetch`, which reads a range of the object.
    ///
    /// # Errors
    /// The error of `fetch`, or a [`DecodeError`]. Both mean *maybe* for all files.
    pub fn fetch_index<B, E>(
        set_len: u64,
        hasher: Option<&KeyHasher>,
        mut fetch: impl FnMut(Range<u64>) -> Result<B, E>,
    ) -> Result<Self, FetchError<E>>
    where
        B: AsRef<[u8]>,
    {
        let mut range = set_len.saturating_sub(Self::TAIL_LEN)..set_len;
        for _ in 0..2 {
            let tail = fetch(range).map_err(FetchError::Fetch)?;
            match Self::open(set_len, tail.as_ref(), hasher).map_err(FetchError::Decode)? {
                Opening::Ready(set) => return Ok(*set),
                Opening::Needs(needed) => range = needed,
            }
        }
        // `fetch` returned fewer bytes than the range has.
        Err(FetchError::Decode(DecodeError::TooShort { actual_bytes: 0, min_bytes: range.end - range.start }))
    }

    /// Returns the hasher of entries.
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Returns the number of bytes of the set.
    pub fn set_len(&self) -> u64 {
        self.set_len
    }

    /// Returns where the bytes are that another writer has appended to the set that this one continues, if there are
    /// any: the files in them are not in this set, so they are *maybe*. The bytes of the object up to the range's end
    /// are a set of their own, from which [`SetBuilder::absorb`](crate::SetBuilder::absorb) takes these files over.
    /// After one continuation was appended twice, the files are the same, and nothing is lost.
    pub fn foreign_append(&self) -> Option<Range<u64>> {
        let Layout { base_len, foreign_len, .. } = self.layout;
        (foreign_len > 0).then(|| base_len..base_len + foreign_len)
    }

    /// Returns the files that the set knows: names and identities.
    pub fn files(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.layout.files.iter().filter(|file| !file.name.is_empty()).map(|file| (&*file.name, file.identity))
    }

    /// Returns the columns: names, and classes where this version knows them.
    pub fn columns(&self) -> impl Iterator<Item = (&[u8], Option<ValueClass>)> {
        self.layout.columns.iter().map(|column| (&*column.name, ValueClass::from_wire(column.class)))
    }

    /// Returns the number of slices of a column; `None` if the set does not have it.
    pub fn num_slices(&self, column: &[u8]) -> Option<u16> {
        Some(self.layout.columns[self.layout.column_number(column)?].num_slices)
    }

    /// Returns the blocks of all files, in the order of the index: for tools that list or verify a set.
    ///
    /// ```
    /// # use filterblock_set::{FilterSet, Opening, SetBuilder, SetColumn, Value, ValueClass};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let columns = [SetColumn::new("user", ValueClass::Number)];
    /// # let mut builder = SetBuilder::new(&"ribbon:fpr=1%".parse()?, &columns)?;
    /// # let mut file = builder.file("a.parquet", 1)?;
    /// # file.add(0, Value::Int(7));
    /// # file.finish()?;
    /// # let object = builder.finish()?;
    /// # let Opening::Ready(set) = FilterSet::open(object.len() as u64, &object, None)? else { return Ok(()) };
    /// for block in set.blocks() {
    ///     let bytes = &object[block.range.start as usize..block.range.end as usize];
    ///     let opened = set.open_block(&block, bytes)?; // an error is *maybe*, for this file and slice alone
    ///     println!("{:?} {:?} {}: {} entries", block.file, block.column, block.slice, opened.num_entries());
    ///     # assert_eq!(opened.num_entries(), 1);
    /// }
    /// # assert_eq!(set.blocks().count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn blocks(&self) -> impl Iterator<Item = SetBlock<'_>> {
        let sections = self.layout.sections.iter().zip(&self.slots);
        sections.flat_map(|(section, slots)| {
            slots.iter().enumerate().filter_map(|(at, (start, _))| self.block(section, at, *start))
        })
    }

    /// Returns block number `at` of a section; `None` if the file has none there, or was dropped.
    fn block<'a>(&'a self, section: &Section, at: usize, start: u64) -> Option<SetBlock<'a>> {
        let (number, len) = (section.first_file as usize + at, u64::from(section.lens[at]));
        let file = &*self.layout.files[number].name;
        (len > 0 && !file.is_empty()).then(|| SetBlock {
            file,
            column: &self.layout.columns[usize::from(section.column)].name,
            slice: section.slice,
            range: start..start + len,
            context: self.layout.context(section, number),
        })
    }

    /// Opens a block of [`blocks`](Self::blocks) over its bytes, with every check.
    ///
    /// # Errors
    /// The [`DecodeError`] that makes lookups answer *maybe* for the block's file.
    pub fn open_block<'b>(&self, block: &SetBlock<'_>, bytes: &'b [u8]) -> Result<FilterBlockReader<'b>, DecodeError> {
        self.options().with_context(block.context).open(bytes)
    }

    /// Returns the options that require the hasher and transform of the set's blocks.
    fn options(&self) -> OpenOptions {
        OpenOptions::new().expect(&EntryHasher::new(self.hasher.clone(), KeyTransform::WholeKey))
    }

    /// Returns the number of bytes of the blocks that are held.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Returns the blocks that did not open since the last call, each of them once.
    pub fn take_bad_blocks(&self) -> Vec<BadBlock> {
        std::mem::take(&mut *self.bad.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Hashes `values`, which are looked up in the column `column`. Whatever cannot be looked up is *maybe*: a column
    /// that the set does not have, a value of another class than the column's, a value that is not indexable.
    pub fn query<'a>(&self, column: &[u8], values: impl IntoIterator<Item = Value<'a>>) -> Query {
        let found = self.layout.column_number(column).and_then(|column| {
            let class = self.layout.class(column)?;
            Some((column as u16, class, self.layout.columns[column].num_slices))
        });
        Query::new(self.id, &self.hasher, found, values)
    }

    /// Finds the files of the caller's table, by name and by the identity that each has now. A file that the set does
    /// not know, or that has changed since, is *maybe*.
    pub fn select<N: AsRef<[u8]>>(&self, files: impl IntoIterator<Item = (N, u64)>) -> Selection {
        let (mut is_selected, mut num_changed) = (vec![false; self.layout.files.len()], 0);
        let find = |(name, identity): (N, u64)| {
            let number = *self.by_name.get(name.as_ref())?;
            let is_same = self.layout.files[number as usize].identity == identity;
            is_selected[number as usize] |= is_same;
            num_changed += usize::from(!is_same);
            is_same.then_some(number)
        };
        let files = files.into_iter().map(find).collect();
        Selection { set_id: self.id, files, is_selected, num_changed }
    }

    /// Returns whether this set made both.
    fn has_made(&self, query: &Query, selection: &Selection) -> bool {
        [query.set_id, selection.set_id] == [self.id; 2]
    }

    /// Returns the numbers of the sections that have the blocks of a slice.
    fn sections_of(&self, column: u16, slice: u16) -> Range<usize> {
        let from = |slice: u16| {
            self.layout.sections.partition_point(|section| (section.column, section.slice) < (column, slice))
        };
        // A slice is below the number of slices, which has 16 bits.
        from(slice)..from(slice + 1)
    }

    /// Returns the ranges of the object that must be read before `query` can be answered for `selection`, in ascending
    /// order; none if all of it is in memory. Ranges with at most `max_gap` bytes between them are joined: on object
    /// storage a request costs as much as some hundred kilobytes.
    pub fn plan(&self, query: &Query, selection: &Selection, max_gap: u64) -> Vec<Range<u64>> {
        if !self.has_made(query, selection) {
            return Vec::new();
        }
        let mut slices: Vec<u16> = query.keys.iter().flatten().map(|(slice, _)| *slice).collect();
        slices.sort_unstable();
        slices.dedup();
        let mut ranges = Vec::new();
        for (column, slice) in slices.iter().filter_map(|&slice| Some((query.column?, slice))) {
            for number in self.sections_of(column, slice) {
                let section = &self.layout.sections[number];
                for (at, (offset, slot)) in self.slots[number].iter().enumerate() {
                    let is_selected = selection.is_selected[section.first_file as usize + at];
                    if is_selected && slot.get().is_none() {
                        ranges.push(*offset..offset + u64::from(section.lens[at]));
                    }
                }
            }
        }
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|next, before| {
            let joins = next.start <= before.end.saturating_add(max_gap);
            if joins {
                before.end = before.end.max(next.end);
            }
            joins
        });
        ranges
    }

    /// Takes bytes of the object that begin at `offset`, and opens the blocks that lie in them. Fewer bytes than were
    /// planned leave blocks out, and other bytes do not open: both are *maybe*.
    pub fn give(&self, offset: u64, bytes: &[u8]) {
        let (options, end) = (self.options(), offset.saturating_add(bytes.len() as u64));
        for (section, slots) in self.layout.sections.iter().zip(&self.slots) {
            let first = slots.partition_point(|(start, _)| *start < offset);
            for (at, (start, slot)) in slots.iter().enumerate().skip(first) {
                let len = section.lens[at];
                if *start + u64::from(len) > end {
                    break;
                }
                if slot.get().is_some() {
                    continue;
                }
                let file = section.first_file as usize + at;
                let block = &bytes[(*start - offset) as usize..][..len as usize];
                let options = options.clone().with_context(self.layout.context(section, file));
                let (opened, error) = match options.open_owned(AlignedBytes::copy_of(block)) {
                    Ok(block) => (Some(Box::new(block)), None),
                    Err(error) => (None, Some(error)),
                };
                let held = opened.as_ref().map_or(0, |block| block.as_bytes().len());
                // Another thread may have been first; what it gave stays.
                if slot.set(opened).is_err() {
                    continue;
                }
                self.held_bytes.fetch_add(held, Ordering::Relaxed);
                if let Some(error) = error {
                    let column = self.layout.columns[usize::from(section.column)].name.to_vec();
                    let file = self.layout.files[file].name.to_vec();
                    let bad = BadBlock { file, column, error };
                    self.bad.lock().unwrap_or_else(PoisonError::into_inner).push(bad);
                }
            }
        }
    }

    /// Fetches what is missing for the answers. After an error the other ranges are still fetched, and the answers for
    /// the blocks of the failed ones are *maybe*; the next call tries them again.
    ///
    /// # Errors
    /// The first error of `fetch`.
    pub fn load<B: AsRef<[u8]>, E>(
        &self,
        query: &Query,
        selection: &Selection,
        max_gap: u64,
        mut fetch: impl FnMut(Range<u64>) -> Result<B, E>,
    ) -> Result<(), E> {
        let mut result = Ok(());
        for range in self.plan(query, selection, max_gap) {
            match fetch(range.clone()) {
                Ok(bytes) => self.give(range.start, bytes.as_ref()),
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    /// Answers for every key and every file, from the blocks that are in memory. What is not is *maybe*.
    ///
    /// One key is looked up in the blocks of all files at once, many keys in each block at once.
    ///
    /// If the query or the selection was made by another set, or before the set was continued, everything is *maybe*: its
    /// numbers mean other files and columns.
    pub fn answer(&self, query: &Query, selection: &Selection) -> Answers {
        let (num_keys, num_files) = (query.keys.len(), selection.files.len());
        let Some(column) = query.column.filter(|_| self.has_made(query, selection)) else {
            return Answers { num_files, may_contain: vec![true; num_keys * num_files] };
        };
        let mut by_slice: HashMap<u16, Vec<(usize, KeyHash)>> = HashMap::new();
        for (key, (slice, hash)) in query.keys.iter().enumerate().filter_map(|(key, found)| Some((key, (*found)?))) {
            by_slice.entry(slice).or_default().push((key, hash));
        }
        // By the set's numbers of files.
        let known = self.layout.files.len();
        let mut of_known = vec![true; num_keys * known];
        for (slice, keys) in by_slice {
            for number in self.sections_of(column, slice) {
                let first = self.layout.sections[number].first_file as usize;
                let open = self.slots[number].iter().enumerate().filter_map(|(at, (_, slot))| match slot.get() {
                    Some(Some(block)) if selection.is_selected[first + at] => Some((first + at, &**block)),
                    _ => None,
                });
                answer_blocks(open, &keys, |key, file, answer| of_known[key * known + file] = answer);
            }
        }
        let of_file = |key: usize, file: &Option<u32>| file.is_none_or(|file| of_known[key * known + file as usize]);
        let of_key = |key: usize| selection.files.iter().map(move |file| (key, file));
        let may_contain = (0..num_keys).flat_map(of_key).map(|(key, file)| of_file(key, file)).collect();
        Answers { num_files, may_contain }
    }
}

/// Queries the blocks of files for keys: one key in all blocks at once, or all keys in each block at once.
fn answer_blocks<'a>(
    blocks: impl Iterator<Item = (usize, &'a FilterBlock<AlignedBytes>)>,
    keys: &[(usize, KeyHash)],
    mut set: impl FnMut(usize, usize, bool),
) {
    if let [(key, hash)] = *keys {
        let (files, blocks): (Vec<_>, Vec<_>) = blocks.unzip();
        let mut answers = vec![false; blocks.len()];
        probe_tables(blocks.iter().copied(), hash, &mut answers);
        files.into_iter().zip(answers).for_each(|(file, answer)| set(key, file, answer));
        return;
    }
    let hashes: Vec<KeyHash> = keys.iter().map(|(_, hash)| *hash).collect();
    let mut answers = vec![false; hashes.len()];
    for (file, block) in blocks {
        block.may_contain_hashes(&hashes, &mut answers);
        keys.iter().zip(&answers).for_each(|((key, _), answer)| set(*key, file, *answer));
    }
}

/// The reason why an index could not be fetched. It means *maybe* for all files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchError<E> {
    /// The bytes could not be read.
    Fetch(E),
    /// The bytes are not an index that can be used.
    Decode(DecodeError),
}

impl<E: std::fmt::Display> std::fmt::Display for FetchError<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fetch(error) => write!(f, "the index was not read: {error}"),
            Self::Decode(error) => write!(f, "the index is not used: {error}"),
        }
    }
}

impl<E: std::fmt::Debug + std::fmt::Display> std::error::Error for FetchError<E> {}
