//! Work is bounded whatever the bytes: filters with damaged parameters and payloads whose checksums hold are opened and
//! queried, and what they load from the block is counted. The bounds are those of `EMBEDDING.md`. (Loads of vectors are
//! not counted: there is a fixed number of them for each bucket and for each group.)

use super::{RangeFilter, RangeFilterBuilder, RangeForm, RangePolicy};
use crate::bytes::{self, loads_of};
use crate::frame::{HEADER_LEN, NUM_ENTRIES_AT, PARAMS_AT, PAYLOAD_LEN_AT, checksums};
use crate::random::Random;
use crate::{OpenOptions, hash};
use core::ops::Bound::{Excluded, Included, Unbounded};
use std::vec::Vec;

/// The most loads of 64 bits of an opening: the header's fields, the parameters, the directory of one bucket.
const MAX_OPEN: u64 = 60;

/// Returns the most loads of a query. A word that lies at any bit takes two.
fn max_query(filter: &RangeFilter<Vec<u8>>) -> u64 {
    let of = |name| filter.parameters().find(|&(found, _)| found == name).map_or(0, |(_, value)| value);
    match filter.form() {
        None => 0,
        // Marks; of two groups either 1023 values of two loads, 15 jumps for each bound, and zeros, or 255 leaves, whose
        // bits are those of the group; separators that marks do not settle.
        Some(RangeForm::Cut) => {
            let marks = 32 * 4;
            let gaps = 2 * (2 * 1023 + 2 * 15 * 4 + 2 * 4096 / 57 + 8);
            let steps = 2 * (255 * 8 + 4096 / 57 + 64) + 40 * (1100 / 57 + 4);
            marks + gaps.max(steps)
        }
        // A remainder for each code, the unary bits twice, and the directory and some slack for each bucket.
        Some(RangeForm::Integers) => {
            let bits = 8 * 512 * (of("remainder_bits") + 2);
            bits / (of("remainder_bits") + 1) + 2 * bits / 57 + 2 * 33 * 70
        }
    }
}

/// Returns the number as a key: its bytes, the most significant first.
fn big(number: u64) -> Vec<u8> {
    (0..8).map(|byte| (number >> (56 - 8 * byte)) as u8).collect()
}

/// Returns blocks of each form. The last ones of integers have few buckets, all of which a query of many blocks
/// searches.
fn samples() -> Vec<Vec<u8>> {
    let policies =
        ["range:14", "range:4", "range:fpr=1%,len=1024", "range:fpr=50%,len=1", "range:fpr=0.01%,len=100000"];
    let built = |(count, policy): (u64, &str)| {
        let mut builder = RangeFilterBuilder::new(policy.parse::<RangePolicy>().expect("legal"));
        (0..count).for_each(|i| builder.add_key(&big(hash::mix(i))));
        builder.finish().expect("a filter")
    };
    [9_000, 700, 64, 20].into_iter().flat_map(|count| policies.map(|policy| built((count, policy)))).collect()
}

/// Changes a block, and gives it its true length and checksums.
fn damaged(random: &mut Random, sample: &[u8]) -> Vec<u8> {
    let mut block = sample.to_vec();
    for _ in 0..random.below(5) {
        let at = PARAMS_AT + random.below(12) as usize;
        block[at] = [random.below(256) as u8, block[at] ^ 1 << random.below(8), 0, 1][random.below(4) as usize];
    }
    if random.below(3) == 0 {
        bytes::put_u64(&mut block, NUM_ENTRIES_AT, 1 + random.below(130));
    }
    // Many ones, none, and any: codes without and with gaps; then as many bytes as the longest bucket has, or more.
    let way = random.below(6);
    let fill = |at: usize, random: &mut Random| match way {
        0 => 0,
        1 => 0xff,
        2 => 0x55,
        3 if at % 2 == 0 => 0xff,
        _ => random.below(256) as u8,
    };
    if way < 5 {
        (HEADER_LEN..block.len()).for_each(|at| block[at] = fill(at, random));
    }
    let longest = 64 * (usize::from(block[PARAMS_AT + 3] % 64) + 2);
    let lens = [block.len(), HEADER_LEN + longest, HEADER_LEN + longest / 7, HEADER_LEN + random.below(4_000) as usize];
    let len = lens[random.below(4) as usize].max(HEADER_LEN + 1);
    (block.len()..len).for_each(|at| block.push(fill(at, random)));
    block.truncate(len);
    let payload_len = (block.len() - HEADER_LEN) as u64;
    bytes::put_u64(&mut block, PAYLOAD_LEN_AT, payload_len);
    checksums::write(&mut block, 0);
    block
}

#[test]
fn no_bytes_make_an_opening_or_a_query_long() {
    let (mut random, samples) = (Random::new(0), samples());
    let (mut num_opened, mut num_queries, mut num_denied) = ([0; 2], 0, 0);
    let (mut most_open, mut most) = (0, [0; 2]);
    for round in 0..30_000 {
        let block = damaged(&mut random, &samples[round % samples.len()]);
        let (num_loads, opened) = loads_of(|| OpenOptions::new().open_ranges(block));
        assert!(num_loads <= MAX_OPEN, "{num_loads} to open {opened:?}");
        most_open = most_open.max(num_loads);
        let Ok(filter) = opened else { continue };
        let form = usize::from(filter.form() == Some(RangeForm::Integers));
        num_opened[form] += 1;
        let allowed = max_query(&filter);
        for filter in filter.with_each_engine() {
            for i in 0..6 {
                let log_block =
                    filter.parameters().find(|&(name, _)| name == "log_block").map_or(8, |(_, value)| value);
                let first = random.below(u64::MAX);
                let blocks = [0, 1, 20, 31, 32, 33][i];
                let (lower, upper) = (big(first), big(first.saturating_add(blocks << log_block)));
                let query = || filter.may_contain_range(Included(&lower), Excluded(&upper));
                let (of_range, says) = loads_of(query);
                let (of_prefix, _) = loads_of(|| filter.may_contain_prefix(&lower[..i]));
                let (of_all, _) = loads_of(|| filter.may_contain_range(Included(&lower), Unbounded));
                for num_loads in [of_range, of_prefix, of_all] {
                    assert!(num_loads <= allowed, "{num_loads} loads of {allowed} in {filter:?}, {lower:?}..{upper:?}");
                    most[form] = most[form].max(num_loads);
                }
                num_queries += 3;
                num_denied += u64::from(!says);
            }
        }
    }
    assert!(num_opened.iter().all(|&num| num > 1_000), "{num_opened:?}");
    // A third of the ranges that have an end are denied, by as many engines as there are.
    assert!(num_denied * 12 > num_queries, "{num_denied} of {num_queries}");
    println!(
        "counted: {num_opened:?} damaged range filters of cut keys and of integers, at most {most_open} loads an opening, \
         {most:?} in {num_queries} queries"
    );
}

/// Two of every three integers of a run: blocks are as short as the writer makes them, and a range of the length that the
/// filter is for touches 33.
#[test]
fn ranges_of_the_planned_length_are_within_the_limits() {
    let (mut random, len) = (Random::new(7), 4_096u64);
    let mut builder = RangeFilterBuilder::new(RangePolicy::of_integers(0.01, len).expect("legal"));
    let mut keys: Vec<u64> = (0..300).flat_map(|run| (0..80).map(move |i| hash::mix(run) / 2 + i * 3 / 2)).collect();
    keys.sort_unstable();
    keys.iter().for_each(|&key| builder.add_key(&big(key)));
    let filter = OpenOptions::new().open_ranges(builder.finish().expect("of integers")).expect("intact");
    assert!(filter.parameters().any(|parameter| parameter == ("log_block", 7)), "{:?}", filter.form());
    let (mut asked, mut passed) = (0, 0);
    while asked < 20_000 {
        let first = random.below(u64::MAX - len) | 127;
        let last = first + len - 1;
        let behind = keys.partition_point(|&key| key < first);
        if keys.get(behind).is_none_or(|&key| key > last) {
            asked += 1;
            passed += u32::from(filter.may_contain_range(Included(&big(first)), Included(&big(last))));
        }
    }
    // 200 are expected, and at most; four standard deviations.
    assert!(passed <= 256, "{passed} of {asked}");
    let asks = |first, last| filter.may_contain_range(Included(&big(first)), Included(&big(last)));
    let num_denied = (1..100u64).filter(|i| !asks(i << 40 | 127, (i << 40) + 127 + len)).count();
    assert!(num_denied > 90 && (1..100u64).all(|i| asks(i << 40 | 127, (i << 40) + 128 + len)), "33, and 34 blocks");
}
