//! The figures of a range filter.

use crate::block_file;
use crate::output::{self, object, put_bytes};
use crate::policy_args::RANGE;
use filterblock::partition::PartitionedRangeFilter;
use filterblock::range::RangeFilterReader;
use serde_json::{Map, Value};

/// The figures under their names in JSON. `context` is the number under which the filter was opened.
pub(crate) fn figures(filter: &RangeFilterReader, context: u64) -> Map<String, Value> {
    let mut figures = object([
        ("kind", RANGE.into()),
        ("version", block_file::version(filter.as_bytes()).into()),
        ("num_entries", filter.num_keys().into()),
        ("num_leaves", filter.num_leaves().into()),
        ("bits_per_key", filter.bits_per_key().into()),
        ("block_len_bytes", filter.as_bytes().len().into()),
        ("context", output::hex(context).into()),
    ]);
    let shown = |name: &str, value: u64| if name.starts_with("has_") { (value != 0).into() } else { value.into() };
    figures.extend(object(filter.parameters().map(|(name, value)| (name, shown(name, value)))));
    put_bytes(&mut figures, "common_prefix", filter.common_prefix());
    figures
}

/// The figures of a partitioned filter, those of a block as far as they hold for all partitions together.
pub(crate) fn partitions_figures(filter: &PartitionedRangeFilter<&[u8]>, num_unusable: usize) -> Map<String, Value> {
    let (num_keys, index_len) = (filter.num_keys(), filter.as_bytes().len() as u64);
    let bytes = filter.partitions().map(|partition| u64::from(partition.len)).sum::<u64>() + index_len;
    object([
        ("kind", RANGE.into()),
        ("num_partitions", filter.partitions().len().into()),
        ("num_unusable_partitions", num_unusable.into()),
        ("index_len_bytes", index_len.into()),
        ("num_entries", num_keys.into()),
        ("bits_per_key", (num_keys > 0).then(|| bytes as f64 * 8.0 / num_keys as f64).into()),
        ("block_len_bytes", bytes.into()),
    ])
}

pub(crate) fn summary(filter: &RangeFilterReader) -> String {
    let bits = filter.bits_per_key().map_or_else(String::new, |bits| format!(", {bits:.3} bits/key"));
    let (entries, leaves, len) = (filter.num_keys(), filter.num_leaves(), filter.as_bytes().len());
    format!("{RANGE}, {entries} distinct entries in {leaves} leaves, {len} bytes{bits}")
}
