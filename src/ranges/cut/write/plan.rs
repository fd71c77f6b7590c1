//! The writer's choices for groups of steps: which keys are leaves, and how many of their bits are kept.
//!
//! Plans are judged by *leaving one out*: a key is taken for absent, and passes if the leaf beside it keeps no bit in which
//! the two differ, or if it is one of several keys of a leaf.

use crate::ranges::cut::bits::MAX_DEPTH;
use std::vec;
use std::vec::Vec;

/// The leaves of a table.
pub(super) struct Leaves {
    /// For each leaf its first key.
    pub(super) keys: Vec<u32>,
    /// For each leaf one more than the number of bits that it has in common with the one before it; then 0.
    pub(super) differs: Vec<u16>,
    /// For each leaf the number of bits that all its keys have in common.
    pub(super) shared: Vec<u16>,
}

/// Leaves, and what is kept of them.
pub(super) struct Plan {
    pub(super) leaves: Leaves,
    /// The number of bits that leaves keep beyond those that distinguish them, in 32nds.
    pub(super) extra: u32,
    /// The number for which there is room, and the most of them that are of use.
    free: u32,
    pub(super) cap: u32,
    /// The least number of bits that distinguish a leaf.
    pub(super) least: u8,
    /// The share of the keys that would pass if they were absent.
    pub(super) share: f64,
}

pub(super) const EXTRA_UNIT: u32 = 32;
const MAX_EXTRA: u32 = 15 * EXTRA_UNIT;

/// What all leaves take for `least`: hundredths of a bit.
const LEAST_COST: u64 = 2;
/// How much it grows at a time where there are bits for more.
const MORE_LEAST: u8 = 16;

/// Joined leaves leave room for so many bits beyond those that distinguish them. Of 1, 3 and 5 it is the one by which the
/// fewest absent keys pass, on all sets of text.
const CAP: u32 = 3;
/// The shares of keys that plans join, in 40ths.
const SHARES: [usize; 13] = [1, 2, 3, 4, 5, 6, 8, 12, 17, 23, 29, 35, 40];
/// Leaves are joined if that leaves at most this share of what passes, and more of them if that leaves as much of that.
const WORTH: f64 = 0.6;
const WORTH_MORE: f64 = 0.95;

/// The bits of a separator that its mark has, with what precedes it.
const SHORT: u64 = 24;

/// About the number of leaves of a group, and the numbers of leaves of which, and by which, some are judged for all.
const GROUP: usize = 64;
const MANY: usize = 1 << 13;
const STRIDE: usize = 4;

/// A node of the trie, the keys `first..end`: the first bit in which they differ, and how many of the bits before it are
/// its own, not those of the node above it.
struct Node {
    first: u32,
    end: u32,
    common: u16,
    own: u16,
}

/// Chooses the plan of groups of `group_bits` bits, marks included, for keys of which `commons` has the bits that each has
/// in common with the one before it.
pub(super) fn choose(commons: &[u16], budget: u64, group_bits: u64) -> Plan {
    let is_distinct = |&key: &usize| u32::from(commons[key]) < MAX_DEPTH;
    let single = Leaves::of(commons, (1..commons.len()).filter(is_distinct));
    let mut least = least(&single);
    let judge = |leaves: Leaves, cap: u32, least: u8| judge(leaves, commons.len(), cap, least, budget, group_bits);
    let mut best = judge(single, MAX_EXTRA, least);
    // What groups cannot keep beyond what distinguishes leaves, all may keep.
    while least < u8::MAX && best.as_ref().is_some_and(|plan| plan.free + EXTRA_UNIT > MAX_EXTRA) {
        let leaves = Leaves::of(commons, (1..commons.len()).filter(is_distinct));
        let Some(plan) = judge(leaves, MAX_EXTRA, least.saturating_add(MORE_LEAST)) else { break };
        (least, best) = (plan.least, Some(plan));
    }
    let mut goal = best.as_ref().map_or(f64::INFINITY, |plan| plan.share * WORTH);
    // Nothing to gain, or too little for what it takes to find it.
    if goal < 0.01 {
        return best.expect("a plan");
    }
    let (nodes, mut joined, mut before) = (nodes(commons), Joined::new(commons), f64::INFINITY);
    let has_room = |node: &&Node| u32::from(node.own) >= CAP + 2 && u32::from(node.common) >= u32::from(least) + CAP;
    let mut left = nodes.iter().filter(has_room);
    for share in SHARES {
        if !joined.join(&mut left, commons.len() * share / SHARES[SHARES.len() - 1]) {
            break;
        }
        let leaves = Leaves::of(commons, joined.firsts());
        let Some(plan) = judge(leaves, (CAP + 1) * EXTRA_UNIT, least) else { continue };
        let is_last = plan.share > before || plan.free > (CAP + 2) * EXTRA_UNIT;
        before = plan.share;
        if plan.share < goal {
            goal = plan.share * WORTH_MORE;
            best = Some(plan);
        }
        if is_last {
            break;
        }
    }
    best.unwrap_or_else(|| {
        // The most leaves of those that fit; one leaf always does.
        let mut joined = Joined::new(commons);
        let mut left = nodes.iter();
        loop {
            let more = commons.len() - (commons.len() - joined.num) * 7 / 8;
            joined.join(&mut left, more.max(joined.num + 1));
            if let Some(plan) = judge(Leaves::of(commons, joined.firsts()), 0, 0) {
                return plan;
            }
            if joined.num + 1 >= commons.len() {
                let leaves = Leaves::of(commons, core::iter::empty());
                return Plan { leaves, extra: 0, free: 0, cap: 0, least: 0, share: 1.0 };
            }
        }
    })
}

/// Keys that are joined with the one before them.
struct Joined {
    is_joined: Vec<bool>,
    num: usize,
}

impl Joined {
    fn new(commons: &[u16]) -> Self {
        let is_joined: Vec<bool> = commons.iter().map(|&common| u32::from(common) >= MAX_DEPTH).collect();
        Self { num: is_joined.iter().filter(|&&is_joined| is_joined).count(), is_joined }
    }

    /// Joins the keys of further nodes until `num` are joined; returns whether there are so many.
    fn join<'a>(&mut self, nodes: &mut impl Iterator<Item = &'a Node>, num: usize) -> bool {
        while self.num < num {
            let Some(node) = nodes.next() else { return false };
            for is_joined in &mut self.is_joined[node.first as usize + 1..node.end as usize] {
                self.num += usize::from(!*is_joined);
                *is_joined = true;
            }
        }
        true
    }

    /// Returns the first keys of leaves after the first leaf.
    fn firsts(&self) -> impl Iterator<Item = usize> {
        (1..self.is_joined.len()).filter(|&key| !self.is_joined[key])
    }
}

impl Leaves {
    /// Returns the leaves that begin with the first key and with each of `firsts`.
    fn of(commons: &[u16], firsts: impl Iterator<Item = usize>) -> Self {
        let mut leaves = Self { keys: vec![0], differs: vec![0], shared: Vec::new() };
        let shared = |from: usize, end: usize| commons[from + 1..end].iter().copied().min().unwrap_or(u16::MAX);
        let mut last = 0;
        for key in firsts {
            leaves.shared.push(shared(last, key));
            leaves.keys.push(key as u32);
            leaves.differs.push(commons[key] + 1);
            last = key;
        }
        leaves.shared.push(shared(last, commons.len()));
        leaves.differs.push(0);
        leaves
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// Returns the number of bits that a leaf keeps at least.
pub(super) fn needed(differs: &[u16], leaf: usize, least: u8) -> u32 {
    u32::from(differs[leaf].max(differs[leaf + 1]).max(least.into()))
}

/// Returns the number of these bits that are stored: those after the first that distinguishes the leaf from the one before
/// it, without that which distinguishes it from the next, a zero.
pub(super) fn stored(differs: &[u16], leaf: usize, least: u8) -> u32 {
    needed(differs, leaf, least) - u32::from(differs[leaf]) - u32::from(differs[leaf + 1] > differs[leaf])
}

/// Returns the greatest number of bits to keep at least that takes hardly more than none.
fn least(leaves: &Leaves) -> u8 {
    let mut num_needing = [0u64; 257];
    for leaf in 0..leaves.len() {
        num_needing[needed(&leaves.differs, leaf, 0).min(256) as usize] += 1;
    }
    let (mut below, mut cost) = (0, 0);
    for (least, num) in (0..u8::MAX).zip(num_needing) {
        // One more bit of each leaf that needs at most `least`.
        below += num;
        cost += below;
        if cost * 100 > leaves.len() as u64 * LEAST_COST {
            return least;
        }
    }
    u8::MAX
}

/// Returns the nodes of the trie, those of the fewest keys first, and of these the deepest.
fn nodes(commons: &[u16]) -> Vec<Node> {
    let mut nodes = Vec::with_capacity(commons.len());
    let mut open: Vec<usize> = Vec::new();
    for end in 1..=commons.len() {
        let next = commons.get(end).copied();
        while let Some(&last) = open.last() {
            if next.is_some_and(|next| next > commons[last]) {
                break;
            }
            open.pop();
            let first = open.last().copied();
            let above = first.map_or(0, |first| commons[first] + 1).max(next.map_or(0, |next| next + 1));
            let (common, first) = (commons[last], first.unwrap_or(0) as u32);
            let own = (common + 1).saturating_sub(above);
            if u32::from(common) < MAX_DEPTH {
                nodes.push(Node { first, end: end as u32, common, own });
            }
        }
        open.push(end);
    }
    nodes.sort_unstable_by_key(|node| (node.end - node.first, core::cmp::Reverse(node.common), node.first));
    nodes
}

/// Judges leaves that keep at most `cap` 32nds of a bit beyond those that distinguish them; `None` if they do not fit.
fn judge(leaves: Leaves, num_keys: usize, cap: u32, least: u8, budget: u64, group_bits: u64) -> Option<Plan> {
    let differs = &leaves.differs;
    let all_stored: u64 = (0..leaves.len()).map(|leaf| u64::from(stored(differs, leaf, least))).sum();
    let num_groups = (budget / group_bits).max(1);
    // Of many groups some will do.
    let stride = if leaves.len() > MANY { STRIDE } else { 1 };
    let some = || differs[1..leaves.len()].chunks(GROUP).step_by(stride);
    let codes = some().map(|differs| super::steps::Code::of(differs).bits).sum::<u64>() * stride as u64;
    let separator = |differs: &[u16]| u64::from(differs.iter().rev().take(GROUP / 8).copied().min().unwrap_or(0));
    let long = some().map(|differs| separator(differs).saturating_sub(SHORT)).sum::<u64>();
    let separators = long * num_groups / some().count().max(1) as u64;
    // What is left over of a group makes some leaves longer than others, which helps half as much.
    let taken = all_stored + codes + separators + num_groups * super::steps::GROUP_COST;
    let left = budget.checked_sub(taken)?;
    let free = (left * u64::from(EXTRA_UNIT) / leaves.len() as u64).min(MAX_EXTRA.into()) as u32;
    let free = free.saturating_sub(EXTRA_UNIT / 2);
    let extra = free.min(cap);
    let mut passing = 0.0;
    for leaf in 0..leaves.len() {
        let end = leaves.keys.get(leaf + 1).map_or(num_keys, |&key| key as usize);
        let num = end - leaves.keys[leaf] as usize;
        if num > 1 {
            passing += num as f64;
            continue;
        }
        // The leaf beside it, what that is distinguished from others by, and the bit in which they differ.
        let (before, next) = (differs[leaf], differs[leaf + 1]);
        let other = match before >= next {
            true => leaf.checked_sub(1).map_or(0, |leaf| differs[leaf]),
            false => differs.get(leaf + 2).copied().unwrap_or(0),
        };
        let kept = f64::from(other.max(before.min(next)).max(least.into())) + f64::from(extra) / f64::from(EXTRA_UNIT);
        passing += (f64::from(before.max(next)) - kept).clamp(0.0, 1.0);
    }
    Some(Plan { leaves, extra, free, cap, least, share: passing / num_keys as f64 })
}
