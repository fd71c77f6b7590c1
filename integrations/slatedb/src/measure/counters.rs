//! [`Counters`]: what SlateDB counts itself.

use slatedb::db_cache_stats::ACCESS_COUNT;
use slatedb::db_stats::{
    FILTER_KIND_LABEL, FILTER_KIND_POINT, FILTER_KIND_PREFIX, FILTER_KIND_RANGE, SST_FILTER_FALSE_POSITIVE_COUNT,
    SST_FILTER_NEGATIVE_COUNT, SST_FILTER_POSITIVE_COUNT,
};
use slatedb::instrumented_object_store_stats::REQUEST_COUNT;
use slatedb_common::metrics::{DefaultMetricsRecorder, MetricValue};

/// Counts of one open database, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Filters that ruled a key out: tables that were not read.
    pub negatives: u64,
    /// Filters that did not.
    pub positives: u64,
    /// The number of these in tables that do not have the key.
    pub false_positives: u64,
    /// The `negatives` of prefixes.
    pub prefix_negatives: u64,
    /// The `positives` of prefixes.
    pub prefix_positives: u64,
    /// The `negatives` of ranges.
    pub range_negatives: u64,
    /// The `positives` of ranges.
    pub range_positives: u64,
    /// The number of data blocks that were looked up in a cache, found or not; 0 without caches.
    pub data_blocks: u64,
    /// Requests to the object store for a range of an object.
    pub range_requests: u64,
}

impl Counters {
    /// Reads the recorder that the database was opened with.
    pub fn of(recorder: &DefaultMetricsRecorder) -> Self {
        let metrics = recorder.snapshot();
        let sum = |name: &str, (key, value): (&str, &str)| {
            let label = (key.to_owned(), value.to_owned());
            let labelled = metrics.by_name(name).into_iter().filter(|metric| metric.labels.contains(&label));
            labelled.map(|metric| if let MetricValue::Counter(count) = metric.value { count } else { 0 }).sum()
        };
        let [point, prefix, range] =
            [FILTER_KIND_POINT, FILTER_KIND_PREFIX, FILTER_KIND_RANGE].map(|kind| (FILTER_KIND_LABEL, kind));
        Self {
            negatives: sum(SST_FILTER_NEGATIVE_COUNT, point),
            positives: sum(SST_FILTER_POSITIVE_COUNT, point),
            false_positives: sum(SST_FILTER_FALSE_POSITIVE_COUNT, point),
            prefix_negatives: sum(SST_FILTER_NEGATIVE_COUNT, prefix),
            prefix_positives: sum(SST_FILTER_POSITIVE_COUNT, prefix),
            range_negatives: sum(SST_FILTER_NEGATIVE_COUNT, range),
            range_positives: sum(SST_FILTER_POSITIVE_COUNT, range),
            data_blocks: sum(ACCESS_COUNT, ("entry_kind", "data_block")),
            range_requests: sum(REQUEST_COUNT, ("api", "get_range")),
        }
    }

    /// Returns the difference to `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            negatives: self.negatives - earlier.negatives,
            positives: self.positives - earlier.positives,
            false_positives: self.false_positives - earlier.false_positives,
            prefix_negatives: self.prefix_negatives - earlier.prefix_negatives,
            prefix_positives: self.prefix_positives - earlier.prefix_positives,
            range_negatives: self.range_negatives - earlier.range_negatives,
            range_positives: self.range_positives - earlier.range_positives,
            data_blocks: self.data_blocks - earlier.data_blocks,
            range_requests: self.range_requests - earlier.range_requests,
        }
    }
}
