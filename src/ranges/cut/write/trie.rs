//! What plans take and what they pass: sums over the nodes of the trie, for all plans in one pass.
//!
//! A node lies before each leaf but the first, at the bit in which the leaf differs from the one before it. It has two
//! children, each a leaf or a node further down. A *plan* joins the leaves below nodes of up to `most` of them that have
//! at least `least` bits in common. It keeps no fewer than `least` bits, and of a single key `extra` beyond those that
//! distinguish it.
//!
//! Plans are judged by *leaving one out*. Each child of each node in turn, a key or all keys below a node, is taken for
//! absent. Such a key branches off at bit *c* of its node from the other child. It passes if that is one leaf, of at most
//! *c* bits:
//!
//! - a joined leaf, if `least` is at most *c*: what distinguishes it ends above;
//! - a single key, which is now distinguished at bit *p* of the node above, if `extra` and `least` end before *c*, or if
//!   it is joined with what else is below that node.
//!
//! So a node belongs to plans, and a branch passes in plans, by bounds of `most` and of `least` alone. Both are added
//! up where these bounds begin, and summed for all plans at once.

use std::vec;
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

/// The number of different `most`: powers of two, and any number.
const CLASSES: usize = 8;

/// The class that joins any number of leaves: all keys have one depth.
pub(super) const ANY: usize = CLASSES - 1;

/// Returns the most leaves that plans of a class join.
pub(super) fn most(class: usize) -> u32 {
    if class + 1 < CLASSES { 1 << class } else { u32::MAX }
}

/// Returns the first class that joins `span` leaves.
fn class(span: u32) -> usize {
    ((32 - (span - 1).leading_zeros()) as usize).min(CLASSES - 1)
}

/// What a plan has in all: kept bits of the leaves that keep more than `least`, minus those that are not stored; leaves
/// that keep `least`; nodes; branches that would pass if they were absent.
type Sums = [i64; 4];

/// A leaf, of span 1, or a node, as the node above sees it: the bit at which it splits, the number of its leaves, and how
/// many of them are its children.
type Child = (u32, u32, i64);

/// The sums of all plans.
pub(super) struct Trie {
    pub(super) extra: u32,
    /// For each leaf, how many leaves are below the node before it.
    pub(super) spans: Vec<u32>,
    /// The number of different `least`.
    depth: usize,
    /// By class and `least`.
    sums: Vec<Sums>,
    /// By class and `least`, whether the next plan of the chain joins fewer leaves.
    splits: Vec<bool>,
}

impl Trie {
    /// Adds up the plans for `leaves` that keep `extra` bits.
    pub(super) fn of(leaves: &[Leaf], extra: u32) -> Self {
        let deepest = leaves.iter().map(|leaf| leaf.common).max().unwrap_or(0);
        let depth = (u32::from(deepest) + extra) as usize + 2;
        let (sums, splits) = (vec![[0; 4]; CLASSES * depth], vec![false; CLASSES * depth]);
        let mut trie = Self { extra, spans: vec![0; leaves.len()], depth, sums, splits };
        // Nodes of which the second child is not yet known, each with the first one.
        let mut open: Vec<(usize, Child)> = Vec::new();
        for index in 1..=leaves.len() {
            let mut last = (0, 1, 0);
            while let Some(&(node, first)) = open.last() {
                if leaves.get(index).is_some_and(|leaf| leaf.common > leaves[node].common) {
                    break;
                }
                open.pop();
                last = trie.add(leaves[node].common.into(), first, last);
                trie.spans[node] = last.1;
            }
            open.push((index, last));
        }
        trie.sum();
        trie.choose_chain();
        trie
    }

    /// Adds to the plans of `class` and all further ones, with `least` and more.
    #[inline(always)]
    fn from(&mut self, class: usize, least: u32, sums: Sums) {
        self.sums[class * self.depth + least as usize].iter_mut().zip(sums).for_each(|(all, more)| *all += more);
    }

    /// Adds a node that splits at bit `common`.
    #[inline]
    fn add(&mut self, common: u32, first: Child, second: Child) -> Child {
        let span = first.1 + second.1;
        let (joining, after) = (class(span), i64::from(common) + 1);
        // Bits of leaves that are its children, while it is a node of a plan.
        let mut own = -after;
        self.from(0, 0, [-after, 0, 1, 0]);
        for ((deepest, below, num_leaves), implied) in [(first, 1), (second, 0)] {
            if below == 1 {
                let kept = after + i64::from(self.extra);
                own += kept - implied;
                self.from(0, 0, [kept - implied, 0, 0, 0]);
                self.from(0, common + 1 + self.extra, [-kept, 1, 0, 0]);
                continue;
            }
            let joined = class(below);
            own += after - implied;
            // The other child is left out, of plans in which this one is a joined leaf.
            self.from(joined, 0, [after - implied, 0, 0, 1]);
            self.from(joined, common + 1, [-after, 1, 0, -1]);
            self.from(joined, deepest + 1, [implied, -1, 0, 0]);
            // What is below the child is left out beside a single key.
            let is_far = deepest > common + self.extra;
            let (class, last) = if is_far { (0, deepest) } else { (class(span - below + 1), common) };
            self.from(class, 0, [0, 0, 0, num_leaves]);
            self.from(class, last + 1, [0, 0, 0, -num_leaves]);
        }
        // Plans join its leaves, unless they keep more bits than these have in common.
        self.from(joining, 0, [-own, 0, -1, 0]);
        self.from(joining, common + 1, [own, 0, 1, 0]);
        (common, span, i64::from(first.1 == 1) + i64::from(second.1 == 1))
    }

    /// Turns what was added where bounds begin into sums.
    fn sum(&mut self) {
        let add = |all: &mut [Sums], at: usize, before: usize| (0..4).for_each(|sum| all[at][sum] += all[before][sum]);
        (1..self.sums.len()).filter(|at| at % self.depth > 0).for_each(|at| add(&mut self.sums, at, at - 1));
        (self.depth..self.sums.len()).for_each(|at| add(&mut self.sums, at, at - self.depth));
    }

    /// Returns about how many bits a plan takes, and how many branches would pass if they were absent.
    pub(super) fn plan(&self, class: usize, least: usize) -> (f64, f64) {
        let [bits, at_least, nodes, passing] = self.sums[class * self.depth + least];
        // A number of a column and, beside joined leaves, a bit.
        let column = COLUMN + i64::from(class > 0);
        ((bits + at_least * least as i64 + (nodes + 1) * column) as f64, passing as f64)
    }

    /// Chooses a chain of plans in which each joins what the next one does, or more, and keeps no more. So no range that
    /// one of them denies passes by a later one. Of all chains it is the one of whose plans the fewest branches pass, over
    /// all budgets.
    fn choose_chain(&mut self) {
        // What passes by two plans times the bits between them, of which the last ones weigh more, as less passes there.
        let area = |(bits, passing): (f64, f64), (more, fewer): (f64, f64)| {
            (more * more * more - bits * bits * bits).max(0.0) * (passing + fewer)
        };
        // The least area from each plan on to the end of the chain.
        let mut areas = vec![0.0; self.depth];
        for (class, least) in (0..CLASSES).flat_map(|class| (0..self.depth).rev().map(move |least| (class, least))) {
            let (plan, is_last) = (self.plan(class, least), least + 1 == self.depth);
            let longer =
                if is_last { f64::INFINITY } else { areas[least + 1] + area(plan, self.plan(class, least + 1)) };
            let split = if class == 0 { f64::INFINITY } else { areas[least] + area(plan, self.plan(class - 1, least)) };
            self.splits[class * self.depth + least] = split < longer;
            areas[least] = if is_last && class == 0 { 0.0 } else { longer.min(split) };
        }
    }

    /// Returns the class and `least` of the last plan of the chain that takes at most `budget` bits, and the `least` at
    /// which the chain leaves this class: the next plan is of the next class, or keeps a bit more.
    pub(super) fn link(&self, budget: f64) -> (usize, u32, u32) {
        let splits_at = |class: usize, least: usize| self.splits[class * self.depth + least];
        let (mut class, mut least) = (ANY, 0);
        loop {
            let next = if splits_at(class, least) { (class - 1, least) } else { (class, least + 1) };
            if next.1 == self.depth || self.plan(next.0, next.1).0 > budget {
                let end = (least..self.depth).find(|&least| splits_at(class, least)).unwrap_or(u32::MAX as usize);
                return (class, least as u32, end as u32);
            }
            (class, least) = next;
        }
    }
}

/// The bits of a number of a column: those of most groups of text.
const COLUMN: i64 = 7;
