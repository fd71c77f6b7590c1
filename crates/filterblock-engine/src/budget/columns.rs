//! The allocation of memory to filters that store more [columns](filterblock::FilterBlock::thin) than fit.

/// A filter of which some first columns are held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnPoint {
    /// The bytes that it takes.
    pub bytes: u64,
    /// The share of absent keys that pass it, from 0 to 1.
    pub false_positive_rate: f64,
}

/// A filter whose first columns can be held without the others.
#[derive(Clone, Debug, PartialEq)]
pub struct ElasticFilter {
    points: Vec<ColumnPoint>,
    weight: f64,
}

impl ElasticFilter {
    /// A filter with 1, 2, … columns: its bytes ascend, its rate descends. The weight is 1 unless set.
    pub fn new(points: impl IntoIterator<Item = ColumnPoint>) -> Self {
        Self { points: points.into_iter().collect(), weight: 1.0 }
    }

    /// The number of lookups of absent keys that probe it, on any scale common to the filters. One with a weight of 0
    /// is not held.
    #[must_use]
    pub fn with_weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Returns bytes and rate of the first `columns` columns.
    fn at(&self, columns: usize) -> ColumnPoint {
        columns.checked_sub(1).map_or(ColumnPoint { bytes: 0, false_positive_rate: 1.0 }, |index| self.points[index])
    }

    /// Returns the reads that a step saves for each byte.
    fn slope(&self, from: usize, to: usize) -> f64 {
        let (from, to) = (self.at(from), self.at(to));
        let saved = self.weight * (from.false_positive_rate - to.false_positive_rate);
        saved / to.bytes.saturating_sub(from.bytes).max(1) as f64
    }

    /// The corners of the lower hull, from no columns on (Andrew's monotone chain).
    fn corners(&self) -> Vec<usize> {
        let mut corners = vec![0];
        for next in 1..=self.points.len() {
            while let [.., before, last] = corners[..] {
                if self.slope(before, last) > self.slope(last, next) {
                    break;
                }
                corners.pop();
            }
            corners.push(next);
        }
        corners
    }
}

/// A step from one corner of a filter's hull to the next.
struct Step {
    filter: usize,
    from: usize,
    to: usize,
    slope: f64,
}

/// The number of columns to hold of each filter, in their order, so that they take at most `budget_bytes` together and
/// the sum over the filters of weight · rate is least.
///
/// With c columns, a filter passes 2⁻ᶜ of the absent keys for which it is queried; without columns, all. So for w such
/// queries the next column saves w · 2⁻⁽ᶜ⁺¹⁾ wasted reads: half of the reads that the one before it saved, for the same
/// bytes. The first column also takes the header and all else that does not depend on the columns. If that is much, it
/// pays only together with some more columns, and these are taken as one step: the steps are the edges of the lower
/// convex hull of (bytes, wasted reads).
///
/// The step that saves the most reads a byte is always taken next. **No other choice with the same bytes saves more**,
/// up to the first step that does not fit: let λ be the reads a byte that the last step taken saves. A filter's steps
/// save less and less a byte, so the steps taken are those that save at least λ a byte, up to equal ones, and they
/// maximise the filter's savings less λ times its bytes over all points on the hull and above it. So the choice
/// maximises the sum over all filters of savings less λ · bytes, and one that saves more in all must take more bytes.
/// After the first step that does not fit, those that fit are still taken; the savings of that step bound the gain of
/// any other choice.
///
/// ```
/// use filterblock_engine::budget::{ColumnPoint, ElasticFilter, hold_columns};
///
/// // Three filters of 16 columns of 1000 bytes each. Lookups of absent keys favour the first.
/// let with = |columns: u64| ColumnPoint { bytes: 64 + 1000 * columns, false_positive_rate: 0.5f64.powi(columns as i32) };
/// let filters = [64_000.0, 1_000.0, 0.0].map(|weight| ElasticFilter::new((1..=16).map(with)).with_weight(weight));
/// assert_eq!(hold_columns(&filters, 20_200), [13, 7, 0]);
/// ```
pub fn hold_columns(filters: &[ElasticFilter], budget_bytes: u64) -> Vec<u32> {
    let mut steps = Vec::new();
    for (index, filter) in filters.iter().enumerate() {
        let corners = filter.corners();
        let step = |pair: &[usize]| {
            let (from, to) = (pair[0], pair[1]);
            Step { filter: index, from, to, slope: filter.slope(from, to) }
        };
        // NaN saves nothing.
        steps.extend(corners.windows(2).map(step).filter(|step| step.slope > 0.0));
    }
    // Stable, and the slopes of a filter descend.
    steps.sort_by(|a, b| b.slope.total_cmp(&a.slope));
    let (mut held, mut left_bytes) = (vec![0; filters.len()], budget_bytes);
    for Step { filter, from, to, .. } in steps {
        let bytes = filters[filter].at(to).bytes.saturating_sub(filters[filter].at(from).bytes);
        // A step is not taken if one before it did not fit.
        if held[filter] == from && bytes <= left_bytes {
            held[filter] = to;
            left_bytes -= bytes;
        }
    }
    held.into_iter().map(|columns| columns as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::{ColumnPoint, ElasticFilter, hold_columns};

    fn mix(mut z: u64) -> u64 {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes(filters: &[ElasticFilter], held: &[u32]) -> u64 {
        filters.iter().zip(held).map(|(filter, &columns)| filter.at(columns as usize).bytes).sum()
    }

    fn loss(filters: &[ElasticFilter], held: &[u32]) -> f64 {
        filters
            .iter()
            .zip(held)
            .map(|(filter, &columns)| filter.weight * filter.at(columns as usize).false_positive_rate)
            .sum()
    }

    /// Every choice of columns.
    fn all(filters: &[ElasticFilter]) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new()];
        for filter in filters {
            let longer =
                |held: Vec<u32>| (0..=filter.points.len() as u32).map(move |columns| [&held[..], &[columns]].concat());
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    /// A filter of up to `most` columns, each of `column` bytes, beside `other` bytes.
    fn filter_of(most: u64, other: u64, column: u64) -> ElasticFilter {
        let with = |columns| (other + columns * column, 0.5f64.powi(columns as i32));
        let point = |(bytes, false_positive_rate)| ColumnPoint { bytes, false_positive_rate };
        ElasticFilter::new((1..=most).map(with).map(point))
    }

    fn random(seed: u64) -> Vec<ElasticFilter> {
        let filter = |index: u64| {
            let number = |what: u64| mix(seed * 1_000 + index * 10 + what);
            let (column, other) = (1 + number(0) % 300, number(1) % 500);
            let most = 1 + number(2) % 6;
            filter_of(most, other, column).with_weight((number(3) % 1_000) as f64)
        };
        (0..4).map(filter).collect()
    }

    /// No choice of as many bytes is better unless a step was left out; and then the one left out first bounds what
    /// could be gained.
    #[test]
    fn no_other_choice_of_as_many_bytes_saves_more() {
        let mut num_exact = 0;
        for seed in 0..40 {
            let filters = random(seed);
            let choices = all(&filters);
            let most = bytes(&filters, &choices[choices.len() - 1]);
            for budget_bytes in (0..=most + 100).step_by(97) {
                let held = hold_columns(&filters, budget_bytes);
                let used = bytes(&filters, &held);
                assert!(used <= budget_bytes, "{used} of {budget_bytes}");
                let least = |limit: u64| {
                    let within = choices.iter().filter(|choice| bytes(&filters, choice) <= limit);
                    within.map(|choice| loss(&filters, choice)).fold(f64::INFINITY, f64::min)
                };
                let (found, best) = (loss(&filters, &held), least(budget_bytes));
                assert!(found >= best - 1e-9);
                num_exact += u32::from(found <= best + 1e-9);
                // The reads a byte that each filter's last step saved and its next one would save, and the savings of
                // the latter.
                let (mut last, mut next) = (f64::INFINITY, (0.0, 0.0));
                for (filter, &columns) in filters.iter().zip(&held) {
                    let (corners, columns) = (filter.corners(), columns as usize);
                    let at = corners.iter().position(|&corner| corner == columns).expect("a corner");
                    if at > 0 {
                        last = last.min(filter.slope(corners[at - 1], columns));
                    }
                    if let Some(&to) = corners.get(at + 1) {
                        let slope = filter.slope(columns, to);
                        let savings = filter.at(columns).false_positive_rate - filter.at(to).false_positive_rate;
                        if slope > next.0 {
                            next = (slope, filter.weight * savings);
                        }
                    }
                }
                assert!(found - best <= next.1 + 1e-9, "{found} {best} {next:?}");
                if last >= next.0 {
                    assert!((found - least(used)).abs() < 1e-9, "{filters:?} {held:?}");
                }
            }
        }
        assert!(num_exact > 100, "{num_exact}");
    }

    #[test]
    fn odd_filters_take_nothing_that_does_not_save() {
        assert!(hold_columns(&[], 100).is_empty());
        let filters = [f64::NAN, -1.0, 0.0, f64::INFINITY].map(|weight| filter_of(2, 0, 100).with_weight(weight));
        assert_eq!(hold_columns(&filters, 1_000), [0, 0, 0, 2]);
        assert_eq!(hold_columns(&[ElasticFilter::new([])], 1_000), [0]);
        assert_eq!(hold_columns(&[filter_of(2, 0, 100)], 99), [0]);
        assert_eq!(hold_columns(&[filter_of(2, 0, 100)], 100), [1]);
        assert_eq!(hold_columns(&[filter_of(2, 0, 100)], u64::MAX), [2]);
        // Beside ten columns' worth of other bytes, one column or two save less a byte than three.
        let heavy = filter_of(8, 1_000, 100);
        let light = filter_of(8, 0, 100);
        assert_eq!(heavy.corners()[..3], [0, 3, 4]);
        assert_eq!(light.corners(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
