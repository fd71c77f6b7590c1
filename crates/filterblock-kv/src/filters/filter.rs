//! One filter of an open table, and its answer to a lookup.

use super::{
    AlignedBytes, Arc, BlockCounters, BlockRef, CellKey, ColumnStats, ColumnSums, FilterBlock, FilterKind,
    FilterResidence, HasherId, HeldColumns, KeyHash, KeyHasher, Loaded, Location, Lookup, Outcome, PinnedBytes,
    Purpose, Stored, stored,
};
use core::cell::OnceCell;
use filterblock_engine::budget::ColumnPoint;
use filterblock_engine::ledger::FilterFacts;
use serde::{Serialize, Serializer};

/// The hashes of one lookup, each computed for the first filter that needs it and then used for every table.
///
/// Filters of a store share a hasher, except while it is being changed: for a filter of another hasher the hash is
/// computed each time.
#[derive(Debug)]
pub(crate) struct EntryHashes<'a> {
    key: CellKey<'a>,
    hashes: [OnceCell<(KeyHasher, KeyHash)>; Purpose::OF_KEYS.len()],
}

impl<'a> EntryHashes<'a> {
    /// Returns the hash for a cell, a row (the column is ignored) or a prefix, passed as the row.
    pub(crate) fn new(key: CellKey<'a>) -> Self {
        Self { key, hashes: Default::default() }
    }

    fn get(&self, purpose: Purpose, hasher: &KeyHasher) -> KeyHash {
        let hash = || (hasher.clone(), self.hash(purpose, hasher));
        match self.hashes[purpose.index()].get_or_init(hash) {
            (of, hash) if of == hasher => *hash,
            _ => self.hash(purpose, hasher),
        }
    }

    fn hash(&self, purpose: Purpose, hasher: &KeyHasher) -> KeyHash {
        match purpose {
            Purpose::Row | Purpose::Prefix | Purpose::Range => hasher.hash(self.key.row),
            Purpose::RowColumn => hasher.hash_row_column(self.key.row, self.key.column),
        }
    }
}

/// A filter's answer to a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    No,
    Maybe,
    NoFilter,
    Unusable,
}

impl Verdict {
    /// Ends a lookup that has read a block, given whether it found anything and whether that was a value.
    pub(crate) fn end(self, lookup: Lookup<'_>, found: bool, has_value: bool) {
        match self {
            Self::NoFilter => lookup.end_unfiltered(Outcome::NoFilter, found),
            Self::Unusable => lookup.end_unfiltered(Outcome::FilterUnusable, found),
            Self::No | Self::Maybe if has_value => lookup.end(Outcome::TruePositive),
            Self::No | Self::Maybe if found => lookup.end(Outcome::Tombstone),
            Self::No | Self::Maybe => lookup.end(Outcome::FalsePositive),
        }
    }
}

/// A usable filter of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterStats {
    /// Its purpose.
    pub purpose: Purpose,
    /// Its kind.
    #[serde(serialize_with = "kind_name")]
    pub kind: FilterKind,
    /// Length in bytes of its block, or of its partitions and their index, without the padding to pages in the file.
    pub bytes: u64,
    /// Its distinct entries.
    #[serde(rename = "entries")]
    pub num_entries: u64,
    /// Bits of the block for each entry; `None` without entries.
    pub bits_per_key: Option<f64>,
    /// The false-positive rate predicted from its bits, or from the columns in memory if these are not all.
    pub predicted_fpr: f64,
    /// The bytes that stay in memory while its table is open: of its block, of the columns in memory, or of the index
    /// of its partitions. Bytes in the cache do not count.
    pub held_bytes: u64,
    /// The number of its columns in memory, if a budget decides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnStats>,
    /// The id of the secret key under which its entries are hashed; `None` where they are hashed with a seed.
    #[serde(skip)]
    pub hash_key_id: Option<u64>,
}

pub(crate) fn kind_name<S: Serializer>(kind: &FilterKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

/// The place of a filter while its table is open. (There is one for each table; a pointer to the block would cost each
/// lookup a cache miss.)
#[derive(Debug)]
pub(super) enum Residence {
    /// The filter is one block, in memory.
    Pinned(FilterBlock<AlignedBytes>, #[expect(dead_code, reason = "counted until it is dropped")] PinnedBytes),
    /// The filter is in the cache, block by block.
    Cached,
    /// The filter is in storage only, except the first of its columns.
    Columns {
        /// The filter with 1, 2, … columns.
        points: Arc<[ColumnPoint]>,
        held: Option<HeldColumns>,
    },
}

/// A filter that passed every check, with its figures that take a walk through its bytes.
#[derive(Debug)]
pub(crate) struct OpenFilter {
    hasher: KeyHasher,
    residence: Residence,
    /// The facts about the stored filter, with all columns, but only the bytes that memory holds without any.
    pub(crate) stored_stats: FilterStats,
    pub(super) stored: Arc<Stored>,
}

impl OpenFilter {
    /// Opens the filter at `location`, whose last `index_len` bytes are an index unless that is 0; `None` if it is
    /// unusable, of which a warning has then been recorded.
    pub(super) fn open(purpose: Purpose, location: Location, index_len: u32) -> Option<Self> {
        let stored = Stored::open(location, index_len)?;
        let (mut sums, mut last) = (ColumnSums::default(), None);
        // Every block is opened once.
        for filter in stored.blocks().filter_map(|block| stored.read(block)) {
            sums.add(&filter);
            last = Some(filter);
        }
        let filter = last?;
        let (kind, hasher) = (filter.kind(), filter.entry_hasher().hasher().clone());
        let (bytes, num_entries) = (stored.len_bytes(), stored.num_entries().unwrap_or(filter.num_entries()));
        let predicted_fpr = if index_len > 0 { sums.rate() } else { filter.false_positive_rate() };
        let location = &stored.location;
        let (context, cache) = (&location.context, &location.context.cache);
        // A filter that the cache cannot hold would be read for each lookup.
        let is_cached = context.filter_residence == FilterResidence::Cached && cache.fits_filter(location.len);
        let points = if context.limits_columns { sums.into_points() } else { None };
        let mut held_bytes = index_len.into();
        let residence = match points {
            Some(points) => Residence::Columns { points: points.into(), held: None },
            None if index_len > 0 => Residence::Cached,
            None if is_cached => {
                cache.insert_filter(location.file_id, location.offset, Arc::new(filter));
                Residence::Cached
            }
            None => {
                held_bytes = bytes;
                Residence::Pinned(filter, cache.pin(bytes))
            }
        };
        let stats = FilterStats {
            purpose,
            kind,
            bytes,
            num_entries,
            bits_per_key: (num_entries > 0).then(|| bytes as f64 * 8.0 / num_entries as f64),
            predicted_fpr,
            held_bytes,
            columns: None,
            hash_key_id: HasherId::of(&hasher).key_id(),
        };
        Some(Self { hasher, residence, stored_stats: stats, stored: Arc::new(stored) })
    }

    /// Returns the same filter with its first `columns` columns in memory; `None` if these are held already, or if it
    /// is not kept by columns.
    pub(super) fn holding(&self, columns: u32) -> Option<Self> {
        let Residence::Columns { points, .. } = &self.residence else { return None };
        if columns == self.num_held() {
            return None;
        }
        let held = if columns > 0 { HeldColumns::read(&self.stored, columns) } else { None };
        let residence = Residence::Columns { points: Arc::clone(points), held };
        Some(Self {
            hasher: self.hasher.clone(),
            residence,
            stored_stats: self.stored_stats,
            stored: Arc::clone(&self.stored),
        })
    }

    fn held(&self) -> Option<&HeldColumns> {
        match &self.residence {
            Residence::Columns { held, .. } => held.as_ref(),
            _ => None,
        }
    }

    /// The number of columns in memory.
    pub(super) fn num_held(&self) -> u32 {
        self.held().map_or(0, |held| held.num_columns)
    }

    /// The filter with 1, 2, … columns, if it is kept by columns and can be read.
    pub(crate) fn points(&self) -> Option<&[ColumnPoint]> {
        match &self.residence {
            Residence::Columns { points, .. } if !self.stored.has_failed() => Some(points),
            _ => None,
        }
    }

    /// Returns the facts for the ledger; `None` if no column is in memory.
    pub(super) fn facts(&self) -> Option<FilterFacts> {
        let rate = match &self.residence {
            Residence::Columns { held, .. } => held.as_ref()?.predicted_fpr,
            _ => self.stored_stats.predicted_fpr,
        };
        Some(FilterFacts::new(self.stored_stats.kind, rate))
    }

    /// Its figures as it is probed.
    pub(crate) fn stats(&self) -> FilterStats {
        let Some(points) = self.points() else { return self.stored_stats };
        let (held, num_held) = (self.held(), self.num_held());
        let held_bytes = held.map_or(0, |held| held.len_bytes);
        FilterStats {
            columns: Some(ColumnStats { held: num_held, stored: points.len() as u32, held_bytes }),
            predicted_fpr: held.map_or(1.0, |held| held.predicted_fpr),
            held_bytes: self.stored_stats.held_bytes + held_bytes,
            ..self.stored_stats
        }
    }

    /// The filter's answer. A read of it is counted in `account`.
    #[inline]
    pub(super) fn probe(&self, hashes: &EntryHashes<'_>, account: &BlockCounters) -> Verdict {
        let probe = |filter: &FilterBlock<AlignedBytes>| self.verdict(filter, hashes);
        match &self.residence {
            Residence::Pinned(filter, _) => probe(filter),
            Residence::Cached => match self.find(hashes.key) {
                Ok(block) => self.stored.load(block, account).map_or(Verdict::Unusable, |filter| probe(&filter)),
                Err(verdict) => verdict,
            },
            Residence::Columns { held: None, .. } => Verdict::NoFilter,
            Residence::Columns { held: Some(held), .. } => match self.find(hashes.key) {
                Ok(block) => match &held.blocks[block.number] {
                    Some(filter) => self.verdict(filter, hashes),
                    None => Verdict::Unusable,
                },
                Err(verdict) => verdict,
            },
        }
    }

    /// The only block that may have the entry of a cell, or the answer.
    fn find(&self, key: CellKey<'_>) -> Result<stored::Block, Verdict> {
        self.stored.find(self.stored_stats.purpose.query(key))?.next().ok_or(Verdict::No)
    }

    #[inline]
    fn verdict<B: AsRef<[u8]>>(&self, filter: &FilterBlock<B>, hashes: &EntryHashes<'_>) -> Verdict {
        match filter.may_contain_hash(hashes.get(self.stored_stats.purpose, &self.hasher)) {
            true => Verdict::Maybe,
            false => Verdict::No,
        }
    }

    /// All of the filter, in memory, from the cache, or from storage; `None` if no block of it can be read.
    pub(crate) fn load(&self, account: &BlockCounters) -> Option<Loaded<'_>> {
        let block = |block| match &self.residence {
            Residence::Pinned(filter, _) => Some(BlockRef::Pinned(filter)),
            _ => self.stored.load(block, account).map(BlockRef::Read),
        };
        let blocks: Vec<_> = self.stored.blocks().map(block).collect();
        blocks.iter().any(Option::is_some).then_some(Loaded { filter: self, blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::{CellKey, EntryHashes, KeyHasher, Purpose};

    #[test]
    fn filters_of_several_hashers_get_their_own_hashes() {
        let hashes = EntryHashes::new(CellKey { row: b"row", column: b"column" });
        let (first, keyed) = (KeyHasher::new(1), KeyHasher::keyed([1; 16]));
        // A seed that equals the id of a key is another hasher.
        for hasher in [first.clone(), keyed.clone(), KeyHasher::new(2), first, KeyHasher::new(keyed.seed()), keyed] {
            assert_eq!(hashes.get(Purpose::Row, &hasher), hasher.hash(b"row"));
            assert_eq!(hashes.get(Purpose::RowColumn, &hasher), hasher.hash(b"rowcolumn\x03\0\0\0"));
        }
    }
}
