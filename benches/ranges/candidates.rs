//! Alternatives: each answers whether a range may have a key. Sizes follow formulas: a sorted list of m numbers below
//! 2^w takes m · (w − log₂ m + 1.7) bits, as golomb's coder does.

use crate::bits::{bit, common, order, word};
use crate::sets::{Range, Set};

pub struct Candidate<'a> {
    pub name: String,
    pub bits_per_key: f64,
    pub may_contain: Box<dyn Fn(&Range) -> bool + 'a>,
}

pub fn coded(num: f64, log_universe: f64) -> f64 {
    num * ((log_universe - num.log2()).max(0.0) + 1.7)
}

/// Returns whether the range touches a key of which only the first `cut` bits are known.
pub fn touches(keys: &[Vec<u8>], cut: impl Fn(usize) -> usize, range: &Range) -> bool {
    let behind = keys.partition_point(|key| order(key, &range.lower).is_lt());
    if behind > 0 && common(&keys[behind - 1], &range.lower) >= cut(behind - 1) {
        return true;
    }
    keys.get(behind).is_some_and(|key| {
        // The range is empty, so the key is above it.
        let at = common(key, &range.upper);
        at >= cut(behind) || !bit(key, at)
    })
}

/// Returns the number of leading bits that each key has in common with the one before it.
pub fn commons(keys: &[Vec<u8>]) -> Vec<usize> {
    keys.windows(2).map(|pair| common(&pair[0], &pair[1])).collect()
}

/// The leading bits of a key, as many for each.
pub fn leading(set: &Set, bits: f64) -> Candidate<'_> {
    let (keys, num) = (&set.keys, set.keys.len() as f64);
    let (base, commons) = (common(&keys[0], &keys[keys.len() - 1]), commons(keys));
    let size = |cut: usize| {
        let distinct = 1 + commons.iter().filter(|&&common| common < cut).count();
        coded(distinct as f64, (cut - base) as f64) / num
    };
    let cut = (base + 1..base + 400).take_while(|&cut| size(cut) <= bits).last().unwrap_or(base + 1);
    Candidate {
        name: format!("leading {} bits", cut - base),
        bits_per_key: size(cut),
        may_contain: Box::new(move |range| touches(keys, |_| cut, range)),
    }
}

/// A whole key every 64, and between two of them equally many bits of each key after their common prefix.
pub fn samples(set: &Set, bits: f64) -> Candidate<'_> {
    let keys = &set.keys;
    let per_key = bits - 24.0 / 64.0;
    let mut cuts = Vec::new();
    for group in keys.chunks(64) {
        let base = common(&group[0], &group[group.len() - 1]).min(4000);
        let more = (per_key - 1.7 + (group.len() as f64).log2()).max(0.0);
        cuts.extend(
            (0..group.len()).map(|i| base + more as usize + usize::from((i as f64 * 0.618).fract() < more.fract())),
        );
    }
    Candidate {
        name: "samples of 64".into(),
        bits_per_key: bits,
        may_contain: Box::new(move |range| touches(keys, |key| cuts[key], range)),
    }
}

/// Grafite (arXiv 2311.15380): blocks of 64-bit integers of length r, each shifted by a hash, modulo r. `None` where ranges
/// of 2^`log` do not fit.
pub fn grafite(set: &Set, bits: f64, log: u32) -> Option<Candidate<'_>> {
    let keys = &set.keys;
    let base = common(&keys[0], &keys[keys.len() - 1]) / 8 * 8;
    let longest = keys.iter().map(Vec::len).max().unwrap_or(0) * 8;
    let from = if longest <= 64 + base { longest.saturating_sub(64) } else { base };
    let log_r = (keys.len() as f64).log2() + bits - 1.7;
    if log_r < f64::from(log) {
        return None;
    }
    let r = log_r.exp2() as u64;
    let mix = |x: u64| {
        let x = (x ^ x >> 33 ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
        (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
    };
    let place = move |x: u64| ((u128::from(mix(x / r)) + u128::from(x)) % u128::from(r)) as u64;
    let mut codes: Vec<u64> = keys.iter().map(|key| place(word(key, from))).collect();
    codes.sort_unstable();
    let has =
        move |first: u64, last: u64| codes.get(codes.partition_point(|&code| code < first)).is_some_and(|&c| c <= last);
    // A range within one block.
    let may_contain = move |first: u64, last: u64| match (place(first), place(last)) {
        (first, last) if first <= last => has(first, last),
        (first, last) => has(first, r - 1) || has(0, last),
    };
    Some(Candidate {
        name: format!("Grafite, up to 2^{log}"),
        bits_per_key: bits,
        may_contain: Box::new(move |range| {
            let (first, last) = (word(&range.lower, from), word(&range.upper, from));
            if common(&range.lower, &range.upper) < from || last - first >= r.min(1 << log) {
                return true;
            }
            let edge = last / r * r;
            match first / r == last / r {
                true => may_contain(first, last),
                false => may_contain(first, edge - 1) || may_contain(edge, last),
            }
        }),
    })
}
