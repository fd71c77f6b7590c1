//! The distribution of lookup times: the share that was answered within each time.

use super::super::ask::nearest_rank;
use super::chart::{Axis, Chart};
use super::{class_of, marker, series_of};
use maud::{Markup, html};

const HEIGHT: f64 = 400.0;
/// Points of a curve for each nine: more than the page has pixels.
const POINTS_PER_NINE: f64 = 150.0;
/// Shares with a label, and, but for the first, a marker on each curve.
const MARKED: [f64; 6] = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999];

/// The scale on which the share axis is even: how many nines the share has, so that a tenth of a thousandth is as
/// visible as a half.
fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// `curves` are names of filters with times in ascending order, in nanoseconds.
pub(in super::super) fn latency(label: &str, curves: &[(&str, Vec<u64>)]) -> Markup {
    let num_lookups = curves.iter().map(|(_, nanos)| nanos.len()).max().unwrap_or(0).max(2);
    let most_nines = (num_lookups as f64).log10();
    let times = || curves.iter().flat_map(|(_, nanos)| [nanos.first(), nanos.last()]).flatten();
    let (min, max) = (times().min().map_or(1, |&min| min.max(1)), times().max().map_or(1, |&max| max.max(1)));
    let marked = || MARKED.into_iter().filter(|share| nines(*share) <= most_nines);
    let chart = Chart {
        height: HEIGHT,
        x: Axis::logarithmic("time of a lookup (logarithmic)", min as f64 * 0.8, max as f64 * 1.25, time),
        y: Axis {
            title: "answered within that time (stretched towards 100 %)".to_owned(),
            range: 0.0..most_nines * 1.03,
            mesh: marked().map(|share| (nines(share), percent(share))).collect(),
        },
    };
    let curve = |(filter, nanos): &(&str, Vec<u64>)| {
        let (series, last) = (series_of(filter), nines(1.0 - 1.0 / nanos.len().max(2) as f64));
        let point = |at: f64| Some(((nearest_rank(nanos, 1.0 - 10f64.powf(-at))?.max(1) as f64).log10(), at));
        let num_points = (last * POINTS_PER_NINE).ceil() as u32;
        let steps = (0..=num_points).map(|i| last * f64::from(i) / f64::from(num_points.max(1)));
        let marked = marked().skip(1).map(nines).filter(|at| *at <= last).filter_map(point);
        html! {
            (chart.line(&class_of("line", series), steps.filter_map(point)))
            @for point in marked { (marker(series, chart.place(point))) }
        }
    };
    chart.draw(label, &html! { @for filter in curves { (curve(filter)) } })
}

/// A time for people, from nanoseconds.
fn time(nanos: f64) -> String {
    match nanos.round() {
        nanos if nanos < 1e3 => format!("{nanos} ns"),
        nanos if nanos < 1e6 => format!("{} µs", nanos / 1e3),
        nanos if nanos < 1e9 => format!("{} ms", nanos / 1e6),
        nanos => format!("{} s", nanos / 1e9),
    }
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 1e2)
}

#[cfg(test)]
mod tests {
    use super::{nearest_rank, nines, percent, time};

    #[test]
    fn a_share_keeps_its_rank_by_way_of_the_axis() {
        let nanos: Vec<u64> = (1..=1000).collect();
        for share in [0.5, 0.9, 0.99, 0.999] {
            let rank = (share * 1000.0_f64).round() as u64;
            assert_eq!(nearest_rank(&nanos, 1.0 - 10f64.powf(-nines(share))), Some(rank));
        }
    }

    #[test]
    fn labels_read_as_people_write() {
        assert_eq!([1.0, 1e4, 2e6, 5e9].map(time), ["1 ns", "10 µs", "2 ms", "5 s"]);
        assert_eq!([0.0, 0.5, 0.99, 0.9999].map(percent), ["0 %", "50 %", "99 %", "99.99 %"]);
    }
}
