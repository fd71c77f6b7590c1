//! Rebuilding filters without rewriting the data.

use super::{
    Arc, Edit, Error, FileName, FilterPolicies, FilterPolicy, FilterWriter, HasherId, KeyHasher, LevelCursor, OwnedKey,
    Purpose, Reading, RowRange, Shared, Table, check_hasher, compact, entries_of, filter_policies,
};
use filterblock::range::RangePolicy;
use serde::Serialize;

/// The filters to rebuild and their new policies: according to the store's options, unless set here.
///
/// ```
/// use filterblock_kv::{Purpose, RebuildOptions, Store, StoreOptions};
/// use filterblock::{FilterKind, FilterPolicy};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let store = Store::open_dir(dir.path(), StoreOptions::default())?;
/// store.put(b"row", b"column", b"value")?;
/// store.flush()?;
/// let golomb = FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 0.001)?;
/// let report = store.rebuild_filters(&RebuildOptions::new().with_filter(Purpose::RowColumn, golomb).with_seed(7))?;
/// assert_eq!(report.tables.len(), 1);
/// # Ok(())
/// # }
/// ```
#[must_use]
#[derive(Clone, Debug, Default)]
pub struct RebuildOptions {
    /// By purpose. The last one, of ranges, is refused.
    policies: [Option<Option<FilterPolicy>>; Purpose::LOOKUPS.len()],
    range: Option<Option<RangePolicy>>,
    seed: Option<u64>,
    table: Option<u64>,
}

impl RebuildOptions {
    /// All tables, according to the store's options.
    pub fn new() -> Self {
        Self::default()
    }

    /// The filter of a purpose, or none, for these tables, in place of the store's options. Compaction still writes new
    /// tables according to the options, and filters that exceed the budget are still rebuilt to meet it. Refused for
    /// [`Purpose::Range`]: see [`RebuildOptions::with_range_filter`].
    pub fn with_filter(mut self, purpose: Purpose, policy: impl Into<Option<FilterPolicy>>) -> Self {
        self.policies[purpose.index()] = Some(policy.into());
        self
    }

    /// The range filter, or none, for these tables, in place of the store's options.
    pub fn with_range_filter(mut self, policy: impl Into<Option<RangePolicy>>) -> Self {
        self.range = Some(policy.into());
        self
    }

    /// Sets a new seed for these filters and for all written from now on. It is not for a store with a secret key: see
    /// [`StoreOptions::with_key_change`](super::super::StoreOptions::with_key_change).
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Rebuilds only the filters of the table with this number.
    pub fn with_table(mut self, number: u64) -> Self {
        self.table = Some(number);
        self
    }
}

/// The result of a rebuild.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RebuildReport {
    /// The tables, in the order in which lookups search them.
    pub tables: Vec<RebuiltTable>,
}

/// A table with new filters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RebuiltTable {
    /// The table's file.
    pub file: String,
    /// The file of its filters.
    pub filter_file: String,
    /// Length of the usable filters before, in bytes.
    pub bytes_before: u64,
    /// Length of the usable filters now, in bytes.
    pub bytes_now: u64,
}

pub(super) fn rebuild_filters(shared: &Shared, options: &RebuildOptions) -> Result<RebuildReport, Error> {
    shared.check_writable()?;
    if options.policies[Purpose::Range.index()].is_some() {
        return Err(Error::OutOfRange { option: "filter policies for ranges", given: 1, min: 0, max: 0 });
    }
    let _turn = shared.maintenance.lock();
    let given = options.policies.iter().flatten().flatten();
    given.into_iter().try_for_each(|policy| check_hasher(policy, &shared.hasher()))?;
    if let Some(seed) = options.seed {
        let key_id = HasherId::of(&shared.hasher()).key_id();
        if key_id.is_some() {
            return Err(Error::ConflictingHashKeys { key_ids: [None, key_id] });
        }
        shared.commit(&[Edit::Hasher(HasherId::Seed(seed))], |view| Ok(view.clone()))?;
        *shared.tables.hasher.write() = KeyHasher::new(seed);
    }
    let version = Arc::clone(&shared.view().version);
    let mut report = RebuildReport::default();
    for table in version.tables().filter(|table| options.table.is_none_or(|number| number == table.number())) {
        let mut policies =
            filter_policies::choose(shared, &version, &[table.number()], table.level, entries_of([table]));
        for (purpose, asked) in Purpose::OF_KEYS.into_iter().zip(options.policies.clone()) {
            if let Some(asked) = asked {
                policies.by_purpose[purpose.index()] =
                    asked.and_then(|policy| filter_policies::complete(shared, policy, table.level, purpose));
            }
        }
        policies.range = options.range.unwrap_or(policies.range);
        report.tables.push(rebuild_table(shared, table, &policies)?);
    }
    Ok(report)
}

/// Replaces a table's filters. The caller holds the maintenance lock.
pub(super) fn rebuild_table(
    shared: &Shared,
    table: &Arc<Table>,
    policies: &FilterPolicies,
) -> Result<RebuiltTable, Error> {
    let file = FileName::Filters(shared.new_number());
    let tmp = file.tmp();
    write_filters(shared, table, policies, file).inspect_err(|_| {
        // If this fails too, the next opening of the store removes it.
        let _ = shared.tables.storage.remove(&tmp);
    })?;
    let replaced = Arc::new(table.with_filter_file(file.number()));
    let bytes_now = replaced.filters.bytes();
    let edit = Edit::FiltersRebuilt { table: table.number(), file: file.number() };
    let committed = shared.commit_tables(&[edit], &[table.number()], &[Arc::clone(&replaced)]);
    committed.inspect_err(|_| {
        if !shared.is_poisoned() {
            replaced.mark_filters_obsolete();
        }
    })?;
    table.mark_filters_obsolete();
    let bytes_before = table.filters.bytes();
    Ok(RebuiltTable { file: table.file().to_owned(), filter_file: file.to_string(), bytes_before, bytes_now })
}

/// Writes and syncs the file of a table's new filters.
fn write_filters(shared: &Shared, table: &Arc<Table>, policies: &FilterPolicies, file: FileName) -> Result<(), Error> {
    let tmp = file.tmp();
    let mut writer = FilterWriter::new(file.number(), policies);
    let (mut last, mut since_poll) = (None::<OwnedKey>, 0);
    let mut cells = LevelCursor::new(vec![Arc::clone(table)], Arc::new(RowRange::ALL), Reading::Maintenance)?;
    while let Some(cell) = cells.current() {
        writer.add(cell.key, last.as_ref().map(OwnedKey::as_key));
        last.get_or_insert_default().assign(cell.key);
        if !compact::poll(shared, &mut since_poll, &cell)? {
            return Err(Error::Stalled { cause: "the store is being closed".to_owned() });
        }
        cells.advance()?;
    }
    let mut out = shared.tables.storage.create(&tmp).map_err(|error| Error::io(&tmp, "create", error))?;
    let warnings = writer.finish(&tmp, file.number(), shared.hasher(), table.footer(), &mut *out)?;
    shared.publish(&mut *out, &tmp, file)?;
    shared.sync_dir()?;
    warnings.into_iter().for_each(|warning| shared.tables.warn(warning));
    Ok(())
}
