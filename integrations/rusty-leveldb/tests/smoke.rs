//! A database with filter blocks, written, reopened and compacted.

use filterblock_rusty_leveldb::{CompactFilters, PolicyError};
use rusty_leveldb::{DB, FilterPolicy, Options};
use std::collections::HashSet;
use std::rc::Rc;

const NUM_KEYS: u32 = 20_000;

/// Shares the counts with the test.
struct Shared(Rc<CompactFilters>);

impl FilterPolicy for Shared {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn create_filter(&self, keys: &[u8], key_offsets: &[usize]) -> Vec<u8> {
        self.0.create_filter(keys, key_offsets)
    }

    fn key_may_match(&self, key: &[u8], filter: &[u8]) -> bool {
        self.0.key_may_match(key, filter)
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("user{number:08}").into_bytes()
}

#[test]
fn keys_are_found_and_absent_ones_answered_by_filters() {
    let directory = tempfile::tempdir().expect("a directory");
    for text in ["golomb:9.2,seed=7", "bloom:10,seed=7", "bloom:max=66,seed=7"] {
        let filters = Rc::new(text.parse::<CompactFilters>().expect("a policy"));
        let open = || {
            let policy: Box<dyn FilterPolicy> = Box::new(Shared(Rc::clone(&filters)));
            let options = Options { filter_policy: Rc::new(policy), ..Options::default() };
            DB::open(directory.path().join(text), options).expect("a database")
        };
        let mut db = open();
        (0..NUM_KEYS).for_each(|i| db.put(&key(2 * i), &[7; 80]).expect("a put"));
        db.flush().expect("a flush");
        db.close().expect("closed");
        drop(db);
        let mut db = open();
        db.compact_range(b"", b"z").expect("a compaction");
        for i in 0..NUM_KEYS {
            assert!(db.get(&key(2 * i)).is_some(), "{text}: key {i}");
            assert!(db.get(&key(2 * i + 1)).is_none(), "{text}: key {i}");
        }
        let is_built = !text.contains("max");
        assert_eq!(filters.unfinished() == 0, is_built, "{text}");
        assert_eq!(filters.unreadable() == 0, is_built, "{text}");
        if is_built {
            assert!(filters.negatives() > u64::from(NUM_KEYS) * 98 / 100, "{text}: {}", filters.negatives());
        }
    }
}

/// Of no keys, and of two tables in a row.
#[test]
fn filters_of_no_keys_match_every_key() {
    let filters: CompactFilters = "golomb:9.2,seed=7".parse().expect("a policy");
    let nothing = filters.create_filter(b"", &[]);
    assert!(filters.key_may_match(b"key", &nothing) && filters.key_may_match(b"", &nothing));
    assert_eq!((filters.unfinished(), filters.unreadable()), (1, 2));
    for number in 0..2 {
        let filter = filters.create_filter(&key(number), &[0]);
        assert!(filters.key_may_match(&key(number), &filter));
        assert!(!filters.key_may_match(&key(7), &filter));
    }
    assert_eq!((filters.unfinished(), filters.negatives()), (1, 2));
    // No bytes at all are no filter.
    assert!(filters.key_may_match(b"key", b""));
}

#[test]
fn damaged_filters_match_every_key() {
    let filters: CompactFilters = "golomb:9.2,seed=7".parse().expect("a policy");
    let keys: Vec<Vec<u8>> = (0..30).map(key).collect();
    let offsets: Vec<usize> = (0..30).map(|i| i * keys[0].len()).collect();
    let filter = filters.create_filter(&keys.concat(), &offsets);
    assert!(keys.iter().all(|key| filters.key_may_match(key, &filter)));
    assert!(!filters.key_may_match(b"absent", &filter));
    // Any flip of a bit is noticed but for one in 65 536.
    let mut num_unnoticed = 0;
    for bit in 0..filter.len() * 8 {
        let mut damaged = filter.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        num_unnoticed += usize::from(!filters.key_may_match(b"absent", &damaged));
    }
    assert_eq!(num_unnoticed, 0);
    assert!((0..filter.len()).all(|len| filters.key_may_match(b"absent", &filter[..len])));
}

/// The store ignores filters of another name, and would deny keys by those of another seed or transform.
#[test]
fn policies_that_hash_differently_have_different_names() {
    let name = |text: &str| rusty_leveldb::FilterPolicy::name(&text.parse::<CompactFilters>().expect("a policy"));
    let transforms = ["whole-key", "prefix:4", "prefix:5", "prefix:512", "prefix:600", "prefix:65535"];
    let texts = transforms
        .iter()
        .flat_map(|transform| [1, 2].map(|seed| format!("golomb:9,seed={seed},transform={transform}")));
    let names: HashSet<_> = texts.map(|text| name(&text)).collect();
    assert_eq!(names.len(), 2 * transforms.len());
    // Kind and size may change.
    assert_eq!(name("golomb:9,seed=1"), name("bloom:10,seed=1"));
    for transform in ["row", "row+column"] {
        let refused = format!("golomb:9,transform={transform}").parse::<CompactFilters>().expect_err("no entries");
        assert!(matches!(refused, PolicyError::Transform { .. }), "{refused}");
        assert_eq!(refused.to_string(), format!("byte strings have no entries under the transform {transform}"));
    }
}
