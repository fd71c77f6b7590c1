//! The options that choose the filters of a store's tables, shared by `fill` and `rebuild`.

use crate::exit::Failure;
use crate::units::{parse_bytes, parse_rate};
use crate::workload::{KindName, Size};
use filterblock::kv::{Purpose, StoreOptions};
use filterblock::{FilterPolicy, Workload};
use std::str::FromStr;

pub(crate) const DEFAULT_KIND: KindName = KindName::Auto;
pub(crate) const DEFAULT_BITS_PER_KEY: f64 = 10.0;
/// Levels of a store.
const NUM_LEVELS: usize = 7;

/// A kind of filter, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(pub(crate) Option<KindName>);

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            _ => text.parse().map(|kind| Self(Some(kind))).map_err(|error| format!("{error}, none")),
        }
    }
}

/// A kind for one level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelKind {
    level: usize,
    kind: Kind,
}

impl FromStr for LevelKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (level, kind) = text.split_once('=').ok_or("expected a level, '=' and a kind, as in 0=bloom")?;
        let level = level.parse().ok().filter(|&level| level < NUM_LEVELS);
        Ok(Self { level: level.ok_or("expected a level from 0 to 6")?, kind: kind.parse()? })
    }
}

/// Kind and size.
#[derive(clap::Args)]
pub(crate) struct KindArgs {
    /// The structure: bloom, blocked, golomb, ribbon, fuse; auto, the one that costs least at the level of each table;
    /// or none [default: auto for `fill`, each filter's own for `rebuild`]
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<Kind>,
    /// Size: bits for each distinct entry
    #[arg(long, value_name = "B", conflicts_with = "fpr")]
    pub(crate) bits_per_key: Option<f64>,
    /// Size: the smallest filter whose expected false-positive rate is at most this, as 0.01 or 1%
    #[arg(long, value_name = "P", value_parser = parse_rate)]
    pub(crate) fpr: Option<f64>,
}

impl KindArgs {
    /// A filter of this kind in the given size.
    pub(crate) fn policy_of(&self, subcommand: &str, kind: Kind) -> Result<Option<FilterPolicy>, Failure> {
        let Kind(Some(kind)) = kind else {
            return Ok(None);
        };
        let size = match self.fpr {
            Some(rate) => Size::FalsePositiveRate(rate),
            None => Size::BitsPerKey(self.bits_per_key.unwrap_or(DEFAULT_BITS_PER_KEY)),
        };
        // The store sets the level of each table.
        kind.policy(size, Workload::default()).map(Some).map_err(|error| Failure::usage(subcommand, error))
    }
}

/// The filters of new tables.
#[derive(clap::Args)]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    kind: KindArgs,
    /// Another kind for the tables of one level, as 0=bloom; may be given once for each level, 0 to 6
    #[arg(long = "level-kind", value_name = "LEVEL=KIND")]
    level_kinds: Vec<LevelKind>,
    /// Also write filters of the first N bytes of rows, for scans
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    prefix_len: Option<u16>,
    /// Greatest length of all filters together, as 64KiB, shared for the least sum of false-positive rates
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with_all = ["bits_per_key", "fpr"])]
    budget: Option<u64>,
    /// Write no filters for the deepest level
    #[arg(long)]
    skip_last_level: bool,
}

impl FilterArgs {
    pub(crate) fn options(&self, subcommand: &str) -> Result<StoreOptions, Failure> {
        let has_kind = |kind: &Kind| kind.0.is_some();
        let kinds = self.kind.kind.iter().chain(self.level_kinds.iter().map(|level| &level.kind));
        let has_size = self.kind.bits_per_key.is_some() || self.kind.fpr.is_some() || self.budget.is_some();
        let needs_filter = has_size || self.prefix_len.is_some() || self.skip_last_level;
        if self.kind.kind == Some(Kind(None)) && !kinds.clone().any(has_kind) && needs_filter {
            let message = "with --kind none there is no filter that has a size or a prefix, or is skipped";
            return Err(Failure::usage(subcommand, message));
        }
        let policy = self.kind.policy_of(subcommand, self.kind.kind.unwrap_or(Kind(Some(DEFAULT_KIND))))?;
        let mut options = StoreOptions::without_filters().skip_last_level_filters(self.skip_last_level);
        options = options.filter(Purpose::Row, policy).filter(Purpose::RowColumn, policy);
        if let Some(len) = self.prefix_len {
            options = options.prefix_filter(len, policy);
        }
        for &LevelKind { level, kind } in &self.level_kinds {
            let policy = self.kind.policy_of(subcommand, kind)?;
            let prefix = self.prefix_len.map(|_| Purpose::Prefix);
            for purpose in [Purpose::Row, Purpose::RowColumn].into_iter().chain(prefix) {
                let set = options.level_filter(level, purpose, policy);
                options = set.map_err(|error| Failure::usage(subcommand, error))?;
            }
        }
        Ok(match self.budget {
            Some(bytes) => options.filter_budget_bytes(bytes),
            None => options,
        })
    }
}
