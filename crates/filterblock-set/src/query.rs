//! The two parts of a lookup: keys of a column, hashed, and files as the caller's table lists them.

use crate::group::Group;
use crate::mask::FileMask;
use crate::value::{EntryBuffer, Value, ValueClass};
use filterblock::{KeyHash, KeyHasher};
use std::sync::OnceLock;

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
    num_files: usize,
    num_changed: usize,
    /// For each file of the set its place in the table; `None`: the table does not have it in the state that the set knows.
    places: Vec<Option<u32>>,
    /// The places of files that the table lists again, each with the file's first place.
    again: Vec<[u32; 2]>,
    /// For each column the files that no group has, once a lookup has asked for them.
    ungrouped: Vec<OnceLock<FileMask>>,
}

impl Selection {
    /// Returns the selection of no files, by a set of that many files and columns.
    pub(crate) fn new(set_id: u64, num_files: usize, num_columns: usize) -> Self {
        let (places, ungrouped) = (vec![None; num_files], vec![OnceLock::new(); num_columns]);
        Self { set_id, num_files: 0, num_changed: 0, places, again: Vec::new(), ungrouped }
    }

    /// Adds a file: the set's number of its name, and whether its state is the one that the set knows.
    pub(crate) fn push(&mut self, number: Option<u32>, is_same: bool) {
        let place = u32::try_from(self.num_files);
        self.num_files += 1;
        self.num_changed += usize::from(number.is_some() && !is_same);
        let (Some(number), Ok(place), true) = (number, place, is_same) else { return };
        let first = *self.places[number as usize].get_or_insert(place);
        if first != place {
            self.again.push([place, first]);
        }
    }

    /// Returns whether the table has a file of the set.
    pub(crate) fn has(&self, file: u32) -> bool {
        self.places[file as usize].is_some()
    }

    /// Sets the bit of a file of the set, if the table has it.
    #[inline]
    pub(crate) fn set(&self, mask: &mut FileMask, file: u32, may_contain: bool) {
        if let Some(place) = self.places[file as usize] {
            mask.set(place as usize, may_contain);
        }
    }

    /// Gives files that the table lists again the answers of their first places.
    pub(crate) fn repeat(&self, mask: &mut FileMask) {
        for [place, first] in self.again.iter().map(|pair| pair.map(|place| place as usize)) {
            mask.set(place, mask.contains(first));
        }
    }

    /// Returns the files that none of `groups`, those of the column, has: *maybe*, whatever is asked. Of files that the
    /// table lists again, the first places alone are right.
    pub(crate) fn ungrouped(&self, column: u16, groups: &[&Group]) -> FileMask {
        let all_others = || {
            let mut mask = FileMask::all(self.num_files);
            groups.iter().flat_map(|group| &group.files).for_each(|&file| self.set(&mut mask, file, false));
            mask
        };
        self.ungrouped[usize::from(column)].get_or_init(all_others).clone()
    }

    /// Returns the number of files.
    pub fn num_files(&self) -> usize {
        self.num_files
    }

    /// Returns the number of files that the set knows in their present state.
    pub fn num_known(&self) -> usize {
        self.places.iter().flatten().count() + self.again.len()
    }

    /// Returns the number of files whose names the set knows with another identity: they have changed since, or their
    /// identities are made of other parts than those of the set.
    pub fn num_changed(&self) -> usize {
        self.num_changed
    }

    /// Returns the number of files whose names the set does not know. If that is all of them, the names may have
    /// another form than those in the set, such as a URL in place of a path: they are compared byte by byte.
    pub fn num_unknown(&self) -> usize {
        self.num_files - self.num_known() - self.num_changed
    }
}
