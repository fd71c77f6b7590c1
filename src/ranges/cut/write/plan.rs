//! The writer's choices: which keys are leaves, and how many bits are kept of each.

use super::weigh::{self, Weights};
use crate::math::float;
use crate::ranges::cut::bits::MAX_DEPTH;
use crate::ranges::cut::code::{ByteCode, TABLE_LEN};
use crate::ranges::cut::group::HEAD_BITS;
use crate::ranges::cut::layout::{GROUP_LEN, Levels};
use crate::ranges::cut::search::inner::{CHILD_BITS, MARK_BITS};
use crate::ranges::keys::{Keys, common_len};
use std::vec::Vec;

/// A leaf: one key, or neighbouring keys that are not distinguished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// The first key.
    pub(crate) key: u32,
    /// The number of its leading bits that the leaf before it has, too.
    pub(crate) common: u16,
    /// Whether it has several keys: then only the bits are kept that distinguish the leaf from its neighbours.
    pub(crate) is_joined: bool,
}

/// A byte code, with the table and the length of the end of a key by which it is stored.
pub(crate) struct ChosenCode {
    pub(crate) code: ByteCode,
    pub(crate) table: Option<[u8; TABLE_LEN]>,
    pub(crate) end_len: u8,
}

/// Returns the byte code of the keys after their first `prefix_len` bytes.
pub(crate) fn byte_code(keys: &Keys, prefix_len: usize) -> ChosenCode {
    let mut weights = Weights::new();
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
    let plain = ChosenCode { code: ByteCode::plain(), table: None, end_len: 0 };
    let Some((table, end_len)) = weigh::table(&weights) else { return plain };
    let code = ByteCode::decode(&table, end_len).expect("a table that was just made");
    let num_bits = |code| weigh::cost(code, &weights) / weigh::DISTINGUISHING;
    // The bits must shrink by 15 %, the table included.
    match num_bits(&code) + 8 * TABLE_LEN as u64 <= num_bits(&plain.code) / 100 * 85 {
        true => ChosenCode { code, table: Some(table), end_len },
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

/// Returns, for each leaf, how many leaves are below the node that splits before it.
fn spans(leaves: &[Leaf]) -> Vec<u32> {
    let mut spans = std::vec![0; leaves.len()];
    // A node's leaves are those between the nearest on both sides that have less in common with the one before them.
    let mut open: Vec<usize> = Vec::new();
    for index in 1..=leaves.len() {
        while let Some(&last) = open.last() {
            if leaves.get(index).is_some_and(|leaf| leaf.common > leaves[last].common) {
                break;
            }
            open.pop();
            spans[last] = (index - open.last().copied().unwrap_or(0)) as u32;
        }
        open.push(index);
    }
    spans
}

/// Joins the leaves below nodes of up to `most` of them, where they have at least `least` bits in common.
fn joined(leaves: &[Leaf], spans: &[u32], most: u32, least: u32) -> Vec<Leaf> {
    let mut joined: Vec<Leaf> = Vec::with_capacity(leaves.len());
    for (&leaf, &span) in leaves.iter().zip(spans) {
        match joined.last_mut() {
            Some(last) if span <= most && u32::from(leaf.common) >= least => last.is_joined = true,
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
}

impl Costs {
    fn of(leaves: &[Leaf]) -> Self {
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
        if leaves.iter().any(|leaf| leaf.is_joined) {
            fixed += leaves.len() as i64;
        }
        Self { fixed, by_needed }
    }

    /// Returns numbers of leaves, each with the number of bits that are kept of one, with `extra` and `least`.
    fn kept(&self, extra: u32, least: u32) -> impl Iterator<Item = (u32, u32)> {
        // `least` may be one more than what can be kept.
        let of_one = move |needed: u32| (needed + extra).max(least).min(MAX_DEPTH);
        self.by_needed
            .iter()
            .zip(0..)
            .flat_map(move |(&[one, several], needed)| [(one, of_one(needed)), (several, needed.max(least))])
    }

    /// Returns the number of bits of a payload, without prefix and table, if `extra` bits and no fewer than `least` in
    /// all are kept.
    fn bits(&self, extra: u32, least: u32) -> u64 {
        let kept: u64 = self.kept(extra, least).map(|(num, kept)| u64::from(num) * u64::from(kept)).sum();
        (kept as i64 + self.fixed).max(0) as u64
    }

    /// Returns the share of all strings that lie in the intervals of leaves, if strings are as the byte code expects
    /// them.
    fn covered(&self, least: u32) -> f64 {
        self.kept(0, least).map(|(num, kept)| f64::from(num) * float::pow2(-(kept as i32))).sum()
    }

    /// Returns the greatest least number of bits to keep within `budget`.
    fn least(&self, extra: u32, budget: u64) -> Option<u32> {
        greatest(MAX_DEPTH, |least| self.bits(extra, least) <= budget)
    }
}

/// Returns the greatest number up to `most` for which `holds`, which holds for none above one for which it does not.
fn greatest(most: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if !holds(0) {
        return None;
    }
    let (mut least, mut beyond) = (0, most + 1);
    while beyond - least > 1 {
        let middle = (least + beyond) / 2;
        if holds(middle) {
            least = middle;
        } else {
            beyond = middle;
        }
    }
    Some(least)
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

/// The numbers of leaves that may be joined, in turn: for budgets that cannot distinguish every key.
const JOINED: [u32; 7] = [2, 4, 8, 32, 256, 4096, u32::MAX];

/// Keys are joined further while a leaf has more than this share of all strings.
const MAX_COVERED: f64 = 0.02;

/// The least number of bits to keep is sought among its multiples.
const STEP: u32 = 4;

/// The share of the bits that are left when all leaves are distinguished, which each leaf gets as `extra`; the rest
/// raises `least`.
const EXTRA_SHARE: u64 = 4;
const MAX_EXTRA: u32 = 8;

/// Chooses the leaves whose payload, without prefix and table, takes no more than about `budget` bits.
pub(crate) fn choose(leaves: Vec<Leaf>, budget: u64) -> Plan {
    let costs = Costs::of(&leaves);
    let left = budget.saturating_sub(costs.bits(0, 0)) / EXTRA_SHARE / leaves.len() as u64;
    let extra = (left as u32).min(MAX_EXTRA);
    let (covered, single) = match costs.least(extra, budget) {
        Some(least) => (costs.covered(least), Plan::new(leaves, &costs, extra, least, budget)),
        // Of leaves that do not fit, joined ones are made in any case.
        None => (f64::INFINITY, Plan::new(leaves, &costs, 0, 0, budget)),
    };
    if covered <= MAX_COVERED { single } else { choose_joined(single, covered, budget) }
}

/// Chooses between leaves of one key, which have the share `single_covered` of all strings, and sets of leaves of
/// several keys, which share all bits that are kept.
fn choose_joined(single: Plan, single_covered: f64, budget: u64) -> Plan {
    let spans = spans(&single.leaves);
    let plan = |most, least| {
        let leaves = joined(&single.leaves, &spans, most, least);
        let costs = Costs::of(&leaves);
        (leaves, costs)
    };
    let fits = |most, least| plan(most, least).1.bits(0, least) <= budget;
    let mut best: Option<(f64, u32, u32)> = None;
    for most in JOINED {
        let Some(steps) = greatest(MAX_DEPTH / STEP, |steps| fits(most, steps * STEP)) else { continue };
        let covered = plan(most, steps * STEP).1.covered(steps * STEP);
        if best.is_none_or(|best| covered < best.0) {
            best = Some((covered, most, steps * STEP));
        }
        if covered <= MAX_COVERED {
            break;
        }
    }
    let (_, most, step) = best.unwrap_or((1.0, u32::MAX, 0));
    let least = (step + 1..step + STEP).take_while(|&least| fits(most, least)).last().unwrap_or(step);
    let (leaves, costs) = plan(most, least);
    if single_covered <= costs.covered(least) { single } else { Plan::new(leaves, &costs, 0, least, budget) }
}

impl Plan {
    /// Plans the most `longer` leaves that `budget` permits.
    fn new(leaves: Vec<Leaf>, costs: &Costs, extra: u32, least: u32, budget: u64) -> Self {
        let (bits, more) = (costs.bits(extra, least), costs.bits(extra, least + 1));
        let longer = if more > bits { budget.saturating_sub(bits) * GROUP_LEN / (more - bits) } else { 0 };
        let longer = longer.min(GROUP_LEN - 1) as u32;
        let all_kept = costs.kept(extra, least + u32::from(longer > 0));
        let depth = all_kept.filter(|&(num, _)| num > 0).map(|(_, kept)| kept).max().unwrap_or(0);
        Self { leaves, extra, least, longer, depth: depth.min(MAX_DEPTH) }
    }
}

/// Returns the number of bits of a number up to `most`.
pub(crate) fn width(most: u32) -> u32 {
    32 - most.leading_zeros()
}
