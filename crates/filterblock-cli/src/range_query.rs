//! What a filter is queried for: a key, a range or a prefix.

use crate::answers::row_and_column;
use crate::query::LIST;
use std::borrow::Cow;
use std::ffi::OsString;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::path::PathBuf;

/// Flags of queries that only range filters answer.
#[derive(clap::Args)]
pub(crate) struct RangeArgs {
    /// Query the range that begins with this key; without it, with the first
    #[arg(long, value_name = "KEY", help_heading = RANGES)]
    from: Option<OsString>,
    /// Query the range that ends before this key
    #[arg(long, value_name = "KEY", help_heading = RANGES)]
    to: Option<OsString>,
    /// Query the range that ends with this key; without it and --to, with the last
    #[arg(long, value_name = "KEY", help_heading = RANGES, conflicts_with = "to")]
    to_including: Option<OsString>,
    /// Query all keys with this prefix
    #[arg(long, value_name = "PREFIX", help_heading = RANGES, conflicts_with_all = ["from", "to", "to_including"])]
    prefix: Option<OsString>,
    /// Query the ranges and prefixes of this file as well; '-' is standard input
    #[arg(long = "ranges", value_name = "FILE", help_heading = RANGES, group = LIST)]
    pub(crate) list: Option<PathBuf>,
}

const RANGES: &str = "For range filters";

impl RangeArgs {
    /// The range or the prefix on the command line.
    pub(crate) fn given(&self) -> Option<Query<'_>> {
        let [from, to, to_including, prefix] = [&self.from, &self.to, &self.to_including, &self.prefix]
            .map(|text| text.as_ref().map(|text| text.as_encoded_bytes()));
        let upper = to.map(Excluded).or(to_including.map(Included));
        match (from, upper, prefix) {
            (.., Some(prefix)) => Some(Query::Prefix(prefix)),
            (None, None, None) => None,
            (from, upper, None) => Some(Query::Range(from.map_or(Unbounded, Included), upper.unwrap_or(Unbounded))),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Query<'a> {
    Key(&'a [u8]),
    Range(Bound<&'a [u8]>, Bound<&'a [u8]>),
    Prefix(&'a [u8]),
}

impl<'a> Query<'a> {
    /// The query of a line of a list; `help/ranges.txt` describes it.
    pub(crate) fn of_line(line: &'a [u8]) -> Self {
        let Some((from, to)) = row_and_column(line) else { return Self::Prefix(line) };
        let lower = if from.is_empty() { Unbounded } else { Included(from) };
        let upper = if to.is_empty() { Unbounded } else { Excluded(to) };
        Self::Range(lower, upper)
    }

    /// The key, the prefix, or the bounds, under their names in JSON.
    pub(crate) fn fields(self) -> impl Iterator<Item = (&'static str, &'a [u8])> {
        let fields = match self {
            Self::Key(key) => [Some(("key", key)), None],
            Self::Prefix(prefix) => [Some(("prefix", prefix)), None],
            Self::Range(lower, upper) => {
                let upper_name = if matches!(upper, Included(_)) { "to_including" } else { "to" };
                [bytes(lower).map(|from| ("from", from)), bytes(upper).map(|to| (upper_name, to))]
            }
        };
        fields.into_iter().flatten()
    }

    /// The line of a list.
    pub(crate) fn line(self) -> Cow<'a, [u8]> {
        match self {
            Self::Key(line) | Self::Prefix(line) => line.into(),
            Self::Range(lower, upper) => {
                [bytes(lower).unwrap_or_default(), b"\t", bytes(upper).unwrap_or_default()].concat().into()
            }
        }
    }
}

fn bytes(bound: Bound<&[u8]>) -> Option<&[u8]> {
    match bound {
        Included(bytes) | Excluded(bytes) => Some(bytes),
        Unbounded => None,
    }
}
