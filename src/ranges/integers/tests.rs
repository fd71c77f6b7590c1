use super::super::order::are_ordered;
use super::super::{RangeFilter, RangeFilterBuilder, RangePolicy};
use crate::build::fault;
use crate::frame::{HEADER_LEN, PARAMS_AT, checksums};
use crate::random::Random;
use crate::{BuildError, DecodeError, OpenOptions, bytes, hash};
use core::ops::Bound::{self, Excluded, Included, Unbounded};
use std::collections::BTreeSet;
use std::vec::Vec;

type Key = Vec<u8>;
type Filter = RangeFilter<Key>;

fn finished(policy: Result<RangePolicy, BuildError>, keys: &[Key]) -> Result<Key, BuildError> {
    let mut builder = RangeFilterBuilder::new(policy.expect("legal"));
    keys.iter().for_each(|key| builder.add_key(key));
    builder.finish()
}

/// A filter of integers.
fn required(keys: &[Key], rate: f64, len: u64) -> Result<Key, BuildError> {
    finished(RangePolicy::of_integers(rate, len), keys)
}

/// A filter of integers or of cut keys.
fn any(keys: &[Key], rate: f64, len: u64) -> Key {
    finished(RangePolicy::with_false_positive_rate(rate, len), keys).expect("a filter")
}

fn opened(block: Key) -> Filter {
    OpenOptions::new().open_ranges(block).expect("intact")
}

fn of_integers(filter: &Filter) -> bool {
    filter.parameters().any(|(name, _)| name == "log_block")
}

fn built(keys: &[Key], rate: f64, len: u64) -> Filter {
    let filter = opened(required(keys, rate, len).expect("of integers"));
    assert!(of_integers(&filter), "{keys:?}");
    filter
}

fn big(number: u64) -> Key {
    // The test's own order of bytes.
    (0..8).map(|byte| (number >> (56 - 8 * byte)) as u8).collect()
}

fn has(keys: &[Key], lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    keys.iter().any(|key| {
        (match lower {
            Included(lower) => &key[..] >= lower,
            Excluded(lower) => &key[..] > lower,
            Unbounded => true,
        }) && match upper {
            Included(upper) => &key[..] <= upper,
            Excluded(upper) => &key[..] < upper,
            Unbounded => true,
        }
    })
}

/// Keys of 0 to 2 bytes after a prefix, and as bounds all strings of up to one byte more, on both sides of the keys:
/// every answer is the sorted keys' own, as a range of so few integers hardly ever has a code of others.
#[test]
fn short_strings_are_answered_exactly() {
    let letters = [0, 1, 0x7f, 0xff];
    let mut strings: Vec<Key> = std::vec![Vec::new()];
    for len in 1..5 {
        let longer = strings.iter().filter(|string| string.len() == len - 1);
        let longer: Vec<Key> =
            longer.flat_map(|string| letters.map(|letter| [&string[..], &[letter]].concat())).collect();
        strings.extend(longer);
    }
    let forms = |a| [Included(a), Excluded(a), Unbounded];
    let (mut num_empty, mut num_passed) = (0, 0);
    for width in 0..3 {
        let of_width: Vec<&Key> = strings.iter().filter(|string| string.len() == width).collect();
        for (number, prefix) in [&b""[..], &[0], &[1], &[0x7f, 0], &[0xff]].into_iter().enumerate() {
            // Some of them, the first and the last included so that no byte more is common.
            let keys: Vec<Key> = (of_width.iter().enumerate())
                .filter(|&(i, _)| i == 0 || i + 1 == of_width.len() || hash::mix((i * 7 + number) as u64) % 3 == 0)
                .map(|(_, rest)| [prefix, &rest[..]].concat())
                .collect();
            for filter in built(&keys, 1e-4, 1 << 16).with_each_engine() {
                assert_eq!(filter.common_prefix(), prefix);
                for a in &strings {
                    for b in strings.iter().filter(|b| b.len() < 4 || a.len() < 3) {
                        for (lower, upper) in forms(&a[..]).into_iter().flat_map(|a| forms(&b[..]).map(|b| (a, b))) {
                            let says = filter.may_contain_range(lower, upper);
                            if !are_ordered(lower, upper) {
                                assert!(says, "{keys:?} {lower:?} {upper:?}");
                                continue;
                            }
                            let has = has(&keys, lower, upper);
                            assert!(says || !has, "{keys:?} {lower:?} {upper:?}");
                            num_empty += u32::from(!has);
                            num_passed += u32::from(says && !has);
                        }
                    }
                    let (says, has) = (filter.may_contain_prefix(a), keys.iter().any(|key| key.starts_with(a)));
                    assert!(says || !has, "{keys:?} {a:?}*");
                    assert!(!says || has || a.len() > prefix.len(), "{keys:?} {a:?}*");
                    assert_eq!(filter.may_contain(a), keys.contains(a));
                }
            }
        }
    }
    assert!(num_empty > 1_000_000 && num_passed < num_empty / 500, "{num_passed} of {num_empty}");
}

/// Sets of up to 2000 keys, random, in series, and consecutive: no range with a key is denied, on any engine.
#[test]
fn stored_keys_pass() {
    let mut random = Random::new(0);
    let mut num_cut = 0;
    for round in 0..60 {
        let count = 1 + random.below([3, 70, 2_000][round % 3]);
        let numbers: BTreeSet<u64> = match round % 5 {
            0 => (0..count).map(|_| random.next()).collect(),
            1 => (0..count).map(|i| ((i / 100) << 40) + (i % 100) * 600 + random.below(500)).collect(),
            2 => (0..count).map(|i| u64::MAX - i).collect(),
            3 => (0..count).map(|_| random.below(1 << 14)).collect(),
            _ => (0..count).map(|_| random.below(1 << 14) * 0x0001_0001_0001_0001).collect(),
        };
        let keys: Vec<Key> = numbers.iter().map(|&number| big(number)).collect();
        let (len, rate) = (1 << random.below(20), [0.5, 0.1, 0.01, 0.001][random.below(4) as usize]);
        let filter = opened(required(&keys, rate, len).unwrap_or_else(|_| any(&keys, rate, len)));
        num_cut += u32::from(!of_integers(&filter));
        let (sorted, mut ranges) = (Vec::from_iter(numbers.iter().copied()), Vec::new());
        for _ in 0..400 {
            let key = sorted[random.below(sorted.len() as u64) as usize];
            let (before, behind) = (random.below(len), random.below(len));
            ranges.push((key.saturating_sub(before), key.saturating_add(behind)));
            ranges.push((key, key));
            ranges.push((random.next(), random.next()));
        }
        for filter in filter.with_each_engine() {
            for &(first, last) in &ranges {
                let is_empty = first > last || numbers.range(first..=last).next().is_none();
                let says = filter.may_contain_range(Included(&big(first)), Included(&big(last)));
                assert!(says || is_empty, "{round}: {first:x}..={last:x} of {keys:x?}");
            }
            for prefix in keys.iter().map(|key| &key[..random.below(9) as usize]) {
                assert!(filter.may_contain_prefix(prefix), "{round}: {prefix:x?}");
            }
        }
    }
    assert!(num_cut < 20, "{num_cut} of 60 sets have no map of integers");
}

/// Keys of other forms have the other map.
#[test]
fn keys_that_are_no_integers_are_cut() {
    let long: Vec<Key> = (0..100u64).map(|i| [big(hash::mix(i)), big(i), std::vec![0]].concat()).collect();
    let of_two_lengths = std::vec![std::vec![1, 2], std::vec![1, 2, 3]];
    let consecutive: Vec<Key> = (0..100_000).map(big).collect();
    for (keys, len) in [(long, 10), (of_two_lengths, 10), (consecutive, 1 << 14)] {
        let mut sorted = keys.clone();
        sorted.sort();
        let filter = opened(any(&keys, 0.01, len));
        assert!(!of_integers(&filter));
        assert!(sorted.iter().all(|key| filter.may_contain(key)));
        // Cut keys are distinguished by fewer bits.
        let policy = RangePolicy::with_false_positive_rate(0.01, len).expect("legal");
        assert!(filter.as_bytes().len() as u64 <= policy.expected_block_len(keys.len() as u64) + 16);
    }
}

/// A bit that changes between the writing of the payload and its check is noticed, wherever it is.
#[test]
fn every_fault_is_noticed() {
    let keys: Vec<Key> = (0..150u64).map(|i| [&b"pre"[..], &big(hash::mix(i))].concat()).collect();
    for keys in [&keys[..], &keys[..1]] {
        let sound = required(keys, 0.1, 4).expect("of integers");
        let (mut num_faults, mut num_harmless) = (0, 0);
        loop {
            fault::tests::set(num_faults);
            let finished = required(keys, 0.1, 4);
            if !fault::tests::was_injected() {
                break;
            }
            match finished {
                Err(BuildError::SelfCheck { .. }) => {}
                // Zeros between codes.
                Ok(block) => {
                    assert!(block != sound, "{num_faults}");
                    num_harmless += 1;
                }
                Err(error) => panic!("{error}"),
            }
            num_faults += 1;
        }
        assert_eq!(num_faults, 8 * (sound.len() - HEADER_LEN));
        assert!(num_harmless <= 8, "{num_harmless}");
    }
}

/// A filter, and `num` times a copy of it with some bytes or its length changed, under right checksums.
fn damaged(sound: &[u8], num: u32) -> impl Iterator<Item = Key> {
    let mut random = Random::new(9);
    let changed = (0..num).map(move |_| {
        let mut block = sound.to_vec();
        for _ in 0..1 + random.below(3) {
            let places = if random.below(2) == 0 { PARAMS_AT..PARAMS_AT + 12 } else { HEADER_LEN..block.len() };
            let at = places.start + random.below(places.len() as u64) as usize;
            block[at] = if random.below(2) == 0 { random.next() as u8 } else { block[at] ^ 1 << random.below(8) };
        }
        let cut = random.below(2) as usize * random.below(500) as usize;
        block.truncate(block.len().max(HEADER_LEN + cut) - cut);
        let payload_len = (block.len() - HEADER_LEN) as u64;
        bytes::put_u64(&mut block, crate::frame::PAYLOAD_LEN_AT, payload_len);
        checksums::write(&mut block, 0);
        block
    });
    [sound.to_vec()].into_iter().chain(changed)
}

/// Asks all engines for ranges of every length. Returns their number.
fn all_engines_agree<B: AsRef<[u8]> + Clone>(filter: &RangeFilter<B>) -> usize {
    let (mut random, engines) = (Random::new(10), Vec::from_iter(filter.with_each_engine()));
    for _ in 0..20 {
        let first = random.next();
        let (first, last) = (big(first), big(first.saturating_add(random.next() >> random.below(64))));
        let (lower, upper) = (Included(&first[..]), Excluded(&last[..]));
        let answers = engines.iter().map(|filter| [filter.may_contain_range(lower, upper), filter.may_contain(&first)]);
        let answers: BTreeSet<_> = answers.collect();
        assert_eq!(answers.len(), 1, "{lower:?} {upper:?} {filter:?}");
    }
    engines.len()
}

/// Any bytes that can be opened are answered on all engines alike.
#[test]
fn damaged_filters_answer() {
    let keys: Vec<Key> = (0..700u64).map(|i| big(hash::mix(i / 3) & !0xfff | (i % 3))).collect();
    let sound = built(&keys, 0.02, 100).into_inner();
    let opened = damaged(&sound, 4_000).filter_map(|block| OpenOptions::new().open_ranges(block).ok());
    let opened: Vec<Filter> = opened.collect();
    assert!(opened.len() > 1_000, "{}", opened.len());
    assert!(opened.iter().all(|filter| all_engines_agree(filter) > 0));
}

/// Sound and damaged filters flush against pages that cannot be read, whose integers are read by every engine. What else a
/// query of ranges, partitions or sets reads, safe code reads.
#[cfg(target_os = "linux")]
#[test]
fn no_range_is_read_out_of_bounds() {
    let (mut pages, mut num_filters, mut num_engines) = (crate::cpu::Guarded::new(1 << 14), 0, 0);
    for count in [1, 2, 5, 63, 64, 65, 130, 700, 3_000] {
        for (rate, shift) in [(0.5, 40), (0.1, 0), (0.02, 12), (0.001, 20), (1e-5, 0)] {
            let keys: Vec<Key> = (0..count).map(|i| big(hash::mix(i / 3) >> shift | (i % 3))).collect();
            for block in damaged(&any(&keys, rate, 100), 60) {
                pages.at_both_ends(&block, |block| {
                    let Ok(filter) = OpenOptions::new().open_ranges(&*block) else { return };
                    num_engines = num_engines.max(all_engines_agree(&filter));
                    num_filters += 1;
                });
            }
        }
    }
    println!("counted: {num_filters} range filters by {num_engines} engines beside pages that cannot be read");
    assert!(num_filters > 1_000, "{num_filters}");
}

#[test]
fn parameters_out_of_range_are_refused() {
    let keys: Vec<Key> = (0..300u64).map(|i| [&b"p"[..], &big(hash::mix(i))].concat()).collect();
    let sound = built(&keys, 0.01, 64).into_inner();
    let changed = |at: usize, bytes: &[u8]| {
        let mut block = sound.clone();
        block[PARAMS_AT + at..PARAMS_AT + at + bytes.len()].copy_from_slice(bytes);
        checksums::write(&mut block, 0);
        OpenOptions::new().open_ranges(block).map(|_| ())
    };
    assert_eq!(changed(0, &[8]), Ok(()));
    for flags in [0b101, 0b110, 0b1100, 0b1_0100, 0x84] {
        assert_eq!(changed(1, &[flags]), Err(DecodeError::Reserved { offset_bytes: 41, found: flags }));
    }
    for (at, bytes, name) in [
        (0, &[17][..], "width"),
        (2, &[20], "log_block"),
        (2, &[255], "log_block"),
        (3, &[49], "remainder_bits"),
        (4, &[58], "directory_bits"),
        (5, &[0, 1, 0, 0, 0, 0, 0], "log_block"),
    ] {
        match changed(at, bytes) {
            Err(DecodeError::Parameter { name: found, .. }) => assert_eq!(found, name),
            other => panic!("{name}: {other:?}"),
        }
    }
    for prefix_len in [[0xff, 0xff], [sound.len() as u8 - 64, ((sound.len() - 64) >> 8) as u8]] {
        let declared = u64::from(prefix_len[0]) | u64::from(prefix_len[1]) << 8;
        match changed(6, &prefix_len) {
            Err(DecodeError::PayloadLength { declared_bytes, actual_bytes }) => {
                assert!(declared_bytes > declared && actual_bytes == (sound.len() - 64) as u64);
            }
            other => panic!("{other:?}"),
        }
    }
}
