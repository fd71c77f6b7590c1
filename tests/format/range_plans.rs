//! What a budget of bits buys: range filters of more bits pass no more empty ranges, on keys of all shapes, and deny none
//! that has a key.

use crate::ranges::{Key, SHAPES, Shape, built, has, opened, set};
use crate::*;
use testkit::random::Random;

/// Shapes that engines have besides: of varying density, dense, and of few common beginnings.
const MORE: [Shape; 3] = [
    ("lognormal", |random, _| {
        let normal = (0..12).map(|_| random.next() as f64 / 2f64.powi(64)).sum::<f64>() - 6.0;
        ((normal * 2.0 + 40.0).exp2() as u64).to_be_bytes().to_vec()
    }),
    ("ids", |random, _| random.below(12_000).to_be_bytes().to_vec()),
    ("rows", |random, _| {
        let (tenant, table) = (random.below(20) * random.below(20), random.below(3));
        let number = mix(64 * tenant + random.below(30)) % 1_000_000 + random.below(40);
        format!("tenant-{tenant:05}/table-{table}/{number:08}").into_bytes()
    }),
];

/// Ranges without a key: an absent key, prefixes of three quarters and of half of it, and what is between a key and it.
fn empty_ranges(random: &mut Random, keys: &[Key], absent: &[Key]) -> [Vec<[Key; 2]>; 4] {
    let mut loads = [const { Vec::new() }; 4];
    for key in absent {
        let of_prefix = |len: usize| [key[..len].to_vec(), [&key[..len], &[0xff; 320]].concat()];
        loads[0].push([key.clone(), key.clone()]);
        loads[1].push(of_prefix(key.len() - key.len() / 4));
        loads[2].push(of_prefix(key.len().div_ceil(2)));
        loads[3].push([[&random.of(keys)[..], b"0"].concat(), key.clone()]);
    }
    for load in &mut loads {
        load.retain(|[lower, upper]| lower <= upper && !has(keys, Included(lower), Included(upper)));
    }
    loads
}

#[test]
fn more_bits_pass_no_more() {
    let (mut random, mut num_rates, mut most) = (Random::new(48), 0, 0.0f64);
    for shape in SHAPES.into_iter().chain(MORE) {
        let all = set(shape, by_extent(9_000, 9_000, 40_000));
        let (absent, keys): (Vec<Key>, Vec<Key>) = all.into_iter().partition(|_| random.index(3) == 0);
        let loads = empty_ranges(&mut random, &keys, &absent);
        let mut before = loads.each_ref().map(|load| vec![true; load.len()]);
        for bits in (16..=40).map(|half_bits| f64::from(half_bits) / 2.0) {
            let block = built(&keys, bits);
            assert!(
                block.len() as f64 * 8.0 <= bits * keys.len() as f64 + 1_200.0,
                "{}, {bits}: {}",
                shape.0,
                block.len()
            );
            let filter = opened(&block);
            for key in &keys {
                assert!(filter.may_contain(key) && filter.may_contain_prefix(&key[..key.len() / 2]), "{key:?}");
            }
            for (load, before) in loads.iter().zip(&mut before) {
                let passes = |[lower, upper]: &[Key; 2]| filter.may_contain_range(Included(lower), Included(upper));
                let now: Vec<bool> = load.iter().map(passes).collect();
                let num =
                    |then: bool, now_: bool| before.iter().zip(&now).filter(|&pair| pair == (&then, &now_)).count();
                let (rises, falls) = (num(false, true) as f64, num(true, false) as f64);
                // If each is as likely as the other, five standard deviations.
                let deviations = (rises - falls) / (rises + falls).max(1.0).sqrt();
                assert!(deviations <= 5.0, "{}: {rises} more pass and {falls} fewer at {bits} bits", shape.0);
                (*before, most, num_rates) = (now, most.max(deviations), num_rates + 1);
            }
        }
    }
    println!(
        "counted: {num_rates} rates of range filters by bits, none above that of fewer bits by more than {most:.1} σ"
    );
}

/// Ids of which some are deleted: each is kept whole, and nothing after it.
#[test]
fn nothing_is_stored_after_the_ends_of_keys() {
    let (kept, deleted): (Vec<u64>, Vec<u64>) = (1..40_000).partition(|&id| mix(id) % 10 > 0);
    let keys: Vec<Key> = kept.iter().map(|id| id.to_be_bytes().to_vec()).collect();
    for bits in [8.0, 14.0, 200.0] {
        let block = built(&keys, bits);
        let filter = opened(&block);
        assert!(filter.bits_per_key().is_some_and(|bits| bits < 3.0), "{filter:?}");
        assert!(keys.iter().all(|key| filter.may_contain(key)));
        assert!(!deleted.iter().any(|id| filter.may_contain(&id.to_be_bytes())));
    }
}
