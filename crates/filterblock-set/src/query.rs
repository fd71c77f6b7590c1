//! The two parts of a lookup: keys of a column, hashed, and files as the caller's table lists them.

use crate::value::{EntryBuffer, Value, ValueClass};
use filterblock::{KeyHash, KeyHasher};

/// Keys of one column, hashed once for all files. Made by [`FilterSet::query`](crate::FilterSet::query).
#[derive(Clone, Debug)]
pub struct Query {
    /// The id of the set that made it.
    pub(crate) set_id: u64,
    /// `None`: the set does not have the column, or does not know what its values are.
    pub(crate) column: Option<u16>,
    /// `None`: the key has no canonical entry of the column's class.
    pub(crate) keys: Vec<Option<KeyHash>>,
}

impl Query {
    /// Returns the number of keys.
    pub fn num_keys(&self) -> usize {
        self.keys.len()
    }

    /// Returns the numbers of the keys whose answer is *maybe* for every file, as they have no entry that could be
    /// looked up.
    pub fn unanswerable(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.keys.len()).filter(|&key| self.keys[key].is_none())
    }
}

/// Returns the hash of a value's entry; `None` if it is not indexable or of another class.
#[inline]
pub(crate) fn hash_of(
    hasher: &KeyHasher,
    class: ValueClass,
    value: &Value<'_>,
    buffer: &mut EntryBuffer,
) -> Option<KeyHash> {
    let is_of_class = value.class() == Some(class);
    value.entry(buffer).filter(|_| is_of_class).map(|entry| hasher.hash(entry))
}

/// Files as the caller's table lists them now. Made by [`FilterSet::select`](crate::FilterSet::select).
#[derive(Clone, Debug)]
pub struct Selection {
    /// The id of the set that made it.
    pub(crate) set_id: u64,
    /// The set's number of each file; `None`: the set does not know it, or knows another state of it.
    pub(crate) files: Vec<Option<u32>>,
    /// Whether a file of the set is among them.
    pub(crate) is_selected: Vec<bool>,
    pub(crate) num_changed: usize,
}

impl Selection {
    /// Returns the number of files.
    pub fn num_files(&self) -> usize {
        self.files.len()
    }

    /// Returns the number of files that the set knows in their present state.
    pub fn num_known(&self) -> usize {
        self.files.iter().flatten().count()
    }

    /// Returns the number of files whose names the set knows with another identity: they have changed since, or their
    /// identities are made of other parts than those of the set.
    pub fn num_changed(&self) -> usize {
        self.num_changed
    }

    /// Returns the number of files whose names the set does not know. If that is all of them, the names may have
    /// another form than those in the set, such as a URL in place of a path: they are compared byte by byte.
    pub fn num_unknown(&self) -> usize {
        self.files.len() - self.num_known() - self.num_changed
    }
}

/// The answers for some keys and files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    pub(crate) num_files: usize,
    /// Key after key, an answer for each file: false is *no*.
    pub(crate) may_contain: Vec<bool>,
}

impl Answers {
    /// Returns, for each file in the order of the selection, whether it may have key number `key`.
    ///
    /// # Panics
    /// If the query had fewer keys.
    pub fn of_key(&self, key: usize) -> &[bool] {
        &self.may_contain[key * self.num_files..][..self.num_files]
    }

    /// Returns, for each file, whether it may have any of the keys: the files that a predicate `IN` has to read. It is
    /// none if the query has no keys, so leave out no key that has no entry: such a key is *maybe*.
    pub fn of_any_key(&self) -> Vec<bool> {
        let num_keys = self.may_contain.len().checked_div(self.num_files).unwrap_or(0);
        (0..self.num_files).map(|file| (0..num_keys).any(|key| self.of_key(key)[file])).collect()
    }
}
