//! Leveled compaction: which tables are merged into which level.
//!
//! A level that is too large passes tables to the next: level 0 all of them, as they overlap; a deeper level one at a
//! time, the one that rewrites the least. They are merged with the tables of the next level that they overlap.

use super::manifest::NUM_LEVELS;
use super::options::StoreOptions;
use super::sstable::Table;
use super::version::Version;
use std::sync::Arc;

/// Tables to be merged, and the level that takes them.
#[derive(Clone, Debug)]
pub(crate) struct Compaction {
    /// Tables of the level above: those of level 0 newest first, those of another level in key order.
    pub(crate) upper: Vec<Arc<Table>>,
    /// Tables of the level that takes them, in key order.
    pub(crate) lower: Vec<Arc<Table>>,
    pub(crate) from_level: usize,
    pub(crate) to_level: usize,
}

impl Compaction {
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.upper.iter().chain(&self.lower)
    }

    /// Whether its tables can become tables of the next level as they are: nothing there to merge with, no overlap
    /// among them, and no tombstone that a merge might drop.
    pub(crate) fn is_move(&self) -> bool {
        let disjoint = || {
            let mut ranges: Vec<_> = self.upper.iter().map(|table| (table.first_key(), table.last_key())).collect();
            ranges.sort_unstable();
            ranges.windows(2).all(|pair| pair[0].1 < pair[1].0)
        };
        let resolved = self.upper.iter().all(|table| table.footer().num_tombstones == 0);
        self.lower.is_empty() && resolved && disjoint()
    }
}

/// The most urgent compaction, if any is due.
pub(crate) fn pick(version: &Version, options: &StoreOptions) -> Option<Compaction> {
    let (level, score) =
        (0..NUM_LEVELS - 1).map(|level| (level, score(version, options, level))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    if score < 1.0 {
        return None;
    }
    if level == 0 {
        return compact_into_next(version, 0, version.level(0).to_vec());
    }
    let cost = |table: &Arc<Table>| {
        let overlapping = version.overlapping(level + 1, table.first_key(), table.last_key());
        let bytes: u64 = version.level(level + 1)[overlapping].iter().map(|table| table.file_len()).sum();
        bytes as f64 / table.file_len() as f64
    };
    let cheapest = version.level(level).iter().map(|table| (table, cost(table))).min_by(|a, b| a.1.total_cmp(&b.1));
    compact_into_next(version, level, vec![Arc::clone(cheapest?.0)])
}

/// How full a level is: 1 is full.
fn score(version: &Version, options: &StoreOptions, level: usize) -> f64 {
    if level == 0 {
        return version.level(0).len() as f64 / options.level0_tables_max as f64;
    }
    let ratio = f64::from(options.level_ratio).powi(level as i32 - 1);
    version.level_bytes(level) as f64 / (options.level_bytes_base as f64 * ratio).max(1.0)
}

/// A whole level into the next.
pub(crate) fn whole_level(version: &Version, level: usize) -> Option<Compaction> {
    compact_into_next(version, level, version.level(level).to_vec())
}

/// The tables of the deepest level that still have tombstones, to be rewritten without them.
pub(crate) fn tombstones_of(version: &Version, deepest: usize) -> Option<Compaction> {
    let has_tombstones = |table: &&Arc<Table>| table.footer().num_tombstones > 0;
    let upper: Vec<Arc<Table>> = version.level(deepest).iter().filter(has_tombstones).map(Arc::clone).collect();
    (!upper.is_empty()).then(|| Compaction { upper, lower: Vec::new(), from_level: deepest, to_level: deepest })
}

fn compact_into_next(version: &Version, level: usize, upper: Vec<Arc<Table>>) -> Option<Compaction> {
    let first = upper.iter().map(|table| table.first_key()).min()?;
    let last = upper.iter().map(|table| table.last_key()).max()?;
    let to_level = (level + 1).min(NUM_LEVELS - 1);
    if to_level == level {
        return None;
    }
    let overlapping = version.overlapping(to_level, first, last);
    let lower = version.level(to_level)[overlapping].to_vec();
    Some(Compaction { upper, lower, from_level: level, to_level })
}
