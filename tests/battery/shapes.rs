//! Keys as users have them, and as an adversary without the seed would choose them to expose weak hashes or weak
//! derivations of probes. Every shape is an injective map from numbers to keys.

use crate::*;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    SequentialLittleEndian,
    SequentialBigEndian,
    /// A base with none, one or two of 64 bits flipped; bases of 8 to 300 bytes.
    FlippedBits,
    /// 64 common bytes, then a number.
    SharedPrefix,
    /// IEEE 754, 0.0, 0.1, 0.2 …
    Floats,
    /// One to five words of several languages.
    Words,
    Urls,
    /// 16 bytes.
    Random,
    /// 300 or 5000 bytes, one of which differs from a base.
    LongKeys,
    /// 0 to 300 equal bytes.
    RepeatedByte,
}

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "the of and a water people over straße größe naïve été Ångström señor слово вода человек ψυχή λόγος κόσμος كتاب \
     ماء मानव जल 日本 言葉 水 人間 바다 사람 🦀 שלום ไทย"
        .split(' ')
        .collect()
});

/// Bits of a base that may be flipped, and the number of keys with none, one or two of them flipped.
const FLIPPED: u64 = 64;
const KEYS_OF_BASE: u64 = 1 + FLIPPED + FLIPPED * (FLIPPED - 1) / 2;
const BASE_LENS: [usize; 6] = [8, 16, 17, 64, 200, 300];
/// One key in this many has 5000 bytes, the others 300.
const LONGER_SHARE: u64 = 8;
const LONG: usize = 300;
const LONGER: usize = 5_000;
const MAX_REPEATED: u64 = 300;

impl Shape {
    pub(crate) const ALL: [Self; 10] = [
        Self::SequentialLittleEndian,
        Self::SequentialBigEndian,
        Self::FlippedBits,
        Self::SharedPrefix,
        Self::Floats,
        Self::Words,
        Self::Urls,
        Self::Random,
        Self::LongKeys,
        Self::RepeatedByte,
    ];

    /// The number of keys of a shape that has few.
    pub(crate) const fn num_keys(self) -> Option<u64> {
        match self {
            // The empty key, and 255 others for each length.
            Self::RepeatedByte => Some(1 + MAX_REPEATED * 256),
            _ => None,
        }
    }

    /// Writes key number `number` over `key`.
    pub(crate) fn write(self, number: u64, key: &mut Vec<u8>) {
        key.clear();
        match self {
            Self::SequentialLittleEndian => key.extend(little_endian(number)),
            Self::SequentialBigEndian => key.extend(little_endian(number).into_iter().rev()),
            Self::FlippedBits => write_flipped(number, key),
            Self::SharedPrefix => {
                key.extend([b'/'; 64]);
                key.extend(little_endian(number).into_iter().rev());
            }
            Self::Floats => key.extend(little_endian((number as f64 / 10.0).to_bits())),
            Self::Words => write_words(number, key),
            Self::Urls => {
                let (site, page) = (number % 997, number / 997);
                key.extend(b"https://www.example");
                write_decimal(site, key);
                key.extend(b".org/articles/");
                write_decimal(page, key);
                key.extend(b"?lang=en&ref=home");
            }
            Self::Random => {
                // The first number is a bijection of the seed.
                numbers(number.rotate_left(32)).take(2).for_each(|half| key.extend(little_endian(half)));
            }
            Self::LongKeys => write_long(number, key),
            Self::RepeatedByte => {
                let len = number.div_ceil(256);
                key.resize(len as usize, (number % 256) as u8);
            }
        }
    }
}

fn little_endian(number: u64) -> [u8; 8] {
    std::array::from_fn(|i| (number >> (8 * i)) as u8)
}

fn write_flipped(number: u64, key: &mut Vec<u8>) {
    let (base, change) = (number / KEYS_OF_BASE, number % KEYS_OF_BASE);
    let len = BASE_LENS[base as usize % BASE_LENS.len()];
    // Eight random bytes, in which two bases differ by far more bits than are flipped, then equal bytes.
    key.resize(len, base as u8);
    key[..8].copy_from_slice(&little_endian(numbers(base).next().unwrap_or(0)));
    // Bits spread over the whole base.
    let mut flip = |bit: u64| {
        let at = bit as usize * len * 8 / FLIPPED as usize;
        key[at / 8] ^= 1 << (at % 8);
    };
    match change.checked_sub(1 + FLIPPED) {
        None if change == 0 => {}
        None => flip(change - 1),
        Some(pair) => {
            // The pair's number in the order (1, 0), (2, 0), (2, 1), (3, 0) …
            let second = (1 + 8 * pair).isqrt().div_ceil(2);
            flip(second);
            flip(pair - second * (second - 1) / 2);
        }
    }
}

fn write_decimal(mut number: u64, key: &mut Vec<u8>) {
    let (mut digits, mut start) = ([0; 20], 20);
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return key.extend(&digits[start..]);
        }
    }
}

fn write_words(mut number: u64, key: &mut Vec<u8>) {
    loop {
        key.extend(WORDS[number as usize % WORDS.len()].as_bytes());
        number /= WORDS.len() as u64;
        if number == 0 {
            return;
        }
        key.push(b' ');
    }
}

fn write_long(number: u64, key: &mut Vec<u8>) {
    let (share, index) = (number % LONGER_SHARE, number / LONGER_SHARE);
    let (len, index) = if share == 0 { (LONGER, index) } else { (LONG, index * (LONGER_SHARE - 1) + share - 1) };
    let changes = len as u64 * 255;
    let (base, change) = (index / changes, index % changes);
    // Equal bytes, which are fast to write; another base has another byte everywhere.
    assert!(base < 251, "no more bases");
    key.resize(len, (base % 251) as u8);
    let first = little_endian(base);
    key[..8].copy_from_slice(&first);
    key[(change / 255) as usize] ^= 1 + (change % 255) as u8;
}

#[test]
fn different_numbers_make_different_keys() {
    let mut key = Vec::new();
    for shape in Shape::ALL {
        let most = shape.num_keys().unwrap_or(40_000);
        let mut seen = std::collections::HashSet::new();
        for number in (0..most).chain(11_000_000..11_000_000 + 10_000 * u64::from(shape.num_keys().is_none())) {
            shape.write(number, &mut key);
            assert!(seen.insert(key.clone()), "{shape:?}: number {number} repeats a key");
        }
        let lens: std::collections::BTreeSet<usize> = seen.iter().map(Vec::len).collect();
        match shape {
            Shape::RepeatedByte => assert_eq!(lens.len(), 301),
            Shape::LongKeys => assert_eq!(lens, [LONG, LONGER].into()),
            Shape::FlippedBits => assert_eq!(lens, BASE_LENS.into()),
            Shape::Words | Shape::Urls => assert!(seen.iter().all(|key| std::str::from_utf8(key).is_ok())),
            _ => assert_eq!(lens.len(), 1),
        }
    }
}
