//! The least Σ weight · ε(b) under Σ n · b ≤ budget, where each filter has 0 bits or at least 2 a key.
//!
//! Once it is decided which filters have any bits, the lower convex hulls of the curves are walked down together,
//! always the steepest edge next: the solution by Lagrange's multiplier, without a search for it. The last edge is
//! walked in part. That is optimal except for dents in the curves, as where a blocked filter gets another number of
//! probes: a budget that ends in one leaves that filter up to the dent's depth above the optimum.
//!
//! Which filters have any is decided by branch and bound. Where it is open, the hull begins at (0 bits, ε = 1), and its
//! first edge, the *entry*, must be walked as a whole or not at all. Walking a part of it gives the bound. Only one
//! entry can be in the way, the first that does not fit; the search branches on it. Sizes that do not pay off lie above
//! the hull, so none is chosen unless the budget ends there.

/// The most nodes that are visited. Levels of a store take a few; the limit is for thousands of runs of the same
/// length.
const MAX_NODES: usize = 2_000;

/// One filter to be sized.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// (thousandths of a bit, rate) in ascending order of size. The first is the least legal size.
    curve: Vec<(u32, f64)>,
    /// Whether the rate between two sizes is that of the smaller one, and not on a straight line.
    is_stepped: bool,
    /// For each size, the one with the least rate among it and those before it.
    best: Vec<usize>,
    weight: f64,
    bits_per_millibit: f64,
    overhead_bits: f64,
    /// Indices of the corners of the curve's lower convex hull, from its first point to its least.
    corners: Vec<usize>,
    /// Where the hull that begins at no bits touches the curve: a position in `corners`; `None` if a filter never pays
    /// off.
    entry: Option<usize>,
}

impl Unit {
    /// `curve` is not empty. A size of m millibits costs m · `bits_per_millibit` + `overhead_bits` bits.
    pub(super) fn new(
        curve: impl Iterator<Item = (u32, f64)>,
        weight: f64,
        bits_per_millibit: f64,
        overhead_bits: f64,
    ) -> Self {
        let curve: Vec<(u32, f64)> = curve.collect();
        let (mut best, mut least) = (Vec::with_capacity(curve.len()), 0);
        for (index, point) in curve.iter().enumerate() {
            if point.1 < curve[least].1 {
                least = index;
            }
            best.push(least);
        }
        let (corners, entry) = (Vec::new(), None);
        let is_stepped = false;
        let mut unit = Self { curve, is_stepped, best, weight, bits_per_millibit, overhead_bits, corners, entry };
        unit.corners = unit.hull();
        // The steepest edge from (0, 1). Of two equally steep ones the longer, which contains the other.
        let steepness = |corner: usize| (unit.weight - unit.loss(corner)) / unit.cost(corner);
        let steepest = (0..unit.corners.len())
            .rev()
            .max_by(|&a, &b| steepness(unit.corners[a]).total_cmp(&steepness(unit.corners[b])));
        unit.entry = steepest.filter(|&position| steepness(unit.corners[position]) > 0.0);
        unit
    }

    /// The same filter, whose rate between two sizes is that of the smaller one.
    pub(super) fn stepped(self) -> Self {
        Self { is_stepped: true, ..self }
    }

    fn cost(&self, index: usize) -> f64 {
        f64::from(self.curve[index].0) * self.bits_per_millibit + self.overhead_bits
    }

    fn loss(&self, index: usize) -> f64 {
        self.weight * self.curve[index].1
    }

    /// Descent per bit from one point of the curve to another.
    fn slope(&self, from: usize, to: usize) -> f64 {
        (self.loss(from) - self.loss(to)) / (self.cost(to) - self.cost(from))
    }

    /// Andrew's monotone chain, up to the least rate: every edge leads down.
    fn hull(&self) -> Vec<usize> {
        let mut corners: Vec<usize> = Vec::new();
        let least = self.best.last().copied().unwrap_or(0);
        for index in 0..=least {
            while let [.., before, last] = corners[..] {
                if self.slope(before, last) > self.slope(last, index) {
                    break;
                }
                corners.pop();
            }
            corners.push(index);
        }
        corners
    }

    /// The rate at a size: between the sizes of the curve on a straight line, or that of the smaller one.
    pub(super) fn rate(&self, millibits: u32) -> f64 {
        let next = self.curve.partition_point(|point| point.0 < millibits).min(self.curve.len() - 1);
        let ((to, after), (from, before)) = (self.curve[next], self.curve[next.saturating_sub(1)]);
        if to <= millibits || to == from {
            return after;
        }
        if self.is_stepped {
            return before;
        }
        before + (after - before) * f64::from(millibits - from) / f64::from(to - from)
    }

    /// The size within `millibits` with the least rate.
    fn best_within(&self, millibits: u32) -> u32 {
        let at_or_below = self.curve.partition_point(|point| point.0 <= millibits).saturating_sub(1);
        let (size, rate) = self.curve[self.best[at_or_below]];
        if rate <= self.rate(millibits) { size } else { millibits }
    }

    fn is_like(&self, other: &Self) -> bool {
        let dimensions = |unit: &Self| (unit.weight, unit.bits_per_millibit, unit.overhead_bits);
        dimensions(self) == dimensions(other) && self.curve == other.curve
    }
}

#[cfg(test)]
impl Unit {
    /// How far the curve, taken as level where it rises, lies above its hull at most.
    pub(super) fn deepest_dent(&self) -> f64 {
        let mut deepest = 0.0f64;
        for pair in self.corners.windows(2) {
            let slope = (self.curve[pair[1]].1 - self.curve[pair[0]].1) / (self.cost(pair[1]) - self.cost(pair[0]));
            for index in pair[0]..pair[1] {
                let chord = self.curve[pair[0]].1 + slope * (self.cost(index) - self.cost(pair[0]));
                deepest = deepest.max(self.curve[self.best[index]].1 - chord);
            }
        }
        deepest
    }
}

/// Whether a unit has a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Open,
    On,
    Off,
}

/// An edge of a unit's hull.
#[derive(Clone, Copy, Debug)]
struct Edge {
    unit: usize,
    slope: f64,
    cost: f64,
    /// Position in the unit's `corners` where it ends.
    to: usize,
    is_entry: bool,
}

/// The result of a walk.
struct Walked {
    /// A lower bound for all choices that are still open.
    bound: f64,
    loss: f64,
    millibits: Vec<u32>,
    /// The entry that did not fit.
    in_the_way: Option<usize>,
}

struct Search<'a> {
    units: &'a [Unit],
    edges: Vec<Edge>,
    budget_bits: f64,
    best_loss: f64,
    best: Vec<u32>,
    num_nodes: usize,
}

/// The size of each unit in thousandths of a bit, 0 for no filter.
pub(super) fn solve(units: &[Unit], budget_bits: f64) -> Vec<u32> {
    let (edges, best) = (edges(units), vec![0; units.len()]);
    let mut search = Search { units, edges, budget_bits, best_loss: f64::INFINITY, best, num_nodes: 0 };
    search.visit(&vec![Choice::Open; units.len()]);
    search.best
}

/// All edges, the steepest first.
fn edges(units: &[Unit]) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (index, unit) in units.iter().enumerate() {
        if let Some(to) = unit.entry {
            let corner = unit.corners[to];
            let cost = unit.cost(corner);
            edges.push(Edge { unit: index, slope: (unit.weight - unit.loss(corner)) / cost, cost, to, is_entry: true });
        }
        for (to, pair) in (1..).zip(unit.corners.windows(2)) {
            let (slope, cost) = (unit.slope(pair[0], pair[1]), unit.cost(pair[1]) - unit.cost(pair[0]));
            edges.push(Edge { unit: index, slope, cost, to, is_entry: false });
        }
    }
    // Stable: among equals the first unit comes first, and a unit's entry before the edges it leads to.
    edges.sort_by(|a, b| b.slope.total_cmp(&a.slope));
    edges
}

impl Search<'_> {
    fn visit(&mut self, choices: &[Choice]) {
        self.num_nodes += 1;
        let Some(walked) = self.walk(choices) else {
            return;
        };
        if walked.loss < self.best_loss {
            (self.best_loss, self.best) = (walked.loss, walked.millibits);
        }
        // Nodes that could gain less than a part in 2^40 are not worth a visit.
        let worth = self.best_loss * (1.0 - 1.0 / (1u64 << 40) as f64);
        let Some(unit) = walked.in_the_way.filter(|_| walked.bound < worth && self.num_nodes < MAX_NODES) else {
            return;
        };
        // Of equal units the first have filters first; otherwise each subset of them would be tried.
        let alike = |other: &usize| self.units[*other].is_like(&self.units[unit]);
        let earlier: Vec<usize> = (0..=unit).filter(alike).collect();
        let later: Vec<usize> = (unit..self.units.len()).filter(alike).collect();
        for (choice, with) in [(Choice::On, earlier), (Choice::Off, later)] {
            let mut choices = choices.to_vec();
            for other in with {
                if choices[other] == Choice::Open {
                    choices[other] = choice;
                }
            }
            self.visit(&choices);
        }
    }

    /// Walks down the hulls as far as the budget allows; `None` if it does not cover the choices made.
    fn walk(&self, choices: &[Choice]) -> Option<Walked> {
        let mut state = Walk {
            units: self.units,
            left_bits: self.budget_bits,
            at: choices.iter().map(|choice| (*choice == Choice::On).then_some(0)).collect(),
            part: None,
        };
        for (unit, choice) in self.units.iter().zip(choices) {
            if *choice == Choice::On {
                state.left_bits -= unit.cost(unit.corners[0]);
            }
        }
        if state.left_bits < 0.0 {
            return None;
        }
        let (mut bound, mut in_the_way) = (None, None);
        for edge in &self.edges {
            if !state.leads_on(edge, choices[edge.unit]) {
                continue;
            }
            if edge.cost <= state.left_bits {
                state.left_bits -= edge.cost;
                state.at[edge.unit] = Some(edge.to);
            } else if edge.is_entry {
                in_the_way = in_the_way.or(Some(edge.unit));
                bound = bound.or_else(|| Some(state.loss() - edge.slope * state.left_bits));
            } else {
                bound = bound.or_else(|| Some(state.loss() - edge.slope * state.left_bits));
                state.walk_part(edge);
                break;
            }
        }
        let loss = state.loss();
        Some(Walked { bound: bound.unwrap_or(loss), loss, millibits: state.millibits(), in_the_way })
    }
}

/// The state of a walk.
struct Walk<'a> {
    units: &'a [Unit],
    left_bits: f64,
    /// Positions in the units' `corners`; `None` for no filter.
    at: Vec<Option<usize>>,
    /// The unit whose edge was walked in part, and its size there.
    part: Option<(usize, u32)>,
}

impl Walk<'_> {
    /// Whether an edge begins at its unit's current corner.
    fn leads_on(&self, edge: &Edge, choice: Choice) -> bool {
        match (edge.is_entry, self.at[edge.unit]) {
            (true, None) => choice == Choice::Open,
            (false, Some(at)) => at + 1 == edge.to,
            _ => false,
        }
    }

    fn walk_part(&mut self, edge: &Edge) {
        let unit = &self.units[edge.unit];
        let corner = unit.corners[edge.to - 1];
        // At most the edge's length, since the edge costs more than is left.
        let millibits = unit.curve[corner].0 + (self.left_bits / unit.bits_per_millibit) as u32;
        self.part = Some((edge.unit, unit.best_within(millibits)));
    }

    fn loss(&self) -> f64 {
        let mut sum = 0.0;
        for (index, (unit, at)) in self.units.iter().zip(&self.at).enumerate() {
            sum += match (self.part, at) {
                (Some((part, millibits)), _) if part == index => unit.weight * unit.rate(millibits),
                (_, Some(at)) => unit.loss(unit.corners[*at]),
                (_, None) => unit.weight,
            };
        }
        sum
    }

    fn millibits(&self) -> Vec<u32> {
        let corner = |(unit, at): (&Unit, &Option<usize>)| at.map_or(0, |at| unit.curve[unit.corners[at]].0);
        let mut millibits: Vec<u32> = self.units.iter().zip(&self.at).map(corner).collect();
        if let Some((unit, size)) = self.part {
            millibits[unit] = size;
        }
        millibits
    }
}
