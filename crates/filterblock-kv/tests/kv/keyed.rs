//! A store whose filters are hashed under a secret key.

use crate::fixture::files;
use crate::*;
use filterblock::{KeyHash, KeyHasher};

const KEY: [u8; 16] = *b"\x9e\x01secret of one\xff";
const NUM_ROWS: u32 = 600;

fn key() -> KeyHasher {
    KeyHasher::keyed(KEY)
}

fn other_key() -> KeyHasher {
    KeyHasher::keyed([7; 16])
}

fn policy(kind: FilterKind) -> FilterPolicy {
    FilterPolicy::with_bits_per_key(kind, 14.0).unwrap()
}

/// Filters for every purpose, without a seed or key of their own.
fn options(kind: FilterKind) -> StoreOptions {
    let options = with_both(policy(kind)).with_prefix_filter(5, policy(kind));
    options.with_maintenance(Maintenance::Inline { seed: 1 })
}

fn keyed() -> StoreOptions {
    options(FilterKind::Blocked).with_hasher(key())
}

fn row(i: u32) -> Vec<u8> {
    format!("row-{i:05}").into_bytes()
}

/// Every other row of a range.
fn load(store: &Store, rows: std::ops::Range<u32>) {
    rows.step_by(2).for_each(|i| store.put(&row(i), b"column", b"value").unwrap());
}

/// Looks up every row and cell, and expects filters for all purposes in every table, none of them unusable.
#[track_caller]
fn check(store: &Store, num_rows: u32, key_id: Option<u64>) {
    check_answers(store, num_rows);
    assert_eq!((store.stats().hash_key_id, store.warnings()), (key_id, Vec::new()));
    let verified = store.verify();
    assert_eq!((verified.false_negatives(), verified.filters().count()), (0, 3 * verified.tables.len()));
    assert!(verified.filters().all(|filter| filter.observed_fpr() < 0.02), "{verified:?}");
}

#[track_caller]
fn check_answers(store: &Store, num_rows: u32) {
    for i in 0..num_rows {
        let found = store.get(&row(i), b"column").unwrap().is_some();
        assert_eq!((found, store.get_row(&row(i)).unwrap().len() == 1), (i % 2 == 0, i % 2 == 0), "row {i}");
    }
    assert_eq!(store.scan_prefix(b"row-0").count(), num_rows as usize / 2);
}

#[test]
fn every_filter_is_hashed_under_the_key_however_it_is_written() {
    let by_policy =
        options(FilterKind::Golomb).with_filter(Purpose::RowColumn, policy(FilterKind::Blocked).with_hasher(key()));
    let [bloom, ribbon] = [FilterKind::Bloom, FilterKind::Ribbon].map(|kind| policy(kind).with_hasher(key()));
    let by_policy = by_level(by_policy, [(1, Purpose::Row, bloom), (1, Purpose::RowColumn, ribbon)]);
    let cached = keyed().with_filter_residence(FilterResidence::Cached);
    let budgeted = keyed().with_filter_budget_bytes(4_000);
    for options in [keyed(), by_policy, cached, budgeted] {
        let dir = tempfile::tempdir().unwrap();
        let open = || Store::open_dir(dir.path(), options.clone()).unwrap();
        let (store, id) = (open(), Some(key().seed()));
        // A flush.
        load(&store, 0..NUM_ROWS);
        store.flush().unwrap();
        check(&store, NUM_ROWS, id);
        // The log, whose cells become a table when it is replayed.
        load(&store, NUM_ROWS..2 * NUM_ROWS);
        store.close().unwrap();
        let store = open();
        assert_eq!((store.stats().tables.len(), store.stats().memtable_cells), (2, 0));
        check(&store, 2 * NUM_ROWS, id);
        // A compaction, and new filters.
        store.compact().unwrap();
        check(&store, 2 * NUM_ROWS, id);
        store.rebuild_filters(&RebuildOptions::new()).unwrap();
        check(&store, 2 * NUM_ROWS, id);
        store.close().unwrap();
        check(&open(), 2 * NUM_ROWS, id);
        for (name, _) in files(dir.path()).iter().filter(|(name, _)| name.ends_with(".sst")) {
            let table = TableFile::open(&dir.path().join(name)).unwrap();
            assert!(table.filters().iter().all(|filter| filter.open::<Keys>().is_err()), "none opens without the key");
            let table = table.with_hasher(key());
            assert_eq!((table.seed(), table.filters().len()), (key().seed(), 3));
            let mut filters = table.filters().iter().map(|filter| filter.open::<Keys>().unwrap());
            assert!(filters.all(|filter| *filter.entry_hasher().hasher() == key()));
            assert_eq!(table.check().unwrap().missing_in_row_filter, 0);
        }
    }
}

/// A candidate for the filters' hasher, in the files of a store, that makes every known row pass a row filter.
fn helpful_hasher(dir: &Path, key: KeyHasher) -> Option<(String, usize)> {
    let files = files(dir);
    let table = files.keys().find(|name| name.ends_with(".sst")).unwrap();
    let table = TableFile::open(&dir.join(table)).unwrap().with_hasher(key.clone());
    let filter = table.filters().iter().find(|filter| filter.purpose == Purpose::Row).unwrap();
    let filter = filter.open::<Keys>().unwrap();
    let known: Vec<Vec<u8>> = (0..60).step_by(2).map(row).collect();
    let helps =
        |hasher: KeyHasher| known.iter().all(|row| filter.may_contain_hash(KeyHash::from_raw(hasher.hash(row).get())));
    assert!(helps(key), "the search would see it");
    files.into_iter().find_map(|(name, bytes)| {
        let at = bytes.windows(16).position(|bytes| {
            let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
            let (forward, backward) = (bytes[..8].iter().fold(0, join), bytes[..8].iter().rev().fold(0, join));
            helps(KeyHasher::new(forward))
                || helps(KeyHasher::new(backward))
                || helps(KeyHasher::keyed(bytes.try_into().unwrap()))
        });
        Some((name, at?))
    })
}

#[test]
fn no_file_holds_the_key_or_a_seed_that_helps_an_attacker() {
    let written = |options: StoreOptions| {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_dir(dir.path(), options).unwrap();
        load(&store, 0..NUM_ROWS);
        store.flush().unwrap();
        store.rebuild_filters(&RebuildOptions::new()).unwrap();
        store.put(b"in the log", b"only", b"").unwrap();
        store.close().unwrap();
        dir
    };
    let dir = written(keyed());
    for (name, bytes) in files(dir.path()) {
        let backward: Vec<u8> = KEY.iter().rev().copied().collect();
        let halves = KEY.chunks(8).chain(backward.chunks(8));
        halves.for_each(|half| assert!(!bytes.windows(8).any(|window| window == half), "half of the key in {name}"));
    }
    assert_eq!(helpful_hasher(dir.path(), key()), None);
    // The search finds the seed of a store that has one: it is in the table's footer.
    let seeded = written(options(FilterKind::Blocked).with_seed(0x1234_5678_9abc_def0));
    assert!(helpful_hasher(seeded.path(), KeyHasher::new(0x1234_5678_9abc_def0)).is_some());
}

#[test]
fn without_its_key_a_store_is_not_opened_and_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_dir(dir.path(), keyed()).unwrap();
    load(&store, 0..NUM_ROWS);
    store.close().unwrap();
    let before = files(dir.path());
    let unkeyed = options(FilterKind::Blocked);
    for (options, expected) in [
        (unkeyed.clone(), None),
        (unkeyed.clone().with_seed(key().seed()), None),
        (unkeyed.clone().with_hasher(other_key()), Some(other_key().seed())),
        (with_both(policy(FilterKind::Bloom).with_hasher(other_key())), Some(other_key().seed())),
    ] {
        for read_only in [false, true] {
            match Store::open_dir(dir.path(), options.clone().with_read_only(read_only)) {
                Err(Error::HashKey { stored, given }) => assert_eq!((stored, given), (Some(key().seed()), expected)),
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(files(dir.path()) == before);
    check(&Store::open_dir(dir.path(), keyed()).unwrap(), NUM_ROWS, Some(key().seed()));
}

#[test]
fn a_key_for_a_store_that_has_none_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    Store::open_dir(dir.path(), options(FilterKind::Blocked)).unwrap().close().unwrap();
    let refused = Store::open_dir(dir.path(), keyed()).unwrap_err();
    assert!(matches!(refused, Error::HashKey { stored: None, given: Some(id) } if id == key().seed()), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("no secret key, and the secret key 0x") && text.ends_with(" was given"), "{text}");
}

#[test]
fn hashers_that_do_not_agree_are_refused() {
    let id = |hasher: KeyHasher| Some(hasher.seed());
    let with = |hasher| policy(FilterKind::Bloom).with_hasher(hasher);
    let level = |options: StoreOptions, hasher| options.with_level_filter(3, Purpose::RowColumn, with(hasher)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for (options, expected) in [
        (level(keyed(), other_key()), [id(other_key()), id(key())]),
        (level(keyed(), KeyHasher::new(5)), [None, id(key())]),
        (keyed().with_filter(Purpose::Row, with(key())).with_seed(5), [id(key()), None]),
        (level(keyed().with_filter(Purpose::Row, with(key())), other_key()), [id(other_key()), id(key())]),
    ] {
        match Store::open_dir(dir.path(), options) {
            Err(Error::ConflictingHashKeys { key_ids }) => assert_eq!(key_ids, expected),
            other => panic!("{other:?}"),
        }
        assert!(files(dir.path()).is_empty());
    }
    let store = Store::open_dir(dir.path(), keyed()).unwrap();
    load(&store, 0..NUM_ROWS);
    store.flush().unwrap();
    let seeded = RebuildOptions::new().with_seed(9);
    let other = RebuildOptions::new().with_filter(Purpose::Row, with(other_key()));
    for (options, expected) in [(seeded, [None, id(key())]), (other, [id(other_key()), id(key())])] {
        match store.rebuild_filters(&options) {
            Err(Error::ConflictingHashKeys { key_ids }) => assert_eq!(key_ids, expected),
            other => panic!("{other:?}"),
        }
    }
    store.rebuild_filters(&RebuildOptions::new().with_filter(Purpose::Row, with(key()))).unwrap();
    check(&store, NUM_ROWS, id(key()));
}

#[test]
fn a_store_can_be_given_a_key_another_key_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_dir(dir.path(), options(FilterKind::Blocked)).unwrap();
    load(&store, 0..NUM_ROWS);
    store.close().unwrap();
    let unkeyed = options(FilterKind::Blocked);
    // Filters of the old hasher can be read without it if it has a seed, as that is in the table.
    let (first, second) = (Some(key().seed()), Some(other_key().seed()));
    for (options, id, are_readable) in
        [(keyed(), first, true), (unkeyed.clone().with_hasher(other_key()), second, false), (unkeyed, None, false)]
    {
        let before = files(dir.path());
        let store = Store::open_dir(dir.path(), options.clone().with_key_change(true).with_read_only(true)).unwrap();
        check_answers(&store, NUM_ROWS);
        assert_eq!(store.warnings().len(), if are_readable { 0 } else { 3 });
        drop(store);
        assert!(files(dir.path()) == before);
        let store = Store::open_dir(dir.path(), options.clone().with_key_change(true)).unwrap();
        check_answers(&store, NUM_ROWS);
        assert_eq!(store.warnings().len(), if are_readable { 0 } else { 3 });
        store.rebuild_filters(&RebuildOptions::new()).unwrap();
        store.close().unwrap();
        check(&Store::open_dir(dir.path(), options).unwrap(), NUM_ROWS, id);
    }
}
