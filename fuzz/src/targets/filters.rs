use super::Reached;
use crate::pages::inflate;
use crate::sample::{crowded_options, options, sample};
use crate::sstable::{Forgery, Parts, context, forge, is_forged};
use crate::store::{all, ask, go_on, open};
use filterblock::{KeyTransform, OpenOptions};
use filterblock_kv::{Purpose, RebuildOptions};

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
    assert_eq!(cells, sample.state.all());
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
        go_on(opened, cells, true);
    }
    match (has_warnings, is_right) {
        (true, _) => Reached::Refused,
        (false, false) => Reached::Opened,
        (false, true) => Reached::Compared,
    }
}

/// Whether a filter of the file denies a cell of the sample's table.
fn denies(file: &[u8]) -> bool {
    let Some(parts) = Parts::of(file) else { return false };
    let keys = &sample().shallow_keys;
    parts.filters.iter().any(|(id, place)| {
        let opened = OpenOptions::new().with_context(context(&parts, *id)).open(&file[place.clone()]);
        let (Some(purpose), Ok(filter)) = (Purpose::from_id(*id), opened) else { return false };
        keys.iter().any(|(row, column)| {
            let mut entry = Vec::new();
            match purpose {
                Purpose::RowColumn => KeyTransform::row_column_entry(row, column, &mut entry),
                Purpose::Row => entry.extend_from_slice(row),
                Purpose::Prefix => match filter.transform().entry_of(row) {
                    Some(part) => entry.extend_from_slice(part),
                    None => return false,
                },
                // No filter of hashed keys is probed for it.
                _ => return false,
            }
            !filter.may_contain_entry(&entry)
        })
    })
}
