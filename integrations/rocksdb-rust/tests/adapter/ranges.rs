//! Scans at the edges of what a range is.

use crate::{fresh, key, open, store, with_table};
use filterblock_rocksdb::{Error, Finding, RangeFilters, Row, set_range_filters, set_verified_range_filters};
use rocksdb::{ChecksumType, DB, Direction, IterateBounds, PrefixRange, WriteBatch};

fn scanned(ranges: &RangeFilters, db: &DB, range: impl IterateBounds) -> Vec<Row> {
    ranges.scan(db, range, Direction::Forward).collect::<Result<_, _>>().unwrap()
}

#[test]
fn tables_without_rows_in_the_range_are_left_out() {
    let mut options = fresh();
    options.set_disable_auto_compactions(true);
    let ranges = set_range_filters(&mut options, &"range:fpr=1%,len=16".parse().unwrap()).unwrap();
    let (_directory, db) = open(&options);
    // Overlapping tables: each has every fifth of the keys.
    for table in 0..5 {
        (table..5_000).step_by(5).for_each(|i| db.put(key(10 * i), b"value").unwrap());
        db.flush().unwrap();
    }
    for i in 0..1_000 {
        assert!(scanned(&ranges, &db, key(10 * i + 1)..key(10 * i + 9)).is_empty());
        assert_eq!(scanned(&ranges, &db, key(10 * i)..key(10 * i + 9)).len(), 1);
    }
    let counts = ranges.counts();
    assert_eq!((counts.built, counts.asked, counts.unusable), (5, 10_000, 0));
    // 9000 of the tables have nothing in the range, and one of a hundred passes, within four standard deviations.
    assert!((9_000 - 90 - 38..=9_000).contains(&counts.skipped), "{counts:?}");
    assert!(ranges.verdict().is_fine, "{}", ranges.verdict());
}

#[test]
fn bounds_are_those_of_rust() {
    let mut options = with_table(|table| table.set_checksum_type(ChecksumType::NoChecksum));
    let policy = "range:14".parse().unwrap();
    assert_eq!(set_range_filters(&mut options, &policy).unwrap_err(), Error::Useless(vec![Finding::NoChecksums]));
    let ranges = set_verified_range_filters(&mut options, &policy).unwrap();
    let (_directory, db) = open(&options);
    ["", "a", "ab", "b", "\u{7f}"].iter().for_each(|key| db.put(key, key).unwrap());
    db.put(b"\xff\xff", b"last").unwrap();
    db.flush().unwrap();
    let count = |range: std::ops::Range<&str>| scanned(&ranges, &db, range).len();
    assert_eq!(count("".."b"), 3);
    assert_eq!(count(""..""), 0);
    assert_eq!(count("a".."a"), 0);
    assert_eq!(count("b".."a"), 0, "inverted");
    assert_eq!(scanned(&ranges, &db, ..""), []);
    assert_eq!(scanned(&ranges, &db, ..).len(), 6);
    assert_eq!(scanned(&ranges, &db, "b"..).len(), 3);
    assert_eq!(scanned(&ranges, &db, PrefixRange("a")).len(), 2);
    assert_eq!(scanned(&ranges, &db, PrefixRange("c")).len(), 0);
    assert_eq!(scanned(&ranges, &db, PrefixRange(&b"\xff"[..])).len(), 1);
    assert_eq!(scanned(&ranges, &db, PrefixRange("")).len(), 6);
    let last = ranges.scan(&db, .., Direction::Reverse).next().unwrap().unwrap();
    assert_eq!(last, (Box::from(&b"\xff\xff"[..]), Box::from(&b"last"[..])));
}

#[test]
fn a_scan_sees_deletions_of_ranges_and_what_is_not_flushed() {
    let mut options = fresh();
    options.set_disable_auto_compactions(true);
    let ranges = set_range_filters(&mut options, &"range:14".parse().unwrap()).unwrap();
    let (_directory, db) = open(&options);
    store(&db, 1_000);
    // The table with the deletion has no key between its ends.
    let mut deletion = WriteBatch::default();
    deletion.delete_range(key(200), key(400));
    db.write(deletion).unwrap();
    db.flush().unwrap();
    assert_eq!(scanned(&ranges, &db, key(300)..key(310)), []);
    assert_eq!(scanned(&ranges, &db, key(190)..key(410)).len(), 10);
    db.put(key(301), b"again").unwrap();
    assert_eq!(scanned(&ranges, &db, key(300)..key(310)).len(), 1);
}

#[test]
fn what_makes_range_filters_useless_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (mut reversed, policy) = (fresh(), "range:14".parse().unwrap());
    reversed.set_comparator("reversed", Box::new(|a, b| b.cmp(a)));
    assert_eq!(set_range_filters(&mut reversed, &policy).unwrap_err(), Error::Useless(vec![Finding::NotBytewise]));

    let mut options = fresh();
    let ranges = set_range_filters(&mut options, &policy).unwrap();
    assert_eq!(ranges.findings(&fresh()), [Finding::NoCollector]);
    options.create_missing_column_families(true);
    let families = [("default", options.clone()), ("other", fresh()), ("reversed", reversed)];
    let db = DB::open_cf_with_opts(&options, directory.path(), families).unwrap();
    store(&db, 100);
    assert_eq!(ranges.in_use(&db), []);
    assert_eq!(ranges.in_use_cf(&db, db.cf_handle("other").unwrap()), [Finding::NoCollector]);
    // A scan that RocksDB refuses ends with an error, and not as if there were no rows.
    db.set_options(&[("min_tombstones_for_range_conversion", "8")]).unwrap();
    assert_eq!(ranges.in_use(&db), [Finding::RangeConversion]);
    let mut scan = ranges.scan(&db, .., Direction::Forward);
    let error = scan.next().unwrap().unwrap_err();
    assert!(matches!(&error, Error::Scan { message } if message.contains("table_filter")), "{error}");
    assert!(scan.next().is_none());
    db.set_options(&[("min_tombstones_for_range_conversion", "0")]).unwrap();
    assert_eq!(scanned(&ranges, &db, ..).len(), 50);
    // Without filters of their own, tables are read. In the reversed order all keys are below the empty one.
    for (family, range) in [("other", "a".."z"), ("reversed", "z".."")] {
        let family = db.cf_handle(family).unwrap();
        db.put_cf(family, b"row", b"value").unwrap();
        db.flush_cf(family).unwrap();
        assert_eq!(ranges.scan_cf(&db, family, range, Direction::Forward).count(), 1);
    }
}
