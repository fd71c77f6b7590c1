//! Every way to leave filters unused without any answer of RocksDB's showing it: the rows of README.md.

use crate::{compact, fresh, key, open, query, store, with_table};
use filterblock_rocksdb::{Error, Filters, Finding, Policies, set_filter_policy, set_filter_policy_of_equal_keys};
use rocksdb::statistics::{StatsLevel, Ticker};
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, ChecksumType, CuckooTableOptions, DB, KeyEncodingType, MemtableFactory,
    Options, PlainTableFactoryOptions, ReadOptions, SliceTransform,
};
use std::fs;

fn plain() -> PlainTableFactoryOptions {
    PlainTableFactoryOptions {
        user_key_length: 0,
        bloom_bits_per_key: 10,
        hash_table_ratio: 0.75,
        index_sparseness: 16,
        huge_page_tlb_size: 0,
        encoding_type: KeyEncodingType::Plain,
        full_scan_mode: false,
        store_index_in_file: false,
    }
}

fn set(options: &mut Options) -> Result<Filters, Error> {
    set_filter_policy(options, &Policies::default())
}

/// A comparator of keys without case.
fn fold(options: &mut Options) {
    options.set_comparator("folded", Box::new(|a, b| a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())));
}

fn set_of_equal_keys(options: &mut Options, name: &str) -> Result<Filters, Error> {
    let lower = |key: &[u8], normal: &mut Vec<u8>| normal.extend(key.to_ascii_lowercase());
    set_filter_policy_of_equal_keys(options, &Policies::default(), name, lower)
}

fn hash_in_memtables(options: &mut Options) {
    options.set_memtable_prefix_bloom_ratio(0.1);
    options.set_memtable_whole_key_filtering(true);
}

/// The finding both before the policy is set, where it is refused, and after.
#[track_caller]
fn refused_and_found(change: impl Fn(&mut Options), finding: Finding) {
    let mut before = fresh();
    change(&mut before);
    assert_eq!(set(&mut before).unwrap_err(), Error::Useless(vec![finding]));
    let mut after = fresh();
    let filters = set(&mut after).unwrap();
    assert_eq!(filters.findings(&after), []);
    change(&mut after);
    assert_eq!(filters.findings(&after), [finding]);
    assert_eq!(filters.check(&after).unwrap_err(), Error::Useless(vec![finding]));
    assert!(!Error::Useless(vec![finding]).to_string().is_empty());
}

#[test]
fn another_table_format() {
    refused_and_found(|options| options.set_plain_table_factory(&plain()), Finding::NotBlockBased);
    refused_and_found(
        |options| options.set_cuckoo_table_factory(&CuckooTableOptions::default()),
        Finding::NotBlockBased,
    );
}

#[test]
fn a_table_factory_set_afterwards() {
    let mut options = fresh();
    let filters = set(&mut options).unwrap();
    options.set_block_based_table_factory(&BlockBasedOptions::default());
    assert_eq!(filters.findings(&options), [Finding::NoPolicy]);
    let mut table = BlockBasedOptions::default();
    table.set_ribbon_filter(10.0);
    options.set_block_based_table_factory(&table);
    assert_eq!(filters.findings(&options), [Finding::OtherPolicy]);
    // It has a table factory with a Bloom filter.
    options.optimize_for_point_lookup(8);
    assert_eq!(filters.findings(&options), [Finding::OtherPolicy]);
    let (_directory, db) = open(&options);
    let in_use = filters.in_use(&db);
    assert_eq!(in_use.findings, [Finding::OtherPolicy]);
    assert!(in_use.policy.unwrap().starts_with("bloomfilter"));
    assert!(Filters::of(&db).is_none());
}

#[test]
fn another_policy_of_this_package() {
    let mut options = fresh();
    let filters = set(&mut options).unwrap();
    let other = set_filter_policy(&mut options, &"golomb:10".parse().unwrap()).unwrap();
    assert_eq!(filters.findings(&options), [Finding::OtherPolicy]);
    assert_eq!(other.findings(&options), []);
}

#[test]
fn a_policy_changed_in_an_open_database() {
    let mut options = fresh();
    let filters = set(&mut options).unwrap();
    let (_directory, db) = open(&options);
    assert_eq!(filters.in_use(&db).findings, []);
    db.set_options(&[("block_based_table_factory", "{filter_policy=bloomfilter:10:false;}")]).unwrap();
    assert_eq!(filters.in_use(&db).findings, [Finding::OtherPolicy]);
    db.set_options(&[("block_based_table_factory", "{filter_policy=nullptr;}")]).unwrap();
    assert_eq!(filters.in_use(&db).findings, [Finding::NoPolicy]);
    store(&db, 100);
    assert_eq!(filters.in_use(&db).tables, Some((1, 1)));
    db.set_options(&[("block_based_table_factory", "{filter_policy=filterblock:blocked:10/ribbon:10;}")]).unwrap();
    assert_eq!(filters.in_use(&db).findings, []);
    assert_eq!(Filters::of(&db).map(|filters| filters.counts().built), Some(0));
}

#[test]
fn column_families_with_options_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = fresh();
    options.create_missing_column_families(true);
    let filters = set(&mut options).unwrap();
    // Families that are opened by name alone have default options, and the one that is not named is among them.
    let db = DB::open_cf(&options, directory.path(), ["named"]).unwrap();
    assert_eq!(filters.in_use_cf(&db, db.cf_handle("named").unwrap()).findings, [Finding::NoPolicy]);
    assert!(Filters::of_cf(&db, db.cf_handle("named").unwrap()).is_none());
    drop(db);
    let db = DB::open_cf_with_opts(&options, directory.path(), [("named", options.clone())]).unwrap();
    assert_eq!(filters.in_use_cf(&db, db.cf_handle("named").unwrap()).findings, []);
    assert_eq!(filters.in_use(&db).findings, [Finding::NoPolicy]);
    drop(db);
    let families = ["default", "named"].map(|name| (name, options.clone()));
    let db = DB::open_cf_with_opts(&options, directory.path(), families).unwrap();
    assert_eq!(filters.in_use(&db).findings, []);
    assert!(Filters::of_cf(&db, db.cf_handle("named").unwrap()).is_some());
}

#[test]
fn neither_whole_keys_nor_prefixes() {
    let mut options = with_table(|table| table.set_whole_key_filtering(false));
    assert_eq!(set(&mut options).unwrap_err(), Error::Useless(vec![Finding::NoEntries]));
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(4));
    let filters = set(&mut options).unwrap();
    assert_eq!(filters.findings(&options), []);
}

#[test]
fn no_filters_in_the_bottommost_level() {
    refused_and_found(|options| options.set_optimize_filters_for_hits(true), Finding::NoneAtBottom);
    // Set afterwards, and on purpose.
    let mut options = fresh();
    let filters = set(&mut options).unwrap();
    options.set_optimize_filters_for_hits(true);
    let (_directory, db) = open(&options);
    store(&db, 2_000);
    compact(&db);
    let in_use = filters.in_use(&db);
    assert_eq!((in_use.findings, in_use.tables), (vec![Finding::NoneAtBottom], Some((1, 1))));
    query(&db, 2_000);
    assert!(!filters.verdict(&options).unwrap().is_fine);
}

#[test]
fn comparators_that_may_hold_different_keys_to_be_equal() {
    refused_and_found(fold, Finding::EqualKeys);
    // With a statement that is true, every stored key is found.
    let mut options = fresh();
    options.set_comparator("reversed", Box::new(|a, b| b.cmp(a)));
    hash_in_memtables(&mut options);
    let policies = Policies { distinct_keys: true, ..Policies::default() };
    let filters = set_filter_policy(&mut options, &policies).unwrap();
    let (_directory, db) = open(&options);
    assert_eq!(filters.in_use(&db).findings, []);
    assert_eq!(Filters::of(&db).unwrap().in_use(&db).findings, []);
    // It is not stated of another comparator.
    let mut other = options.clone();
    fold(&mut other);
    assert_eq!(filters.findings(&other), [Finding::EqualKeys, Finding::HashedBytes]);
    assert!(DB::open(&other, tempfile::tempdir().unwrap()).is_err());
    store(&db, 2_000);
    query(&db, 2_000);
    assert!(options.get_ticker_count(Ticker::BloomFilterUseful) > 900);
    // The control: a statement that is false denies a stored key.
    let mut options = fresh();
    fold(&mut options);
    set_filter_policy(&mut options, &policies).unwrap();
    let (_directory, db) = open(&options);
    db.put("Apple", "red").unwrap();
    assert!(db.get("apple").unwrap().is_some(), "in memory");
    db.flush().unwrap();
    assert_eq!(db.get("apple").unwrap(), None);
    assert!(db.get("Apple").unwrap().is_some());
}

#[test]
fn keys_of_different_bytes_that_are_equal_are_found_by_their_normal_form() {
    let mut options = fresh();
    fold(&mut options);
    for name in ["", "a name", "name\0"] {
        assert!(matches!(set_of_equal_keys(&mut options, name), Err(Error::Refused { .. })), "{name}");
    }
    let filters = set_of_equal_keys(&mut options, "lower").unwrap();
    let (_directory, mut db) = open(&options);
    let mut other = options.clone();
    other.set_comparator("reversed", Box::new(|a, b| b.cmp(a)));
    db.create_cf("other", &other).unwrap();
    let of_other = |filters: &Filters| filters.in_use_cf(&db, db.cf_handle("other").unwrap()).findings;
    assert_eq!(of_other(&Filters::of_cf(&db, db.cf_handle("other").unwrap()).unwrap()), [Finding::EqualKeys]);
    for filters in [&filters, &Filters::of(&db).unwrap()] {
        assert_eq!((filters.in_use(&db).findings, of_other(filters)), (vec![], vec![Finding::EqualKeys]));
        assert_eq!(filters.findings(&other), [Finding::EqualKeys]);
        assert!(DB::open(&other, tempfile::tempdir().unwrap()).is_err());
    }
    store(&db, 2_000);
    query(&db, 2_000);
    assert!((0..2_000).step_by(2).all(|i| db.get(key(i).to_ascii_uppercase()).unwrap().is_some()));
    assert!(options.get_ticker_count(Ticker::BloomFilterUseful) > 900);
}

/// No normal form helps where RocksDB itself hashes the bytes of keys: it denies equal ones, here without any policy.
#[test]
fn rocksdbs_own_hashes_of_keys_are_refused() {
    let hash_index = |options: &mut Options| {
        *options = with_table(|table| table.set_index_type(BlockBasedIndexType::HashSearch));
        fold(options);
    };
    let hash_memtable = |options: &mut Options| {
        let (bucket_count, height, branching_factor) = (1_000, 4, 4);
        options.set_memtable_factory(MemtableFactory::HashSkipList { bucket_count, height, branching_factor });
        options.set_allow_concurrent_memtable_write(false);
    };
    for change in [hash_in_memtables as fn(&mut Options), hash_memtable, hash_index] {
        let mut options = fresh();
        fold(&mut options);
        let filters = set_of_equal_keys(&mut options.clone(), "lower").unwrap();
        change(&mut options);
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(1));
        assert_eq!(set_of_equal_keys(&mut options, "lower").unwrap_err(), Error::Useless(vec![Finding::HashedBytes]));
        let (_directory, db) = open(&options);
        assert_eq!(filters.in_use(&db).findings, [Finding::NoPolicy, Finding::EqualKeys, Finding::HashedBytes]);
        (b'a'..=b'z').for_each(|key| db.put([key], b"value").unwrap());
        let denied = || (b'A'..=b'Z').any(|key| db.get([key]).unwrap().is_none());
        assert!(denied() || db.flush().is_ok_and(|()| denied()));
    }
}

/// RocksDB takes partitioned filters without an index in two levels for whole ones, before their options can be seen.
#[test]
fn partitioned_filters_without_a_partitioned_index_are_whole_ones() {
    let num_filters = |two_levels: bool| {
        let mut options = with_table(|table| {
            table.set_partition_filters(true);
            table.set_metadata_block_size(256);
            if two_levels {
                table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            }
        });
        let filters = set(&mut options).unwrap();
        let (_directory, db) = open(&options);
        store(&db, 4_000);
        query(&db, 4_000);
        assert!(filters.verdict(&options).unwrap().is_fine);
        filters.counts().built
    };
    assert_eq!(num_filters(false), 1);
    assert!(num_filters(true) > 1);
}

#[test]
fn tables_from_before_have_no_filters_until_they_are_compacted() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = fresh();
    store(&DB::open(&options, directory.path()).unwrap(), 2_000);
    let filters = set(&mut options).unwrap();
    let db = DB::open(&options, directory.path()).unwrap();
    assert_eq!(filters.in_use(&db).tables, Some((1, 1)));
    query(&db, 2_000);
    assert!(!filters.verdict(&options).unwrap().is_fine, "never opened");
    compact(&db);
    assert_eq!(filters.in_use(&db).tables, Some((1, 0)));
    query(&db, 2_000);
    assert!(filters.verdict(&options).unwrap().is_fine);
}

#[test]
fn a_verdict_needs_statistics() {
    let mut options = Options::default();
    let filters = set(&mut options).unwrap();
    assert_eq!(filters.verdict(&options).unwrap_err(), Error::NoStatistics);
    // A level without tickers counts no query.
    let mut options = fresh();
    let filters = set(&mut options).unwrap();
    options.set_statistics_level(StatsLevel::DisableAll);
    let (_directory, db) = open(&options);
    store(&db, 100);
    query(&db, 100);
    assert!(!filters.verdict(&options).unwrap().is_fine);
}

#[test]
fn copies_of_options_keep_their_policy() {
    let mut options = fresh();
    let copy = options.clone();
    let filters = set(&mut options).unwrap();
    assert_eq!(filters.findings(&copy), [Finding::NoPolicy]);
    assert_eq!(filters.findings(&options.clone()), []);
    // Nor does a refusal change the options.
    let mut plain_options = fresh();
    plain_options.set_plain_table_factory(&plain());
    set(&mut plain_options).unwrap_err();
    assert_eq!(filters.findings(&plain_options), [Finding::NotBlockBased]);
    // The settings of the table factory remain.
    let mut options = with_table(|table| table.set_block_size(777));
    set(&mut options).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let db = DB::open(&options, directory.path()).unwrap();
    db.put(key(1), b"value").unwrap();
    let file = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let file = file.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS")).max().unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("  block_size=777"), "{text}");
    assert!(text.contains("  filter_policy=filterblock:blocked:10/ribbon:10"), "{text}");
}

#[test]
fn iterators_in_total_order_do_not_query_filters_of_prefixes() {
    let mut options = with_table(|table| table.set_whole_key_filtering(false));
    // Of the keys of `store`, all but the last digit.
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(11));
    let filters = set(&mut options).unwrap();
    let (_directory, db) = open(&options);
    for i in (0..20_000).step_by(20) {
        db.put(key(i), b"value").unwrap();
    }
    db.flush().unwrap();
    let seek = |total_order: bool| {
        for i in (10..20_000).step_by(20) {
            let mut read = ReadOptions::default();
            read.set_total_order_seek(total_order);
            read.set_prefix_same_as_start(!total_order);
            let mut rows = db.raw_iterator_opt(read);
            rows.seek(key(i));
            assert_eq!(rows.valid(), total_order && i + 10 < 20_000);
        }
    };
    seek(true);
    assert!(!filters.verdict(&options).unwrap().is_fine, "never queried");
    seek(false);
    let verdict = filters.verdict(&options).unwrap();
    assert!(verdict.is_fine, "{verdict}");
}

/// Damage that RocksDB's checksum does not show, as there is none: the filter is counted, and *maybe*.
#[test]
fn a_damaged_filter_is_counted_and_matches_everything() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = with_table(|table| table.set_checksum_type(ChecksumType::NoChecksum));
    let filters = set(&mut options).unwrap();
    store(&DB::open(&options, directory.path()).unwrap(), 2_000);
    let files = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let file = files.filter(|path| path.extension().is_some_and(|extension| extension == "sst")).max().unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let magic = bytes.windows(8).position(|bytes| bytes == filterblock::MAGIC).unwrap();
    bytes[magic + 100] ^= 1;
    fs::write(&file, bytes).unwrap();
    let db = DB::open(&options, directory.path()).unwrap();
    query(&db, 2_000);
    assert_eq!(filters.counts().damaged, 1);
    let verdict = filters.verdict(&options).unwrap();
    assert!(!verdict.is_fine && verdict.text.contains("damaged"), "{verdict}");
    assert_eq!(options.get_ticker_count(Ticker::BloomFilterUseful), 0);
}
