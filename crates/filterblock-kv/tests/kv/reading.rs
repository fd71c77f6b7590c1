//! Readers of a store: what they hold, what they do not do, and what they are told of damage.

use crate::*;

#[test]
fn a_reader_holds_the_lock() {
    let storage = SimStorage::new();
    let store = open(&storage, inline());
    (0..100u8).for_each(|i| store.put(&[i], b"", b"").unwrap());
    store.flush().unwrap();
    let (scan, snapshot) = (store.scan(..), store.snapshot());
    drop(store);
    let reopened = || Store::open(Arc::new(storage.clone()), inline());
    assert!(matches!(reopened(), Err(Error::Locked)));
    drop(snapshot);
    assert!(matches!(reopened(), Err(Error::Locked)));
    assert_eq!(scan.count(), 100);
    assert!(reopened().is_ok());
}

#[test]
fn a_read_only_store_does_nothing_even_when_nothing_is_written() {
    let storage = SimStorage::new();
    let store = open(&storage, inline().with_max_level0_tables(100));
    for i in 0..4u8 {
        store.put(&[i], b"", b"").unwrap();
        store.flush().unwrap();
    }
    drop(store);
    let before = storage.names();
    let store = open(&storage, inline().with_max_level0_tables(1).with_read_only(true));
    for _ in 0..50 {
        assert!(matches!(store.write(WriteBatch::new()), Err(Error::ReadOnly)));
    }
    assert!(matches!(store.settle(), Err(Error::ReadOnly)));
    assert_eq!(storage.names(), before);
}

#[test]
fn damage_found_in_the_background_is_reported_as_damage() {
    let storage = SimStorage::new();
    let options = StoreOptions::without_filters().with_max_level0_tables(100);
    let store = open(&storage, options.clone());
    for i in 0..4u8 {
        store.put(b"row", b"", &[i; 500]).unwrap();
        store.flush().unwrap();
    }
    drop(store);
    change(&storage, &tables(&storage)[0], |bytes| bytes[100] ^= 1);
    let store = open(&storage, options.with_max_level0_tables(2));
    let settled = store.settle();
    assert!(matches!(settled, Err(Error::Damaged { .. })), "{settled:?}");
    assert_eq!(store.verify().unreadable.len(), 1);
    assert_eq!(store.get(b"row", b"").unwrap(), Some(vec![3; 500]), "the newest table is intact");
}

#[test]
fn a_cached_filter_that_can_no_longer_be_read_is_reported() {
    let storage = SimStorage::new();
    let options = inline()
        .with_filter(Purpose::Row, policy(FilterKind::Bloom, 10.0))
        .with_filter_residence(FilterResidence::Cached)
        .with_cache_bytes(64 << 10);
    let store = open(&storage, options.clone());
    let mut batch = WriteBatch::new();
    for i in 0..20_000u32 {
        batch.put(format!("{i:05}").as_bytes(), b"", &[0; 50]).unwrap();
    }
    store.write(batch).unwrap();
    store.flush().unwrap();
    let damaged = |store: &Store| store.verify().tables[0].unusable.clone();
    assert_eq!(damaged(&store), []);
    change(&storage, &tables(&storage)[0], |bytes| {
        let at = bytes.len() - 2 * PAGE_LEN;
        bytes[at - PAGE_LEN..at].fill(0xaa);
    });
    drop(store);
    // Damaged before it was opened or before it was read again: reported in both cases, and the answers stay right.
    let store = open(&storage, options.clone());
    assert_eq!(damaged(&store), [Purpose::Row]);
    assert_eq!(store.warnings().len(), 1);
    assert!(store.get(b"00777", b"").unwrap().is_some());
}
