//! The writer's choices for groups of steps: which keys are leaves, and how many of their bits are kept.
//!
//! Plans are judged by *leaving one out*: a key is taken for absent, and passes if the leaf beside it keeps no bit in which
//! the two differ, or if it is one of several keys of a leaf.

use super::greatest;
use super::rice::Code;
use crate::ranges::cut::bits::MAX_DEPTH;
use crate::ranges::cut::steps::HEAD_BITS;
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
    /// The number of bits that leaves keep beyond those that distinguish them, in 16ths, and the most that are of use.
    pub(super) extra: u32,
    pub(super) cap: u32,
    /// The number for which there is room; below 0 if the leaves do not fit.
    free: i64,
    /// The least number of bits that distinguish a leaf.
    pub(super) least: u8,
    /// The share of the keys that would pass if they were absent.
    pub(super) share: f64,
}

pub(super) const EXTRA_UNIT: u32 = 16;
const MAX_EXTRA: u32 = 15 * EXTRA_UNIT;
/// What is left over of groups makes some leaves longer than others, which helps less than if all had it.
const LEFT_OVER: i64 = EXTRA_UNIT as i64 * 3 / 8;

/// What all leaves take for `least`: hundredths of a bit. It is by these bits that prefixes above those of keys are denied,
/// by which plans are not judged.
const LEAST_COST: u64 = 50;

/// The number of bits beyond those that distinguish them that joined leaves leave room for. Of 1, 3 and 5 it is the one by
/// which the fewest absent keys pass, on all sets of text.
const CAP: u32 = 3;
/// The shares of keys that plans join, in 40ths.
const SHARES: [usize; 13] = [1, 2, 3, 4, 5, 6, 8, 12, 17, 23, 29, 35, 40];
/// Leaves are joined if at most this many times as much passes as without: what is judged is kinder to single ones, by which
/// more can pass than by the plan of fewer bits.
const WORTH: f64 = 1.03;
/// No more leaves are joined once this many times what the best plan passes does.
const WORSE: f64 = 1.1;

/// What a group takes besides its leaves, about, with what is left over.
const GROUP_COST: u64 = HEAD_BITS as u64 + 12;
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

/// Keys, of which `commons` has the bits that each has in common with the one before it, and the bits that groups may take:
/// all of them, and each one with its mark.
pub(super) struct Planner<'a> {
    pub(super) commons: &'a [u16],
    pub(super) budget: u64,
    pub(super) group_bits: u64,
}

impl Planner<'_> {
    /// Chooses a plan; if none fits, the one of the most leaves of one depth that do, or of one leaf.
    pub(super) fn choose(&self) -> Plan {
        let commons = self.commons;
        let single = Leaves::of(commons, (1..commons.len()).filter(|&key| u32::from(commons[key]) < MAX_DEPTH));
        let least_bits = least(&single, LEAST_COST);
        let mut best = self.judge(single, u32::MAX, MAX_EXTRA, least_bits);
        if best.free > MAX_EXTRA.into() {
            // What groups cannot keep beyond what distinguishes leaves, all may keep.
            let spare = (best.free as u64 - u64::from(MAX_EXTRA)) * 100 / u64::from(EXTRA_UNIT);
            let more = least(&best.leaves, LEAST_COST + spare);
            best = self.judge(best.leaves, u32::MAX, MAX_EXTRA, more);
        }
        let mut goal = if best.free < 0 { f64::INFINITY } else { (best.share * WORTH).min(1.0) };
        // Else there is nothing to gain, or too little for what it takes to find it.
        if goal >= 0.01 {
            self.join(least_bits, &mut goal, &mut best);
        }
        if best.free >= 0 {
            return best;
        }
        let of_depth = |depth: usize| {
            let firsts = (1..commons.len()).filter(|&key| usize::from(commons[key]) < depth);
            self.judge(Leaves::of(commons, firsts), u32::MAX, 0, 0)
        };
        of_depth(greatest(8, MAX_DEPTH as usize, |depth| of_depth(depth).free >= 0))
    }

    /// Looks for plans with joined leaves by which less than `goal` pass.
    fn join(&self, least: u8, goal: &mut f64, best: &mut Plan) {
        let (nodes, mut joined) = (nodes(self.commons), Joined::new(self.commons));
        let has_room =
            |node: &&Node| u32::from(node.own) >= CAP + 2 && u32::from(node.common) >= u32::from(least) + CAP;
        let mut left = nodes.iter().filter(has_room);
        for share in SHARES {
            if !joined.join(&mut left, self.commons.len() * share / SHARES[SHARES.len() - 1]) {
                return;
            }
            let leaves = Leaves::of(self.commons, joined.firsts());
            let plan = self.judge(leaves, joined.pairs_from, (CAP + 1) * EXTRA_UNIT, least);
            let room = plan.free / i64::from(EXTRA_UNIT);
            let is_last = room > 0 && plan.share > *goal * WORSE || room > i64::from(CAP) + 1;
            if plan.free >= 0 && plan.share < *goal {
                (*goal, *best) = (plan.share, plan);
            }
            if is_last {
                return;
            }
        }
    }
}

/// Keys that are joined with the one before them.
struct Joined {
    is_joined: Vec<bool>,
    num: usize,
    /// The least number of bits that joined pairs have in common.
    pairs_from: u32,
}

impl Joined {
    fn new(commons: &[u16]) -> Self {
        let is_joined: Vec<bool> = commons.iter().map(|&common| u32::from(common) >= MAX_DEPTH).collect();
        Self { num: is_joined.iter().filter(|&&is_joined| is_joined).count(), is_joined, pairs_from: u32::MAX }
    }

    /// Joins the keys of further nodes until `num` are joined; returns whether they are.
    fn join<'a>(&mut self, nodes: &mut impl Iterator<Item = &'a Node>, num: usize) -> bool {
        while self.num < num {
            let Some(node) = nodes.next() else { return false };
            self.pairs_from = if node.end - node.first > 2 { 0 } else { node.common.into() };
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

/// Returns the greatest number of bits to keep at least that takes at most `hundredths` of a bit more than none.
fn least(leaves: &Leaves, hundredths: u64) -> u8 {
    let mut num_needing = [0u64; 257];
    for leaf in 0..leaves.len() {
        num_needing[needed(&leaves.differs, leaf, 0).min(256) as usize] += 1;
    }
    let (mut below, mut cost) = (0, 0);
    for (least, num) in (0..u8::MAX).zip(num_needing) {
        // One more bit of each leaf that needs at most `least`.
        below += num;
        cost += below;
        if cost * 100 > leaves.len() as u64 * hundredths {
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

impl Planner<'_> {
    /// Judges leaves that keep at most `cap` 16ths of a bit beyond those that distinguish them, and of which pairs with at
    /// least `pairs_from` bits in common are joined.
    fn judge(&self, leaves: Leaves, pairs_from: u32, cap: u32, least: u8) -> Plan {
        let free = (self.budget as i64 - self.taken(&leaves, least) as i64) * i64::from(EXTRA_UNIT);
        let free = free / leaves.len() as i64 - LEFT_OVER;
        let extra = free.clamp(0, cap.into()) as u32;
        let differs = |leaf: usize| leaves.differs.get(leaf).map_or(0, |&differs| u32::from(differs));
        let mut passing = 0.0;
        for leaf in 0..leaves.len() {
            let end = leaves.keys.get(leaf + 1).map_or(self.commons.len(), |&key| key as usize);
            let num = end - leaves.keys[leaf] as usize;
            if num > 1 {
                passing += num as f64;
                continue;
            }
            // The bits in which it differs from the leaf beside it, and that from the leaf behind; then the next one there.
            let (before, next) = (differs(leaf), differs(leaf + 1));
            let (near, behind) = match before >= next {
                true => (differs(leaf.wrapping_sub(1)), differs(leaf.wrapping_sub(2))),
                false => (differs(leaf + 2), differs(leaf + 3)),
            };
            // If this key were absent, those two might be joined, and kept up to where both differ from others.
            let above = before.min(next).max(behind);
            let are_joined = near > pairs_from && near >= above + CAP + 2;
            let kept = if are_joined { above } else { near.max(before.min(next)) }.max(least.into());
            let kept = f64::from(kept) + f64::from(extra) / f64::from(EXTRA_UNIT);
            passing += (f64::from(before.max(next)) - kept).clamp(0.0, 1.0);
        }
        Plan { leaves, extra, free, cap, least, share: passing / self.commons.len() as f64 }
    }

    /// Returns about how many bits groups take for what distinguishes leaves.
    fn taken(&self, leaves: &Leaves, least: u8) -> u64 {
        let differs = &leaves.differs;
        let all_stored: u64 = (0..leaves.len()).map(|leaf| u64::from(stored(differs, leaf, least))).sum();
        let num_groups = (self.budget / self.group_bits).max(1);
        // Of many groups some will do.
        let stride = if leaves.len() > MANY { STRIDE } else { 1 };
        let some = || differs[1..leaves.len()].chunks(GROUP).step_by(stride);
        let codes = some().map(|differs| Code::of(differs).bits).sum::<u64>() * stride as u64;
        let separator = |differs: &[u16]| u64::from(differs.iter().rev().take(GROUP / 8).copied().min().unwrap_or(0));
        let long = some().map(|differs| separator(differs).saturating_sub(SHORT)).sum::<u64>();
        let separators = long * num_groups / some().count().max(1) as u64;
        all_stored + codes + separators + num_groups * GROUP_COST
    }
}
