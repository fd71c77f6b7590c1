//! The objects of a query: a key, a range or a prefix.

use crate::answers::row_and_column;
use crate::exit::{self, Failure};
use crate::filter::Filter;
use crate::keys::Keys;
use crate::open_args::Expected;
use crate::output::{printable, quoted};
use crate::query::LIST;
use filterblock::range::are_ordered;
use filterblock::{KeyTransform, Query};
use std::borrow::Cow;
use std::ffi::OsString;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::path::{Path, PathBuf};

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
    /// Query all keys with this prefix; blocks of prefixes answer, too, for prefixes that begin with one of theirs
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
        let upper = to.map(|to| if to.is_empty() { Unbounded } else { Excluded(to) }).or(to_including.map(Included));
        match (from, upper, prefix) {
            (.., Some(prefix)) => Some(Query::Prefix(prefix)),
            (None, None, None) => None,
            (from, upper, None) => Some(Query::Range(from.map_or(Unbounded, Included), upper.unwrap_or(Unbounded))),
        }
    }
}

impl RangeArgs {
    /// Refuses a filter of keys, in a file, for what it could only answer *maybe* to.
    pub(crate) fn check(&self, file: &Path, filter: &Filter<'_>) -> Result<(), Failure> {
        let given = self.given();
        let transform = filter.transform();
        let is_of_prefixes = ![KeyTransform::WholeKey, KeyTransform::Row, KeyTransform::RowColumn].contains(&transform);
        let answers = match (is_of_prefixes, &given) {
            (false, given) if given.is_some() || self.list.is_some() => "for single keys only",
            (true, Some(Query::Range(..))) => "for keys and prefixes, not for ranges",
            (true, Some(Query::Prefix(prefix))) if transform.prefixes_of(prefix).next().is_none() => {
                exit::message(format_args!(
                    "{}: the transform {transform} makes no entry of that of --prefix: the answer is 'maybe'. Give a longer \
                     prefix.",
                    file.display(),
                ));
                return Ok(());
            }
            _ => return Ok(()),
        };
        let message = format!(
            "{}: a {} filter, which answers {answers}. For ranges and prefixes of any length, make a range filter of the \
             same keys: run `filterblock build --kind range --output NEW KEYS`",
            file.display(),
            filter.kind_name()
        );
        Err(Failure::usage("query", message))
    }
}

/// The message about lines of a list whose bounds are in reverse order.
pub(crate) fn of_reversed_lines(list: &Keys, num_reversed: u64, first: u64) -> String {
    format!(
        "{}: ranges that do not begin before their end: {num_reversed} of {} lines, the first at line {first}. {NO_KEY_BETWEEN} \
         the answer for each is 'maybe'. Write the lesser key before the tab; {NUMBERS}.",
        list.name().display(),
        list.num_keys()
    )
}

const NO_KEY_BETWEEN: &str = "No key is between such bounds, but they are more often a mistake than meant:";
const NUMBERS: &str =
    "keys are compared byte by byte, so numbers are in their order only where all have as many digits";

/// The query of a line of a list; `help/ranges.txt` describes it.
pub(crate) fn of_line(line: &[u8]) -> Query<'_> {
    let Some((from, to)) = row_and_column(line) else { return Query::Prefix(line) };
    let lower = if from.is_empty() { Unbounded } else { Included(from) };
    let upper = if to.is_empty() { Unbounded } else { Excluded(to) };
    Query::Range(lower, upper)
}

/// Returns whether a query is a range that ends before it begins, or before its first key: *maybe*, as the library
/// answers it.
pub(crate) fn is_reversed(query: Query<'_>) -> bool {
    matches!(query, Query::Range(lower, upper) if !are_ordered(lower, upper))
}

/// The message about such a range on the command line, with the command that has its bounds in order; `files` as they
/// are named there.
pub(crate) fn reversed(query: Query<'_>, expected: &Expected, files: &str) -> Option<String> {
    let Query::Range(Included(from), Excluded(to) | Included(to)) = query else { return None };
    let in_order = format!("--from={} --to-including={}", quoted(to), quoted(from));
    let command = expected.command(format_args!("query {files} {in_order}"));
    is_reversed(query).then(|| {
        format!(
            "--from \"{}\" is not before the end of the range, \"{}\". {NO_KEY_BETWEEN} the answer is 'maybe'. For the keys \
             from the lesser to the greater, run {command}; {NUMBERS}.",
            printable(from),
            printable(to)
        )
    })
}

/// The key, the prefix, or the bounds of a query, under their names in JSON.
pub(crate) fn fields(query: Query<'_>) -> impl Iterator<Item = (&'static str, &[u8])> {
    let fields = match query {
        Query::Key(key) => [Some(("key", key)), None],
        Query::Prefix(prefix) => [Some(("prefix", prefix)), None],
        Query::Range(lower, upper) => {
            let upper_name = if matches!(upper, Included(_)) { "to_including" } else { "to" };
            [bytes(lower).map(|from| ("from", from)), bytes(upper).map(|to| (upper_name, to))]
        }
        _ => [None, None],
    };
    fields.into_iter().flatten()
}

/// The line of a list.
pub(crate) fn line(query: Query<'_>) -> Cow<'_, [u8]> {
    match query {
        Query::Key(line) | Query::Prefix(line) => line.into(),
        Query::Range(lower, upper) => {
            [bytes(lower).unwrap_or_default(), b"\t", bytes(upper).unwrap_or_default()].concat().into()
        }
        _ => Cow::default(),
    }
}

fn bytes(bound: Bound<&[u8]>) -> Option<&[u8]> {
    match bound {
        Included(bytes) | Excluded(bytes) => Some(bytes),
        Unbounded => None,
    }
}
