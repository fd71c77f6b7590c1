use super::Reached;
use crate::integer_oracle::{self, Integers};
use crate::oracle::mix;
use crate::range_oracle::Ranges;
use crate::repair::{HEADER_LEN, Repair, repair};
use filterblock::OpenOptions;
use filterblock::range::{RangeFilterBuilder, RangePolicy};
use filterblock_portable as portable;
use std::collections::BTreeSet;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

/// A query compares every leaf in the oracle: this many strings keep an execution within milliseconds.
const MAX_STRINGS: usize = 40;

/// Bounds beside those that a block's bytes give.
const LETTERS: &[u8] = b"\0\x01 09Aafz~\x7f\x80\xfe\xff";

/// Range filters. If the input's first byte is even, the next two are the bits per key (if the first is a multiple of 4,
/// else a length, for keys that are cut to as many bytes as the first has or left out) and the number of keys that are
/// added to those that follow; each string has three bytes, which say how much it shares with the one before it, how
/// often its next byte is repeated, and, in the lower seven bits, how many bytes follow; the highest bit is set in those
/// that are only bounds. No key is denied, and the answers are the oracle's. If the first byte is odd, a block follows,
/// whose checksums are repaired: it is refused, or answers as the portable code does.
pub fn range(input: &[u8]) -> Reached {
    match input {
        [mode, bits, more, strings @ ..] if mode % 4 == 0 => built(*bits, *more, strings),
        [mode, len, more, strings @ ..] if mode % 4 == 2 => of_integers(mode >> 2, *len, *more, strings),
        [mode, block @ ..] if mode % 2 == 1 && block.len() >= HEADER_LEN => forged(block.to_vec()),
        _ => Reached::Nothing,
    }
}

/// Returns the strings, and which of them are keys.
fn strings(mut input: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let mut strings: Vec<(Vec<u8>, bool)> = Vec::new();
    while let [shared, repeated, len, rest @ ..] = input {
        let mut string = strings.last().map_or(Vec::new(), |(before, _)| before.clone());
        string.truncate(2 * usize::from(*shared));
        let (bytes, behind) = rest.split_at(usize::from(len & 127).min(rest.len()));
        string.extend(bytes.first().iter().flat_map(|&&byte| vec![byte; usize::from(*repeated)]));
        string.extend(bytes);
        strings.push((string, len & 128 == 0));
        input = behind;
        if strings.len() == MAX_STRINGS {
            break;
        }
    }
    strings
}

fn built(bits: u8, more: u8, input: &[u8]) -> Reached {
    let strings = strings(input);
    let mut keys: BTreeSet<Vec<u8>> = strings.iter().filter(|string| string.1).map(|string| string.0.clone()).collect();
    let stem = strings.first().map_or(&[][..], |(first, _)| &first[..first.len().min(3)]);
    for i in 0..u64::from(more) * 2 {
        let spread = mix(i).to_be_bytes();
        keys.insert([stem, if i % 2 == 0 { &spread[..] } else { &spread[6..] }].concat());
    }
    let policy = RangePolicy::with_bits_per_key(2.0 + f64::from(bits) / 1.3).expect("legal");
    compared(policy, &keys, &strings)
}

/// Keys of one length, which is that of the first and at most 40 bytes.
fn of_integers(rate: u8, len: u8, more: u8, input: &[u8]) -> Reached {
    let strings = strings(input);
    let key_len = strings.first().map_or(8, |(first, _)| first.len().min(40));
    let mut keys: BTreeSet<Vec<u8>> = strings
        .iter()
        .filter(|string| string.1 && string.0.len() >= key_len)
        .map(|string| string.0[..key_len].to_vec())
        .collect();
    for i in 0..u64::from(more) {
        let mut key = keys.first().cloned().unwrap_or_else(|| vec![0; key_len]);
        let spread = if i % 2 == 0 { mix(i).to_be_bytes() } else { (i * 3).to_be_bytes() };
        key.iter_mut().rev().zip(spread.iter().rev()).for_each(|(byte, &spread)| *byte ^= spread);
        keys.insert(key);
    }
    let len = u64::from(len % 16 + 1) << (len / 16);
    let policy = RangePolicy::with_false_positive_rate(0.5f64.powi(1 + i32::from(rate % 10)), len).expect("legal");
    compared(policy, &keys, &strings)
}

fn compared(policy: RangePolicy, keys: &BTreeSet<Vec<u8>>, strings: &[(Vec<u8>, bool)]) -> Reached {
    let mut builder = RangeFilterBuilder::new(policy);
    keys.iter().for_each(|key| builder.add_key(key));
    let block = builder.allow_empty().finish().expect("any keys make a filter");
    keys.iter().rev().for_each(|key| (0..2).for_each(|_| builder.add_key(key)));
    assert_eq!(builder.allow_empty().finish().as_ref(), Ok(&block), "order and repetition");
    let filter = OpenOptions::new().open_ranges(&block[..]).expect("a block just written");
    assert!(keys.iter().all(|key| filter.may_contain(key)));
    let portable = portable::OpenOptions::new().open_ranges(&block[..]).expect("portable");
    if keys.is_empty() {
        assert!(!filter.may_contain_range(Unbounded, Unbounded));
        assert!(filter.may_contain_range(Included(b"b"), Included(b"a")));
        return Reached::Opened;
    }
    let oracle = if integer_oracle::are_in(&block) {
        Oracle::Integers(Integers::open(&block))
    } else {
        Oracle::Cut(Ranges::open(&block))
    };
    for (i, (a, _)) in strings.iter().enumerate() {
        let says = filter.may_contain_prefix(a);
        assert!(says || !keys.iter().any(|key| key.starts_with(a)), "{a:?}");
        assert_eq!([portable.may_contain_prefix(a), oracle.may_contain_prefix(a)], [says; 2], "{a:?}");
        let others = [&strings[(i + 1) % strings.len()].0, a, &strings[(i * 7 + 3) % strings.len()].0];
        for (lower, upper) in others.into_iter().flat_map(|b| ranges(a, b)) {
            let says = filter.may_contain_range(lower, upper);
            assert!(says || !keys.iter().any(|key| is_between(key, lower, upper)), "{lower:?} {upper:?}");
            let others = [portable.may_contain_range(lower, upper), oracle.may_contain_range(lower, upper)];
            assert_eq!(others, [says; 2], "{lower:?} {upper:?}");
        }
    }
    Reached::Compared
}

enum Oracle {
    Cut(Ranges),
    Integers(Integers),
}

impl Oracle {
    fn may_contain_range(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
        match self {
            Self::Cut(oracle) => oracle.may_contain_range(lower, upper),
            Self::Integers(oracle) => oracle.may_contain_range(lower, upper),
        }
    }

    fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
        match self {
            Self::Cut(oracle) => oracle.may_contain_prefix(prefix),
            Self::Integers(oracle) => oracle.may_contain_prefix(prefix),
        }
    }
}

/// All forms of bounds.
fn ranges<'a>(a: &'a [u8], b: &'a [u8]) -> impl Iterator<Item = (Bound<&'a [u8]>, Bound<&'a [u8]>)> {
    let forms = |a| [Included(a), Excluded(a), Unbounded];
    forms(a).into_iter().flat_map(move |lower| forms(b).map(|upper| (lower, upper)))
}

fn is_between(key: &[u8], lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    let is_above = match lower {
        Included(lower) => lower <= key,
        Excluded(lower) => lower < key,
        Unbounded => true,
    };
    is_above
        && match upper {
            Included(upper) => key <= upper,
            Excluded(upper) => key < upper,
            Unbounded => true,
        }
}

fn forged(mut block: Vec<u8>) -> Reached {
    repair(&mut block, Repair::all(0));
    let filter = match OpenOptions::new().open_ranges(&block[..]) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Reached::Refused;
        }
    };
    let portable = portable::OpenOptions::new().open_ranges(&block[..]).expect("portable");
    let payload = &block[HEADER_LEN..];
    // Its length is elsewhere for integers.
    let prefix_at = if integer_oracle::are_in(&block) { 46 } else { 44 };
    let prefix = &payload[..usize::from(block[prefix_at]).min(payload.len())];
    let parts = payload.rchunks(9).take(10).chain((0..LETTERS.len()).map(|i| &LETTERS[i..i + 1])).collect::<Vec<_>>();
    let bounds: Vec<Vec<u8>> = parts.into_iter().flat_map(|part| [part.to_vec(), [prefix, part].concat()]).collect();
    for pair in bounds.windows(2) {
        for (lower, upper) in ranges(&pair[0], &pair[1]) {
            assert_eq!(portable.may_contain_range(lower, upper), filter.may_contain_range(lower, upper), "{pair:?}");
        }
        assert_eq!(portable.may_contain_prefix(&pair[0]), filter.may_contain_prefix(&pair[0]));
    }
    Reached::Compared
}
