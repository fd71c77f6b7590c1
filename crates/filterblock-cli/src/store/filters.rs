//! The options that choose the filters of a store's tables, shared by `fill` and `rebuild`.

use crate::exit::Failure;
use crate::policy_args::{AUTO, DEFAULT_BITS_PER_KEY, Size, kind_or};
use crate::units::{parse_bytes, parse_rate};
use filterblock::range::RangePolicy;
use filterblock::{FilterKind, FilterPolicy, KeyTransform, ParsePolicyError};
use filterblock_kv::{Purpose, StoreOptions};

pub(crate) const NONE: &str = "none";
/// Levels of a store.
const NUM_LEVELS: usize = 7;

/// The level and the kind of an option such as `0=bloom`.
fn parse_level_kind(text: &str) -> Result<(usize, String), String> {
    let (level, kind) = text.split_once('=').ok_or("expected a level, '=' and a kind, as in 0=bloom")?;
    let level = level.parse().ok().filter(|&level| level < NUM_LEVELS).ok_or("expected a level from 0 to 6")?;
    let names: Vec<&str> = FilterKind::ALL.iter().map(|kind| kind.name()).chain([AUTO, NONE]).collect();
    names
        .contains(&kind)
        .then(|| (level, kind.to_owned()))
        .ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

/// Kind and size.
#[derive(clap::Args)]
pub(crate) struct KindArgs {
    /// The structure; auto is the one that costs least at the level of each table [default: auto for `fill`, each
    /// filter's own for `rebuild`]
    #[arg(long, value_name = "KIND", value_parser = kind_or(&[AUTO, NONE]))]
    pub(crate) kind: Option<String>,
    /// Size: bits for each distinct entry
    #[arg(long, value_name = "B", conflicts_with = "fpr")]
    pub(crate) bits_per_key: Option<f64>,
    /// Size: the smallest filter whose expected false-positive rate is at most this, as 0.01 or 1%
    #[arg(long, value_name = "P", value_parser = parse_rate)]
    pub(crate) fpr: Option<f64>,
    /// Also write range filters of B bits for each row, as 14, for scans
    #[arg(long, value_name = "B", value_parser = parse_range_bits)]
    pub(crate) range_bits: Option<RangePolicy>,
    /// Also write filters of the first N bytes of rows, for scans. `rebuild` keeps existing ones unless this or the next is
    /// given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "prefix_delimiter")]
    prefix_len: Option<u16>,
    /// Also write filters of the beginnings of rows up to each BYTE, as / or 0x2f, at most to the given one, for scans of
    /// directories
    #[arg(long, value_name = "BYTE[:LEVELS]", value_parser = parse_delimiter, allow_hyphen_values = true)]
    prefix_delimiter: Option<KeyTransform>,
}

fn parse_delimiter(text: &str) -> Result<KeyTransform, String> {
    format!("delimited:{text}").parse().map_err(|error: ParsePolicyError| error.to_string())
}

fn parse_range_bits(text: &str) -> Result<RangePolicy, String> {
    let bits = text.parse().map_err(|_| "expected a number of bits")?;
    RangePolicy::with_bits_per_key(bits).map_err(|error| error.to_string())
}

impl KindArgs {
    /// The transform of prefix filters, if it is given.
    pub(crate) fn prefixes(&self) -> Option<KeyTransform> {
        self.prefix_len.map(|len| KeyTransform::FixedPrefix { len }).or(self.prefix_delimiter)
    }

    /// A filter of this kind in the given size.
    pub(crate) fn policy_of(&self, subcommand: &str, kind: &str) -> Result<Option<FilterPolicy>, Failure> {
        if kind == NONE {
            return Ok(None);
        }
        let bits_per_key = Size::BitsPerKey(self.bits_per_key.unwrap_or(DEFAULT_BITS_PER_KEY));
        // The store sets the level of each table.
        let policy = self.fpr.map_or(bits_per_key, Size::FalsePositiveRate).policy(kind);
        policy.map(Some).map_err(|error| Failure::usage(subcommand, error))
    }
}

/// The filters of new tables.
#[derive(clap::Args)]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    kind: KindArgs,
    /// Another kind for the tables of one level, as 0=bloom; may be given once for each level, 0 to 6
    #[arg(long = "level-kind", value_name = "LEVEL=KIND", value_parser = parse_level_kind)]
    level_kinds: Vec<(usize, String)>,
    /// Greatest length of all filters together, as 64KiB, shared for the least sum of false-positive rates
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with_all = ["bits_per_key", "fpr"])]
    max_bytes: Option<u64>,
}

impl FilterArgs {
    pub(crate) fn options(&self, subcommand: &str) -> Result<StoreOptions, Failure> {
        let kind = self.kind.kind.as_deref().unwrap_or(AUTO);
        let has_size = self.kind.bits_per_key.is_some() || self.kind.fpr.is_some() || self.max_bytes.is_some();
        let needs_filter = has_size || self.kind.prefixes().is_some();
        if needs_filter && kind == NONE && self.level_kinds.iter().all(|(_, kind)| kind == NONE) {
            return Err(Failure::usage(subcommand, "with --kind none there is no filter that has a size or a prefix"));
        }
        let policy = self.kind.policy_of(subcommand, kind)?;
        let mut options = StoreOptions::without_filters().with_range_filter(self.kind.range_bits);
        options = options.with_filter(Purpose::Row, policy.clone()).with_filter(Purpose::RowColumn, policy.clone());
        if let Some(prefixes) = self.kind.prefixes() {
            options = options.with_prefixes(prefixes, policy);
        }
        for (level, kind) in &self.level_kinds {
            let policy = self.kind.policy_of(subcommand, kind)?;
            let prefix = self.kind.prefixes().map(|_| Purpose::Prefix);
            for purpose in [Purpose::Row, Purpose::RowColumn].into_iter().chain(prefix) {
                let set = options.with_level_filter(*level, purpose, policy.clone());
                options = set.map_err(|error| Failure::usage(subcommand, error))?;
            }
        }
        Ok(match self.max_bytes {
            Some(bytes) => options.with_filter_budget_bytes(bytes),
            None => options,
        })
    }
}
