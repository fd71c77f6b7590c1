//! Range filters of integers, from outside: sizes and rates as planned, no range with a key denied, all answers those of
//! the document.

use crate::integer_oracle::Integers;
use crate::ranges::opened;
use crate::*;
use filterblock::NotIntegers;
use filterblock::range::RangeForm;
use std::ops::RangeBounds;

fn finish(policy: RangePolicy, keys: &[Vec<u8>]) -> Result<Vec<u8>, BuildError> {
    let mut builder = RangeFilterBuilder::new(policy);
    keys.iter().for_each(|key| builder.add_key(key));
    let block = builder.finish();
    assert_eq!(builder.num_added(), if block.is_ok() { 0 } else { keys.len() as u64 });
    block
}

fn built(keys: &[Vec<u8>], rate: f64, len: u64) -> Option<Vec<u8>> {
    finish(RangePolicy::of_integers(rate, len).expect("legal"), keys).ok()
}

/// 16 bytes: one of a thousand series, and a time, every 15 seconds or so.
fn series(number: u64) -> u128 {
    u128::from(mix(number / 1_000)) << 64 | u128::from((1 << 50) + number % 1_000 * 15_000 + mix(number) % 900)
}

/// A number as a key of `width` bytes.
fn key(number: u128, width: usize) -> Vec<u8> {
    number.to_be_bytes()[16 - width..].to_vec()
}

/// Random integers, and series: empty ranges anywhere and beside stored keys pass with l / L of the rate, within four
/// standard deviations; and filters have the size that was planned.
#[test]
fn empty_ranges_pass_at_the_planned_rate() {
    let random = (8, numbers(7).take(100_000).map(u128::from).collect::<BTreeSet<u128>>());
    let in_series = (16, (0..100_000).map(series).collect::<BTreeSet<u128>>());
    let mut num_asked = 0;
    for (name, (width, set)) in [("random", random), ("series", in_series)] {
        let keys: Vec<Vec<u8>> = set.iter().map(|&number| key(number, width)).collect();
        let sorted: Vec<u128> = set.iter().copied().collect();
        for (rate, len) in [(0.01, 1 << 5), (0.05, 1 << 10), (0.001, 1 << 10), (0.02, 1 << 16)] {
            let block = built(&keys, rate, len).expect("of integers");
            // First and last number.
            let bits = (block.len() - 64 - 2 * width) as f64 * 8.0 / keys.len() as f64;
            let planned = (len as f64 / rate).log2() + 1.75;
            assert!(bits <= planned && bits > planned - 0.2, "{name} {rate} {len}: {bits} of {planned} bits");
            let filter = opened(&block);
            for range_len in [1, len / 8, len] {
                for is_beside in [false, true] {
                    let (mut asked, mut passed) = (0, 0);
                    for draw in 0..40_000u64 {
                        let drawn = mix(draw.wrapping_mul(2) + u64::from(is_beside));
                        let first = match is_beside {
                            // From one that follows a key on, or up to one that precedes it.
                            true => {
                                let key = sorted[(drawn % sorted.len() as u64) as usize];
                                let gap = u128::from(drawn >> 40) % 8 + 1;
                                if drawn >> 63 == 0 {
                                    key + gap
                                } else {
                                    key.wrapping_sub(u128::from(range_len) + gap - 1)
                                }
                            }
                            false => (u128::from(drawn) << 64 | u128::from(mix(drawn))) >> (8 * (16 - width)),
                        };
                        let Some(last) = first.checked_add(u128::from(range_len) - 1) else { continue };
                        if last >> (8 * width - 1) > 1 || set.range(first..=last).next().is_some() {
                            continue;
                        }
                        let [first, last] = [first, last].map(|number| key(number, width));
                        asked += 1;
                        passed += u64::from(filter.may_contain_range(Included(&first), Included(&last)));
                    }
                    let expected = rate * range_len as f64 / len as f64 * asked as f64;
                    let most = expected + 4.0 * expected.sqrt() + 1.0;
                    assert!(
                        (asked > 10_000 || range_len > 10_000) && passed as f64 <= most,
                        "{name} {rate} {range_len}/{len}: {passed} > {most}"
                    );
                    // Random keys crowd nowhere, so the rate is no lower, either.
                    if name == "random" {
                        let least = expected * (1.0 - rate) - 4.0 * expected.sqrt() - 1.0;
                        assert!(passed as f64 >= least, "{rate} {range_len}/{len}: {passed} < {least}");
                    }
                    num_asked += asked;
                }
            }
        }
    }
    println!("counted: {num_asked} empty ranges of integers pass as planned");
}

/// Random, in series, and consecutive; with prefixes; bounds of any length: no range with a key is denied, and all
/// answers are the document's.
#[test]
fn integers_are_answered_as_documented() {
    let (mut num_compared, mut num_maybe, mut log_blocks) = (0, 0, BTreeSet::new());
    for round in 0..90u64 {
        let random = |i: u64| mix(round << 32 | i);
        let count = [1, 2, 63, 64, 65, 300, 1_500][round as usize % 7];
        let (width, prefix) = ([1, 2, 4, 8, 16][round as usize % 5], &b"table/7/"[..(round % 4 * 2) as usize]);
        let numbers: BTreeSet<Vec<u8>> = (0..count)
            .map(|i| match round % 3 {
                0 => u128::from(random(i)) << 64 | u128::from(random(i + 9)),
                1 => series(i * 7),
                _ => u128::from(i * 3),
            })
            .map(|number| [prefix, &key(number, width)].concat())
            .collect();
        let keys: Vec<Vec<u8>> = numbers.into_iter().collect();
        let (rate, len) = ([0.3, 0.02, 0.001][round as usize % 3], 1 << (round % 13));
        let Some(block) = built(&keys, rate, len) else { continue };
        let (filter, document) = (opened(&block), Integers::open(&block));
        log_blocks.insert(document.log_block);
        let near = |i: u64| {
            let mut key = keys[(random(i) % keys.len() as u64) as usize].clone();
            let (drawn, at) = (random(i + 1), (random(i + 2) % key.len() as u64) as usize);
            match drawn % 8 {
                0 => {}
                1 => key.truncate(at),
                2 => key.extend([0, 255][at % 2..][..1].repeat(1 + at % 3)),
                3 => key[at] = key[at].wrapping_add((drawn >> 8) as u8),
                4 => key = Vec::new(),
                _ => {
                    let last = key.len() - 1;
                    key[last] = key[last].wrapping_add(drawn as u8 % 5).wrapping_sub(2);
                }
            }
            key
        };
        for i in 0..80 {
            let (a, b) = (near(i * 10), near(i * 10 + 5));
            let b =
                if i % 2 == 0 { [&a[..a.len() - a.len().min(1)], &b[b.len().saturating_sub(1)..]].concat() } else { b };
            let forms = |a| [Included(a), Excluded(a), Unbounded];
            for (lower, upper) in forms(&a[..]).into_iter().flat_map(|a| forms(&b[..]).map(|b| (a, b))) {
                let says = filter.may_contain_range(lower, upper);
                assert_eq!(says, document.may_contain_range(lower, upper), "{lower:?} {upper:?} {filter:?}");
                let is_there = keys.iter().any(|key| (lower, upper).contains(&key[..]));
                assert!(says || !is_there, "{lower:?} {upper:?} {filter:?}");
                (num_compared, num_maybe) = (num_compared + 1, num_maybe + u64::from(says));
            }
            let says = filter.may_contain_prefix(&a);
            assert_eq!(says, document.may_contain_prefix(&a), "{a:?}*");
            assert!(says || !keys.iter().any(|key| key.starts_with(&a)), "{a:?}*");
        }
    }
    assert!(num_compared > 20_000 && num_maybe > 5_000 && num_maybe < num_compared - 5_000, "{num_maybe}");
    assert!(log_blocks.len() > 6, "{log_blocks:?}");
    println!("counted: {num_compared} ranges of integers as documented");
}

#[test]
fn policies_with_a_rate() {
    let parse = |text: &str| text.parse::<RangePolicy>().map_err(|error| error.to_string());
    for (text, shown) in [
        ("range:fpr=1%,len=1024", "range:fpr=0.01,len=1024"),
        ("range:fpr=0.001,len=1,self_check=off", "range:fpr=0.001,len=1,self_check=off"),
        ("range:fpr=0.5,len=1073741824,self_check=on", "range:fpr=0.5,len=1073741824"),
        ("range:fpr=1%,len=9,form=integers", "range:fpr=0.01,len=9,form=integers"),
        ("range:fpr=1%,len=9,form=integers,self_check=off", "range:fpr=0.01,len=9,form=integers,self_check=off"),
    ] {
        let policy = parse(text).expect("legal");
        assert_eq!(policy.to_string(), shown);
        assert_eq!(parse(shown), Ok(policy));
    }
    let refused = "range:fpr=1% range:fpr=1%,self_check=off range:fpr=1%,len=0 range:fpr=60%,len=2 range:fpr=0,len=2 \
        range:fpr=nan,len=2 range:fpr=-1%,len=2 range:fpr=1%,len=1073741824 range:fpr=1%,len=2,len=2 \
        range:fpr=1%,len=2,self_check=on, range:14,len=2 range:14,form=integers range:fpr=1%,form=integers,len=2 \
        range:fpr=1%,len=2,form=cut range:fpr=1%,len=2,self_check=off,form=integers range:len=2,fpr=1%";
    for text in refused.split(' ') {
        assert!(parse(text).is_err(), "{text}");
    }
    for (text, says) in [
        ("range:fpr=0,len=2", "rate = 0 is outside the legal range 4.656612873077393e-10 to 0.5"),
        ("range:fpr=60%,len=2", "rate = 0.6 is outside the legal range 4.656612873077393e-10 to 0.5"),
        ("range:fpr=1%,len=1073741824", "len / rate = 107374182400 is outside the legal range 2 to 2147483648"),
        ("range:1.5", "bits per key = 1.5 is outside the legal range 2 to 200"),
        (
            "range:14,form=integers",
            "'form=integers' is not a setting of bits per key: a form goes with a rate, as in \
             range:fpr=1%,len=1024,form=integers",
        ),
    ] {
        assert_eq!(parse(text).expect_err("illegal"), says, "{text}");
    }
    let policy = parse("range:fpr=1%,len=1024").expect("legal");
    assert_eq!(policy.false_positive_rate(), Some((0.01, 1024)));
    assert!((policy.bits_per_key() - 18.394).abs() < 0.001);
    assert_eq!(policy.expected_block_len(8_000), 64 + 18_393);
    let of_bits = parse("range:14").expect("legal");
    assert_eq!([0, 10, 10_000].map(|num_keys| of_bits.expected_block_len(num_keys)), [64, 64 + 8, 17_500]);
    assert_eq!(parse("range:14").expect("legal").false_positive_rate(), None);
}

/// Keys that are no integers: a filter of the other form, which says so and has no rate, or none, and why.
#[test]
fn keys_that_are_no_integers_are_noticed() {
    let sets: [(Vec<Vec<u8>>, NotIntegers); 4] = [
        ((1..2_000).map(|i| i.to_string().into_bytes()).collect(), NotIntegers::Lengths { shortest: 1, longest: 4 }),
        (
            numbers(3).take(500).map(|n| [n.to_be_bytes(); 3].concat()).collect(),
            NotIntegers::Width { bytes: 24, max: 16 },
        ),
        (
            (0..50).map(|i| [&[7; 70_000][..], &[i]].concat()).collect(),
            NotIntegers::Prefix { bytes: 70_000, max: 65_535 },
        ),
        ((0..9_000).map(|i| key(i, 8)).collect(), NotIntegers::Crowded { len: 100_000, within: 4096 }),
    ];
    for (keys, reason) in sets {
        let (rate, len) = (0.01, 100_000);
        let block = finish(RangePolicy::with_false_positive_rate(rate, len).expect("legal"), &keys);
        let block = block.expect("a filter of the other form");
        let filter = opened(&block);
        assert_eq!(filter.form(), Some(RangeForm::Cut), "{reason:?}");
        // Consecutive ones are exact.
        let rate_of_cut = matches!(reason, NotIntegers::Crowded { .. }).then_some(0.0);
        assert_eq!(filter.false_positive_rate(1), rate_of_cut);
        let refused = finish(RangePolicy::of_integers(rate, len).expect("legal"), &keys);
        assert_eq!(refused, Err(BuildError::NotIntegers(reason)));
        let message = refused.expect_err("refused").to_string();
        assert!(message.contains("form=integers") && message.contains(&reason.to_string()), "{message}");
    }
    let keys: Vec<Vec<u8>> = numbers(4).take(10_000).map(|n| n.to_be_bytes().to_vec()).collect();
    for (rate, len) in [(0.5, 1), (0.01, 1 << 10), (1e-4, 1 << 16)] {
        let block = finish(RangePolicy::of_integers(rate, len).expect("legal"), &keys).expect("of integers");
        let filter = opened(&block);
        assert_eq!(filter.form(), Some(RangeForm::Integers));
        let found = |len| filter.false_positive_rate(len).expect("of integers");
        assert!(found(len) <= rate && found(len) > 0.99 * rate, "{} for {rate}", found(len));
        assert!((found(1) * len as f64 - found(len)).abs() < 1e-9 && found(u64::MAX) == 1.0 && found(0) == 0.0);
    }
    let mut none = RangeFilterBuilder::new(RangePolicy::of_integers(0.01, 2).expect("legal"));
    let block = none.allow_empty().finish().expect("a filter without keys");
    assert_eq!((opened(&block).form(), opened(&block).false_positive_rate(1)), (None, None));
}
