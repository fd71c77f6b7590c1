//! Bloom filters of prefixes, with the length that is best for each load; and Proteus (SIGMOD 2022), which has a list of
//! short prefixes before such a filter, with the best pair of lengths. Both know the ranges that they will be asked.

use crate::bits::{common, cut};
use crate::candidates::{coded, commons, touches};
use crate::sets::{Load, Range, Set};
use std::collections::HashSet;

/// The greatest number of prefixes that a query probes.
const MAX_PROBES: usize = 64;

/// The answer of the prefixes of one length for a range.
enum Said {
    /// One of them is there, or there are too many to ask.
    Maybe,
    /// So many are asked, and none is there.
    Absent(usize),
}

/// The false positives of a load in per cent, for each number of bits: of a Bloom filter, and of Proteus.
pub fn best(set: &Set, load: &Load, bits: &[f64]) -> Vec<(f64, f64)> {
    let num = set.keys.len() as f64;
    let base = common(&set.keys[0], &set.keys[set.keys.len() - 1]) / 8 * 8;
    let longest = set.keys.iter().map(Vec::len).max().unwrap_or(0) * 8;
    let step = if longest <= 64 { 2 } else { 8 };
    let lens: Vec<usize> = (base + step..=longest.min(base + 280)).step_by(step).collect();
    let commons = commons(&set.keys);
    // The list of prefixes of a length: its bits, and which ranges it passes.
    let lists: Vec<(f64, Vec<bool>)> = lens
        .iter()
        .map(|&len| {
            let distinct = 1 + commons.iter().filter(|&&common| common < len).count();
            let passes = load.ranges.iter().map(|range| touches(&set.keys, |_| len, range)).collect();
            (coded(distinct as f64, (len - base) as f64), passes)
        })
        .collect();
    let mut best = vec![(1f64, 1f64); bits.len()];
    for &len in &lens {
        let prefixes: HashSet<Vec<u8>> = set.keys.iter().map(|key| cut(key, len)).collect();
        let said: Vec<Said> = load.ranges.iter().map(|range| said(&prefixes, len, range)).collect();
        // The share of ranges that pass a filter of `size` bits among those that pass a list.
        let share = |size: f64, list: Option<&[bool]>| {
            let rate = (-size / prefixes.len() as f64 * std::f64::consts::LN_2.powi(2)).exp();
            let passed =
                said.iter().enumerate().filter(|&(i, _)| list.is_none_or(|list| list[i])).map(|(_, said)| match said {
                    Said::Maybe => 1.0,
                    Said::Absent(probes) => 1.0 - (1.0 - rate).powi(*probes as i32),
                });
            passed.sum::<f64>() / said.len() as f64
        };
        for (best, bits) in best.iter_mut().zip(bits) {
            best.0 = best.0.min(share(bits * num, None));
            for (size, list) in lists.iter().filter(|(size, _)| *size <= bits * num) {
                best.1 = best.1.min(share(bits * num - size, Some(list)));
            }
            best.1 = best.1.min(best.0);
        }
    }
    best.into_iter().map(|(bloom, proteus)| (100.0 * bloom.max(0.0), 100.0 * proteus.max(0.0))).collect()
}

fn said(prefixes: &HashSet<Vec<u8>>, len: usize, range: &Range) -> Said {
    let (mut at, end) = (cut(&range.lower, len), cut(&range.upper, len));
    for probes in 1..=MAX_PROBES {
        if prefixes.contains(&at) {
            return Said::Maybe;
        }
        if at == end {
            return Said::Absent(probes);
        }
        let mut carry = 1u16 << ((8 - len % 8) % 8);
        for byte in at.iter_mut().rev() {
            let sum = u16::from(*byte) + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
    }
    Said::Maybe
}
