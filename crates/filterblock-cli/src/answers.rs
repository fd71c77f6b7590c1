//! A filter's answers for the keys of its table, and for absent keys derived from them.

use crate::exit::Failure;
use crate::filter::Filter;
use crate::keys::Keys;
use crate::output::{object, rate};
use crate::progress::Working;
use filterblock::{KeyHash, KeyTransform};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Absent keys that a rate is measured on, if the list is long enough.
const ABSENT_WANTED: u64 = 1_000_000;
/// Most absent keys derived from one key.
const MAX_DERIVED_PER_KEY: u64 = 1_000;
/// Most absent keys in all: 80 MB of hashes.
const MAX_ABSENT: usize = 10_000_000;
const ASKED_AT_ONCE: usize = 1024;

/// Followed by two bytes of a number.
const SUFFIX: &[u8] = b"\0absent";

pub(crate) struct Answers {
    /// Keys in the list, repeated ones included.
    pub(crate) num_keys: u64,
    /// Distinct hashes among them.
    pub(crate) num_distinct: u64,
    /// Keys in the list with the answer *no*.
    pub(crate) num_missing: u64,
    /// The first of these, with its hash.
    pub(crate) first_missing: Option<(Vec<u8>, KeyHash)>,
    /// Distinct derived keys that are not in the list.
    pub(crate) num_absent: u64,
    /// The number of these with the answer *maybe*.
    pub(crate) num_false_positives: u64,
}

impl Answers {
    /// Share of absent keys that passed; `None` without absent keys.
    fn observed_fpr(&self) -> Option<f64> {
        (self.num_absent > 0).then(|| self.num_false_positives as f64 / self.num_absent as f64)
    }

    fn deviation_sigma(&self, predicted_fpr: f64) -> Option<f64> {
        deviation_sigma(self.num_false_positives, self.num_absent, predicted_fpr)
    }

    pub(crate) fn figures(&self, predicted_fpr: f64) -> Map<String, Value> {
        object([
            ("keys_asked", self.num_keys.into()),
            ("keys_distinct", self.num_distinct.into()),
            ("keys_missing", self.num_missing.into()),
            ("absent_asked", self.num_absent.into()),
            ("false_positives", self.num_false_positives.into()),
            ("observed_fpr", self.observed_fpr().into()),
            ("deviation_sigma", self.deviation_sigma(predicted_fpr).into()),
        ])
    }

    /// Returns the lines for people, where no key is missing.
    pub(crate) fn text(&self, num_entries: Option<u64>, predicted_fpr: f64) -> String {
        let mut text = format!("  keys    {} queried ({} distinct), none missing\n", self.num_keys, self.num_distinct);
        if let Some(num_entries) = num_entries.filter(|&entries| self.num_distinct < entries) {
            text += &note_of_incomplete_list(num_entries);
        }
        let observed = self.observed_fpr().map_or_else(|| "-".to_owned(), rate);
        let deviation = self.deviation_sigma(predicted_fpr).map(|sigma| format!(" ({sigma:+.1} standard deviations)"));
        text + &format!(
            "  absent  {} queried, {} maybe: observed rate {observed}, predicted {}{}\n",
            self.num_absent,
            self.num_false_positives,
            rate(predicted_fpr),
            deviation.unwrap_or_default()
        )
    }
}

pub(crate) fn note_of_incomplete_list(num_entries: u64) -> String {
    format!("  note    the block has {num_entries} entries: the list is not all of its keys\n")
}

/// Returns the difference of an observed number of false positives from the expected one, in standard deviations of a
/// binomial count; `None` where there is no chance.
pub(crate) fn deviation_sigma(num_false_positives: u64, num_absent: u64, predicted_fpr: f64) -> Option<f64> {
    let num_absent = num_absent as f64;
    let sigma = (num_absent * predicted_fpr * (1.0 - predicted_fpr)).sqrt();
    (sigma > 0.0).then(|| (num_false_positives as f64 - num_absent * predicted_fpr) / sigma)
}

/// The row and the column of a line.
pub(crate) fn row_and_column(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let tab = line.iter().position(|&byte| byte == b'\t')?;
    Some((&line[..tab], &line[tab + 1..]))
}

/// The entry of a line of input; `help/lines.txt` describes it. `None` if it has none: it is shorter than a prefix, has no delimiter or
/// no column, or only the engine's own code could make it.
pub(crate) fn entry_of_line(transform: KeyTransform, line: &[u8]) -> Option<Cow<'_, [u8]>> {
    match transform {
        KeyTransform::Row => Some(line.into()),
        KeyTransform::RowColumn => row_and_column(line).map(|(row, column)| {
            let mut entry = Vec::new();
            KeyTransform::row_column_entry(row, column, &mut entry);
            entry.into()
        }),
        _ => transform.entry_of(line).map(Cow::from),
    }
}

/// Queries `filter` for every key, and for keys derived from them by a suffix. Keeps 8 bytes for each key, and at most
/// 80 MB besides.
pub(crate) fn ask(filter: &Filter<'_>, mut keys: Keys) -> Result<Answers, Failure> {
    let (transform, hasher) = (filter.transform(), filter.hasher());
    let num_entries = filter.num_entries().unwrap_or(0).max(1);
    let derived_per_key = ABSENT_WANTED.div_ceil(num_entries).min(MAX_DERIVED_PER_KEY);
    let (mut members, mut derived, mut derived_entry) = (Vec::new(), Vec::new(), Vec::new());
    let (mut num_missing, mut first_missing) = (0, None);
    while let Some(key) = keys.next_key()? {
        // Keys shorter than the block's prefix, or without its delimiter, are not its entries.
        let Some(entry) = entry_of_line(transform, key) else {
            if transform == KeyTransform::RowColumn {
                return Err(keys.without_column());
            }
            continue;
        };
        let hash = hasher.hash(&entry);
        let num_derived = derived_per_key.min((MAX_ABSENT - derived.len()) as u64);
        if let Err(error) = members.try_reserve(1).and_then(|()| derived.try_reserve(num_derived as usize)) {
            return Err(keys.out_of_memory(error));
        }
        members.push(hash);
        let is_denied = |prefix: &[u8]| !filter.may_contain_prefix(prefix);
        if !filter.may_contain(key, hash) || transform.prefixes_of(key).any(is_denied) {
            num_missing += 1;
            first_missing.get_or_insert_with(|| (key.to_vec(), hash));
        }
        // The suffix has a fixed length, so that two derived entries are equal only if they come from the same key.
        derived_entry.clear();
        derived_entry.extend_from_slice(&entry);
        derived_entry.extend_from_slice(SUFFIX);
        let suffix_end = derived_entry.len();
        for number in 0..num_derived {
            derived_entry.truncate(suffix_end);
            // The number is below MAX_DERIVED_PER_KEY, so two bytes suffice.
            derived_entry.extend([(number >> 8) as u8, number as u8]);
            derived.push(hasher.hash(&derived_entry));
        }
    }
    let _working = Working::new("querying absent keys".to_owned());
    members.sort_unstable();
    members.dedup();
    derived.sort_unstable();
    derived.dedup();
    derived.retain(|hash| members.binary_search(hash).is_err());
    let mut answers = [false; ASKED_AT_ONCE];
    let num_maybe = |hashes: &[KeyHash]| {
        let answers = &mut answers[..hashes.len()];
        filter.may_contain_hashes(hashes, answers);
        answers.iter().filter(|&&maybe| maybe).count() as u64
    };
    Ok(Answers {
        num_keys: keys.num_keys(),
        num_distinct: members.len() as u64,
        num_missing,
        first_missing,
        num_absent: derived.len() as u64,
        num_false_positives: derived.chunks(ASKED_AT_ONCE).map(num_maybe).sum(),
    })
}
