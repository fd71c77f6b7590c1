use super::Params;
use super::bounds::Bounds;
use super::code::{ByteCode, Side, Text};
use super::layout::{Layout, UNIT_LEN};
use super::marks::{Groups, MIN_GROUP_LEN};
use super::write::{Written, write_gaps};
use crate::bytes;
use crate::random::Random;
use std::vec::Vec;

/// Bits of a group, one by one, as the format's description has them.
struct Plain<'a> {
    group: &'a [u8],
    at: usize,
}

impl Plain<'_> {
    fn bit(&self, at: usize) -> u64 {
        u64::from(self.group.get(at / 8).copied().unwrap_or(0) >> (at % 8) & 1)
    }

    fn take(&mut self, width: u64) -> u64 {
        let field = (0..width as usize).map(|i| self.bit(self.at + i) << i).sum();
        self.at += width as usize;
        field
    }
}

/// The first and the last number of each value of a group: all that its bytes say.
fn cells(group: &[u8], separator: u64) -> Vec<(u64, u64)> {
    let mut plain = Plain { group, at: 0 };
    let [num, depth, low_bits, num_jumps] = [10, 7, 6, 4].map(|width| plain.take(width));
    let mut jumps = Vec::new();
    if num_jumps > 0 {
        let [from_bits, len_bits, unit] = [6, 6, 6].map(|width| plain.take(width));
        jumps.extend((0..num_jumps).map(|_| (plain.take(from_bits), plain.take(len_bits) << unit)));
    }
    let (mut high, mut cells) = (0, Vec::new());
    let mut lows = Plain { group, at: group.len() * 8 - (num * low_bits) as usize };
    while (cells.len() as u64) < num {
        if plain.take(1) == 0 {
            high += 1;
            continue;
        }
        let value = high << low_bits | lows.take(low_bits);
        let jumped: u64 = jumps.iter().filter(|jump| jump.0 <= value).map(|jump| jump.1).sum();
        let (shift, place) = (64 - depth, value + jumped);
        let first = ((separator >> shift) + place) << shift;
        cells.push((first, first | ((1u128 << shift) - 1) as u64));
    }
    cells
}

fn layout(num: usize, mark_bytes: usize, group_len: usize) -> Layout {
    let params = Params {
        group_units: (group_len / UNIT_LEN) as u8,
        is_gaps: true,
        mark_bytes: mark_bytes as u8,
        skip: 0,
        num_classes: 0,
        num_columns: 0,
        least: 0,
        prefix_len: 0,
        num_groups: num as u32,
    };
    Layout { params, first: 0 }
}

fn write(numbers: &[u64], len: u32, group_len: usize, bits: f64) -> Written {
    write_gaps(numbers, len, group_len, bits).0
}

fn groups(written: &Written, group_len: usize) -> Groups<'_> {
    let (marks, groups) = written.payload.split_at((written.num - 1) * written.mark_bytes);
    Groups::new(marks, groups, &layout(written.num, written.mark_bytes, group_len))
}

/// The answer for numbers from `lower` to `upper`.
fn may_overlap(groups: &Groups<'_>, lower: u64, upper: u64) -> bool {
    let [lower, upper] = [lower, upper].map(|number| bytes::of_u128(number.swap_bytes().into()));
    let text = |bytes, side| Text::new(ByteCode::new(&[], 0), bytes, side);
    let mut bounds = Bounds { lower: text(&lower[..8], Side::Lower), upper: text(&upper[..8], Side::Upper) };
    groups.start(&mut bounds).is_some_and(|group| groups.finish(&mut bounds, group))
}

/// The cells of all groups, which ascend: each within its group's separator and the next.
fn all_cells(groups: &Groups<'_>) -> Vec<(u64, u64)> {
    let within = |group: usize| {
        let first = groups.mark(group);
        let last = if group + 1 < groups.num { groups.mark(group + 1) - 1 } else { u64::MAX };
        cells(groups.group(group), first).into_iter().map(move |cell| (cell.0.max(first), cell.1.min(last)))
    };
    let cells: Vec<_> = (0..groups.num).flat_map(within).collect();
    assert!(cells.windows(2).all(|pair| pair[0].1 < pair[1].0), "{cells:x?}");
    cells
}

/// Numbers of many shapes: anywhere, at all scales, close by, with rare and long gaps, in a few clusters.
fn draw(random: &mut Random, num: u64) -> Vec<u64> {
    let shape = random.below(6);
    let mut last = random.next() >> random.below(60);
    let mut numbers: Vec<u64> = (0..num)
        .map(|_| {
            let step = match shape {
                0 => return random.next(),
                1 => return random.next() >> random.below(64),
                2 => return random.below(3000),
                3 => return random.below(7) << 60 | random.below(100_000),
                4 if random.below(20) == 0 => random.next() >> random.below(64),
                5 if random.below(100) == 0 => random.next(),
                4 => 1,
                _ => random.below(1000),
            };
            last = last.wrapping_add(step);
            last
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[test]
fn groups_say_what_their_bytes_say_and_keep_each_number() {
    let mut random = Random::new(48);
    for _ in 0..150 {
        let num = 1 + random.below(600);
        let numbers = draw(&mut random, num);
        let group_len = [32, 64, 256, 512][random.below(4) as usize];
        let written = write(&numbers, 64, group_len, 2.0 + random.below(40) as f64 / 2.0);
        let groups = groups(&written, group_len);
        let cells = all_cells(&groups);
        // Each number has a cell, and each cell a number.
        let cell_of = |number: u64| cells.partition_point(|cell| cell.1 < number);
        let mut used: Vec<usize> = numbers.iter().map(|&number| cell_of(number)).collect();
        assert!(used.iter().zip(&numbers).all(|(&cell, &number)| cells[cell].0 <= number));
        used.dedup();
        assert_eq!(used.len(), cells.len());
        for _ in 0..400 {
            let near = numbers[random.below(numbers.len() as u64) as usize];
            let mut end = || {
                let away = random.next() >> random.below(64);
                if random.below(2) == 0 { near.saturating_add(away) } else { near.saturating_sub(away) }
            };
            let (a, b) = (end(), end());
            let (lower, upper) = (a.min(b), a.max(b));
            let overlaps = cells.get(cell_of(lower)).is_some_and(|cell| cell.0 <= upper);
            assert_eq!(may_overlap(&groups, lower, upper), overlaps, "{lower:x} {upper:x} {numbers:x?}");
        }
    }
}

#[test]
fn all_sets_of_few_numbers_and_all_ranges() {
    // Numbers of five bits, with two groups and more where they are many.
    for set in 1u32..1 << 10 {
        let numbers: Vec<u64> = (0..10).filter(|i| set >> i & 1 == 1).map(|i| (3 * i + i % 2) << 59).collect();
        for (group_len, bits) in [(UNIT_LEN, 60.0), (UNIT_LEN, 100.0), (2 * UNIT_LEN, 3.0)] {
            let written = write(&numbers, 5, group_len, bits);
            let groups = groups(&written, group_len);
            let cells = all_cells(&groups);
            for lower in 0..32u64 {
                for upper in lower..32 {
                    let (lower, upper) = (lower << 59, upper << 59 | u64::MAX >> 5);
                    let has = |of: &[(u64, u64)]| of.iter().any(|cell| cell.0 <= upper && cell.1 >= lower);
                    let stored: Vec<_> = numbers.iter().map(|&number| (number, number)).collect();
                    let answer = may_overlap(&groups, lower, upper);
                    assert!(answer || !has(&stored), "{set:b} {lower:x} {upper:x}");
                    assert_eq!(answer, has(&cells), "{set:b} {lower:x} {upper:x}");
                }
            }
        }
    }
}

#[test]
fn dense_numbers_are_exact_in_less_than_three_bits() {
    let mut random = Random::new(7);
    let numbers: Vec<u64> = (1..20_000u64).filter(|_| random.below(10) > 0).map(|id| id << 40).collect();
    let written = write(&numbers, 24, 256, 14.0);
    assert!(written.payload.len() * 8 < 3 * numbers.len(), "{} bytes", written.payload.len());
    let groups = groups(&written, 256);
    for id in 0..20_100u64 {
        let (lower, upper) = (id << 40, (id + 1 << 40) - 1);
        assert_eq!(may_overlap(&groups, lower, upper), numbers.binary_search(&(id << 40)).is_ok(), "{id}");
    }
}

#[test]
fn any_bytes_are_searched_in_bounded_work() {
    let mut random = Random::new(3);
    for round in 0..3000u64 {
        let (num, mark_bytes, group_len) = (1 + random.below(40) as usize, 1 + random.below(8) as usize, 512);
        let last = MIN_GROUP_LEN + random.below(509) as usize;
        let fill = |random: &mut Random| match round % 3 {
            0 => random.next() as u8,
            1 => [0, 0xff][random.below(2) as usize],
            _ => random.next() as u8 & random.next() as u8 & random.next() as u8,
        };
        let payload: Vec<u8> = (0..(num - 1) * (mark_bytes + group_len) + last).map(|_| fill(&mut random)).collect();
        let (marks, of_groups) = payload.split_at((num - 1) * mark_bytes);
        let groups = Groups::new(marks, of_groups, &layout(num, mark_bytes, group_len));
        for _ in 0..20 {
            let (a, b) = (random.next() >> random.below(64), random.next() >> random.below(64));
            let (loads, _) = bytes::loads_of(|| may_overlap(&groups, a.min(b), a.max(b)));
            // Two groups of 1023 entries of two loads each, 15 jumps of four for both bounds, and zeros; and the marks.
            assert!(loads <= 2 * (2 * 1023 + 2 * 15 * 4 + 2 * 4096 / 57 + 8) + 16, "{loads}");
        }
    }
}
