use crate::pages::inflate;
use crate::sample::sample;
use crate::sstable::{Forgery, forge, is_forged};
use crate::store::{all, ask, go_on, open};
use filterblock::kv::RebuildOptions;

/// Any bytes as a file of rebuilt filters, in place of the sample store's. The input's first byte says what becomes of the
/// pages behind it: bit 0, checksums are repaired; bit 1, but not those of the filters; bit 2, everything is verified;
/// bit 3, filters are built again.
///
/// Whatever the bytes, the store opens and no answer is an error; and as long as no filter was forged, every answer is
/// right. A forged filter can deny cells, which `verify` tells.
pub fn filters(input: &[u8]) {
    let Some((&mode, pages)) = input.split_first() else { return };
    let is_set = |bit: u8| mode >> bit & 1 == 1;
    let sample = sample();
    let original = &sample.files[&sample.shallow.file];
    let mut file = inflate(pages);
    if is_set(0) {
        forge(&mut file, Forgery { data: false, index: false, filters: !is_set(1), lens: true });
    }
    let may_deny = (is_set(0) && !is_set(1)) || is_forged(original, &file);
    let mut files = sample.files.clone();
    files.insert(sample.shallow.file.clone(), file);
    let (storage, store) = open(&files).expect("no filter keeps a store from opening");
    let cells = all(&store).expect("no filter keeps a scan from its cells");
    assert_eq!(cells, sample.state.all());
    let is_right = match is_set(2) {
        true => store.verify().expect("no filter keeps tables from being read").false_negatives() == 0,
        false => !may_deny,
    };
    assert!(is_right || may_deny, "a filter denies a cell");
    ask(&store, &cells, is_right);
    if is_right {
        assert_eq!(sample.state.ask(&store).errors, 0);
    }
    if is_set(3) {
        store.rebuild_filters(&RebuildOptions::new()).expect("filters can be built again");
        assert_eq!(sample.state.ask(&store).errors, 0);
        go_on(&storage, store, cells, true);
    }
}
