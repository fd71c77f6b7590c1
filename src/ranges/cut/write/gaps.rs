//! The writer of groups of gaps.

use super::{Out, Source, Written, greatest};
use crate::bits::MAX_FIELD_BITS;
use crate::bytes;
use crate::ranges::cut::gaps::{
    DEPTH_BITS, HEAD_BITS, JUMP_HEAD_BITS, JUMPS_BITS, MAX_JUMPS, MAX_NUM, NUM_BITS, WIDTH_BITS,
};
use crate::ranges::cut::params::{MAX_MARK_BYTES, MIN_GROUP_LEN};
use std::vec::Vec;

/// How many times as long as the mean of the other gaps a gap is that counts as a jump.
const JUMP: u64 = 8;

/// The length of groups, and that for more bits a key than these.
const GROUP_LENS: [usize; 2] = [256, 512];
const MANY_BITS: f64 = 16.0;
/// Groups are not planned for fewer bits a key.
const MIN_BITS: f64 = 0.5;

/// Writes groups of the numbers of some keys, and returns the share of the keys that would pass if they were absent; `None`
/// if numbers are too short for many keys.
pub(super) fn of_keys(
    source: &Source<'_>,
    commons: &[u16],
    keys: core::ops::Range<usize>,
    budget: u64,
) -> Option<(Written, f64)> {
    let num_keys = keys.len();
    let is_equal = |&&common: &&u16| u32::from(common) >= u64::BITS;
    let num_equal = commons[keys.start + 1..keys.end].iter().filter(is_equal).count();
    if num_equal > num_keys / 100 {
        return None;
    }
    let mut numbers: Vec<u64> = keys.map(|key| source.end(key as u32).number()).collect();
    numbers.dedup();
    let len = common_len(&numbers);
    let bits = (budget as f64 / numbers.len() as f64).max(MIN_BITS);
    let group_len = GROUP_LENS[usize::from(bits > MANY_BITS)];
    let (written, num_passing) = write(&numbers, len, 1, group_len, bits);
    Some((written, (num_passing + num_equal) as f64 / num_keys as f64))
}

/// Writes groups of ascending numbers of which nothing is cut off, if they take at most `max_bits`.
pub(super) fn exact(numbers: &[u64], max_bits: u64) -> Option<Written> {
    let len = common_len(numbers);
    // No code takes less than the logarithms of the gaps, and two bits.
    let gap = |pair: &[u64]| 2 + u64::from(((pair[1] - pair[0]) >> (u64::BITS - len)).ilog2());
    let bits: u64 = numbers.windows(2).map(gap).sum();
    if bits > max_bits {
        return None;
    }
    let bits = (bits as f64 / numbers.len() as f64).max(MIN_BITS);
    let (written, _) = write(numbers, len, len, GROUP_LENS[0], bits);
    (written.payload.len() as u64 * 8 <= max_bits).then_some(written)
}

/// Returns the number of bits after which all numbers have zeros.
fn common_len(numbers: &[u64]) -> u32 {
    u64::BITS - numbers.iter().fold(0, |all, number| all | number).trailing_zeros().min(u64::BITS - 1)
}

/// Writes groups of `group_len` bytes of numbers, which ascend, of which the first `len` bits are not zeros, and which
/// take `bits` each: as many to a group as that gives, or all that fit if no more than `least_depth` bits are kept.
/// Returns how many numbers would pass if they were absent, too.
fn write(numbers: &[u64], len: u32, least_depth: u32, group_len: usize, bits: f64) -> (Written, usize) {
    let needed: Vec<u32> = numbers.windows(2).map(|pair| common(pair[0], pair[1]) + 1).collect();
    // Groups may end where separators fit into marks: of eight places in a row one mostly does.
    let least = needed.chunks(8).filter_map(|places| places.iter().min()).max().map_or(1, |bits| bits.div_ceil(8));
    (least as usize..=MAX_MARK_BYTES)
        .find_map(|mark_bytes| Writer { numbers, len, least_depth, group_len, bits, mark_bytes }.write())
        .expect("marks of eight bytes have room for each separator")
}

/// Returns how many leading bits two numbers have in common.
fn common(a: u64, b: u64) -> u32 {
    (a ^ b).leading_zeros()
}

struct Writer<'a> {
    numbers: &'a [u64],
    len: u32,
    /// The fewest bits that are kept of a number; `len` if nothing is cut off.
    least_depth: u32,
    group_len: usize,
    bits: f64,
    mark_bytes: usize,
}

impl Writer<'_> {
    /// Writes all groups; `None` if one has no place to end at.
    fn write(&self) -> Option<(Written, usize)> {
        let group_bits = self.group_len as f64 * 8.0;
        // A mark's bits are those of its group.
        let target = (group_bits + 8.0 * self.mark_bytes as f64) / self.bits;
        let (mut marks, mut groups) = (Vec::new(), Vec::new());
        let (mut rest, mut separator, mut depth, mut owed) = (self.numbers, 0, self.len, 0.0f64);
        let (mut num, mut num_passing) = (0, 0);
        while !rest.is_empty() {
            let goal = (target + owed).max(1.0);
            let (mut taken, chosen) = self.choose(rest, separator, depth, goal)?;
            depth = chosen;
            let mut plan = Plan::of(&rest[..taken], separator, depth);
            // What a window estimates may be a little less than what the group takes. The last one takes its share, and a
            // head, which else is that of many.
            let is_exact = self.least_depth == self.len;
            let share = match taken == rest.len() && !is_exact {
                true => (self.bits * taken as f64) as u64 + if num > 0 { HEAD_BITS } else { 0 },
                false => u64::MAX,
            };
            while plan.bits > share.min(self.group_len as u64 * 8) && depth > 1 {
                match is_exact {
                    true => taken = self.end(rest, taken - 1)?,
                    false => depth -= 1,
                }
                plan = Plan::of(&rest[..taken], separator, depth);
            }
            let is_last = taken == rest.len();
            groups.extend(plan.encode((!is_last).then_some(self.group_len)));
            num += 1;
            num_passing += passing(&rest[..taken], depth);
            owed = (owed + target - taken as f64).clamp(-target, target);
            let last = rest[taken - 1];
            rest = &rest[taken..];
            if let Some(&next) = rest.first() {
                separator = next & !(u64::MAX >> 1 >> common(last, next));
                let mut mark = [0; MAX_MARK_BYTES];
                bytes::put_u64(&mut mark, 0, separator.swap_bytes());
                marks.extend_from_slice(&mark[..self.mark_bytes]);
            }
        }
        marks.append(&mut groups);
        let written = Written { payload: marks, mark_bytes: self.mark_bytes, num, group_len: self.group_len };
        Some((written, num_passing))
    }

    /// Returns how many numbers the next group has, and how many bits it keeps of each: those with which the most that
    /// fit are nearest to `goal`.
    fn choose(&self, rest: &[u64], separator: u64, depth: u32, goal: f64) -> Option<(usize, u32)> {
        let all = &rest[..rest.len().min(MAX_NUM)];
        let near = all.len().min((goal * WINDOW) as usize + 16);
        let window = Window { numbers: all, separator, long: long_gaps(&all[..near], separator) };
        let fit = |depth| greatest(goal as usize, all.len(), |num| self.fits(&window, num, depth));
        let (mut depth, mut num) = (depth, fit(depth));
        while depth < self.len && num as f64 > goal {
            depth += 1;
            num = fit(depth);
        }
        while depth > self.least_depth && (num as f64) < goal && num < rest.len() {
            depth -= 1;
            num = fit(depth);
        }
        if depth < self.len {
            let fewer = fit(depth + 1);
            if fewer > 0 && goal - fewer as f64 <= num as f64 - goal {
                (depth, num) = (depth + 1, fewer);
            }
        }
        // What fits of the fewer that end there.
        let taken = self.end(rest, num)?;
        while taken < num && depth < self.len && self.fits(&window, taken, depth + 1) {
            depth += 1;
        }
        Some((taken, depth))
    }

    /// Returns the last place, at most `most`, at which the next separator fits into a mark.
    fn end(&self, rest: &[u64], most: usize) -> Option<usize> {
        let marked = 8 * self.mark_bytes as u32;
        let ends = |&num: &usize| num == rest.len() || common(rest[num - 1], rest[num]) < marked;
        (1..=most).rev().find(ends)
    }

    fn fits(&self, window: &Window<'_>, num: usize, depth: u32) -> bool {
        window.bits(num, depth).0 <= self.group_len as u64 * 8
    }
}

/// Among how many times a group's numbers long gaps are sought.
const WINDOW: f64 = 2.5;

/// The numbers that follow a separator, and what groups of the first of them take.
struct Window<'a> {
    numbers: &'a [u64],
    separator: u64,
    /// Gaps far above the mean, the longest first, and the numbers that they lie before.
    long: Vec<(u64, usize)>,
}

impl Window<'_> {
    /// Returns about how many bits the first `num` numbers take if `depth` bits are kept of each, and with how many jumps.
    fn bits(&self, num: usize, depth: u32) -> (u64, u64) {
        let shift = 64 - depth;
        let last = (self.numbers[num - 1] >> shift) - (self.separator >> shift);
        let mut best = (HEAD_BITS.saturating_add(code(num as u64, last).0), 0);
        let (mut jumps, mut sum, mut longest) = (0, 0, 0);
        for &(gap, _) in self.long.iter().filter(|long| long.1 < num) {
            let spare = (gap >> shift).saturating_sub(1);
            if spare == 0 {
                break;
            }
            (jumps, sum, longest) = (jumps + 1, sum + spare, spare.max(longest));
            let rest = last.saturating_sub(sum);
            let unit = unit(rest, num as u64);
            // Lengths are rounded down.
            let end = rest.saturating_add(jumps * ((1 << unit) - 1)).min(last);
            let bits = head_bits(jumps, end, longest >> unit).saturating_add(code(num as u64, end).0);
            best = best.min((bits, jumps));
        }
        best
    }
}

/// Returns the bits of a group's head with `num_jumps` jumps, whose greatest fields are `from` and `len`.
fn head_bits(num_jumps: u64, from: u64, len: u64) -> u64 {
    match (num_jumps, width(from.max(len))) {
        (0, _) => HEAD_BITS,
        (_, 64) => u64::MAX,
        _ => HEAD_BITS + JUMP_HEAD_BITS + num_jumps * u64::from(width(from) + width(len)),
    }
}

/// Returns the exponent of the unit of jumps among `num` values up to `last`.
fn unit(last: u64, num: u64) -> u32 {
    (last / num).checked_ilog2().unwrap_or(0)
}

fn width(number: u64) -> u32 {
    64 - number.leading_zeros()
}

/// Returns how many bits the code of `num` values up to `last` takes, and how many low bits of each.
fn code(num: u64, last: u64) -> (u64, u32) {
    let mean = unit(last, num);
    let bits = |low: u32| (num * u64::from(low) + num).saturating_add(last >> low);
    let lows = mean.saturating_sub(1).min(MAX_FIELD_BITS)..=(mean + 1).min(MAX_FIELD_BITS);
    lows.map(|low| (bits(low), low)).min().unwrap_or((u64::MAX, 0))
}

/// A group before it is written.
struct Plan {
    depth: u32,
    /// Its values, without the jumps.
    values: Vec<u64>,
    low_bits: u32,
    /// For each jump the value that it ends at, and its length in units.
    jumps: Vec<(u64, u64)>,
    unit: u32,
    bits: u64,
}

impl Plan {
    /// Returns the smallest group of numbers of which `depth` bits are kept.
    fn of(numbers: &[u64], separator: u64, depth: u32) -> Self {
        let shift = 64 - depth;
        let mut places: Vec<u64> = numbers.iter().map(|number| (number >> shift) - (separator >> shift)).collect();
        places.dedup();
        let window = Window { long: long_gaps(&places, 0), numbers: &places, separator: 0 };
        let num_jumps = window.bits(places.len(), 64).1 as usize;
        let plan = Self::with_jumps(&places, &window.long[..num_jumps], depth);
        if plan.bits == u64::MAX { Self::with_jumps(&places, &[], depth) } else { plan }
    }

    /// Returns the group with jumps in place of some gaps before entries.
    fn with_jumps(places: &[u64], gaps: &[(u64, usize)], depth: u32) -> Self {
        let num = places.len() as u64;
        // A gap of at least 1 is left, so that entries stay apart.
        let unit = unit(places[places.len() - 1] - gaps.iter().map(|gap| gap.0 - 1).sum::<u64>(), num);
        let (mut jumps, mut values, mut sum) = (Vec::new(), Vec::with_capacity(places.len()), 0);
        for (entry, &place) in places.iter().enumerate() {
            let len = gaps.iter().find(|gap| gap.1 == entry).map_or(0, |gap| (gap.0 - 1) >> unit);
            if len > 0 {
                sum += len << unit;
                jumps.push((place - sum, len));
            }
            values.push(place - sum);
        }
        let (code_bits, low_bits) = code(num, values[values.len() - 1]);
        let mut plan = Self { depth, low_bits, jumps, unit, bits: 0, values };
        let (from, len) = plan.greatest_fields();
        plan.bits = head_bits(plan.jumps.len() as u64, from, len).saturating_add(code_bits);
        plan
    }

    /// Returns the greatest fields of jumps.
    fn greatest_fields(&self) -> (u64, u64) {
        self.jumps.iter().fold((0, 0), |most, jump| (jump.0.max(most.0), jump.1.max(most.1)))
    }

    /// Returns the bytes, as many as `len`, or, of the last group, as few as it needs.
    fn encode(&self, len: Option<usize>) -> Vec<u8> {
        let len = len.unwrap_or((self.bits.div_ceil(8) as usize).max(MIN_GROUP_LEN));
        let mut out = Out::of(len);
        out.put(NUM_BITS, self.values.len() as u64);
        out.put(DEPTH_BITS, self.depth.into());
        out.put(WIDTH_BITS, self.low_bits.into());
        out.put(JUMPS_BITS, self.jumps.len() as u64);
        if !self.jumps.is_empty() {
            let (from, len) = self.greatest_fields();
            let (from_bits, len_bits) = (width(from), width(len));
            [from_bits, len_bits, self.unit].into_iter().for_each(|width| out.put(WIDTH_BITS, width.into()));
            self.jumps.iter().for_each(|&(from, len)| {
                out.put(from_bits, from);
                out.put(len_bits, len);
            });
        }
        let (highs, lows) = (out.at, len as u64 * 8 - self.values.len() as u64 * u64::from(self.low_bits));
        for (entry, value) in (0..).zip(&self.values) {
            out.at = highs + (value >> self.low_bits) + entry;
            out.put(1, 1);
            out.at = lows + entry * u64::from(self.low_bits);
            out.put(self.low_bits, value & ((1 << self.low_bits) - 1));
        }
        out.group
    }
}

/// Returns how many of these numbers have one beside them with which they agree in the first `depth` bits.
fn passing(numbers: &[u64], depth: u32) -> usize {
    let agree = |at: usize| numbers.get(at).zip(numbers.get(at + 1)).is_some_and(|(a, b)| common(*a, *b) >= depth);
    (0..numbers.len()).filter(|&at| agree(at) || at > 0 && agree(at - 1)).count()
}

/// Returns the gaps far above the mean of the others, the longest first, and the numbers that they lie before.
fn long_gaps(numbers: &[u64], separator: u64) -> Vec<(u64, usize)> {
    let gaps = || {
        let first = numbers.first().map(|first| first - separator);
        first.into_iter().chain(numbers.windows(2).map(|pair| pair[1] - pair[0]))
    };
    let mut bound = u64::MAX;
    for _ in 0..4 {
        let (mut sum, mut num) = (0u64, 1);
        gaps().filter(|&gap| gap <= bound).for_each(|gap| (sum, num) = (sum.saturating_add(gap), num + 1));
        bound = (sum / num).saturating_mul(JUMP).max(1);
    }
    let mut long: Vec<(u64, usize)> = gaps().zip(0..).filter(|&(gap, _)| gap > bound).collect();
    long.sort_unstable_by(|a, b| b.cmp(a));
    long.truncate(MAX_JUMPS);
    long
}
