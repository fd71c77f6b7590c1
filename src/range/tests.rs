use super::{RangeFilter, RangeFilterBuilder, RangePolicy};
use crate::filter::fault;
use crate::{BuildError, OpenOptions, hash};
use core::ops::Bound::{self, Excluded, Included, Unbounded};
use std::collections::BTreeSet;
use std::vec::Vec;

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        hash::mix(self.0) % end
    }

    fn string(&mut self, alphabet: &[u8], most: u64) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| alphabet[self.below(alphabet.len() as u64) as usize]).collect()
    }

    fn of(&mut self, keys: &[Vec<u8>]) -> Vec<u8> {
        keys[self.below(keys.len() as u64) as usize].clone()
    }
}

type Filter = RangeFilter<Vec<u8>>;

fn built<'a>(keys: impl IntoIterator<Item = &'a Vec<u8>>, bits: f64) -> Filter {
    let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(bits).expect("legal"));
    keys.into_iter().for_each(|key| builder.add_key(key));
    RangeFilter::open(builder.finish().expect("a filter"), &OpenOptions::new()).expect("intact")
}

/// Returns whether the filter passes the range, which must be so if a key lies in it; and whether none does.
fn passes(keys: &BTreeSet<Vec<u8>>, filter: &Filter, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> (bool, bool) {
    let is_legal = match (lower, upper) {
        (Included(lower), Included(upper)) => lower <= upper,
        (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower < upper,
        _ => true,
    };
    let is_empty = !is_legal || keys.range::<[u8], _>((lower, upper)).next().is_none();
    let passes = filter.may_contain_range(lower, upper);
    assert!(passes || is_empty, "{filter:?} {lower:?} {upper:?} {keys:?}");
    (passes, is_empty)
}

/// Small sets of similar keys, all forms of bounds, on all engines.
#[test]
fn no_stored_range_is_denied() {
    let mut random = Random(1);
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
                num_empty += u64::from(is_empty);
                num_passed += u64::from(is_empty && said);
            }
        }
    }
    assert!(num_passed * 5 < num_empty, "{num_passed} of {num_empty} empty ranges pass");
}

/// One bit of what is written is flipped before it is checked: the build fails if the block would deny a key.
#[test]
fn a_fault_that_denies_a_key_is_noticed() {
    let mut random = Random(2);
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
            let opened = RangeFilter::open(&block[..], &OpenOptions::new());
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
