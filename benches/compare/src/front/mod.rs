//! The front as pictures: the bytes of each filter above the least possible for its rate, against the time of a query
//! and of a build.

mod axis;
mod labels;
mod picture;

use crate::peer::Peer;
use crate::peers::{is_drawn, is_ours};
use crate::rounds::{Metric, Row};
use crate::stats::{median, quartiles};
use anyhow::{Context, Result, ensure};
use picture::Picture;
use serde_json::Value;
use std::path::Path;

/// One row of the report.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mark {
    /// The filter's bits per key above the limit for its own rate, in per cent of the limit.
    percent_over: f64,
    /// Median of the rounds.
    ns: f64,
    quartiles_ns: [f64; 2],
}

/// A filter at all sizes that were measured, from its highest rate to its lowest.
struct Series {
    name: String,
    is_ours: bool,
    marks: Vec<Mark>,
}

/// Writes `PREFIX-query.svg` and `PREFIX-build.svg`, of the rows of the largest tables. `setting` is the report's.
///
/// # Errors
/// If no row can be drawn, or a file cannot be written.
pub fn write(rows: &[Row<'_>], setting: &[(&str, Value)], prefix: &Path) -> Result<()> {
    let num_keys = rows.iter().map(|row| row.num_keys).max().unwrap_or(0);
    let rows: Vec<_> = rows.iter().filter(|row| row.num_keys == num_keys).collect();
    let facts = facts(num_keys, setting);
    for (metric, name, title, unit) in [
        (Metric::Neg, "query", "Query time and size of filters", "ns per query of an absent key, one at a time"),
        (Metric::Build, "build", "Build time and size of filters", "ns per key to build the filter"),
    ] {
        let mut path = prefix.as_os_str().to_owned();
        path.push(format!("-{name}.svg"));
        let series = series(&rows, metric);
        ensure!(!series.is_empty(), "no row to draw in {}: only filters with a rate are drawn", path.display());
        let picture = Picture { title, unit, facts: &facts, series: &series, floor_ns: floor(&rows, metric) };
        let svg = picture.svg().with_context(|| format!("{}", path.display()))?;
        std::fs::write(&path, svg).with_context(|| format!("{}", path.display()))?;
    }
    Ok(())
}

/// The figures, the machine that they are from, and how they are drawn.
fn facts(num_keys: usize, setting: &[(&str, Value)]) -> Vec<String> {
    let value = |name| {
        let value = setting.iter().find(|(other, _)| *other == name).map(|(_, value)| value);
        value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let mut measured = format!("{} keys of 16 bytes on one core", grouped(num_keys));
    for (name, before) in
        [("processor", ": "), ("compiled_for", "; compiled for "), ("rocksdb", "; RocksDB "), ("date", "; ")]
    {
        measured += &value(name).map_or_else(String::new, |value| format!("{before}{value}"));
    }
    let rounds = value("rounds").map_or_else(String::new, |rounds| format!(" over the rounds ({rounds})"));
    vec![
        measured,
        format!("Marks: medians{rounds}; whiskers: quartiles. The builders' self-check is on."),
        "Thin lines join the sizes of one filter; its large mark has the highest rate. Grey steps: nothing \
         measured is below and to the left of them."
            .to_owned(),
    ]
}

/// Digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(" ")
}

fn series(rows: &[&Row<'_>], metric: Metric) -> Vec<Series> {
    let mut all: Vec<(&Peer, Vec<(f64, Mark)>)> = Vec::new();
    for row in rows.iter().filter(|row| is_drawn(row.peer)) {
        let Some(point) = row.false_positive_rate().and_then(|rate| Some((rate, mark(row, rate, metric)?))) else {
            continue;
        };
        match all.iter_mut().find(|(peer, _)| (peer.name, peer.kind) == (row.peer.name, row.peer.kind)) {
            Some((_, points)) => points.push(point),
            None => all.push((row.peer, vec![point])),
        }
    }
    let series = |(peer, mut points): (&Peer, Vec<(f64, Mark)>)| {
        points.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let is_ours = is_ours(peer);
        let name = if is_ours { peer.kind.to_owned() } else { format!("{} {}", peer.name, peer.kind) };
        Series { name, is_ours, marks: points.into_iter().map(|(_, mark)| mark).collect() }
    };
    all.into_iter().map(series).collect()
}

/// Returns `None` without samples, and if all or none of the absent keys have passed, because such a rate has no limit.
fn mark(row: &Row<'_>, rate: f64, metric: Metric) -> Option<Mark> {
    let limit = -rate.log2();
    let percent_over = (row.bits_per_key / limit - 1.0) * 100.0;
    let samples = &row.samples[metric];
    (limit > 0.0 && limit.is_finite()).then_some(())?;
    Some(Mark { percent_over, ns: median(samples)?, quartiles_ns: quartiles(samples)? })
}

/// The least time of the rows that answer nothing: hash the key and touch one line.
fn floor(rows: &[&Row<'_>], metric: Metric) -> Option<f64> {
    let floors = rows.iter().filter(|row| row.false_positive_rate().is_none());
    floors.filter_map(|row| median(&row.samples[metric])).min_by(f64::total_cmp)
}

/// The marks that no other exceeds in one respect without being worse in the other, from the smallest filter to the
/// fastest.
fn front(series: &[Series]) -> Vec<Mark> {
    let mut marks: Vec<_> = series.iter().flat_map(|series| series.marks.iter().copied()).collect();
    marks.sort_by(|a, b| a.percent_over.total_cmp(&b.percent_over).then(a.ns.total_cmp(&b.ns)));
    let mut least_ns = f64::INFINITY;
    marks.retain(|mark| {
        let excels = mark.ns < least_ns;
        least_ns = least_ns.min(mark.ns);
        excels
    });
    marks
}

#[cfg(test)]
mod tests {
    use super::{Mark, Series, facts, floor, front, grouped, series};
    use crate::peer::{Peer, Size};
    use crate::rounds::{Metric, Row, Samples};
    use serde_json::json;

    fn peer(name: &'static str, kind: &'static str, size: Size) -> Peer {
        Peer { name, kind, size, build: Box::new(|_| unreachable!("nothing is built")) }
    }

    /// One in `one_in` of 4 096 absent keys has passed.
    fn row<'p>(peer: &'p Peer, bits_per_key: f64, one_in: usize, neg_ns: &[f64]) -> Row<'p> {
        let mut samples = Samples::default();
        samples[Metric::Neg].extend(neg_ns);
        let num_queried = 4096;
        Row { peer, num_keys: 1000, bits_per_key, num_queried, num_false_positives: num_queried / one_in, samples }
    }

    fn mark(percent_over: f64, ns: f64) -> Mark {
        Mark { percent_over, ns, quartiles_ns: [ns; 2] }
    }

    #[test]
    fn a_series_has_all_sizes_of_a_filter_and_the_limit_is_its_own_rate() {
        let ours = peer("filterblock", "fuse", Size::Percent(0.1));
        let same = peer("filterblock", "fuse", Size::Percent(1.0));
        let other = peer("xorf", "fuse", Size::Named);
        let kept = peer("filterblock", "fuse, kept reader", Size::Percent(1.0));
        let rows = [
            row(&ours, 11.0, 1024, &[9.0, 7.0, 8.0]),
            row(&same, 9.6, 256, &[5.0]),
            row(&other, 16.0, 256, &[6.0]),
            row(&kept, 9.6, 256, &[1.0]),
        ];
        let found = series(&rows.iter().collect::<Vec<_>>(), Metric::Neg);
        assert_eq!(found.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(), ["fuse", "xorf fuse"]);
        assert_eq!(found.iter().map(|series| series.is_ours).collect::<Vec<_>>(), [true, false]);
        // 9.6 bits where 8 are the least, then 11 where 10 are.
        let percents: Vec<_> = found[0].marks.iter().map(|mark| (mark.percent_over * 1e6).round() / 1e6).collect();
        assert_eq!(percents, [20.0, 10.0]);
        assert_eq!((found[0].marks[1].ns, found[0].marks[1].quartiles_ns), (8.0, [7.5, 8.5]));
        assert_eq!(found[1].marks[0].percent_over, 100.0);
    }

    #[test]
    fn rates_without_a_limit_are_not_drawn() {
        let (all, none, floored) =
            (peer("a", "all", Size::Named), peer("a", "none", Size::Named), peer("a", "floor", Size::Named));
        let mut rows = [row(&all, 10.0, 1, &[5.0]), row(&none, 10.0, 1, &[5.0]), row(&floored, 10.0, 1, &[3.0])];
        rows[1].num_false_positives = 0;
        rows[2].num_queried = 0;
        let rows: Vec<_> = rows.iter().collect();
        assert!(series(&rows, Metric::Neg).is_empty());
        assert_eq!((floor(&rows, Metric::Neg), floor(&rows, Metric::Build)), (Some(3.0), None));
    }

    #[test]
    fn the_front_has_what_nothing_excels() {
        let marks = vec![mark(40.0, 6.0), mark(1.0, 50.0), mark(7.0, 20.0), mark(7.0, 30.0), mark(50.0, 7.0)];
        let series = [Series { name: String::new(), is_ours: true, marks }];
        assert_eq!(front(&series), [mark(1.0, 50.0), mark(7.0, 20.0), mark(40.0, 6.0)]);
        assert_eq!(front(&[]), []);
    }

    #[test]
    fn facts_are_those_of_the_setting() {
        let setting = [("processor", json!("A 1")), ("rounds", json!(9))];
        let facts = facts(1_000_000, &setting).join("\n");
        assert!(facts.starts_with("1 000 000 keys of 16 bytes on one core: A 1\n"), "{facts}");
        assert!(facts.contains("medians over the rounds (9)"), "{facts}");
        assert_eq!([1, 999, 1000, 12_345_678].map(grouped), ["1", "999", "1 000", "12 345 678"]);
    }
}
