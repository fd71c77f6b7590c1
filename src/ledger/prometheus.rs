//! A report for monitoring, in Prometheus' text exposition format.

use super::exposition::Exposition;
use super::outcome::Outcome;
use super::tally::Tally;
use super::{LedgerReport, LevelTally};

/// Name, help and value of a counter of each level, class and kind.
type LevelCounter = (&'static str, &'static str, fn(&Tally) -> u64);

const LEVEL_COUNTERS: [LevelCounter; 6] = [
    ("filterblock_table_lookups_total", "Lookups begun, one for each table that is reached.", |t| t.lookups),
    ("filterblock_unfiltered_found_total", "Lookups without a usable filter that found what they asked for.", |t| {
        t.unfiltered_found
    }),
    ("filterblock_entry_only_total", "True positives that found the filter's entry, but not their key.", |t| {
        t.entry_only
    }),
    ("filterblock_data_block_reads_total", "Data blocks read from storage by lookups.", |t| t.data_block_reads),
    ("filterblock_data_block_read_bytes_total", "Bytes of the data blocks read by lookups.", |t| t.data_block_bytes),
    ("filterblock_data_block_cache_hits_total", "Data blocks that lookups found in the cache.", |t| {
        t.data_block_cache_hits
    }),
];

fn labels(of_level: &LevelTally) -> Vec<(&'static str, String)> {
    let kind = of_level.kind.map_or("none", |kind| kind.name());
    let (level, purpose) = (of_level.level.to_string(), of_level.purpose.to_owned());
    vec![("level", level), ("purpose", purpose), ("kind", kind.to_owned())]
}

fn write_levels(out: &mut Exposition, levels: &[LevelTally]) {
    for (name, help, count) in LEVEL_COUNTERS {
        out.metric(name, help, levels.iter().map(|of_level| (labels(of_level), count(&of_level.tally))));
    }
    let outcomes = levels.iter().flat_map(|of_level| {
        Outcome::ALL.iter().map(|&outcome| {
            let outcome_label = ("outcome", outcome.id().to_owned());
            ([labels(of_level), vec![outcome_label]].concat(), of_level.tally.count(outcome))
        })
    });
    out.metric("filterblock_table_lookup_outcomes_total", "Lookups by how they ended.", outcomes);
    type LevelRate = (&'static str, &'static str, fn(&Tally) -> Option<f64>);
    let rates: [LevelRate; 3] = [
        (
            "filterblock_expected_false_positives_total",
            "Sum of the filters' predicted rates over the absent keys that they were asked.",
            |tally| Some(tally.expected_false_positives),
        ),
        ("filterblock_observed_false_positive_ratio", "False positives per absent key asked.", Tally::observed_fpr),
        (
            "filterblock_predicted_false_positive_ratio",
            "The rate to be expected from the filters that were asked.",
            Tally::predicted_fpr,
        ),
    ];
    for (name, help, rate) in rates {
        out.metric(name, help, levels.iter().filter_map(|of_level| Some((labels(of_level), rate(&of_level.tally)?))));
    }
}

impl LedgerReport {
    /// The report in Prometheus' text exposition format, to be served as `text/plain; version=0.0.4`.
    pub fn to_prometheus(&self) -> String {
        let mut out = Exposition::default();
        write_levels(&mut out, &self.by_level);
        let total = &self.total;
        for (name, help, value) in [
            ("scan_block_reads", "Data blocks read from storage by scans.", total.scan_block_reads),
            ("scan_block_read_bytes", "Bytes of the data blocks read by scans.", total.scan_block_bytes),
            ("scan_block_cache_hits", "Data blocks that scans found in the cache.", total.scan_block_cache_hits),
            (
                "filter_block_reads",
                "Filter blocks read from storage because the cache did not have them.",
                total.filter_block_reads,
            ),
            ("filter_block_read_bytes", "Bytes of the filter blocks read.", total.filter_block_bytes),
            ("filter_block_cache_hits", "Filter blocks found in the cache.", total.filter_block_cache_hits),
            ("filters_not_built", "Filters that could not be built, whose tables have none.", self.filters_not_built),
        ] {
            out.single(&format!("filterblock_{name}_total"), help, value);
        }
        out.into_text()
    }
}
