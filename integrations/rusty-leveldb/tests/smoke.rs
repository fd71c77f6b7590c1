//! A database with filter blocks, written, compacted and reopened.

use filterblock_rusty_leveldb::{CompactFilters, PolicyError};
use rusty_leveldb::{DB, FilterPolicy, Options};
use std::path::Path;
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

fn parsed(text: &str) -> Rc<CompactFilters> {
    Rc::new(text.parse().expect("a policy"))
}

fn open(directory: &Path, filters: &Rc<CompactFilters>) -> DB {
    let policy: Box<dyn FilterPolicy> = Box::new(Shared(Rc::clone(filters)));
    let options = Options { filter_policy: Rc::new(policy), ..Options::default() };
    DB::open(directory, options).expect("a database")
}

/// Writes every other key to a table.
fn fill(directory: &Path, filters: &Rc<CompactFilters>) {
    let mut db = open(directory, filters);
    (0..NUM_KEYS).for_each(|i| db.put(&key(2 * i), &[7; 80]).expect("a put"));
    db.flush().expect("a flush");
    db.compact_range(b"", b"z").expect("a compaction");
    db.close().expect("closed");
}

#[test]
fn keys_are_found_and_absent_ones_answered_by_filters() {
    let directory = tempfile::tempdir().expect("a directory");
    for text in ["golomb:9.2,seed=7", "bloom:10,seed=7", "bloom:max=66,seed=7"] {
        let filters = parsed(text);
        fill(&directory.path().join(text), &filters);
        let mut db = open(&directory.path().join(text), &filters);
        for i in 0..NUM_KEYS {
            assert!(db.get(&key(2 * i)).is_some(), "{text}: key {i}");
            assert!(db.get(&key(2 * i + 1)).is_none(), "{text}: key {i}");
        }
        let is_built = !text.contains("max");
        assert_eq!((filters.unfinished() == 0, filters.unreadable() == 0), (is_built, is_built), "{text}");
        if is_built {
            assert!(filters.negatives() > u64::from(NUM_KEYS) * 98 / 100, "{text}: {}", filters.negatives());
        }
    }
}

/// Of no keys, and of two tables in a row.
#[test]
fn filters_of_no_keys_match_every_key() {
    let filters = parsed("golomb:9.2,seed=7");
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

fn of_thirty_keys(filters: &CompactFilters) -> (Vec<Vec<u8>>, Vec<u8>) {
    let keys: Vec<Vec<u8>> = (0..30).map(key).collect();
    let offsets: Vec<usize> = (0..30).map(|i| i * keys[0].len()).collect();
    let filter = filters.create_filter(&keys.concat(), &offsets);
    (keys, filter)
}

#[test]
fn damaged_filters_match_every_key() {
    let filters = parsed("golomb:9.2,seed=7");
    let (keys, filter) = of_thirty_keys(&filters);
    assert!(keys.iter().all(|key| filters.key_may_match(key, &filter)));
    assert!(!filters.key_may_match(b"absent", &filter));
    for bit in 0..filter.len() * 8 {
        let mut damaged = filter.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(filters.key_may_match(b"absent", &damaged));
    }
    assert!((0..filter.len()).all(|len| filters.key_may_match(b"absent", &filter[..len])));
}

/// The store passes a table's filter to a policy of a name that sorts before the filter's.
#[test]
fn filters_of_another_policy_match_every_key() {
    let transforms = ["whole-key", "prefix:4", "prefix:5", "whole-key+prefix:4"];
    let policy = |seed, transform| parsed(&format!("golomb:9,seed={seed},transform={transform}"));
    let policies: Vec<_> = transforms.iter().flat_map(|transform| [1, 2].map(|seed| policy(seed, transform))).collect();
    for policy in &policies {
        let (keys, filter) = of_thirty_keys(policy);
        assert!(keys.iter().all(|key| policies.iter().all(|asked| asked.key_may_match(key, &filter))));
    }
    assert!(policies.iter().all(|asked| asked.unreadable() == 30 * 7));
    // Kind and size may change.
    assert!(!parsed("bloom:10,seed=1").key_may_match(b"absent", &of_thirty_keys(&policies[0]).1));

    let directory = tempfile::tempdir().expect("a directory");
    let [written, read] = ["golomb:9.2,seed=7,transform=prefix:8", "golomb:9.2,seed=7"].map(parsed);
    fill(directory.path(), &written);
    let mut db = open(directory.path(), &read);
    assert!((0..NUM_KEYS).all(|i| db.get(&key(2 * i)).is_some()));
    assert!(read.unreadable() > 0, "the store did not pass filters of {} to {}", written.name(), read.name());
}

#[test]
fn rows_and_columns_are_no_keys_of_a_store() {
    for transform in ["row", "row+column"] {
        let refused = format!("golomb:9,transform={transform}").parse::<CompactFilters>().expect_err("no entries");
        assert!(matches!(refused, PolicyError::Transform { .. }), "{refused}");
        assert_eq!(refused.to_string(), format!("byte strings have no entries under the transform {transform}"));
    }
}
