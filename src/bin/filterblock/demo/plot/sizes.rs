//! What a false-positive rate costs in bits per key: every kind, the lower bound for any filter, and the measured runs.

use super::chart::{Axis, Chart};
use super::{class_of, marker, series_of};
use crate::model;
use filterblock::{BuildError, FilterKind, sizing};
use maud::{Markup, html};

const HEIGHT: f64 = 420.0;
/// Bits per key of a curve's first point, the distance to the next, and the least end of the axis.
const MIN_BITS: f64 = 3.0;
const STEP_BITS: f64 = 0.5;
const MAX_BITS: f64 = 20.0;
/// The largest size that a policy takes.
const LIMIT_BITS: f64 = 64.0;
/// The rate at which the axis begins.
const MAX_RATE: f64 = 0.3;
/// Keys of the blocks that the curves are measured on.
const NUM_ENTRIES: u64 = 1 << 15;

/// The filters of a run, all tables together.
pub(in super::super) struct Point {
    pub(in super::super) series: usize,
    pub(in super::super) bits_per_key: f64,
    pub(in super::super) observed: f64,
    /// Four standard errors of the observed rate.
    pub(in super::super) four_sigma: f64,
}

/// Rates and bits per key of blocks of a kind, as `calc` gives them.
fn curve(kind: FilterKind, max_bits: f64) -> Result<Vec<(f64, f64)>, BuildError> {
    let num_steps = ((max_bits - MIN_BITS) / STEP_BITS).round() as u32;
    let sizes = (0..=num_steps).map(|step| MIN_BITS + f64::from(step) * STEP_BITS);
    let point = |bits| {
        let dimensions = model::with_bits_per_key(kind, NUM_ENTRIES, bits)?;
        Ok((dimensions.fpr, dimensions.bits_per_key()))
    };
    let mut points: Vec<(f64, f64)> = sizes.map(point).collect::<Result<_, BuildError>>()?;
    points.retain(|(rate, bits)| *rate <= MAX_RATE && *bits <= max_bits);
    // Of the sizes of a step of the rate, the least.
    points.dedup_by(|larger, smaller| larger.0 >= smaller.0);
    Ok(points)
}

/// A rate without trailing zeros.
fn percent(rate: f64) -> String {
    if rate < 0.99e-5 {
        return format!("{rate:.0e}");
    }
    // Reciprocals of powers of ten are not quite powers of ten.
    let rounded = format!("{:.9}", rate * 100.0);
    format!("{} %", rounded.trim_end_matches('0').trim_end_matches('.'))
}

pub(in super::super) fn sizes(label: &str, points: &[Point]) -> Result<Markup, BuildError> {
    let largest = points.iter().map(|point| point.bits_per_key).fold(0.0, f64::max);
    let y = Axis::linear("bits per key", (largest * 1.3).clamp(MAX_BITS, LIMIT_BITS), 5, |bits, _| bits.to_string());
    let max_bits = y.range.end.min(LIMIT_BITS);
    let curve = |kind: FilterKind| Ok((series_of(kind.name()), curve(kind, max_bits)?));
    let curves = FilterKind::ALL.iter().copied().map(curve).collect::<Result<Vec<_>, BuildError>>()?;
    let rates = curves.iter().flat_map(|(_, curve)| curve).map(|(rate, _)| *rate);
    let min_rate = rates.fold(MAX_RATE / 10.0, f64::min);
    // Stricter to the right: the axis is that of the rate's reciprocal.
    let title = "false-positive rate (logarithmic, stricter to the right)";
    let x = Axis::logarithmic(title, 1.0 / MAX_RATE, 1.0 / min_rate, |reciprocal| percent(1.0 / reciprocal));
    let chart = Chart { height: HEIGHT, x, y };
    let at = |rate: f64, bits: f64| (-rate.log10(), bits);
    let whisker = |point: &Point| {
        let ends = [point.observed - point.four_sigma, point.observed + point.four_sigma];
        chart.line(
            &class_of("whisker", point.series),
            ends.map(|rate| at(rate.clamp(min_rate, MAX_RATE), point.bits_per_key)),
        )
    };
    let content = html! {
        (chart.line("reference", [MAX_RATE, min_rate].map(|rate| at(rate, sizing::bits_lower_bound(rate)))))
        @for (series, curve) in &curves {
            (chart.line(&class_of("line", *series), curve.iter().map(|(rate, bits)| at(*rate, *bits))))
        }
        @for point in points.iter().filter(|point| (min_rate..=MAX_RATE).contains(&point.observed)) {
            (whisker(point))
            (marker(point.series, chart.place(at(point.observed, point.bits_per_key))))
        }
    };
    Ok(chart.draw(label, &content))
}

#[cfg(test)]
mod tests {
    use super::{MAX_BITS, curve, percent};
    use filterblock::{FilterKind, FilterPolicy, sizing};

    #[test]
    fn labels_have_no_needless_zeros() {
        assert_eq!([0.5, 0.1, 1e-2, 1.0 / 1e5, 1e-8].map(percent), ["50 %", "10 %", "1 %", "0.001 %", "1e-8"]);
    }

    /// More bits, fewer false positives, and never below what information theory allows.
    #[test]
    fn curves_fall_and_stay_above_the_limit() {
        for &kind in FilterKind::ALL {
            let curve = curve(kind, MAX_BITS).unwrap();
            // Where rates are powers of two, a point for each.
            let least = if FilterPolicy::rate_has_steps(kind) { 10 } else { 20 };
            assert!(curve.len() > least, "{kind}: {} points", curve.len());
            assert!(curve.windows(2).all(|pair| pair[1].0 < pair[0].0 && pair[1].1 > pair[0].1), "{kind}");
            assert!(curve.iter().all(|(rate, bits)| *bits > sizing::bits_lower_bound(*rate)), "{kind}");
        }
    }
}
