//! The writer's choices: which keys are leaves, and how many bits are kept of each.

use super::trie::{self, Leaf, Trie};
use super::weigh::{self, Weights};
use crate::math::fewest_millibits;
use crate::ranges::cut::bits::MAX_DEPTH;
use crate::ranges::cut::code::{ByteCode, TABLE_LEN};
use crate::ranges::cut::group::HEAD_BITS;
use crate::ranges::cut::layout::{GROUP_LEN, Levels};
use crate::ranges::cut::search::inner::{CHILD_BITS, MARK_BITS};
use crate::ranges::keys::{Keys, common_len};
use std::vec::Vec;

/// A byte code, with the table and the length of the end of a key by which it is stored.
type ChosenCode = (ByteCode, Option<[u8; TABLE_LEN]>, u8);

/// Returns the byte code of the keys after their first `prefix_len` bytes.
pub(crate) fn byte_code(keys: &Keys, prefix_len: usize) -> ChosenCode {
    let mut weights = Weights([0; 257]);
    let mut before: &[u8] = &[];
    let mut common_before = 0;
    for index in 0..keys.len() {
        let key = &keys.get(index)[prefix_len..];
        let common = common_len(before, key);
        if index > 0 {
            weights.add(before, common_before.min(common)..common_before.max(common) + 1);
        }
        (before, common_before) = (key, common);
    }
    weights.add(before, 0..common_before + 1);
    let plain = (ByteCode::plain(), None, 0);
    let Some((table, end_len)) = weigh::table(&weights) else { return plain };
    let code = ByteCode::decode(&table, end_len).expect("a table that was just made");
    let num_bits = |code| weigh::cost(code, &weights) / weigh::DISTINGUISHING;
    // The bits must shrink by 15 %, the table included.
    match num_bits(&code) + 8 * TABLE_LEN as u64 <= num_bits(&plain.0) / 100 * 85 {
        true => (code, Some(table), end_len),
        false => plain,
    }
}

/// Returns the keys that differ in their first [`MAX_DEPTH`] bits from the one before them.
pub(crate) fn leaves(keys: &Keys, prefix_len: usize, code: &ByteCode) -> Vec<Leaf> {
    let mut leaves = Vec::with_capacity(keys.len());
    let mut before: &[u8] = &[];
    // The bit at which each byte of the key before begins, as far as it is known.
    let mut starts: Vec<u32> = Vec::from([0]);
    for index in 0..keys.len() {
        let key = &keys.get(index)[prefix_len..];
        let bytes = common_len(before, key);
        starts.truncate(bytes + 1);
        while starts.len() <= bytes && starts[starts.len() - 1] <= MAX_DEPTH {
            starts.push(starts[starts.len() - 1] + code.of(key[starts.len() - 1]).1);
        }
        let common = match starts.get(bytes) {
            Some(&start) => start.saturating_add(code.common_len(&before[bytes..], &key[bytes..])),
            None => u32::MAX,
        };
        if index == 0 {
            leaves.push(Leaf { key: 0, common: 0, is_joined: false });
        } else if common < MAX_DEPTH {
            leaves.push(Leaf { key: index as u32, common: common as u16, is_joined: false });
        }
        before = key;
    }
    leaves
}

/// Joins the leaves below nodes that have at least `least` bits in common, up to `most` of them.
fn joined(leaves: &[Leaf], spans: &[u32], least: u32, most: impl Fn(u32) -> u32) -> Vec<Leaf> {
    let mut joined: Vec<Leaf> = Vec::with_capacity(leaves.len());
    for (&leaf, &span) in leaves.iter().zip(spans) {
        let common = u32::from(leaf.common);
        match joined.last_mut() {
            Some(last) if common >= least && span <= most(common) => last.is_joined = true,
            _ => joined.push(leaf),
        }
    }
    joined
}

/// The bits that leaves take, by the writer's parameters.
struct Costs {
    /// Bits of everything but the kept bits: heads, columns, inner groups; minus the implied ones.
    fixed: i64,
    /// `by_needed[n]`: the number of single-key and of joined leaves that need n bits to be distinguished.
    by_needed: Vec<[u32; 2]>,
    /// The greatest number of bits to keep.
    limit: u32,
}

impl Costs {
    fn of(leaves: &[Leaf], limit: u32) -> Self {
        let (mut fixed, mut by_needed) = (0i64, Vec::new());
        let (mut least_before, mut rest) = (0, leaves);
        while !rest.is_empty() {
            let (group, after) = rest.split_at(rest.len().min(GROUP_LEN as usize));
            let (mut least, mut most) = (u16::MAX, 0);
            for (entry, leaf) in group.iter().enumerate() {
                let next = rest.get(entry + 1).map_or(0, |leaf| leaf.common);
                let needed = usize::from(leaf.common.max(next)) + 1;
                if needed >= by_needed.len() {
                    by_needed.resize(needed + 1, [0; 2]);
                }
                by_needed[needed][usize::from(leaf.is_joined)] += 1;
                (least, most) = (least.min(next), most.max(next));
                // The first one's bits are stored above; it has fewer in common with the first of the group before.
                let implied = u16::from(next > leaf.common);
                fixed -= 1 + i64::from(if entry == 0 { leaf.common.min(least_before) } else { leaf.common + implied });
            }
            // Groups begin at bytes.
            fixed += HEAD_BITS as i64 + 4 + i64::from(group.len() as u32 * width(u32::from(most - least)));
            (rest, least_before) = (after, least);
        }
        let levels = Levels::of(leaves.len() as u64);
        for level in 1..levels.num {
            // An entry's place, what it has in common, and its length: estimates of a hundredth of all bits.
            fixed += levels.len(level) as i64 * (MARK_BITS as i64 + 24);
            fixed += levels.len(level).div_ceil(GROUP_LEN) as i64 * (CHILD_BITS + 2 * HEAD_BITS + 4) as i64;
        }
        fixed += i64::from(leaves.iter().any(|leaf| leaf.is_joined)) * leaves.len() as i64;
        Self { fixed, by_needed, limit }
    }

    /// Returns numbers of leaves, each with the number of bits that are kept of one, with `extra` and `least`.
    fn kept(&self, extra: u32, least: u32) -> impl Iterator<Item = (u32, u32)> {
        // `least` may be one more than what can be kept.
        let limit = self.limit;
        let of_one = move |needed: u32| (needed + extra).max(least).min(limit);
        let by_needed = self.by_needed.iter().zip(0..);
        by_needed.flat_map(move |(&[one, several], needed)| [(one, of_one(needed)), (several, needed.max(least))])
    }

    /// Returns the number of bits of a payload, without prefix and table, if `extra` bits and no fewer than `least` in
    /// all are kept.
    fn bits(&self, extra: u32, least: u32) -> u64 {
        let kept: u64 = self.kept(extra, least).map(|(num, kept)| u64::from(num) * u64::from(kept)).sum();
        (kept as i64 + self.fixed).max(0) as u64
    }
}

/// Returns the greatest number up to `most` for which `holds`, which holds for none above one for which it does not.
fn greatest(most: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    fewest_millibits(0, most + 1, |number| !holds(number)).checked_sub(1)
}

/// The leaves of a filter and how many of their bits are kept.
pub(crate) struct Plan {
    pub(crate) leaves: Vec<Leaf>,
    /// This and the others are as in [`Params`](crate::ranges::cut::layout::Params).
    pub(crate) extra: u32,
    pub(crate) least: u32,
    pub(crate) longer: u32,
    pub(crate) depth: u32,
}

/// The bits that single keys keep as `extra`: with more or fewer, more absent keys pass, on nearly all sets. From a
/// budget on of which a share of what is left, when all leaves are distinguished, is more than that, they get this share,
/// up to a greatest number.
const EXTRA: u32 = 4;
const MAX_EXTRA: u32 = 8;
const EXTRA_SHARE: u64 = 4;

/// Keys are of about one depth, as random numbers are, if plans that join any number of leaves have this share of the
/// bits of those that join pairs. These get no bit as `extra` that a plan of single keys would lack.
const EVEN: f64 = 0.97;

/// Chooses the leaves whose payload, without prefix and table, takes no more than about `budget` bits, of keys of at most
/// `limit` bits.
pub(crate) fn choose(leaves: Vec<Leaf>, budget: u64, limit: u32) -> Plan {
    let (all, mut trie) = (Costs::of(&leaves, limit), Trie::of(&leaves, EXTRA));
    // What tries leave out is a share that hardly differs between plans.
    let scaled = |trie: &Trie| budget as f64 * trie.plan(0, 0).0 / all.bits(trie.extra, 0).max(1) as f64;
    let (class, least, _) = trie.link(scaled(&trie));
    if class > 0 && trie.plan(trie::ANY, least as usize).0 >= EVEN * trie.plan(1, least as usize).0 {
        trie = Trie::of(&leaves, 0);
    }
    // Nodes that split at less than bit `split` are those of the next class.
    let plan = |class: usize, least, split| {
        let most = |common| trie::most(class - usize::from(common < split));
        let leaves = joined(&leaves, &trie.spans, least, most);
        let costs = Costs::of(&leaves, limit);
        (leaves, costs)
    };
    let fits = |class, least, split| plan(class, least, split).1.bits(trie.extra, least) <= budget;
    let mut scaled = scaled(&trie);
    let (mut class, mut least, mut end) = trie.link(scaled);
    while class > 0 && least > 0 && !fits(class, least.min(limit), 0) {
        scaled *= 0.99;
        (class, least, end) = trie.link(scaled);
    }
    least = least.min(limit);
    if class == 0 {
        let left = (budget.saturating_sub(all.bits(0, 0)) / EXTRA_SHARE / leaves.len() as u64) as u32;
        let extra = left.clamp(trie.extra, MAX_EXTRA);
        if let Some(least) = greatest(limit, |least| all.bits(extra, least) <= budget) {
            return Plan::new(leaves, &all, extra, least, budget);
        }
    }
    let class = class.max(1);
    let (least, split) = match least == end {
        true => (least, greatest(limit, |split| fits(class, least, split)).unwrap_or(0)),
        false => (greatest(limit.min(end), |least| fits(class, least, 0)).unwrap_or(0), 0),
    };
    let (leaves, costs) = plan(class, least, split);
    // The plans up to the next class keep no more bits.
    Plan::new(leaves, &costs, trie.extra, least, if least >= end { 0 } else { budget })
}

impl Plan {
    /// Plans the most `longer` leaves that `budget` permits.
    fn new(leaves: Vec<Leaf>, costs: &Costs, extra: u32, least: u32, budget: u64) -> Self {
        let (bits, more) = (costs.bits(extra, least), costs.bits(extra, least + 1));
        let longer = (budget.saturating_sub(bits) * GROUP_LEN).checked_div(more.saturating_sub(bits)).unwrap_or(0);
        let longer = longer.min(GROUP_LEN - 1) as u32;
        let all_kept = costs.kept(extra, least + u32::from(longer > 0));
        let depth = all_kept.filter(|&(num, _)| num > 0).map(|(_, kept)| kept).max().unwrap_or(0).min(MAX_DEPTH);
        Self { leaves, extra: extra.min(depth), least, longer, depth }
    }
}

/// Returns the number of bits of a number up to `most`.
pub(crate) fn width(most: u32) -> u32 {
    32 - most.leading_zeros()
}
