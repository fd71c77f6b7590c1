//! Many tables, one hash: the read path of a log-structured store.

use super::reader::FilterBlock;
use crate::hash::KeyHash;

/// Filters of up to this many bytes together stay in a level-2 cache, where prefetching takes longer than it saves.
const MAX_CACHED_LEN: usize = 1 << 20;

/// Probes each of `tables` for `hash`, in order. The key is hashed once, and the tables' cache misses overlap: every table's
/// first lines are prefetched before the first is read, unless the filters together are so short that they lie in a cache,
/// or probes so short that they overlap by themselves.
///
/// All tables must have been written with the hasher that computed `hash`. To have this checked when a table is opened,
/// use [`OpenOptions::expect_seed`](crate::OpenOptions::expect_seed).
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
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.seed(7);
/// let mut builder = FilterBlockBuilder::new(policy);
/// let mut tables = Vec::new();
/// for key in [b"b", b"a"] {
///     builder.add_key(key);
///     let filter = OpenOptions::new().expect_seed(7).open_owned(builder.finish()?)?;
///     tables.push(Arc::new(Table { filter }));
/// }
/// let mut answers = [false; 2];
/// probe_tables(tables.iter().map(|table| &table.filter), policy.hasher().hash(b"a"), &mut answers);
/// assert_eq!(answers, [false, true]);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// If there are not as many answers as tables: a defect of the caller, whatever the blocks' bytes. And as
/// [`FilterBlock::may_contain_hash`].
#[inline]
pub fn probe_tables<'a, B, I>(tables: I, hash: KeyHash, answers: &mut [bool])
where
    B: AsRef<[u8]> + 'a,
    I: IntoIterator<Item = &'a FilterBlock<B>, IntoIter: Clone>,
{
    let tables = tables.into_iter();
    let (mut num_tables, mut num_bytes) = (0, 0usize);
    for table in tables.clone() {
        num_tables += 1;
        num_bytes = num_bytes.saturating_add(table.payload().len());
    }
    assert_eq!(num_tables, answers.len(), "one answer for each table");
    if num_bytes > MAX_CACHED_LEN {
        tables.clone().filter(|table| table.layout().gains_by_prefetch()).for_each(|table| {
            table.layout().prefetch(table.payload(), hash);
        });
    }
    tables.zip(answers).for_each(|(table, answer)| *answer = table.may_contain_hash(hash));
}
