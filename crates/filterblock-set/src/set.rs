//! The reader's side: an index that is open, and lookups of values in files as a table lists them.

use crate::error::FetchError;
use crate::footer::Footer;
use crate::format::FOOTER_LEN;
use crate::group::Group;
use crate::index::Index;
use crate::lookup::{SetLookup, UnitCache};
use crate::query::{Query, Selection, hash_of};
use crate::value::{EntryBuffer, Value, ValueClass};
use filterblock::{DecodeError, KeyHasher};
use std::collections::HashMap;
use std::ops::Range;

/// The result of reading the end of a set.
#[derive(Debug)]
pub enum Opening {
    /// The index is open.
    Ready(Box<FilterSet>),
    /// The index is longer than the bytes that were given: read this range, and open from its bytes.
    Needs(Range<u64>),
}

/// A set whose index is open. Threads share it.
#[derive(Debug)]
pub struct FilterSet {
    /// Distinguishes queries and selections of this set from those of another set or of another state of this one.
    id: u64,
    pub(crate) set_len: u64,
    hasher: KeyHasher,
    pub(crate) index: Index,
    by_name: HashMap<Box<[u8]>, u32>,
    cache: UnitCache,
}

impl FilterSet {
    /// A number of bytes at the end of a set to read first. It covers the index of about nine hundred files; where the
    /// index's length is known (as from a table's metadata), read that and [`FOOTER_LEN`].
    pub const TAIL_LEN: u64 = 40 << 10;

    /// The bytes that lookups keep in memory, unless [`with_max_held_bytes`](Self::with_max_held_bytes) states another
    /// number.
    pub const MAX_HELD_BYTES: usize = 64 << 20;

    /// Opens the index of a set of `set_len` bytes from `tail`, its last bytes. `hasher` must be the set's; `None` takes
    /// the set's seed as it is, but opens no set that was hashed under a secret key.
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
        let bytes = &before_footer[index_at..];
        let hasher = footer.check(bytes, hasher)?;
        let index = Index::decode(bytes, &footer, &hasher)?;
        let named = (0..=u32::MAX).zip(&index.files).filter(|(_, file)| !file.name.is_empty());
        let by_name = named.map(|(number, file)| (file.name.clone(), number)).collect();
        let (id, cache) = (footer.id(), UnitCache::new(Self::MAX_HELD_BYTES));
        Ok(Opening::Ready(Box::new(Self { id, set_len, hasher, index, by_name, cache })))
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
        let (mut range, mut actual_bytes) = (set_len.saturating_sub(Self::TAIL_LEN)..set_len, 0);
        for _ in 0..2 {
            let tail = fetch(range.clone()).map_err(FetchError::Fetch)?;
            actual_bytes = tail.as_ref().len() as u64;
            if actual_bytes < range.end - range.start {
                break;
            }
            match Self::open(set_len, tail.as_ref(), hasher).map_err(FetchError::Decode)? {
                Opening::Ready(set) => return Ok(*set),
                Opening::Needs(needed) => range = needed,
            }
        }
        // `fetch` returned fewer bytes than the range has, or the object was replaced by one with a longer index.
        Err(FetchError::Decode(DecodeError::TooShort { actual_bytes, min_bytes: range.end - range.start }))
    }

    /// Lets lookups keep at most `max_held_bytes` of the set in memory, beside what each of them uses.
    #[must_use]
    pub fn with_max_held_bytes(mut self, max_held_bytes: usize) -> Self {
        self.cache = UnitCache::new(max_held_bytes);
        self
    }

    /// Returns the hasher of entries.
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Returns where the bytes are that another writer has appended to the set that this one continues, if there are any:
    /// the files in them are not in this set, so they are *maybe*. The bytes of the object up to the range's end are a set
    /// of their own, which compaction takes over.
    pub fn foreign_append(&self) -> Option<Range<u64>> {
        let Index { base_len, foreign_len, .. } = self.index;
        (foreign_len > 0).then(|| base_len..base_len + foreign_len)
    }

    /// Returns the groups: for tools that list or verify a set.
    pub fn groups(&self) -> &[Group] {
        &self.index.groups
    }

    /// Returns the name of a file by its number in [`Group::files`]; `None` if the file was dropped.
    pub fn file_name(&self, number: u32) -> Option<&[u8]> {
        self.index.files.get(number as usize).map(|file| &*file.name).filter(|name| !name.is_empty())
    }

    /// Returns the files that the set knows: names and identities.
    pub fn files(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.index.files.iter().filter(|file| !file.name.is_empty()).map(|file| (&*file.name, file.identity))
    }

    /// Returns the columns: names, and classes where this version knows them.
    pub fn columns(&self) -> impl Iterator<Item = (&[u8], Option<ValueClass>)> {
        self.index.columns.iter().map(|column| (&*column.name, ValueClass::from_wire(column.class)))
    }

    /// Returns the number of bytes of units that are held.
    pub fn held_bytes(&self) -> usize {
        self.cache.held_bytes()
    }

    /// Hashes `values`, which are looked up in the column `column`. Whatever cannot be looked up is *maybe*.
    pub fn query<'a>(&self, column: &[u8], values: impl IntoIterator<Item = Value<'a>>) -> Query {
        let numbered = (0..=u16::MAX).zip(&self.index.columns).find(|(_, stored)| *stored.name == *column);
        let found = numbered.and_then(|(number, stored)| Some((number, ValueClass::from_wire(stored.class)?)));
        let mut buffer = EntryBuffer::default();
        let key = |value: Value<'a>| hash_of(&self.hasher, found?.1, &value, &mut buffer);
        Query { set_id: self.id, keys: values.into_iter().map(key).collect(), column: found.map(|(number, _)| number) }
    }

    /// Finds the files of the caller's table, by name and by the identity that each has now. A file that the set does not
    /// know, or that has changed since, is *maybe*.
    pub fn select<N: AsRef<[u8]>>(&self, files: impl IntoIterator<Item = (N, u64)>) -> Selection {
        let mut selection = Selection::new(self.id, self.index.files.len(), self.index.columns.len());
        for (name, identity) in files {
            let number = self.by_name.get(name.as_ref()).copied();
            let is_same = number.is_some_and(|number| self.index.files[number as usize].identity == identity);
            selection.push(number, is_same);
        }
        selection
    }

    /// Begins a lookup: [`plan`](SetLookup::plan) its requests, [`give`](SetLookup::give) it their bytes, and take the
    /// answers. If the query or the selection was made by another set, or before the set was continued, everything is
    /// *maybe*.
    pub fn lookup<'a>(&'a self, query: &Query, selection: &'a Selection) -> SetLookup<'a> {
        let column = query.column.filter(|_| [query.set_id, selection.set_id] == [self.id; 2]);
        let is_asked =
            |group: &&Group| Some(group.record.column) == column && group.files.iter().any(|&file| selection.has(file));
        let groups = self.index.groups.iter().filter(is_asked).collect();
        SetLookup::new(groups, &self.cache, query.keys.clone(), selection, column)
    }
}
