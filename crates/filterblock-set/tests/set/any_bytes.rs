//! Any bytes: no panic, and no answer *no* that a writer did not write.

use crate::*;
use proptest::prelude::*;

fn use_all(bytes: &[u8], len: u64) {
    let Ok(Opening::Ready(set)) = FilterSet::open(len, bytes, None) else { return };
    let columns: Vec<Vec<u8>> = set.columns().map(|(name, _)| name.to_vec()).collect();
    let files: Vec<(Vec<u8>, u64)> = set.files().map(|(name, identity)| (name.to_vec(), identity)).collect();
    for column in columns {
        let query = set.query(&column, [Value::Int(1), Value::Text("x"), Value::NotIndexable]);
        let selection = set.select(files.iter().map(|(name, identity)| (name, *identity)));
        for range in set.plan(&query, &selection, 10) {
            assert!(range.start < range.end && range.end <= len);
            set.give(range.start, bytes.get(range.start as usize..range.end as usize).unwrap_or(&[]));
        }
        assert_eq!(set.answer(&query, &selection).of_key(0).len(), files.len());
    }
    assert!(set.held_bytes() <= bytes.len() * 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), len in any::<u64>()) {
        use_all(&bytes, bytes.len() as u64);
        use_all(&bytes, len);
    }

    /// Bytes of a set are overwritten, before and in the index, and its checksums made right again.
    #[test]
    fn overwritten(changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..8), slices in 1u16..4) {
        let tables = tables(0, 3, 6);
        let mut bytes = set("bloom:10", slices, &tables);
        let end = bytes.len() - 12;
        for (at, byte) in changes {
            bytes[at as usize % end] = byte;
        }
        let bytes = crate::damage::repaired(bytes);
        use_all(&bytes, bytes.len() as u64);
    }

    /// Bytes given at places where they were not planned.
    #[test]
    fn given_anywhere(offset in any::<u64>(), near in 0u64..700, bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let tables = tables(0, 3, 6);
        let set = open(&set("bloom:10", 1, &tables)).expect("a set");
        set.give(offset, &bytes);
        set.give(near, &bytes);
        let (query, selection) = (set.query(b"id", [Value::Int(0)]), set.select(crate::sample::selected(&tables)));
        prop_assert_eq!(set.answer(&query, &selection).of_any_key(), vec![true; 3]);
    }
}
