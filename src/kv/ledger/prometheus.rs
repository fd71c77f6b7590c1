//! A report for monitoring, in Prometheus' text exposition format, version 0.0.4.
//!
//! Source: *Exposition formats*, prometheus.io/docs/instrumenting/exposition_formats. HELP and TYPE stand once before
//! the samples of a metric; label values escape backslash, quote and line feed, HELP backslash and line feed; the last
//! line ends with a line feed.

use super::outcome::Outcome;
use super::tally::Tally;
use super::{LedgerReport, LevelTally};
use core::fmt::{self, Write};

/// A counter of each level, purpose and kind.
type LevelCounter = (&'static str, &'static str, fn(&Tally) -> u64);

const LEVEL_COUNTERS: [LevelCounter; 7] = [
    ("filterblock_table_lookups_total", "Lookups begun, one for each key or prefix and table.", |t| t.lookups),
    ("filterblock_unfiltered_found_total", "Lookups without a usable filter that found what they asked for.", |t| {
        t.unfiltered_found
    }),
    ("filterblock_column_absent_total", "True positives of row filters whose column was absent.", |t| t.column_absent),
    ("filterblock_range_absent_total", "True positives of prefix filters without a row in the range.", |t| {
        t.range_absent
    }),
    ("filterblock_data_block_reads_total", "Data blocks read from storage by lookups.", |t| t.data_block_reads),
    ("filterblock_data_block_read_bytes_total", "Bytes of the data blocks read by lookups.", |t| t.data_block_bytes),
    ("filterblock_data_block_cache_hits_total", "Data blocks that lookups found in the cache.", |t| {
        t.data_block_cache_hits
    }),
];

/// Appends HELP, TYPE and samples.
struct Exposition(String);

impl Exposition {
    fn metric(&mut self, name: &str, kind: &str, help: &str) -> fmt::Result {
        let help = help.replace('\\', r"\\").replace('\n', r"\n");
        write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n")
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) -> fmt::Result {
        self.0.push_str(name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            write!(self.0, "{before}{label}=\"{}\"", escaped(value))?;
        }
        let close = if labels.is_empty() { "" } else { "}" };
        writeln!(self.0, "{close} {value}")
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.metric(name, "counter", help)?;
        self.sample(name, &[], value)
    }

    /// A sample of each level, purpose and kind for which there is a value.
    fn by_level<V: fmt::Display>(
        &mut self,
        name: &str,
        levels: &[LevelTally],
        value: impl Fn(&Tally) -> Option<V>,
    ) -> fmt::Result {
        for of_level in levels {
            if let Some(value) = value(&of_level.tally) {
                self.sample(name, &labels(&of_level.level.to_string(), of_level), value)?;
            }
        }
        Ok(())
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn labels<'a>(level: &'a str, of_level: &LevelTally) -> [(&'static str, &'a str); 3] {
    let kind = of_level.kind.map_or("none", |kind| kind.name());
    [("level", level), ("purpose", of_level.purpose.name()), ("kind", kind)]
}

fn write_levels(out: &mut Exposition, levels: &[LevelTally]) -> fmt::Result {
    for (name, help, count) in LEVEL_COUNTERS {
        out.metric(name, "counter", help)?;
        out.by_level(name, levels, |tally| Some(count(tally)))?;
    }
    let name = "filterblock_table_lookup_outcomes_total";
    out.metric(name, "counter", "Lookups by how they ended.")?;
    for of_level in levels {
        let level = of_level.level.to_string();
        let [level, purpose, kind] = labels(&level, of_level);
        for outcome in Outcome::ALL {
            out.sample(name, &[level, purpose, kind, ("outcome", outcome.id())], of_level.tally.count(outcome))?;
        }
    }
    let name = "filterblock_expected_false_positives_total";
    out.metric(name, "counter", "Sum of the filters' predicted rates over the absent keys that they were asked.")?;
    out.by_level(name, levels, |tally| Some(tally.expected_false_positives))?;
    let name = "filterblock_observed_false_positive_ratio";
    out.metric(name, "gauge", "False positives per absent key asked since the store was opened.")?;
    out.by_level(name, levels, Tally::observed_fpr)?;
    let name = "filterblock_predicted_false_positive_ratio";
    out.metric(name, "gauge", "The rate to be expected from the filters that were asked.")?;
    out.by_level(name, levels, Tally::predicted_fpr)
}

fn write_report(out: &mut Exposition, report: &LedgerReport) -> fmt::Result {
    write_levels(out, &report.by_level)?;
    let total = &report.total;
    for (name, help, value) in [
        ("filterblock_scan_block_reads_total", "Data blocks read from storage by scans.", total.scan_block_reads),
        ("filterblock_scan_block_read_bytes_total", "Bytes of the data blocks read by scans.", total.scan_block_bytes),
        (
            "filterblock_scan_block_cache_hits_total",
            "Data blocks that scans found in the cache.",
            total.scan_block_cache_hits,
        ),
        (
            "filterblock_filter_block_reads_total",
            "Filter blocks read from storage because the cache did not have them.",
            total.filter_block_reads,
        ),
        ("filterblock_filter_block_read_bytes_total", "Bytes of the filter blocks read.", total.filter_block_bytes),
        (
            "filterblock_filter_block_cache_hits_total",
            "Filter blocks found in the cache.",
            total.filter_block_cache_hits,
        ),
    ] {
        out.counter(name, help, value)?;
    }
    Ok(())
}

impl LedgerReport {
    /// The report in Prometheus' text exposition format, to be served as `text/plain; version=0.0.4`.
    pub fn to_prometheus(&self) -> String {
        let mut out = Exposition(String::new());
        // A string takes whatever is written to it.
        let _ = write_report(&mut out, self);
        out.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Exposition, escaped};

    #[test]
    fn label_values_are_escaped() {
        assert_eq!(escaped("a\\b\"c\nd"), r#"a\\b\"c\nd"#);
        let mut out = Exposition(String::new());
        out.metric("m_total", "counter", "back\\slash\nfeed \"quote\"").unwrap();
        out.sample("m_total", &[("a", "x\"y"), ("b", "\n")], 7).unwrap();
        out.sample("n", &[], 0.5).unwrap();
        let expected = "# HELP m_total back\\\\slash\\nfeed \"quote\"\n# TYPE m_total counter\n\
                        m_total{a=\"x\\\"y\",b=\"\\n\"} 7\nn 0.5\n";
        assert_eq!(out.0, expected);
    }
}
