//! Building a table's filters while its cells are written, and the file of rebuilt filters.

use super::{
    CellKey, Error, FilterHandle, FilterProblem, Footer, KeyHasher, PAGE_LEN, Purpose, Warning, WritableFile,
    filter_context,
};
use core::convert::Infallible;
use filterblock::partition::{BuildFamily, Keys, PartitionBuildError, PartitionLimit, PartitionedBuilder, Ranges};
use filterblock::range::{RangeFilterBuilder, RangePolicy};
use filterblock::{BuildError, FilterBlockBuilder, FilterPolicy, KeyTransform};

/// The filters with which a table is written.
#[derive(Debug)]
pub(crate) struct FilterPolicies {
    /// By purpose, in the order of [`Purpose::OF_KEYS`], hasher and transform set.
    pub(crate) by_purpose: [Option<FilterPolicy>; Purpose::OF_KEYS.len()],
    pub(crate) range: Option<RangePolicy>,
    /// Filters are partitioned above this length, if it is given.
    pub(crate) partition_bytes: Option<u64>,
}

/// A cache line: the lines of a blocked filter are as long.
const PARTITION_ALIGNMENT: usize = 64;

#[derive(Debug)]
struct FilterInProgress {
    purpose: Purpose,
    /// Has the entries until a first partition is closed: a filter that would be a single one is one block.
    builder: FilterBlockBuilder,
    partitioned: Option<Partitioned<Keys>>,
    /// The reason why the filter cannot be built from as many entries as the table already has. It takes no more of them:
    /// a compaction spends no time on a filter that the table will not have.
    given_up: Option<BuildError>,
}

impl FilterInProgress {
    /// Adds a cell's entry. Whether that many entries have a block is checked whenever their number has doubled.
    fn add(&mut self, key: CellKey<'_>) {
        match self.purpose {
            Purpose::RowColumn => self.builder.add_row_column(key.row, key.column),
            Purpose::Row => self.builder.add_row(key.row),
            Purpose::Prefix | Purpose::Range => self.builder.add_key(key.row),
        }
        if self.builder.num_added().is_power_of_two() {
            self.given_up = self.builder.expected_block_len().err();
        }
    }
}

/// A filter that is written partitioned if it becomes large enough.
#[derive(Debug)]
struct Partitioned<F: BuildFamily> {
    builder: PartitionedBuilder<F>,
    /// The closed partitions.
    pages: Vec<u8>,
    error: Option<BuildError>,
}

impl<F: BuildFamily> Partitioned<F> {
    fn new(policy: &F::Policy, context: u64, bytes: u64) -> Option<Self> {
        let mut builder = PartitionedBuilder::new(policy, PartitionLimit::Bytes(bytes)).ok()?;
        builder.set_context(context);
        Some(Self { builder, pages: Vec::new(), error: None })
    }

    /// Adds an entry by `add`, and returns whether a partition is closed.
    fn add(
        &mut self,
        add: impl FnOnce(&mut PartitionedBuilder<F>, &mut Vec<u8>) -> Result<(), PartitionBuildError<Infallible>>,
    ) -> bool {
        if let Err(PartitionBuildError::Build { error, .. }) = add(&mut self.builder, &mut self.pages) {
            self.error = Some(error);
        }
        !self.pages.is_empty()
    }

    /// Appends the pages and the index to `out`, and returns the length of both together, and of the index.
    fn finish_into(mut self, out: &mut Vec<u8>) -> Result<(usize, u32), FilterProblem> {
        let store = |block: &[u8]| append(&mut self.pages, block);
        let (num_partitions, finished) = (self.builder.num_partitions(), self.builder.finish(store));
        let not_indexed = FilterProblem::NotIndexed { num_partitions };
        let index = match (finished, self.error) {
            (Ok(index), _) => index,
            (Err(PartitionBuildError::Build { error, .. }), _) | (Err(_), Some(error)) => {
                return Err(FilterProblem::NotBuilt(error));
            }
            // Cells come in order, so what is left is the length of the index.
            (Err(_), None) => return Err(not_indexed),
        };
        let index_len = u32::try_from(index.len()).map_err(|_| not_indexed)?;
        let Ok(index_at) = append(&mut self.pages, &index);
        out.extend_from_slice(&self.pages);
        Ok((index_at as usize + index.len(), index_len))
    }
}

impl Partitioned<Keys> {
    /// Adds a cell's entry, and returns whether a partition is closed.
    fn add_cell(&mut self, purpose: Purpose, key: CellKey<'_>) -> bool {
        self.add(|builder, pages| {
            let store = |block: &[u8]| append(pages, block);
            match purpose {
                Purpose::RowColumn => builder.add_row_column(key.row, key.column, store),
                Purpose::Row => builder.add_row(key.row, store),
                Purpose::Prefix | Purpose::Range => builder.add_key(key.row, store),
            }
        })
    }
}

/// Appends a partition and returns its offset: after the one before, or at the next page if it would otherwise lie in
/// more pages than its length takes. So a lookup reads as few pages as it can, and small partitions share a page.
fn append(pages: &mut Vec<u8>, block: &[u8]) -> Result<u64, Infallible> {
    pages.resize(pages.len().next_multiple_of(PARTITION_ALIGNMENT), 0);
    if (pages.len() % PAGE_LEN + block.len()).div_ceil(PAGE_LEN) > block.len().div_ceil(PAGE_LEN) {
        pages.resize(pages.len().next_multiple_of(PAGE_LEN), 0);
    }
    let offset = pages.len();
    pages.extend_from_slice(block);
    Ok(offset as u64)
}

/// The filters of a table that is being written.
#[derive(Debug)]
pub(crate) struct FilterWriter {
    filters: Vec<FilterInProgress>,
    /// As of a filter of hashed keys: one block, until a first partition is closed.
    range: Option<(RangeFilterBuilder, Option<Partitioned<Ranges>>)>,
}

impl FilterWriter {
    /// Filters for the file with this number.
    pub(crate) fn new(file_number: u64, policies: &FilterPolicies) -> Self {
        let filters = Purpose::OF_KEYS.into_iter().zip(&policies.by_purpose).filter_map(|(purpose, policy)| {
            let (policy, context) = (policy.as_ref()?, filter_context(file_number, purpose));
            let partitioned = policies.partition_bytes.and_then(|bytes| Partitioned::new(policy, context, bytes));
            let mut builder = FilterBlockBuilder::new(policy);
            builder.set_context(context);
            Some(FilterInProgress { purpose, builder, partitioned, given_up: None })
        });
        let range = policies.range.map(|policy| {
            let context = filter_context(file_number, Purpose::Range);
            let mut builder = RangeFilterBuilder::new(policy);
            builder.set_context(context);
            (builder, policies.partition_bytes.and_then(|bytes| Partitioned::new(&policy, context, bytes)))
        });
        Self { filters: filters.collect(), range }
    }

    /// Adds a cell, in order. `last` is the one before it.
    pub(crate) fn add(&mut self, key: CellKey<'_>, last: Option<CellKey<'_>>) {
        // Cells of a row are neighbours: its entry is added with the first of them.
        let is_new_row = last.is_none_or(|last| last.row != key.row);
        for (builder, partitioned) in self.range.iter_mut().filter(|_| is_new_row) {
            let is_closed = |partitioned: &mut Partitioned<Ranges>| {
                partitioned.add(|builder, pages| builder.add_key(key.row, |block| append(pages, block)))
            };
            if partitioned.as_mut().is_some_and(is_closed) { builder.clear() } else { builder.add_key(key.row) }
        }
        for filter in &mut self.filters {
            let is_repeated = filter.purpose != Purpose::RowColumn && !is_new_row;
            if is_repeated || filter.given_up.is_some() {
                continue;
            }
            let (purpose, partitioned) = (filter.purpose, filter.partitioned.as_mut());
            match partitioned.is_some_and(|partitioned| partitioned.add_cell(purpose, key)) {
                true => filter.builder.clear(),
                false => filter.add(key),
            }
        }
    }

    /// Appends the filter blocks, each in whole pages, to `out`, whose end will be stored at `offset` of `file`, and
    /// adds them to `footer`. A filter that cannot be built is left out with a warning: the table does not need it.
    pub(crate) fn finish_into(
        self,
        file: &str,
        mut offset: u64,
        out: &mut Vec<u8>,
        footer: &mut Footer,
    ) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut end = |out: &mut Vec<u8>, start: usize, purpose: Purpose, transform, name: &str, built| match built {
            Ok((len, index_len)) => {
                let ((purpose_id, param), len) = (purpose.to_footer(transform), len as u64);
                footer.filters.push(FilterHandle { purpose_id, param, len, index_len });
                out.resize(out.len().next_multiple_of(PAGE_LEN), 0);
                offset += (out.len() - start) as u64;
            }
            Err(problem) => {
                let (file, claimed_format) = (file.to_owned(), name.to_owned());
                warnings.push(Warning { file, offset, len: 0, claimed_format, problem });
            }
        };
        for mut filter in self.filters {
            let start = out.len();
            let partitioned = filter.partitioned.filter(|partitioned| !partitioned.pages.is_empty());
            let built = match (filter.given_up, partitioned) {
                (Some(error), _) => Err(FilterProblem::NotBuilt(error)),
                (None, Some(partitioned)) => partitioned.finish_into(out),
                (None, None) => filter.builder.finish_into(out).map(|len| (len, 0)).map_err(FilterProblem::NotBuilt),
            };
            let policy = filter.builder.policy();
            end(out, start, filter.purpose, policy.transform(), policy.kind_name(), built);
        }
        if let Some((mut builder, partitioned)) = self.range {
            let start = out.len();
            let built = match partitioned.filter(|partitioned| !partitioned.pages.is_empty()) {
                Some(partitioned) => partitioned.finish_into(out),
                None => builder.finish_into(out).map(|len| (len, 0)).map_err(FilterProblem::NotBuilt),
            };
            end(out, start, Purpose::Range, KeyTransform::Row, Purpose::Range.name(), built);
        }
        warnings
    }

    /// Writes a file of filters for the existing table of `footer`. The caller syncs and renames it.
    pub(crate) fn finish(
        self,
        file: &str,
        number: u64,
        hasher: KeyHasher,
        footer: &Footer,
        out: &mut dyn WritableFile,
    ) -> Result<Vec<Warning>, Error> {
        let (seed, filters) = (hasher.seed(), Vec::new());
        let mut footer = Footer { number, seed, data_len: 0, index_len: 0, filters, ..footer.clone() };
        let mut bytes = Vec::new();
        let warnings = self.finish_into(file, 0, &mut bytes, &mut footer);
        let page = footer.encode(bytes.len() as u64);
        bytes.extend_from_slice(&page);
        out.write_all(&bytes).map_err(|error| Error::io(file, "write", error))?;
        Ok(warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        BuildError, CellKey, FilterPolicies, FilterPolicy, FilterProblem, FilterWriter, Footer, Purpose, RangePolicy,
    };
    use filterblock::{FilterKind, KeyTransform};

    /// A filter that cannot be built takes no entry beyond the number with which that is known, and is left out with one
    /// warning; the table's other filter is written, and so are both of a table of few cells.
    #[test]
    fn a_filter_that_cannot_be_built_costs_little() {
        let capped = |purpose: Purpose, max_bytes| {
            let policy = FilterPolicy::with_max_bytes(FilterKind::Ribbon, max_bytes).expect("legal");
            Some(policy.with_transform(purpose.transform(KeyTransform::Row)))
        };
        let by_purpose = [capped(Purpose::Row, 1_000), capped(Purpose::RowColumn, 1 << 20), None];
        let policies = FilterPolicies { by_purpose, range: None, partition_bytes: None };
        for (num_rows, num_written) in [(500u32, 2), (100_000, 1)] {
            let mut writer = FilterWriter::new(7, &policies);
            let rows: Vec<[u8; 4]> = (0..num_rows).map(u32::to_be_bytes).collect();
            let mut last = None;
            for row in &rows {
                let key = CellKey { row, column: b"c" };
                writer.add(key, last);
                last = Some(key);
            }
            let num_added = writer.filters.iter().map(|filter| filter.builder.num_added()).min();
            assert!(num_added <= Some(8_192), "{num_added:?}");
            let mut footer = Footer::default();
            let warnings = writer.finish_into("table", 0, &mut Vec::new(), &mut footer);
            assert_eq!((footer.filters.len(), warnings.len()), (num_written, 2 - num_written));
            let is_cap = |problem: &FilterProblem| matches!(problem, FilterProblem::NotBuilt(BuildError::ByteCap { num_entries, .. }) if *num_entries <= 8_192);
            assert!(warnings.iter().all(|warning| is_cap(&warning.problem)), "{warnings:?}");
        }
    }

    /// A filter of nothing would deny everything. None is written, whole or partitioned, and each is warned of. (A writer
    /// cannot finish twice: it is consumed.)
    #[test]
    fn filters_of_nothing_are_not_written() {
        let policy = |purpose: Purpose| {
            let policy = FilterPolicy::with_bits_per_key(FilterKind::Ribbon, 10.0).expect("legal");
            Some(policy.with_transform(purpose.transform(KeyTransform::FixedPrefix { len: 2 })))
        };
        let ranges =
            [RangePolicy::with_bits_per_key(10.0), RangePolicy::with_false_positive_rate(0.01, 16)].map(Result::unwrap);
        for (range, partition_bytes) in ranges.into_iter().flat_map(|range| [(range, None), (range, Some(256))]) {
            let policies =
                FilterPolicies { by_purpose: Purpose::OF_KEYS.map(policy), range: Some(range), partition_bytes };
            let (mut out, mut footer) = (Vec::new(), Footer::default());
            let warnings = FilterWriter::new(7, &policies).finish_into("table", 0, &mut out, &mut footer);
            assert_eq!((out.len(), footer.filters.len(), warnings.len()), (0, 0, 4));
            let is_empty = |problem: &FilterProblem| *problem == FilterProblem::NotBuilt(BuildError::Empty);
            assert!(warnings.iter().all(|warning| is_empty(&warning.problem)), "{warnings:?}");

            let mut writer = FilterWriter::new(7, &policies);
            writer.add(CellKey { row: b"row", column: b"" }, None);
            assert_eq!(writer.finish_into("table", 0, &mut out, &mut footer), []);
            assert_eq!(footer.filters.len(), 4);
        }
    }
}
