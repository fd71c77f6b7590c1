//! Options at the ends of their ranges, and beyond.

use crate::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn extreme_options_make_odd_stores_that_work() {
    for options in [
        inline().with_max_memtable_bytes(1),
        inline().with_max_memtable_bytes(usize::MAX),
        inline().with_max_table_bytes(1),
        inline().with_level_bytes(1, 2).with_max_level0_tables(1),
        inline().with_level_bytes(u64::MAX, u32::MAX).with_max_table_bytes(u64::MAX).with_max_level0_tables(1_000_000),
        inline().with_cache_bytes(1),
        inline().with_cache_bytes(1 << 44),
        inline().with_partition_bytes(256),
        inline().with_partition_bytes(1 << 30),
        inline().with_durability(Durability::Interval(Duration::ZERO)),
        inline().with_durability(Durability::Interval(DAY)),
        inline().with_filter(Purpose::Row, policy(FilterKind::Bloom, 10.0)).with_filter_budget_bytes(0),
        inline().with_prefix_filter(1, policy(FilterKind::Bloom, 10.0)),
        inline().with_prefix_filter(u16::MAX, policy(FilterKind::Bloom, 10.0)),
    ] {
        let storage = SimStorage::new();
        let store = open(&storage, options.clone());
        for i in 0..60u8 {
            store.put(&[i], b"column", &[i; 100]).unwrap();
        }
        store.settle().unwrap();
        store.compact().unwrap();
        store.close().unwrap();
        let store = open(&storage, options);
        assert!((0..60u8).all(|i| store.get(&[i], b"column").unwrap() == Some(vec![i; 100])));
        assert_eq!(store.scan_prefix(&[7]).count(), 1);
        assert_eq!(store.ledger_report().check(), Ok(()));
    }
}

#[test]
fn options_out_of_their_range_are_refused_before_anything_is_touched() {
    let bloom = policy(FilterKind::Bloom, 10.0);
    let second = Duration::from_secs(1);
    let cases = [
        (inline().with_max_memtable_bytes(0), "max_memtable_bytes", 0, 1, u64::MAX),
        (inline().with_max_table_bytes(0), "max_table_bytes", 0, 1, u64::MAX),
        (inline().with_max_level0_tables(0), "max_level0_tables", 0, 1, 1_000_000),
        (inline().with_max_level0_tables(1_000_001), "max_level0_tables", 1_000_001, 1, 1_000_000),
        (inline().with_level_bytes(0, 2), "level_bytes' base", 0, 1, u64::MAX),
        (inline().with_level_bytes(1, 1), "level_bytes' ratio", 1, 2, u32::MAX.into()),
        (inline().with_cache_bytes((1 << 44) + 1), "cache_bytes", (1 << 44) + 1, 0, 1 << 44),
        (inline().with_partition_bytes(255), "partition_bytes", 255, 256, 1 << 30),
        (inline().with_partition_bytes((1 << 30) + 1), "partition_bytes", (1 << 30) + 1, 256, 1 << 30),
        (inline().with_prefix_filter(0, bloom.clone()), "prefix_filter's length", 0, 1, 65_535),
        (
            inline().with_level_filter(3, Purpose::Prefix, bloom.clone()).unwrap(),
            "prefix_filter's length",
            0,
            1,
            65_535,
        ),
        (inline().with_filter(Purpose::Range, bloom.clone()), "filter policies for ranges", 1, 0, 0),
        (inline().with_level_filter(3, Purpose::Range, bloom).unwrap(), "filter policies for ranges", 1, 0, 0),
        (
            inline().with_durability(Durability::Interval(DAY + second)),
            "durability's interval in milliseconds",
            86_401_000,
            0,
            86_400_000,
        ),
    ];
    for (options, option, given, min, max) in cases {
        let storage = SimStorage::new();
        let refused = Store::open(Arc::new(storage.clone()), options.clone()).unwrap_err();
        let is_right = matches!(&refused, Error::OutOfRange { option: o, given: g, min: low, max: high }
            if (*o, *g, *low, *high) == (option, given, min, max));
        assert!(is_right, "{option}: {refused}");
        assert_eq!(storage.num_operations(), 0);
        let dir = tempfile::tempdir().unwrap();
        assert!(Store::open_dir(&dir.path().join("db"), options).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
