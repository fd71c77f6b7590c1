use super::query::Span;
use super::tables::{WINDOW, in_turns};
use super::{RangeFilter, RangeFilterBuilder, RangePolicy};
use crate::build::fault;
use crate::bytes;
use crate::frame::{DIGEST_AT, HEADER_LEN, PARAMS_AT, PAYLOAD_LEN_AT, checksums};
use crate::random::Random;
use crate::{BuildError, OpenOptions};
use core::ops::Bound::{self, Excluded, Included, Unbounded};
use core::ops::RangeBounds;
use std::collections::BTreeSet;
use std::vec::Vec;

impl Random {
    fn string(&mut self, alphabet: &[u8], most: u64) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| alphabet[self.below(alphabet.len() as u64) as usize]).collect()
    }

    /// Changes a byte: a bit of it, or all.
    fn change(&mut self, bytes: &mut [u8]) {
        let at = self.below(bytes.len() as u64) as usize;
        bytes[at] = match self.below(4) {
            0 => self.below(256) as u8,
            1 => [0, 0xff][self.below(2) as usize],
            _ => bytes[at] ^ 1 << self.below(8),
        };
    }

    fn of(&mut self, keys: &[Vec<u8>]) -> Vec<u8> {
        keys[self.below(keys.len() as u64) as usize].clone()
    }
}

type Filter = RangeFilter<Vec<u8>>;

fn built<'a>(keys: impl IntoIterator<Item = &'a Vec<u8>>, bits: f64) -> Filter {
    let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(bits).expect("legal"));
    keys.into_iter().for_each(|key| builder.add_key(key));
    OpenOptions::new().open_ranges(builder.finish().expect("a filter")).expect("intact")
}

/// Returns whether the filter passes the range, which must be so if a key lies in it or the bounds are not in order; and
/// whether no key does.
fn passes(keys: &BTreeSet<Vec<u8>>, filter: &Filter, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> (bool, bool) {
    let is_legal = match (lower, upper) {
        (Included(lower), Included(upper)) => lower <= upper,
        (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower < upper,
        _ => true,
    };
    let is_empty = is_legal && keys.range::<[u8], _>((lower, upper)).next().is_none();
    let passes = filter.may_contain_range(lower, upper);
    assert!(passes || is_empty, "{filter:?} {lower:?} {upper:?} {keys:?}");
    (passes, is_empty)
}

/// Returns whether all filters say so if they are searched in turns.
fn all_say(filters: &[Filter], query: Span<'_>, says: bool) -> bool {
    filters.chunks(WINDOW).all(|filters| {
        let mut answers = [!says; WINDOW];
        in_turns(filters.iter(), query, &mut answers[..filters.len()]);
        answers[..filters.len()].iter().all(|&answer| answer == says)
    })
}

/// The frame of section 18: of two groups the first keeps one bit of its key, the second all. This writer makes none.
#[test]
fn groups_of_other_resolutions_keep_their_keys() {
    let hex = [
        "f146424c4b0d0a1a010601000000000000000000000000000200000000000000",
        "2500000000000000010101000000000102000000023e217107025bff7ff2b753",
        "0401040008000000000000000000000000000000000000000000000000000000",
        "0001200008",
    ]
    .concat();
    let block = (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).expect("hexadecimal"));
    let filter = OpenOptions::new().open_ranges(block.collect::<Vec<u8>>()).expect("legal");
    let keys = [[0], [4]];
    for (low, high) in (0..9).flat_map(|low| (low..9).map(move |high| ([low], [high]))) {
        for lower in [Included(&low[..]), Excluded(&low[..]), Unbounded] {
            for upper in [Included(&high[..]), Excluded(&high[..]), Unbounded] {
                let has = keys.iter().any(|key| (lower, upper).contains(&key[..]));
                assert!(!has || filter.may_contain_range(lower, upper), "{lower:?} {upper:?}");
            }
        }
    }
}

/// Small sets of similar keys, all forms of bounds, on all engines.
#[test]
fn no_stored_range_is_denied() {
    let mut random = Random::new(1);
    let alphabets: [&[u8]; 5] = [b"ab", b"\0\x01", b"\0\xff", b"abcdefghij-/", &[0, 1, 2, 127, 128, 254, 255]];
    let (mut num_empty, mut num_passed) = (0, 0);
    for round in 0..2_000 {
        let alphabet = alphabets[round % alphabets.len()];
        let (num_keys, most) = (1 + random.below([3, 20, 200, 5_000][round % 4]), 1 + random.below(14));
        let prefix = random.string(alphabet, 3);
        let keys: BTreeSet<Vec<u8>> =
            (0..num_keys).map(|_| [prefix.clone(), random.string(alphabet, most)].concat()).collect();
        let sorted: Vec<Vec<u8>> = keys.iter().cloned().collect();
        let bits = [2.0, 4.0, 8.0, 12.0, 16.0, 30.0][random.below(6) as usize];
        let filter = if round % 3 == 0 { built(sorted.iter().rev(), bits) } else { built(&sorted, bits) };
        let engines: Vec<Filter> = filter.with_each_engine().collect();
        for _ in 0..100 {
            let mut bound = || match random.below(4) {
                0 => random.of(&sorted),
                1 => [prefix.clone(), random.string(alphabet, most)].concat(),
                2 => random.string(b"abc\0\xff", 6),
                _ => {
                    let mut key = random.of(&sorted);
                    key.truncate(random.below(key.len() as u64 + 1) as usize);
                    key
                }
            };
            let (a, b) = (bound(), bound());
            let (a, b) = (&a[..], &b[..]);
            let has_prefix = keys.iter().any(|key| key.starts_with(a));
            for filter in &engines {
                assert!(filter.may_contain_prefix(a) || !has_prefix, "{filter:?} {a:?} {keys:?}");
            }
            assert!(all_say(&engines, Span::Prefix(a), filter.may_contain_prefix(a)), "{filter:?} {a:?} {keys:?}");
            for (lower, upper) in [
                (Included(a), Included(b)),
                (Included(a), Excluded(b)),
                (Excluded(a), Included(b)),
                (Excluded(a), Excluded(b)),
                (Unbounded, Included(b)),
                (Unbounded, Excluded(b)),
                (Included(a), Unbounded),
                (Excluded(a), Unbounded),
                (Included(a), Included(a)),
                (Unbounded, Unbounded),
            ] {
                let (said, is_empty) = passes(&keys, &filter, lower, upper);
                for engine in &engines {
                    assert_eq!(engine.may_contain_range(lower, upper), said, "{lower:?} {upper:?}");
                }
                assert!(all_say(&engines, Span::Range(lower, upper), said), "{lower:?} {upper:?}");
                num_empty += u64::from(is_empty);
                num_passed += u64::from(is_empty && said);
            }
        }
    }
    // Half of the draws have two bounds near each other.
    assert!(num_passed * 3 < num_empty, "{num_passed} of {num_empty} empty ranges pass");
}

/// Changed filters of integers, by all engines and in turns.
#[test]
fn integers_in_turns_are_as_one_by_one() {
    let mut random = Random::new(5);
    let policy = RangePolicy::with_false_positive_rate(0.1, 64).expect("legal");
    let mut builder = RangeFilterBuilder::new(policy);
    let key = |number: u64| bytes::of_u128(u128::from(number.swap_bytes()))[..8].to_vec();
    (0..3_000).for_each(|_| builder.add_key(&key(random.below(u64::MAX) >> random.below(40))));
    let block = builder.finish().expect("a filter");
    let mut num_denied = 0;
    for round in 0..300 {
        let mut changed = block.clone();
        (0..round % 4).for_each(|_| random.change(&mut changed[HEADER_LEN..]));
        checksums::write(&mut changed, 0);
        let Ok(filter) = OpenOptions::new().open_ranges(changed) else { continue };
        let engines: Vec<Filter> = filter.with_each_engine().collect();
        for _ in 0..40 {
            let first = random.below(u64::MAX) >> random.below(40);
            let (first, last) = (key(first), key(first.saturating_add(random.below(200))));
            let query = Span::Range(Included(&first), Excluded(&last));
            let says = filter.may_have(query);
            assert!(all_say(&engines, query, says), "{round}: {first:?} {last:?}");
            let prefix = Span::Prefix(&first[..5]);
            assert!(all_say(&engines, prefix, filter.may_have(prefix)), "{round}: {first:?}*");
            num_denied += u32::from(!says);
        }
    }
    assert!(num_denied > 2_000, "{num_denied}");
}

/// Searches of several steps, in turns with those of one and of none: answers that are known early stay; and what filters
/// of all forms say of themselves.
#[test]
fn answers_that_are_known_early_stay() {
    let number = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1;
    let mut keys: Vec<Vec<u8>> = (0..2_000).map(|i| big_endian(number(i))).collect();
    keys.sort();
    let mut builder = RangeFilterBuilder::new(RangePolicy::with_false_positive_rate(0.001, 64).expect("legal"));
    keys.iter().for_each(|key| builder.add_key(key));
    let mut integers = Vec::from([7; 3]);
    assert_eq!(builder.finish_into(&mut integers).expect("a filter"), integers.len() - 3);
    let integers = integers.split_off(3);
    let none = builder.allow_empty().finish().expect("a filter of no keys");
    let filters = [integers, built(&keys, 20.0).into_inner(), none].map(|block| opened(block).expect("intact"));
    let mut num_denied = 0;
    for i in 0..1_999 {
        let (lower, upper) = (big_endian(number(i) + (1 << 45)), big_endian(number(i) + (1 << 45) + 10));
        let query = Span::Range(Included(&lower), Included(&upper));
        let mut answers = [true; 3];
        in_turns(filters.iter(), query, &mut answers);
        assert_eq!(answers.to_vec(), filters.iter().map(|filter| filter.may_have(query)).collect::<Vec<_>>(), "{i}");
        num_denied += u32::from(answers == [false; 3]);
    }
    assert!(num_denied > 1_500, "{num_denied}");

    let forms = filters.each_ref().map(|filter| filter.form().map(|form| form.to_string()));
    assert_eq!(forms, [Some("integers".into()), Some("cut".into()), None]);
    for (filter, name) in [(&filters[0], "bucket_range"), (&filters[1], "num_groups")] {
        assert_eq!(filter.bits_per_key(), Some(filter.as_bytes().len() as f64 / 250.0));
        let stored = u64::from(bytes::u32_at(filter.as_bytes(), PARAMS_AT + 8));
        assert_eq!(filter.parameters().last(), Some((name, stored)));
    }
    assert_eq!((filters[2].bits_per_key(), filters[2].parameters().count()), (None, 0));
    // A range of 32 blocks touches 33, the most that are searched.
    let log_block = filters[0].parameters().find(|field| field.0 == "log_block").expect("of integers").1;
    assert!(filters[0].false_positive_rate(32 << log_block) < Some(1.0));
    assert_eq!(filters[0].false_positive_rate((32 << log_block) + 1), Some(1.0));
    // Of sixteen bytes.
    let mut builder = RangeFilterBuilder::new("range:fpr=1%,len=64,form=integers".parse().expect("legal"));
    (0..300).for_each(|i| builder.add_key(&[big_endian(i << 56), big_endian(number(i))].concat()));
    assert!(builder.finish().is_ok());
    let error = "range:16,self".parse::<RangePolicy>().expect_err("no part of a policy");
    assert!(error.to_string().contains("self_check"), "{error}");
}

#[test]
fn as_many_keys_are_expected_as_fit() {
    for policy in ["range:10", "range:7.3", "range:fpr=1%,len=64"] {
        let policy: RangePolicy = policy.parse().expect("legal");
        for len in [128, 256, 1_000, 4_095, 1 << 20] {
            let num_keys = policy.expected_num_keys(len);
            let [fits, exceeds] = [num_keys, num_keys + 1].map(|num_keys| policy.expected_block_len(num_keys));
            assert!(fits <= len && len < exceeds, "{policy}: {num_keys} keys in {len} bytes");
        }
    }
}

/// One bit of what is written is flipped before it is checked: the build fails if the block would deny a key.
#[test]
fn a_fault_that_denies_a_key_is_noticed() {
    let mut random = Random::new(2);
    let mut num_noticed = 0;
    for (num_keys, bits, step) in [(1, 20.0, 1), (2, 20.0, 1), (40, 12.0, 1), (300, 8.0, 1), (9_000, 14.0, 701)] {
        let mut keys: Vec<Vec<u8>> = (0..num_keys).map(|_| random.string(b"abcdefgh/", 12)).collect();
        keys.sort();
        let policy = RangePolicy::with_bits_per_key(bits).expect("legal");
        let build = |policy| {
            let mut builder = RangeFilterBuilder::new(policy);
            keys.iter().for_each(|key| builder.add_key(key));
            builder.finish()
        };
        for bit in (0..).step_by(step) {
            fault::tests::set(bit);
            let block = build(policy.with_self_check(false)).expect("only a check fails");
            if !fault::tests::was_injected() {
                break;
            }
            let opened = OpenOptions::new().open_ranges(&block[..]);
            let survives = opened.is_ok_and(|filter| keys.iter().all(|key| filter.may_contain(key)));
            fault::tests::set(bit);
            let is_noticed = matches!(build(policy), Err(BuildError::SelfCheck { .. }));
            assert!(fault::tests::was_injected());
            assert!(survives || is_noticed, "{num_keys} keys, bit {bit}");
            num_noticed += u32::from(is_noticed);
        }
    }
    assert!(num_noticed > 1_000, "{num_noticed}");
}

/// Bytes that have the order of numbers.
fn big_endian(number: u64) -> Vec<u8> {
    (0..8).map(|i| (number >> (56 - 8 * i)) as u8).collect()
}

/// The block with a true length and true checksums.
fn sealed(mut block: Vec<u8>) -> Vec<u8> {
    let payload_len = (block.len() - HEADER_LEN) as u64;
    bytes::put_u64(&mut block, PAYLOAD_LEN_AT, payload_len);
    checksums::write(&mut block, 0);
    block
}

fn opened(block: Vec<u8>) -> Option<Filter> {
    OpenOptions::new().open_ranges(sealed(block)).ok()
}

/// Blocks of one group and of many, with and without a code, of gaps and of steps.
fn samples() -> Vec<(Vec<Vec<u8>>, Vec<u8>)> {
    let mut random = Random::new(3);
    let mut samples = Vec::new();
    for (num_keys, bits) in [(1, 20.0), (60, 12.0), (200, 5.0), (700, 14.0), (5_000, 12.0), (5_000, 3.0)] {
        let words: Vec<Vec<u8>> = (0..num_keys).map(|_| random.string(b"abcdefghijklm/", 14)).collect();
        let numbers: Vec<Vec<u8>> = (0..num_keys).map(|_| big_endian(random.below(u64::MAX))).collect();
        for mut keys in [words, numbers] {
            keys.sort();
            let block = built(&keys, bits).into_inner();
            samples.push((keys, block));
        }
    }
    samples
}

/// Any bytes under right checksums: refused, or answered, one by one and in turns alike.
#[test]
fn any_payload_is_answered_by_all_engines_alike() {
    let (mut random, samples) = (Random::new(4), samples());
    let (mut num_opened, mut num_asked, mut num_denied) = (0, 0, 0);
    for round in 0..4_000 {
        let (keys, block) = &samples[round % samples.len()];
        let mut block = block.clone();
        for _ in 0..=random.below(6) {
            let root = block.len().min(HEADER_LEN + 160);
            match random.below(8) {
                0 => random.change(&mut block[PARAMS_AT..DIGEST_AT]),
                1 | 2 => random.change(&mut block[HEADER_LEN..root]),
                3 => block.truncate(HEADER_LEN.max(block.len() - random.below(200).min(block.len() as u64) as usize)),
                4 => block.extend((0..random.below(40)).map(|_| random.below(256) as u8)),
                // More keys and groups than there are bytes.
                5 => {
                    let num = random.below(1 << 32) as u32;
                    bytes::put_u64(&mut block, 24, u64::from(num) + random.below(9));
                    bytes::put_u32(&mut block, PARAMS_AT + 8, num);
                }
                6 => block[HEADER_LEN..].iter_mut().skip(150).for_each(|byte| *byte = random.below(256) as u8),
                _ if block.len() > HEADER_LEN => random.change(&mut block[HEADER_LEN..]),
                _ => {}
            }
            if block.len() == HEADER_LEN {
                block.push(0);
            }
        }
        let Some(filter) = opened(block) else { continue };
        num_opened += 1;
        let engines: Vec<Filter> = filter.with_each_engine().collect();
        for _ in 0..12 {
            let (a, b) = (random.of(keys), random.of(keys));
            let (a, b) = (a.min(b.clone()), b);
            for (lower, upper) in
                [(Included(&a[..]), Included(&b[..])), (Included(&b), Excluded(&b)), (Unbounded, Excluded(&a))]
            {
                let says = filter.may_contain_range(lower, upper);
                for engine in &engines {
                    assert_eq!(engine.may_contain_range(lower, upper), says, "{round}: {lower:?} {upper:?}");
                }
                assert!(all_say(&engines, Span::Range(lower, upper), says), "{round}: {lower:?} {upper:?}");
                num_asked += 1;
                num_denied += u64::from(!says);
            }
            let says = filter.may_contain_prefix(&a[..a.len() / 2]);
            assert!(engines.iter().all(|engine| engine.may_contain_prefix(&a[..a.len() / 2]) == says), "{round}");
        }
    }
    assert!(num_opened > 1_000 && num_denied > num_asked / 20, "{num_opened} {num_asked} {num_denied}");
}

/// Two groups of keys that agree in more bits than can be kept, and a budget for more.
#[test]
fn no_more_is_kept_than_can_be() {
    let key = |i: u64| [&[b'b' + (i % 2) as u8][..], &[b'x'; 1_300], &big_endian(i)].concat();
    let mut keys: Vec<Vec<u8>> = (0..100).map(key).collect();
    keys.sort();
    for bits in [30.0, 200.0] {
        let filter = built(&keys, bits);
        assert_eq!(filter.num_leaves(), 2);
        assert!(keys.iter().all(|key| filter.may_contain(key)));
        assert!(!filter.may_contain(b"bxxa") && !filter.may_contain_prefix(b"d"));
    }
}
