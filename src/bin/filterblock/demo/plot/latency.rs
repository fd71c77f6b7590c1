//! How long lookups take: the share that was answered within each time.

use super::chart::{Axis, Chart, Error, Mesh, draw};
use super::ink::{Ink, Series};

const SIZE: (u32, u32) = (880, 440);
/// Points of a curve for each nine: more than the page has pixels.
const POINTS_PER_NINE: u32 = 150;
/// Shares that carry a marker and a label, in lookups out of 10 000.
const MARKED: [u32; 6] = [0, 5_000, 9_000, 9_900, 9_990, 9_999];

/// One curve: times in ascending order, in nanoseconds.
pub(in super::super) struct Curve {
    pub(in super::super) series: Series,
    pub(in super::super) nanos: Vec<u64>,
}

/// The scale on which the share axis is even: how many nines the share has, so that a tenth of a thousandth can be
/// seen beside a half.
fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// The time within which `share` of the lookups were answered: the nearest rank.
fn quantile(nanos: &[u64], share: f64) -> Option<f64> {
    // What a sum of rounded logarithms lacks of a whole rank is no further rank.
    let rank = ((nanos.len() as f64 * share) - 1e-6).ceil().max(1.0) as usize;
    nanos.get(rank - 1).map(|&nanos| nanos.max(1) as f64)
}

pub(in super::super) fn latency(label: &str, curves: &[Curve]) -> Result<String, Error> {
    let num_lookups = curves.iter().map(|curve| curve.nanos.len()).max().unwrap_or(0).max(2);
    let most_nines = (num_lookups as f64).log10();
    let times = || curves.iter().flat_map(|curve| [curve.nanos.first(), curve.nanos.last()]).flatten();
    let (min, max) = (times().min().map_or(1, |&min| min.max(1)), times().max().map_or(1, |&max| max.max(1)));
    let x = Axis::logarithmic("time of a lookup (logarithmic)", min as f64 * 0.8, max as f64 * 1.25, time);
    let marked = MARKED.map(|of_10_000| f64::from(of_10_000) / 1e4);
    let mesh = marked.into_iter().filter(|share| nines(*share) <= most_nines);
    let y = Axis {
        title: "share of absent lookups answered within that time (stretched towards 100 %)".to_owned(),
        range: 0.0..most_nines * 1.03,
        mesh: mesh.map(|share| Mesh { at: nines(share), label: percent(share) }).collect(),
    };
    draw(SIZE, label, |canvas| {
        let chart = Chart::new(canvas, &x, &y)?;
        for Curve { series, nanos } in curves {
            let last = nines(1.0 - 1.0 / nanos.len().max(2) as f64);
            let point = |at: f64| Some((quantile(nanos, 1.0 - 10f64.powf(-at))?.log10(), at));
            let num_points = (last * f64::from(POINTS_PER_NINE)).ceil() as u32;
            let steps = (0..=num_points).map(|i| last * f64::from(i) / f64::from(num_points.max(1)));
            chart.line(Ink::Line(*series), steps.filter_map(point))?;
            for share in marked.into_iter().filter(|share| *share > 0.0 && nines(*share) <= last) {
                point(nines(share)).map_or(Ok(()), |point| chart.marker(*series, point))?;
            }
        }
        Ok(())
    })
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
    use super::{nines, percent, quantile, time};

    #[test]
    fn quantiles_are_nearest_ranks() {
        let nanos: Vec<u64> = (1..=1000).collect();
        for (share, expected) in [(0.0, 1.0), (0.5, 500.0), (0.9, 900.0), (0.999, 999.0), (1.0, 1000.0)] {
            assert_eq!(quantile(&nanos, share), Some(expected));
        }
        assert_eq!(quantile(&[], 0.5), None);
        // By way of the axis, too.
        assert_eq!(quantile(&nanos, 1.0 - 10f64.powf(-nines(0.99))), Some(990.0));
    }

    #[test]
    fn labels_read_as_people_write() {
        assert_eq!([1.0, 1e4, 2e6, 5e9].map(time), ["1 ns", "10 µs", "2 ms", "5 s"]);
        assert_eq!([0.0, 0.5, 0.99, 0.9999].map(percent), ["0 %", "50 %", "99 %", "99.99 %"]);
    }
}
