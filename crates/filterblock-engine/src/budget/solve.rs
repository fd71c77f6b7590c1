//! The least Σ weight · ε(b) under Σ n · b ≤ budget, where each filter has 0 bits or at least 2 a key.
//!
//! Once it is decided which filters have any bits, the lower convex hulls of the curves are walked down together,
//! always the steepest edge next: the solution by Lagrange's multiplier, without a search for it. The last edge is
//! walked in part. That is optimal except for dents in the curves, as where a blocked filter gets another number of
//! probes: a budget that ends in one leaves that filter up to the dent's depth above the optimum.
//!
//! Which filters have any is decided by dropping one after the other: once those that are the dearest first, and once
//! those that save the least first. The best of all these choices is taken. None of them depends on the budget, so more
//! bits never make the sum larger. Another choice of filters may be better: the tests state by how much.

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
        let corners = Vec::new();
        let mut unit = Self { curve, is_stepped: false, best, weight, bits_per_millibit, overhead_bits, corners };
        unit.corners = unit.hull();
        unit
    }

    /// The same filter, whose rate between two sizes is that of the smaller one.
    pub(super) fn stepped(self) -> Self {
        Self { is_stepped: true, ..self }
    }

    fn cost(&self, index: usize) -> f64 {
        f64::from(self.curve[index].0) * self.bits_per_millibit + self.overhead_bits
    }

    /// The cost of the smallest filter.
    fn least_cost(&self) -> f64 {
        self.cost(self.corners[0])
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
}

#[cfg(test)]
impl Unit {
    /// The greatest distance of the curve, taken as level where it rises, above its hull.
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

/// An edge of a unit's hull.
#[derive(Clone, Copy, Debug)]
struct Edge {
    unit: usize,
    slope: f64,
    cost: f64,
    /// Position in the unit's `corners` where it ends.
    to: usize,
}

/// The size of each unit in thousandths of a bit, 0 for no filter.
pub(super) fn solve(units: &[Unit], budget_bits: f64) -> Vec<u32> {
    let edges = edges(units);
    let mut best = (f64::INFINITY, vec![0; units.len()]);
    let by_cost: fn(&Unit) -> f64 = |unit| -unit.least_cost();
    for keep in [by_cost, |unit| unit.weight] {
        let mut order: Vec<usize> = (0..units.len()).collect();
        // Stable: among equals the last unit is dropped first.
        order.sort_by(|&a, &b| keep(&units[b]).total_cmp(&keep(&units[a])));
        let (mut is_on, mut lost) = (vec![true; units.len()], 0.0);
        // With fewer filters ever more is lost at once.
        while lost < best.0 {
            if let Some(walk) = Walk::down(units, &edges, &is_on, budget_bits).filter(|walk| walk.loss() < best.0) {
                best = (walk.loss(), walk.millibits());
            }
            let Some(dropped) = order.pop() else { break };
            is_on[dropped] = false;
            lost += units[dropped].weight;
        }
    }
    best.1
}

/// All edges, the steepest first.
fn edges(units: &[Unit]) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (index, unit) in units.iter().enumerate() {
        for (to, pair) in (1..).zip(unit.corners.windows(2)) {
            let (slope, cost) = (unit.slope(pair[0], pair[1]), unit.cost(pair[1]) - unit.cost(pair[0]));
            edges.push(Edge { unit: index, slope, cost, to });
        }
    }
    // Stable: among equals the first unit comes first.
    edges.sort_by(|a, b| b.slope.total_cmp(&a.slope));
    edges
}

/// The end of a walk down the hulls.
struct Walk<'a> {
    units: &'a [Unit],
    /// Positions in the units' `corners`; `None` for no filter.
    at: Vec<Option<usize>>,
    /// The unit whose edge was walked in part, and its size there.
    part: Option<(usize, u32)>,
}

impl<'a> Walk<'a> {
    /// Walks down the hulls of the units that have filters as far as the budget allows; `None` if it does not cover the
    /// least of them.
    fn down(units: &'a [Unit], edges: &[Edge], is_on: &[bool], budget_bits: f64) -> Option<Self> {
        let least = units.iter().zip(is_on).filter(|(_, is_on)| **is_on).map(|(unit, _)| unit.least_cost());
        let mut left_bits = budget_bits - least.sum::<f64>();
        if left_bits < 0.0 {
            return None;
        }
        let at = is_on.iter().map(|&is_on| is_on.then_some(0)).collect();
        let mut walk = Self { units, at, part: None };
        for edge in edges.iter().filter(|edge| is_on[edge.unit]) {
            if edge.cost > left_bits {
                walk.walk_part(edge, left_bits);
                break;
            }
            left_bits -= edge.cost;
            walk.at[edge.unit] = Some(edge.to);
        }
        Some(walk)
    }

    fn walk_part(&mut self, edge: &Edge, left_bits: f64) {
        let unit = &self.units[edge.unit];
        let corner = unit.corners[edge.to - 1];
        // At most the edge's length, since the edge costs more than is left.
        let millibits = unit.curve[corner].0 + (left_bits / unit.bits_per_millibit) as u32;
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
