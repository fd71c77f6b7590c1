//! A lookup: which units it needs, by which requests they are read, and what they answer.

use crate::group::{Group, Record, Unit};
use crate::mask::{FileMask, ones};
use crate::query::Selection;
use filterblock::{DecodeError, KeyHash};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A unit of a group: the group's number, the part and the unit.
type UnitId = (u32, u32, u32);

/// A unit among those of all groups: the group's context and offset, the part and the unit. Groups of files with equal
/// identities have equal contexts.
type CacheKey = (u64, u64, u32, u32);

/// Units that lookups have read, up to a number of bytes. Threads share it.
#[derive(Debug)]
pub(crate) struct UnitCache {
    max_bytes: usize,
    held: Mutex<Held>,
}

/// Two generations of at most half of the bytes each: what is not used while the first fills is forgotten with the
/// second, so that no use is recorded, and nothing sorted.
#[derive(Debug, Default)]
struct Held {
    units: [HashMap<CacheKey, Unit>; 2],
    bytes: [usize; 2],
}

impl Held {
    fn get(&mut self, id: &CacheKey, half: usize) -> Option<Unit> {
        if let Some(unit) = self.units[0].get(id) {
            return Some(unit.clone());
        }
        let unit = self.units[1].remove(id)?;
        self.bytes[1] -= unit.len();
        self.put(*id, &unit, half);
        Some(unit)
    }

    fn put(&mut self, id: CacheKey, unit: &Unit, half: usize) {
        if unit.len() > half {
            return;
        }
        if self.bytes[0] + unit.len() > half {
            self.units.swap(0, 1);
            self.units[0].clear();
            self.bytes = [0, self.bytes[0]];
        }
        if self.units[0].insert(id, unit.clone()).is_none() {
            self.bytes[0] += unit.len();
        }
    }
}

impl UnitCache {
    /// Returns a cache that holds at most `max_bytes` of units, and none that are longer than half of this.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, held: Mutex::default() }
    }

    /// Returns the number of bytes of the units that are held.
    pub(crate) fn held_bytes(&self) -> usize {
        self.lock().bytes.iter().sum()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lookup of values in files.
///
/// It does no input or output: [`plan`](Self::plan) names ranges of the set, the caller reads them, [`give`](Self::give)
/// takes their bytes. It keeps the units that it uses, whatever other lookups evict meanwhile.
#[derive(Debug)]
pub struct SetLookup<'a> {
    /// Those of the column that have a file of the selection.
    groups: Vec<&'a Group>,
    cache: &'a UnitCache,
    /// `None`: the key is *maybe*.
    keys: Vec<Option<KeyHash>>,
    selection: &'a Selection,
    /// `None`: the column is unknown, or the query or the selection was made by another set, so all files are *maybe*.
    column: Option<u16>,
    /// What the keys visit: rows of any other unit are ones.
    units: HashMap<UnitId, Unit>,
    /// What they visit besides and was not given yet, with where it begins.
    missing: BTreeSet<(u64, UnitId)>,
    bad: Vec<(u16, DecodeError)>,
}

impl<'a> SetLookup<'a> {
    pub(crate) fn new(
        groups: Vec<&'a Group>,
        cache: &'a UnitCache,
        keys: Vec<Option<KeyHash>>,
        selection: &'a Selection,
        column: Option<u16>,
    ) -> Self {
        let (mut units, mut missing, mut held) = (HashMap::new(), BTreeSet::new(), cache.lock());
        for (number, group) in (0..=u32::MAX).zip(&groups) {
            let parts = 0..group.record.table.shape.num_visits;
            for (part, hash) in parts.flat_map(|part| keys.iter().flatten().map(move |hash| (part, hash))) {
                let (page, _) = group.record.table.visit(*hash, part);
                let (part, unit) = (part.into(), page / group.record.unit_pages);
                if let Entry::Vacant(entry) = units.entry((number, part, unit)) {
                    match held.get(&(group.context, group.record.offset, part, unit), cache.max_bytes / 2) {
                        Some(opened) => drop(entry.insert(opened)),
                        None => drop(missing.insert((group.record.unit_range(part, unit).start, entry.into_key()))),
                    }
                }
            }
        }
        drop(held);
        Self { groups, cache, keys, selection, column, units, missing, bad: Vec::new() }
    }

    /// Returns the range of a unit.
    fn range(&self, (group, part, unit): UnitId) -> Range<u64> {
        self.groups[group as usize].record.unit_range(part, unit)
    }

    /// Returns the ranges of the set that are to be read, in ascending order: all at once, if the caller can. Ranges with
    /// at most `max_gap` bytes between them are joined.
    pub fn plan(&self, max_gap: u64) -> Vec<Range<u64>> {
        let mut ranges: Vec<_> = self.missing.iter().map(|&(_, id)| self.range(id)).collect();
        ranges.dedup_by(|next, before| {
            let joins = next.start <= before.end.saturating_add(max_gap);
            if joins {
                before.end = before.end.max(next.end);
            }
            joins
        });
        ranges
    }

    /// Takes bytes of the set that begin at `offset`. Units that are not in them as a whole stay missing; the rows of
    /// these, and of those whose check fails, are all ones: *maybe*.
    pub fn give(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset.saturating_add(bytes.len() as u64);
        let within = self.missing.range((offset, (0, 0, 0))..=(end, (0, 0, 0)));
        let given: Vec<_> = within.copied().filter(|&(_, id)| self.range(id).end <= end).collect();
        for (start, id @ (group, part, unit)) in given {
            self.missing.remove(&(start, id));
            let (of, end) = (self.groups[group as usize], self.range(id).end);
            match of.open(part, unit, &bytes[(start - offset) as usize..(end - offset) as usize]) {
                Ok(opened) => {
                    let key = (of.context, of.record.offset, part, unit);
                    self.cache.lock().put(key, &opened, self.cache.max_bytes / 2);
                    self.units.insert(id, opened);
                }
                Err(error) => self.bad.push((of.record.column, error)),
            }
        }
    }

    /// Fetches what is missing for the answers. After an error the other ranges are still fetched, and what the failed
    /// ones would have answered is *maybe*; the next call tries them again.
    ///
    /// # Errors
    /// The first error of `fetch`.
    pub fn load<B: AsRef<[u8]>, E>(
        &mut self,
        max_gap: u64,
        mut fetch: impl FnMut(Range<u64>) -> Result<B, E>,
    ) -> Result<(), E> {
        let mut result = Ok(());
        for range in self.plan(max_gap) {
            match fetch(range.clone()) {
                Ok(bytes) => self.give(range.start, bytes.as_ref()),
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    /// Returns the units that did not check: the number of the column of each, and the defect.
    pub fn bad_units(&self) -> &[(u16, DecodeError)] {
        &self.bad
    }

    /// Returns for each key the files that may have it, from what was given. What was not is *maybe*.
    pub fn each(&self) -> Vec<FileMask> {
        self.keys.iter().map(|key| self.any_of(std::slice::from_ref(key))).collect()
    }

    /// Returns the files that may have any of the keys, by one pass over the groups: those that a predicate `IN` has to
    /// read. If there are no keys, no file of a group has one, so leave out no key that has no entry: it is *maybe*.
    pub fn any(&self) -> FileMask {
        self.any_of(&self.keys)
    }

    fn any_of(&self, keys: &[Option<KeyHash>]) -> FileMask {
        let Some(column) = self.column.filter(|_| keys.iter().all(Option::is_some)) else {
            return FileMask::all(self.selection.num_files());
        };
        let (mut mask, mut lanes, mut any) = (self.selection.ungrouped(column, &self.groups), Vec::new(), Vec::new());
        for (number, group) in self.groups.iter().enumerate() {
            any.clear();
            any.resize(group.files.len().div_ceil(64), 0);
            for hash in keys.iter().flatten() {
                self.and_rows(number, *hash, &mut lanes);
                any.iter_mut().zip(&lanes).for_each(|(any, lanes): (&mut u64, _)| *any |= lanes);
            }
            for (files, word) in group.files.chunks(64).zip(&any) {
                let may_contain = ones(*word).filter_map(|lane| files.get(lane));
                may_contain.for_each(|&file| self.selection.set(&mut mask, file, true));
            }
        }
        self.selection.repeat(&mut mask);
        mask
    }

    /// Sets `lanes` to the answers of a group to a hash, the AND of the rows that are known. Lane l is bit l mod 64 of word
    /// l div 64; bits beyond the last lane are of no meaning.
    fn and_rows(&self, number: usize, hash: KeyHash, lanes: &mut Vec<u64>) {
        let group = self.groups[number];
        let Record { table, unit_pages, .. } = group.record;
        lanes.clear();
        lanes.resize(group.files.len().div_ceil(64), !0);
        for part in 0..table.shape.num_visits {
            let (page, bits) = table.visit(hash, part);
            let Some(unit) = self.units.get(&(number as u32, part.into(), page / unit_pages)) else { continue };
            for row in table.rows(bits) {
                group.and_row(unit, group.record.row(page, row), lanes);
            }
        }
    }
}
