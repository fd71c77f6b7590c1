//! The figures of a range filter.

use crate::block_file;
use crate::output::{self, USELESS_RATE, object, put_bytes};
use crate::policy_args::RANGE;
use filterblock::partition::PartitionedRangeFilter;
use filterblock::range::{RangeFilter, RangeForm, RangePolicy};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The longest range whose rate is shown, as the binary logarithm of its length.
const MAX_LOG_LEN: u32 = 32;
/// And the distance between the lengths.
const LOG_STEP: usize = 4;

/// The figures under their names in JSON. `context` is the number under which the filter was opened.
pub(crate) fn figures(filter: &RangeFilter<&[u8]>, context: u64) -> Map<String, Value> {
    let mut figures = object([
        ("kind", RANGE.into()),
        ("version", block_file::version(filter.as_bytes()).into()),
        ("num_entries", filter.num_entries().into()),
        ("form", filter.form().map(RangeForm::name).into()),
        ("num_leaves", filter.num_leaves().into()),
        ("bits_per_key", filter.bits_per_key().into()),
        ("block_len_bytes", filter.as_bytes().len().into()),
        ("rates", filter.form().and(rates(filter)).into()),
        ("context", output::hex(context).into()),
    ]);
    let shown = |name: &str, value: u64| if name.starts_with("is_") { (value != 0).into() } else { value.into() };
    figures.extend(object(filter.parameters().map(|(name, value)| (name, shown(name, value)))));
    put_bytes(&mut figures, "common_prefix", filter.common_prefix());
    figures
}

/// The figures of a partitioned filter: a block's, as far as they hold for all partitions together.
pub(crate) fn partitions_figures(filter: &PartitionedRangeFilter<&[u8]>, num_unusable: usize) -> Map<String, Value> {
    let (num_keys, index_len) = (filter.num_entries(), filter.as_bytes().len() as u64);
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

/// The rates at which empty ranges of some lengths pass, up to the first at which half of them do; `None` if no rate holds
/// for all ranges.
fn rates(filter: &RangeFilter<&[u8]>) -> Option<Vec<Value>> {
    let rate_of = |len: u64| Some((len, filter.false_positive_rate(len)?));
    let mut rates = Vec::new();
    for len in (0..=MAX_LOG_LEN).step_by(LOG_STEP).map(|log_len| 1 << log_len) {
        let (len, rate) = rate_of(len)?;
        rates.push(json!({ "len": len, "fpr": rate }));
        if rate >= USELESS_RATE {
            break;
        }
    }
    Some(rates)
}

/// [`rates`] as text.
pub(crate) fn rates_text(rates: &[Value]) -> String {
    let text = |rate: &Value| Some(format!("{}: {}", rate["len"], output::rate(rate["fpr"].as_f64()?)));
    rates.iter().filter_map(text).collect::<Vec<_>>().join(", ")
}

/// The message where the rate of `policy` does not hold, as the keys, of these lengths, are not integers for which it
/// could.
pub(crate) fn rate_lost(
    filter: &RangeFilter<&[u8]>,
    policy: &RangePolicy,
    output: &Path,
    [shortest, longest]: [usize; 2],
) -> Option<String> {
    let (rate, len) = policy.false_positive_rate()?;
    let form = filter.form().filter(|_| filter.false_positive_rate(len).is_none())?;
    let reason = match shortest == longest {
        true => "too many of these are near each other, or they have too many bytes after those that all begin with"
            .to_owned(),
        false => format!("these have {shortest} to {longest} bytes"),
    };
    Some(format!(
        "{}: a filter of form {form}, without the policy's rate of {} for empty ranges of {len}: far more of those beside keys \
         may pass. The rate is for integers, keys of one length; {reason}. Write numbers with as many digits, as `seq -w` \
         does, or as 8 bytes with the most significant first. To have other keys refused, with the reason, build with \
         --policy {policy},form=integers.",
        output.display(),
        output::rate(rate)
    ))
}

pub(crate) fn summary(filter: &RangeFilter<&[u8]>) -> String {
    let form = filter.form().map_or_else(String::new, |form| format!(" of form {form}"));
    let bits = filter.bits_per_key().map_or_else(String::new, |bits| format!(", {bits:.3} bits/key"));
    let (entries, leaves, len) = (filter.num_entries(), filter.num_leaves(), filter.as_bytes().len());
    format!("{RANGE}{form}, {entries} distinct entries in {leaves} leaves, {len} bytes{bits}")
}
