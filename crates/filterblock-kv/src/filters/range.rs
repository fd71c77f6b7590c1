//! The range filter of an open table.

use super::{
    AlignedBytes, Arc, BlockCounters, FilterResidence, Location, OPEN_RANGE_FILTER, PinnedBytes, Probe, Purpose,
    RangeFilter, RowRange, Stored, Verdict, may_match, stored,
};
use filterblock::Query;
use filterblock::partition::Ranges;
use serde::Serialize;

/// A usable range filter of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RangeFilterStats {
    /// Length in bytes of its block, or of its partitions and their index, without the padding to pages in the file.
    pub bytes: u64,
    /// Its keys: the table's rows.
    #[serde(rename = "keys")]
    pub num_keys: u64,
    /// Bits of these bytes for each key.
    pub bits_per_key: Option<f64>,
    /// The bytes that stay in memory while its table is open: all, or none if it is in the cache; of partitions, the
    /// index.
    pub held_bytes: u64,
}

type Block = RangeFilter<AlignedBytes>;

/// A range filter that passed every check.
#[derive(Debug)]
pub(crate) struct OpenRange {
    stored: Stored<Ranges>,
    /// `None` if it is in the cache, as partitions always are.
    pinned: Option<(Arc<Block>, PinnedBytes)>,
    pub(crate) stats: RangeFilterStats,
}

impl OpenRange {
    /// Opens the filter at `location`, whose last `index_len` bytes are an index unless that is 0; `None` if it is
    /// unusable, of which a warning has then been recorded.
    pub(super) fn open(location: Location, index_len: u32) -> Option<Self> {
        let stored = Stored::<Ranges>::open(location, index_len)?;
        // Every block is opened once.
        let filter = Arc::new(stored.blocks().filter_map(|block| stored.read(block)).last()?);
        let (location, bytes) = (&stored.location, stored.len_bytes());
        let cache = &location.context.cache;
        let is_pinned = index_len == 0
            && (location.context.filter_residence == FilterResidence::Pinned
                || !cache.fits_filter(bytes + OPEN_RANGE_FILTER));
        if index_len == 0 && !is_pinned {
            cache.insert_filter(location.file_id, location.offset, Arc::clone(&filter));
        }
        let held_bytes = if is_pinned { bytes } else { index_len.into() };
        let pinned = is_pinned.then(|| (filter, cache.pin(bytes + OPEN_RANGE_FILTER)));
        let num_keys = location.max_entries;
        let bits_per_key = (num_keys > 0).then(|| bytes as f64 * 8.0 / num_keys as f64);
        let stats = RangeFilterStats { bytes, num_keys, bits_per_key, held_bytes };
        Some(Self { stored, pinned, stats })
    }

    /// A block, from memory, the cache or storage; `None` if it cannot be read again.
    fn block(&self, block: stored::Block, account: &BlockCounters) -> Option<Arc<Block>> {
        match &self.pinned {
            Some((filter, _)) => Some(Arc::clone(filter)),
            None => self.stored.load(block, account),
        }
    }

    /// All of the filter, to be probed for the rows of cells; `None` if no block of it can be read.
    pub(crate) fn load(&self, account: &BlockCounters) -> Option<Probe<'_>> {
        let blocks: Vec<_> = self.stored.blocks().map(|block| self.block(block, account)).collect();
        blocks.iter().any(Option::is_some).then(|| -> Probe<'_> {
            Box::new(move |key| {
                may_match(self.stored.index(), |number| blocks[number].as_deref(), Purpose::Range.query(key))
            })
        })
    }

    /// Returns whether the table may have a cell in the range.
    pub(super) fn probe(&self, range: &RowRange, account: &BlockCounters) -> Verdict {
        let query = Query::Range(range.start(), range.end());
        let blocks = match self.stored.find(query) {
            Ok(blocks) => blocks,
            Err(verdict) => return verdict,
        };
        let mut verdict = Verdict::No;
        for block in blocks {
            match self.block(block, account).map(|filter| filter.may_match(query)) {
                Some(true) => return Verdict::Maybe,
                Some(false) => {}
                None => verdict = Verdict::Unusable,
            }
        }
        verdict
    }
}
