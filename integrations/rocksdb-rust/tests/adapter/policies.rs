//! Policies as texts and as values, and options files.

use crate::{compact, fresh, open, query, store, with_table};
use filterblock::FilterPolicy;
use filterblock_rocksdb::{Error, Filters, Policies, register, set_filter_policy, set_range_filters};
use rocksdb::statistics::Ticker;
use rocksdb::{Cache, DB, Env, Options};
use std::thread;

#[test]
fn texts_that_are_no_policies_are_typed_errors() {
    let error = |text: &str| text.parse::<Policies>().unwrap_err();
    // The first is empty.
    for text in
        " blocked blocked: blocked:x nothing:10 blocked:10,seed blocked:10,seed=1,seed=2 blocked:10\0".split(' ')
    {
        assert!(matches!(error(text), Error::Policy { text: given, .. } if given == text), "{text}");
    }
    for text in ["blocked:10/ribbon:10/", "blocked:10/ribbon:10/trust", "a/b/c/d", "blocked:10/ribbon:10/trusted/"] {
        assert_eq!(error(text), Error::Parts { text: text.to_owned() });
    }
    assert_eq!(error("blocked:10/rib:10").to_string(), "no policy: rib:10: 'rib' is not a kind of filter, or auto");
    assert!("range:14".parse::<Policies>().is_err());
}

#[test]
fn a_policy_that_transforms_keys_is_refused() {
    let mut options = fresh();
    let error = set_filter_policy(&mut options, &"blocked:10,transform=prefix:4".parse().unwrap()).unwrap_err();
    assert!(matches!(&error, Error::Refused { message } if message.contains("must not transform")), "{error}");
}

#[test]
fn policies_are_given_typed_or_as_text() {
    let typed = Policies::new(
        FilterPolicy::with_bits_per_key(filterblock::FilterKind::Blocked, 12.0).unwrap().with_seed(7),
        "ribbon:fpr=0.1%".parse().unwrap(),
    );
    let text: Policies = "blocked:12,seed=7/ribbon:fpr=0.1%".parse().unwrap();
    assert_eq!(typed, text);
    assert_eq!(typed.to_string().parse::<Policies>().unwrap(), typed);
    let trusted = Policies { trusted: true, ..typed };
    assert_eq!(trusted.to_string().parse::<Policies>().unwrap(), trusted);
    for policies in [text, trusted] {
        let mut options = fresh();
        let filters = set_filter_policy(&mut options, &policies).unwrap();
        let (_directory, db) = open(&options);
        let id = format!("filterblock:{}", policies.to_string().replace('=', ":"));
        assert_eq!(filters.in_use(&db).policy.as_deref(), Some(&id[..]));
    }
}

/// RocksDB's own counters, with a rate within four standard deviations of the policy's.
#[test]
fn counters_move_and_have_the_rates_of_the_policies() {
    const NUM_KEYS: u64 = 40_000;
    for policies in ["blocked:10", "blocked:6/ribbon:fpr=1%", "ribbon:10"] {
        let policies: Policies = policies.parse().unwrap();
        let mut options = fresh();
        let filters = set_filter_policy(&mut options, &policies).unwrap();
        let (_directory, db) = open(&options);
        store(&db, NUM_KEYS);
        compact(&db);
        assert!(filters.counts().built >= 1);
        query(&db, NUM_KEYS);
        let [useful, positive, true_positive] =
            [Ticker::BloomFilterUseful, Ticker::BloomFilterFullPositive, Ticker::BloomFilterFullTruePositive]
                .map(|ticker| options.get_ticker_count(ticker));
        // One key is above the last stored one: no table has it in its range, and no filter is queried.
        assert_eq!(useful + positive, NUM_KEYS - 1, "{policies}");
        assert_eq!(true_positive, NUM_KEYS / 2, "{policies}");
        let expected = policies.bottommost.expected_false_positive_rate(NUM_KEYS / 2).unwrap() * (NUM_KEYS / 2) as f64;
        let observed = (positive - true_positive) as f64;
        assert!((observed - expected).abs() <= 4.0 * expected.sqrt(), "{policies}: {observed}, expected {expected}");
        let verdict = filters.verdict(&options).unwrap();
        assert!(verdict.is_fine && verdict.text.contains(&useful.to_string()), "{verdict}");
    }
}

#[test]
fn tables_of_rocksdbs_own_policy_keep_their_filters_and_may_return_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = with_table(|table| table.set_bloom_filter(10.0, false));
    let own = options.clone();
    store(&DB::open(&options, directory.path()).unwrap(), 2_000);
    let filters = set_filter_policy(&mut options, &Policies::default()).unwrap();
    {
        let db = DB::open(&options, directory.path()).unwrap();
        query(&db, 2_000);
        assert!(options.get_ticker_count(Ticker::BloomFilterUseful) > 900, "read from Bloom filters");
        assert_eq!(filters.counts().built, 0);
        compact(&db);
        assert!(filters.counts().built > 0);
        query(&db, 2_000);
    }
    // Copies that were made before still have RocksDB's policy, which takes filters of ours for ones that match everything.
    let db = DB::open(&own, directory.path()).unwrap();
    assert!(Filters::of(&db).is_none());
    query(&db, 2_000);
}

#[test]
fn an_options_file_names_the_policy() {
    register();
    let directory = tempfile::tempdir().unwrap();
    let mut options = fresh();
    let policies: Policies = "blocked:12,seed=7/ribbon:fpr=0.1%".parse().unwrap();
    set_filter_policy(&mut options, &policies).unwrap();
    store(&DB::open(&options, directory.path()).unwrap(), 2_000);

    let cache = Cache::new_lru_cache(1 << 20);
    let (mut read, families) = Options::load_latest(directory.path(), Env::new().unwrap(), false, cache).unwrap();
    read.enable_statistics();
    let db = DB::open_cf_descriptors(&read, directory.path(), families).unwrap();
    let filters = Filters::of(&db).expect("filters of the options file");
    let in_use = filters.in_use(&db);
    assert_eq!(in_use.policy.as_deref(), Some("filterblock:blocked:12,seed:7/ribbon:fpr:0.001"));
    assert_eq!((in_use.findings, in_use.tables), (vec![], Some((1, 0))));
    query(&db, 2_000);
    assert!(read.get_ticker_count(Ticker::BloomFilterUseful) > 900);
    compact(&db);
    assert!(filters.counts().built > 0);
    assert!(filters.verdict(&read).unwrap().is_fine);
}

#[test]
fn threads_share_filters_and_their_counts() {
    let mut options = fresh();
    let filters = set_filter_policy(&mut options, &Policies::default()).unwrap();
    let ranges = set_range_filters(&mut options, &"range:14".parse().unwrap()).unwrap();
    let (_directory, db) = open(&options);
    store(&db, 4_000);
    thread::scope(|scope| {
        for _ in 0..4 {
            let (filters, ranges, db) = (filters.clone(), ranges.clone(), &db);
            scope.spawn(move || {
                query(db, 4_000);
                let rows = ranges.scan(db, .., rocksdb::Direction::Forward);
                assert_eq!(rows.map(Result::unwrap).count(), 2_000);
                assert!(filters.counts().built > 0);
            });
        }
    });
    assert_eq!(ranges.counts().asked, 4);
}
