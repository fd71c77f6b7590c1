//! What a compaction leaves.

use crate::*;

#[test]
fn compaction_leaves_no_tombstone_in_any_level() {
    let storage = SimStorage::new();
    let at = |base| inline().with_max_level0_tables(1).with_level_bytes(base, 2);
    let write = |options, rows: &dyn Fn(&mut WriteBatch, u32)| {
        let store = open(&storage, options);
        let mut batch = WriteBatch::new();
        (0..10_000).for_each(|i| rows(&mut batch, i));
        store.write(batch).unwrap();
        store.flush().unwrap();
        store.settle().unwrap();
    };
    let row = |i: u32| format!("k{i:08}").into_bytes();
    write(at(1), &|batch, i| drop(batch.put(&row(i), b"", b"").map(|_| ())));
    write(at(200_000), &|batch, i| drop(batch.delete(&row(i), b"").map(|_| ())));
    let store = open(&storage, at(1 << 40));
    store.delete(b"k00000005x", b"").unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    let store = open(&storage, at(13_000));
    store.settle().unwrap();
    store.compact().unwrap();
    let tables = store.stats().tables;
    assert_eq!(tables.iter().map(|table| table.num_tombstones).sum::<u64>(), 0, "{tables:?}");
    assert_eq!(store.scan(..).count(), 0);
}
