//! The writer's side: sorted keys in, a payload out.

mod check;
mod code;
mod gaps;
mod plan;
mod rice;
mod steps;
mod strings;

use self::plan::Planner;
use super::bits::Bits;
use super::code::{ByteCode, End, Text};
use super::params::{MAX_MARK_BYTES, MAX_WIDTH, Params, UNIT_LEN};
use crate::bits::{self, MAX_FIELD_BITS};
use crate::bytes;
use crate::ranges::keys::Keys;
use crate::ranges::query::Side;
use std::vec::Vec;

pub(crate) use check::check;

/// Marks and groups.
struct Written {
    payload: Vec<u8>,
    mark_bytes: usize,
    num: usize,
    group_len: usize,
}

impl Written {
    /// Returns the parameters of gaps that are cut, without a code.
    fn params(&self, prefix_len: usize) -> Params {
        Params {
            group_units: (self.group_len / UNIT_LEN) as u8,
            is_gaps: true,
            mark_bytes: self.mark_bytes as u8,
            prefix_len: prefix_len as u16,
            num_groups: self.num as u32,
            ..Params::default()
        }
    }
}

/// Keys and their strings.
struct Source<'a> {
    keys: &'a Keys,
    prefix_len: usize,
    code: ByteCode<'a>,
}

impl Source<'_> {
    fn end(&self, key: u32) -> End<'_> {
        End { code: self.code, bytes: &self.keys.get(key as usize)[self.prefix_len..], side: Side::Lower }
    }

    /// Returns the string of a key, of which at least the first `len` bits are filled in.
    fn string(&self, key: u32, len: u32) -> Bits {
        *Text::new(&self.end(key)).reach(len)
    }

    /// Returns the bytes of the mark of a group that begins with `key`, whose separator has `len` bits.
    fn mark(&self, key: u32, len: u16) -> [u8; MAX_MARK_BYTES] {
        let number = self.end(key).number() & !u64::MAX.checked_shr(len.into()).unwrap_or(0);
        let mut mark = [0; MAX_MARK_BYTES];
        bytes::put_u64(&mut mark, 0, number.swap_bytes());
        mark
    }
}

/// A group that is being written.
struct Out {
    group: Vec<u8>,
    /// The offset of the next field, in bits.
    at: u64,
}

impl Out {
    fn of(len: usize) -> Self {
        Self { group: std::vec![0; len], at: 0 }
    }

    /// Writes a field of at most 63 bits.
    fn put(&mut self, width: u32, value: u64) {
        // In halves: the longest ones do not lie in one word.
        let low = width.min(32);
        bits::write(&mut self.group, self.at, low, value & ((1 << low) - 1));
        bits::write(&mut self.group, self.at + u64::from(low), width - low, value >> low);
        self.at += u64::from(width);
    }

    /// Writes the bits `from..end` of a string.
    fn put_bits(&mut self, string: &Bits, mut from: u32, end: u32) {
        while from < end {
            let width = (end - from).min(MAX_FIELD_BITS);
            self.put(width, string.at(from) & ((1 << width) - 1));
            from += width;
        }
    }
}

/// Groups of gaps are taken at once if hardly any key would pass if it were absent.
const FEW: f64 = 0.002;
/// The number of keys of which gaps are tried where there are many more.
const SAMPLE: usize = 1 << 13;

/// Appends the payload of `keys`, sorted and at least one, of about `max_len` bytes.
pub(crate) fn build(keys: &Keys, max_len: u64, out: &mut Vec<u8>) -> Params {
    let prefix_len = keys.common_prefix_len().min(u16::MAX.into());
    if let Some(params) = build_exact(keys, max_len.saturating_sub(prefix_len as u64), out) {
        return params;
    }
    let common_bytes = strings::common_bytes(keys, prefix_len);
    let chosen = code::choose(keys, prefix_len, &common_bytes, max_len);
    let code = ByteCode::new(&chosen.table, chosen.num_columns.into());
    let commons = strings::common_bits(keys, prefix_len, code, &common_bytes);
    drop(common_bytes);
    let source = Source { keys, prefix_len, code };
    out.extend_from_slice(&keys.get(0)[..prefix_len]);
    out.extend_from_slice(&chosen.table);
    let budget = 8 * max_len.saturating_sub((prefix_len + chosen.table.len()) as u64);
    let (written, is_gaps, least) = groups(&source, &commons, budget);
    out.extend_from_slice(&written.payload);
    let (num_classes, num_columns) = (chosen.num_classes, chosen.num_columns);
    Params { is_gaps, num_classes, num_columns, least, ..written.params(prefix_len) }
}

/// Appends the payload of `keys`, sorted and at least one, without anything cut off, if they are of one length with at
/// most [`MAX_WIDTH`] bytes after their common prefix, and marks and groups take at most `max_len` bytes.
pub(crate) fn build_exact(keys: &Keys, max_len: u64, out: &mut Vec<u8>) -> Option<Params> {
    let prefix_len = keys.common_prefix_len();
    let width = (keys.common_len()? - prefix_len) as u64;
    if !(1..=MAX_WIDTH.into()).contains(&width) || prefix_len > u16::MAX.into() {
        return None;
    }
    let number = |key: usize| bytes::u64_padded(&keys.get(key)[prefix_len..], 0).swap_bytes();
    let numbers: Vec<u64> = (0..keys.len()).map(number).collect();
    let written = gaps::exact(&numbers, max_len.saturating_mul(8))?;
    out.extend_from_slice(&keys.get(0)[..prefix_len]);
    out.extend_from_slice(&written.payload);
    Some(Params { width: width as u8, ..written.params(prefix_len) })
}

/// Returns the groups by which fewer keys would pass if they were absent, whether they are of gaps, and the least number
/// of bits that distinguish a leaf.
fn groups(source: &Source<'_>, commons: &[u16], budget: u64) -> (Written, bool, u8) {
    let num = commons.len();
    let tried = if num > 4 * SAMPLE { num / 2..num / 2 + SAMPLE } else { 0..num };
    let num_tried = tried.len();
    let part = (u128::from(budget) * num_tried as u128 / num as u128) as u64;
    let mut gaps = gaps::of_keys(source, commons, tried, part);
    // Marks of three bytes are the usual ones.
    let plan = |budget| Planner { commons, budget, group_bits: 8 * (steps::GROUP_LENS[0] as u64 + 3) }.choose();
    let mut of_steps = None;
    if gaps.as_ref().is_none_or(|gaps| gaps.1 > FEW) {
        let plan = plan(budget);
        gaps = gaps.filter(|gaps| gaps.1 <= plan.share);
        of_steps = Some(plan);
    }
    if num_tried < num && gaps.is_some() {
        gaps = gaps::of_keys(source, commons, 0..num, budget);
    }
    if let Some((written, _)) = gaps {
        return (written, true, 0);
    }
    let (mut of_steps, mut planned) = (of_steps.unwrap_or_else(|| plan(budget)), budget);
    loop {
        let (written, extra) = steps::write(source, &of_steps, budget);
        let fits = written.payload.len() as u64 * 8 <= budget + 32 && extra + plan::EXTRA_UNIT >= of_steps.extra;
        if fits || of_steps.leaves.len() == 1 {
            return (written, false, of_steps.least);
        }
        // Groups take more than was planned for.
        planned -= planned.div_ceil(16);
        of_steps = plan(planned);
    }
}

/// Returns the greatest number up to `most` for which `fits`, which holds for none above one for which it does not; 0 if it
/// holds for none. It is sought near `guess`.
fn greatest(guess: usize, most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut least, mut beyond) = (0, most + 1);
    let (mut near, mut step) = (guess.clamp(1, most.max(1)), 1);
    while beyond - least > 1 {
        match fits(near) {
            true => (least, near) = (near, near + step),
            false => (beyond, near) = (near, near.saturating_sub(step)),
        }
        step *= 2;
        if near <= least || near >= beyond {
            near = (least + beyond) / 2;
        }
    }
    least
}
