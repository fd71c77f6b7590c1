//! Many tables, one hash: the read path of a log-structured store.

use super::reader::FilterBlock;
use crate::hash::KeyHash;

/// The greatest length of filters that together stay in a level-2 cache, where prefetching takes longer than it saves.
const MAX_CACHED_LEN: usize = 1 << 20;

/// Probes each of `tables` for `hash`, in order. The key is hashed once, and the tables' cache misses overlap: the
/// first lines of every filter are prefetched before any filter is read. There is no prefetch where it would cost more
/// than it saves, judged by the first of them: for filters that fit a cache together, and for kinds whose probes are
/// short enough for the processor to overlap them.
///
/// All tables must have been written with the hasher and the transform that made `hash`. To have this checked when a
/// table is opened, use [`OpenOptions::expect`](crate::OpenOptions::expect).
///
/// ```
/// use filterblock::{FilterBlock, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions, probe_tables};
/// use std::sync::Arc;
///
/// struct Table {
///     filter: FilterBlock<Vec<u8>>,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_seed(7);
/// let mut builder = FilterBlockBuilder::new(&policy);
/// let mut tables = Vec::new();
/// for key in [b"b", b"a"] {
///     builder.add_key(key);
///     let filter = OpenOptions::new().expect(&policy).open_owned(builder.finish()?)?;
///     tables.push(Arc::new(Table { filter }));
/// }
/// let mut answers = [false; 2];
/// // A key without an entry has no hash, and is *maybe* in every table.
/// if let Some(hash) = policy.entry_hasher().hash_key(b"a") {
///     probe_tables(tables.iter().map(|table| &table.filter), hash, &mut answers);
/// }
/// assert_eq!(answers, [false, true]);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// If the numbers of answers and tables differ, which is a defect of the caller, never of the blocks' bytes; and where
/// [`FilterBlock::may_contain_hash`] panics.
#[inline]
pub fn probe_tables<'a, B, I>(tables: I, hash: KeyHash, answers: &mut [bool])
where
    B: AsRef<[u8]> + 'a,
    I: IntoIterator<Item = &'a FilterBlock<B>, IntoIter: Clone>,
{
    let mut tables = tables.into_iter();
    // The first table decides for all: a walk over the tables would take a third of the time of the probes of small
    // filters.
    let gains_by_prefetch = |table: &FilterBlock<B>| {
        table.layout().gains_by_prefetch() && table.payload().len().saturating_mul(answers.len()) > MAX_CACHED_LEN
    };
    if tables.clone().next().is_some_and(gains_by_prefetch) {
        tables.clone().for_each(|table| table.prefetch(hash));
    }
    let mut num_answered = 0;
    for (answer, table) in answers.iter_mut().zip(tables.by_ref()) {
        *answer = table.may_contain_hash(hash);
        num_answered += 1;
    }
    assert!(num_answered == answers.len() && tables.next().is_none(), "one answer for each table");
}
