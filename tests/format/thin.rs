//! Filters of fewer columns: what a copy of some of them is, what a reader of some of them answers, and what is
//! refused.

use crate::*;
use filterblock::ThinError;

/// Under a secret key, for entries that are rows.
fn policy(rate: f64) -> FilterPolicy {
    let policy = rated(FilterKind::Ribbon, rate);
    policy.with_hasher(KeyHasher::keyed([7; 16])).with_transform(KeyTransform::Row)
}

fn options(policy: &FilterPolicy) -> OpenOptions {
    OpenOptions::new().expect(policy)
}

fn hashes(seed: u64, count: usize) -> Vec<KeyHash> {
    numbers(seed).take(count).map(KeyHash::from_raw).collect()
}

fn builder(policy: FilterPolicy, hashes: &[KeyHash]) -> FilterBlockBuilder {
    builder_of_hashes(&policy, hashes.iter().map(|hash| hash.get()))
}

fn open<'a>(policy: &FilterPolicy, block: &'a [u8]) -> FilterBlockReader<'a> {
    options(policy).open(block).expect("intact")
}

/// Whole columns and a share of one more, one layer and several, and every number of columns to keep.
#[test]
fn a_thinned_filter_is_the_documents_and_answers_as_a_limited_one() {
    let mut most_layers = 0;
    for (rate, count) in [(0.5f64.powi(16), 300), (0.003, 9_000), (0.4, 60), (0.6 / 256.0, 1), (0.5f64.powi(32), 5_000)]
    {
        let (policy, stored, absent) = (policy(rate), hashes(1, count), hashes(2, 2_000));
        let block = builder(policy.clone(), &stored).finish().expect("a block");
        let frame = frame_of(&mut builder(policy.clone(), &stored));
        let mut limited = open(&policy, &block);
        let most = limited.num_compared_columns().expect("columns");
        assert_eq!((limited.thinned_from(), limited.kind()), (None, FilterKind::Ribbon));
        most_layers = most_layers.max(block[41]);
        for columns in 1..most {
            let thinned = limited.thin(columns, 5).expect("fewer columns");
            assert!(thinned.len() < block.len());
            assert_eq!(limited.thinned_len(columns), Some(thinned.len() as u64));
            let reader = options(&policy).with_context(5).open(&thinned).expect("intact");
            assert_eq!((reader.num_compared_columns(), reader.thinned_from()), (Some(columns), Some(most)));
            assert_eq!((reader.num_entries(), reader.entries_estimated()), (count as u64, false));
            assert_eq!((reader.entry_hasher(), policy.transform()), (policy.entry_hasher(), KeyTransform::Row));
            let oracle = Oracle::open(&thinned);
            if columns % 5 == 1 && count < 1_000 {
                let hashes: BTreeSet<u64> = stored.iter().map(|hash| hash.get()).collect();
                assert!(oracle.rebuild(&hashes) == thinned[64..], "{columns} of {most} columns, {count} entries");
            }
            limited.limit_columns(columns).expect("stored columns");
            assert_eq!((limited.num_compared_columns(), limited.thinned_from()), (Some(columns), None));
            assert_eq!(limited.false_positive_rate().to_bits(), reader.false_positive_rate().to_bits());
            let asked: Vec<KeyHash> = stored.iter().chain(&absent).copied().collect();
            let mut answers = [vec![false; asked.len()], vec![true; asked.len()]];
            reader.may_contain_hashes(&asked, &mut answers[0]);
            limited.may_contain_hashes(&asked, &mut answers[1]);
            assert!(answers[0] == answers[1], "{columns} of {most} columns");
            assert!(answers[0][..count].iter().all(|&answer| answer), "a stored key denied");
            for (&hash, answer) in asked.iter().zip(&answers[0]).step_by(7) {
                assert_eq!(reader.may_contain_hash(hash), *answer);
                assert_eq!(limited.may_contain_hash(hash), *answer);
                assert_eq!(oracle.may_contain(hash.get()), *answer);
            }
            // The compact frame of the same payload.
            let compact = CompactFrameReader::open(&frame, &policy).expect("a frame");
            let compact = compact.thin(columns).expect("fewer columns");
            assert!(compact[..thinned.len() - 64] == thinned[64..]);
            let compact = CompactFrameReader::open(&compact, &policy).expect("a frame");
            assert_eq!((compact.num_compared_columns(), compact.thinned_from()), (Some(columns), Some(most)));
        }
        limited.limit_columns(most).expect("stored columns");
        let whole = open(&policy, &block);
        assert!(absent.iter().all(|&hash| limited.may_contain_hash(hash) == whole.may_contain_hash(hash)));
    }
    assert!(most_layers >= 2, "{most_layers}");
}

#[test]
fn thinning_twice_is_thinning_once() {
    let policy = policy(0.5f64.powi(20) * 0.8);
    let block = builder(policy.clone(), &hashes(3, 3_000)).finish().expect("a block");
    let once = open(&policy, &block).thin(5, 0).expect("fewer columns");
    let between = open(&policy, &block).thin(20, 9).expect("fewer columns");
    let twice = options(&policy).with_context(9).open(&between).expect("intact").thin(5, 0).expect("fewer columns");
    assert!(once == twice);
    assert_eq!(open(&policy, &twice).thinned_from(), Some(21));
}

/// 16 columns thinned to 8: size and rate are those of a filter that is built with 8.
#[test]
fn a_thinned_filter_is_worth_its_bytes() {
    let count = 100_000;
    let stored = hashes(4, count);
    let built = |rate| builder(policy(rate), &stored).finish().expect("a block");
    let (wide, narrow) = (built(0.5f64.powi(16)), built(0.5f64.powi(8)));
    let thinned = open(&policy(0.1), &wide).thin(8, 0).expect("fewer columns");
    let ratio = thinned.len() as f64 / narrow.len() as f64;
    assert!((ratio - 1.0).abs() < 0.005, "{ratio}");
    let reader = open(&policy(0.1), &thinned);
    assert!(stored.iter().all(|&hash| reader.may_contain_hash(hash)));
    let (num_asked, rate) = (1_000_000, 0.5f64.powi(8));
    let passed = numbers(5).take(num_asked).filter(|&n| reader.may_contain_hash(KeyHash::from_raw(n))).count() as f64;
    let (mean, deviation) = (rate * num_asked as f64, (rate * (1.0 - rate) * num_asked as f64).sqrt());
    assert!((passed - mean).abs() < 4.0 * deviation, "{passed} of {num_asked}, expected {mean} ± {deviation}");
    let floor = reader.false_positive_rate() / rate - 1.0;
    assert!(floor.abs() < 1e-12, "{floor}");
}

#[test]
fn what_cannot_be_thinned_is_refused() {
    let policy = policy(0.5f64.powi(8) * 0.8);
    let block = builder(policy.clone(), &hashes(6, 100)).finish().expect("a block");
    let mut reader = open(&policy, &block);
    for asked in [0, 9, 10, u32::MAX] {
        assert_eq!(reader.thin(asked, 0), Err(ThinError::Columns { asked, max: 8 }));
        assert_eq!(reader.thinned_len(asked), None);
    }
    for asked in [0, 10, u32::MAX] {
        assert_eq!(reader.limit_columns(asked), Err(ThinError::Columns { asked, max: 9 }));
    }
    let error = ThinError::Columns { asked: 9, max: 8 };
    assert_eq!(error.to_string(), "columns = 9 is outside the legal range 1 to 8");
    // A limited reader has the columns still.
    reader.limit_columns(2).expect("stored columns");
    assert!(reader.thin(8, 0).is_ok());
    let single = reader.thin(1, 0).expect("fewer columns");
    let error = open(&policy, &single).thin(1, 0).expect_err("the only column");
    assert_eq!(error, ThinError::Columns { asked: 1, max: 0 });
    assert_eq!(error.to_string(), "the filter's only column cannot be left out");
    for &kind in FilterKind::ALL.iter().filter(|kind| **kind != FilterKind::Ribbon) {
        let block = builder_of(&sized(kind, 10.0), keys(7, 10)).finish().expect("a block");
        let mut filter = OpenOptions::new().open_owned(block).expect("intact");
        assert_eq!(filter.thin(3, 0), Err(ThinError::Kind { found: kind }));
        assert_eq!(filter.limit_columns(3), Err(ThinError::Kind { found: kind }));
        assert_eq!((filter.num_compared_columns(), filter.thinned_from()), (None, None));
        let error = ThinError::Kind { found: kind };
        assert_eq!(error.to_string(), format!("{kind} filters have no columns to leave out"));
    }
}

/// Without entries there are no columns, and nothing is left out.
#[test]
fn a_filter_without_entries_is_copied() {
    let policy = policy(0.01);
    let empty = builder(policy.clone(), &[]).set_context(3).allow_empty().finish().expect("a block");
    let mut reader = options(&policy).with_context(3).open(&empty).expect("intact");
    assert_eq!((reader.num_compared_columns(), reader.limit_columns(4)), (None, Ok(())));
    assert!(!reader.may_contain_hash(KeyHash::from_raw(1)));
    assert!(reader.thin(4, 3).expect("a copy") == empty);
    assert_eq!(reader.thinned_len(4), Some(64));
    let frame = frame_of(&mut builder(policy.clone(), &[]));
    let reader = CompactFrameReader::open(&frame, &policy).expect("a frame");
    assert_eq!(reader.thin(4), Ok(frame.clone()));
}
