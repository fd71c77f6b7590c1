use super::Reached;
use crate::pages::inflate;
use crate::sample::{Sample, crowded_options, options, sample};
use crate::sstable::{Forgery, Parts, context, forge, is_forged};
use crate::state::Range;
use crate::store::{all, ask, go_on, open, successor};
use filterblock::partition::{PartitionedFilter, PartitionedRangeFilter};
use filterblock::range::RangeFilter;
use filterblock::{KeyTransform, OpenOptions};
use filterblock_kv::{Purpose, RebuildOptions};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::RangeBounds;

/// Any bytes as a file of rebuilt filters, in place of the sample store's. The input's first byte determines what is
/// done with the pages that follow it:
///
/// | bits | |
/// |---|---|
/// | 0 | checksums are repaired |
/// | 1 | but not those of the filters |
/// | 2 | filters are in a cache that is too small for them |
/// | 3 | filters are rebuilt, and the store is written to, closed, opened again and compacted |
/// | 5 to 7 | all 1: everything is verified, which takes long |
///
/// Whatever the bytes, the store opens and no answer is an error. Unless a filter is forged so that it denies a cell of
/// its table, every answer is right.
pub fn filters(input: &[u8]) -> Reached {
    let Some((&mode, pages)) = input.split_first() else { return Reached::Nothing };
    let is_set = |bit: u8| mode >> bit & 1 == 1;
    let sample = sample();
    let original = &sample.files[&sample.shallow.file];
    let mut file = inflate(pages);
    if is_set(0) {
        forge(&mut file, Forgery { data: false, index: false, filters: !is_set(1), lens: true });
    }
    let is_right = !denies(&file);
    let may_deny = (is_set(0) && !is_set(1)) || is_forged(original, &file);
    assert!(is_right || may_deny, "a filter denies a cell");

    let mut files = sample.files.clone();
    files.insert(sample.shallow.file.clone(), file);
    let options = if is_set(2) { crowded_options() } else { options() };
    let opened = open(&files, options).expect("no filter keeps a store from opening");
    let store = &opened.store;
    let cells = all(store).expect("no filter keeps a scan from its cells");
    assert!(cells == sample.state.all() || !is_right, "{cells:?}");
    match is_right {
        true => assert_eq!(sample.state.ask(store).errors, 0),
        false => ask(store, &cells, false),
    }
    if mode >> 5 == 7 {
        let report = store.verify();
        assert!(report.false_negatives() == 0 || !is_right, "{report:?}");
    }
    let has_warnings = !store.warnings().is_empty();
    if is_set(3) {
        store.rebuild_filters(&RebuildOptions::new()).expect("filters can be rebuilt");
        assert_eq!(sample.state.ask(store).errors, 0);
        go_on(opened, sample.state.all().to_vec(), true);
    }
    match (has_warnings, is_right) {
        (true, _) => Reached::Refused,
        (false, false) => Reached::Opened,
        (false, true) => Reached::Compared,
    }
}

/// Returns whether a filter of the file denies a cell of the sample's table, or a range that has one. A partitioned one
/// that opens counts as one: the sample has none, so it was forged.
fn denies(file: &[u8]) -> bool {
    let Some(parts) = Parts::of(file) else { return false };
    let keys = &sample().shallow_keys;
    parts.filters.iter().zip(&parts.index_lens).any(|((id, place), &index_len)| {
        let Some(purpose) = Purpose::from_id(*id) else { return false };
        let (block, options) = (&file[place.clone()], OpenOptions::new().with_context(context(&parts, *id)));
        if index_len > 0 {
            let index = block.len().checked_sub(index_len).map(|at| &block[at..]);
            return index.is_some_and(|index| match purpose {
                Purpose::Range => PartitionedRangeFilter::open(index, options).is_ok(),
                _ => PartitionedFilter::open(index, options).is_ok(),
            });
        }
        if purpose == Purpose::Range {
            return options.open_ranges(block).is_ok_and(|filter| denies_a_range(&filter));
        }
        let Ok(filter) = options.open(block) else { return false };
        keys.iter().any(|(row, column)| {
            let mut entry = Vec::new();
            match purpose {
                Purpose::RowColumn => KeyTransform::row_column_entry(row, column, &mut entry),
                Purpose::Row => entry.extend_from_slice(row),
                _ => match filter.entry_hasher().transform().entry_of(row) {
                    Some(part) => entry.extend_from_slice(part),
                    None => return false,
                },
            }
            !filter.may_contain_hash(filter.entry_hasher().hasher().hash(&entry))
        })
    })
}

/// Returns whether a range filter denies a scan of the sample although the table has a row in it. A forged filter may,
/// even if it passes each row.
fn denies_a_range(filter: &RangeFilter<&[u8]>) -> bool {
    let Sample { state, shallow_keys, .. } = sample();
    let is_denied = |is_in: &dyn Fn(&[u8]) -> bool, may_contain: bool| {
        !may_contain && shallow_keys.iter().any(|(row, _)| is_in(row))
    };
    state.ranges.iter().any(|Range { bounds: (lower, upper), .. }| {
        let bounds = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
        let is_in = |row: &[u8]| RangeBounds::<[u8]>::contains(&bounds, row);
        is_denied(&is_in, filter.may_contain_range(bounds.0, bounds.1))
    }) || state.prefixes.iter().any(|(prefix, _)| {
        let above = successor(prefix);
        let upper = above.as_ref().map_or(Unbounded, |above| Excluded(&above[..]));
        is_denied(&|row| row.starts_with(prefix), filter.may_contain_range(Included(prefix), upper))
    })
}
