//! Many tables, one hash: the read path of a log-structured store.

use super::reader::FilterBlockReader;
use crate::hash::KeyHash;

/// Probes each of `tables` for `hash`. The key is hashed once, and the tables' cache misses overlap: unless probes are
/// so short that they overlap by themselves, every table's first lines are prefetched before the first is read.
///
/// All tables must have been written with the hasher that computed `hash`. To have this checked when a table is opened,
/// use [`OpenOptions::expect_seed`](crate::OpenOptions::expect_seed).
///
/// ```
/// use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, probe_tables};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.seed(7);
/// let mut builder = FilterBlockBuilder::new(policy);
/// let mut block_of = |key: &[u8]| {
///     builder.add_key(key);
///     builder.finish()
/// };
/// let (newer, older) = (block_of(b"b")?, block_of(b"a")?);
/// let tables = [FilterBlockReader::open(&newer)?, FilterBlockReader::open(&older)?];
/// let mut answers = [false; 2];
/// probe_tables(&tables, policy.hasher().hash(b"a"), &mut answers);
/// assert_eq!(answers, [false, true]);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// If the slices' lengths differ: a defect of the caller, whatever the blocks' bytes.
#[inline]
pub fn probe_tables(tables: &[FilterBlockReader<'_>], hash: KeyHash, answers: &mut [bool]) {
    assert_eq!(tables.len(), answers.len(), "one answer for each table");
    // The tables of a store are usually of one kind.
    if tables.first().is_some_and(|table| table.filter().gains_by_prefetch()) {
        tables.iter().for_each(|table| table.filter().prefetch(hash));
    }
    tables.iter().zip(answers).for_each(|(table, answer)| *answer = table.may_contain_hash(hash));
}
