//! A filter in a block or in a compact frame, and its figures.

use crate::exit::{self, Failure};
use crate::open_args::{Expected, ExpectedArgs, parse_transform};
use crate::output::{self, Output, USELESS_RATE, object};
use crate::output_file::is_stdout;
use crate::partitioned_file::Partitioned;
use crate::units::parse_u64;
use crate::{block_file, frame_file, partitioned_file, range_filter};
use filterblock::{CompactFrameReader, EntryHasher, FilterBlockReader, FilterKind, KeyHash, KeyHasher, KeyTransform};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::Path;

pub(crate) enum Filter<'a> {
    Block(FilterBlockReader<'a>),
    Frame(CompactFrameReader<'a>),
    /// With one of its partitions.
    Partitioned(FilterBlockReader<'a>, Partitioned<'a>),
}

/// The same call of both readers.
macro_rules! of_either {
    ($self:ident, $reader:ident => $result:expr) => {
        match $self {
            Self::Block($reader) => $result,
            Self::Frame($reader) => $result,
            Self::Partitioned($reader, _) => $result,
        }
    };
}

impl Filter<'_> {
    pub(crate) fn transform(&self) -> KeyTransform {
        of_either!(self, reader => reader.entry_hasher().transform())
    }

    pub(crate) fn hasher(&self) -> &KeyHasher {
        of_either!(self, reader => reader.entry_hasher().hasher())
    }

    /// The answer for the entry of a line, which has this hash.
    pub(crate) fn may_contain(&self, line: &[u8], hash: KeyHash) -> bool {
        match self {
            Self::Partitioned(_, partitions) => partitions.may_contain(line, hash),
            _ => of_either!(self, reader => reader.may_contain_hash(hash)),
        }
    }

    /// The answer for the keys with a prefix: *maybe* unless prefixes are entries that are no longer than it.
    pub(crate) fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
        match self {
            Self::Partitioned(_, partitions) => partitions.may_contain_prefix(prefix),
            _ => of_either!(self, reader => reader.may_contain_prefix(prefix)),
        }
    }

    pub(crate) fn is_partitioned(&self) -> bool {
        matches!(self, Self::Partitioned(..))
    }

    /// The partitions that do not open.
    pub(crate) fn failures(&self, path: &Path) -> Vec<Failure> {
        let Self::Partitioned(_, partitions) = self else { return Vec::new() };
        partitions.failures(path)
    }

    pub(crate) fn may_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        of_either!(self, reader => reader.may_contain_hashes(hashes, answers));
    }

    /// The reason why a filter is as good as none, or worse than its user may expect.
    pub(crate) fn remark(&self, path: &Path) -> Option<String> {
        let (path, rate) = (path.display(), self.false_positive_rate());
        match self.num_entries() {
            Some(0) => Some(format!(
                "{path}: a filter of no entries: it answers 'no' for every key. If its table has keys, none of them was added: \
                 build it again from their list."
            )),
            _ if rate >= USELESS_RATE => Some(format!(
                "{path}: predicted false-positive rate {}: it is 'maybe' for most absent keys, and saves few reads. Build it \
                 with more bits per key; `filterblock calc --entries {} --fpr 1%` shows how many.",
                output::rate(rate),
                self.num_entries().unwrap_or(1_000_000)
            )),
            _ => None,
        }
    }

    /// A frame does not state it.
    pub(crate) fn num_entries(&self) -> Option<u64> {
        match self {
            Self::Block(reader) => Some(reader.num_entries()),
            Self::Partitioned(_, partitions) => Some(partitions.index.num_entries()),
            Self::Frame(_) => None,
        }
    }

    /// Reads the whole payload.
    pub(crate) fn false_positive_rate(&self) -> f64 {
        of_either!(self, reader => reader.false_positive_rate())
    }

    /// A frame without entries names no kind.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Block(reader) | Self::Partitioned(reader, _) => reader.kind().name(),
            Self::Frame(reader) => reader.kind().map_or("none", FilterKind::name),
        }
    }

    /// The figures under their names in JSON, without those that the filter does not have.
    pub(crate) fn figures(&self) -> Map<String, Value> {
        let mut figures = object([("kind", self.kind_name().into())]);
        if let Self::Partitioned(_, partitions) = self {
            let (num, entries) = (partitions.index.partitions().len(), partitions.index.num_entries());
            figures.extend(object([("num_partitions", num.into()), ("num_entries", entries.into())]));
        }
        if let Self::Block(reader) = self {
            figures.extend(object([
                ("version", block_file::version(reader.as_bytes()).into()),
                ("num_entries", reader.num_entries().into()),
                ("bits_per_key", reader.bits_per_key().into()),
            ]));
        }
        let len = match self {
            Self::Block(reader) => ("block_len_bytes", reader.as_bytes().len()),
            Self::Frame(reader) => ("frame_len_bytes", reader.frame_len()),
            Self::Partitioned(_, partitions) => ("index_len_bytes", partitions.index.as_bytes().len()),
        };
        figures.extend(object([
            ("num_probes", of_either!(self, reader => reader.num_probes()).into()),
            ("num_columns", of_either!(self, reader => reader.num_compared_columns()).into()),
            ("thinned_from", of_either!(self, reader => reader.thinned_from()).into()),
            ("predicted_fpr", self.false_positive_rate().into()),
            (len.0, len.1.into()),
        ]));
        figures.extend(hash_figures(self.hasher()));
        let fill = of_either!(self, reader => reader.fill());
        figures.extend(object([("transform", self.transform().to_string().into()), ("fill", json!(fill))]));
        figures
    }

    /// Reports that the filter was written to `output`: on standard error if `output` is standard output. `more`
    /// precedes the figures of the JSON object, `note` follows those for people.
    pub(crate) fn report(
        &self,
        output: &Path,
        json: bool,
        more: Map<String, Value>,
        note: &str,
    ) -> Result<(), Failure> {
        let figures = || more.into_iter().chain(self.figures()).collect();
        report(output, json, figures, || format!("{}{note}", self.summary()))
    }

    fn summary(&self) -> String {
        let (entries, len) = match self {
            Self::Block(reader) | Self::Partitioned(reader, _) => {
                (format!("{} distinct entries", reader.num_entries()), reader.as_bytes().len())
            }
            Self::Frame(reader) => ("compact frame".to_owned(), reader.frame_len()),
        };
        let columns = of_either!(self, reader => reader.num_compared_columns().zip(reader.thinned_from()));
        let columns = columns.map_or_else(String::new, |(num, from)| format!(", {num} of {from} columns"));
        let bits = match self {
            Self::Block(reader) => reader.bits_per_key().map(|bits| format!(", {bits:.3} bits/key")),
            _ => None,
        };
        format!(
            "{}{columns}, {entries}, {len} bytes{}, predicted false-positive rate {}",
            self.kind_name(),
            bits.unwrap_or_default(),
            output::rate(self.false_positive_rate())
        )
    }
}

/// [`Filter::report`] of any filter.
pub(crate) fn report(
    output: &Path,
    json: bool,
    figures: impl FnOnce() -> Map<String, Value>,
    summary: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let report = if json {
        let mut fields = Map::new();
        output::put_path(&mut fields, "output", output);
        fields.extend(figures());
        Value::from(fields).to_string()
    } else {
        format!("{}: {}", output.display(), summary())
    };
    if is_stdout(output) {
        exit::message(report);
        return Ok(());
    }
    output::print(|out| writeln!(out, "{report}"))
}

/// Flags of the subcommands that open a filter in a block or in a compact frame.
#[derive(clap::Args)]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    pub(crate) expected: ExpectedArgs,
    /// F is a compact frame: it stores neither hash nor transform, which must be those that it was built with
    #[arg(long, help_heading = FRAME, conflicts_with = "context")]
    pub(crate) compact_frame: bool,
    /// The seed of the hash, decimal or 0x…
    #[arg(long, value_name = "S", help_heading = FRAME, requires = "compact_frame", conflicts_with = "hash_key_file")]
    #[arg(value_parser = parse_u64)]
    seed: Option<u64>,
    /// What entries are made of: whole-key, row, row+column, prefix:LEN, whole-key+prefix:LEN or delimited:BYTE[:LEVELS]
    #[arg(long, value_name = "T", help_heading = FRAME, requires = "compact_frame", value_parser = parse_transform)]
    transform: Option<KeyTransform>,
}

const FRAME: &str = "For a compact frame";

impl FilterArgs {
    /// Reads the options that a filter is opened with. For queries of compact frames hash and transform must be given:
    /// under others, keys that are present are denied.
    pub(crate) fn read(&self, subcommand: &str, for_queries: bool) -> Result<Opener, Failure> {
        let expected = self.expected.read()?;
        let has_hash = self.seed.is_some() || expected.key.hasher.is_some();
        if for_queries && self.compact_frame && !(has_hash && self.transform.is_some()) {
            let message = "a compact frame stores neither hash nor transform, and under others keys that are present are \
                           denied: give --transform and --seed or --hash-key-file as `filterblock build` was given them";
            return Err(Failure::usage(subcommand, message));
        }
        let hasher = expected.key.hasher.clone().unwrap_or_else(|| KeyHasher::new(self.seed.unwrap_or(0)));
        let entries = self.compact_frame.then(|| EntryHasher::new(hasher, self.transform.unwrap_or_default()));
        Ok(Opener { expected, entries })
    }
}

/// Opens filters in files.
pub(crate) struct Opener {
    pub(crate) expected: Expected,
    /// Hash and transform of compact frames; `None` for blocks.
    entries: Option<EntryHasher>,
}

impl Opener {
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        match self.entries {
            Some(_) => frame_file::read(path),
            None if block_file::is_set(path) => block_file::read(path, &self.expected),
            None => partitioned_file::read(path).unwrap_or_else(|| block_file::read(path, &self.expected)),
        }
    }

    /// Opens the file's only filter, which [`Opener::read`] has read, if it is a range filter.
    pub(crate) fn open_range<'a>(&self, path: &Path, bytes: &'a [u8]) -> block_file::OpenedRange<'a> {
        if self.entries.is_some() { None } else { block_file::open_range(path, bytes, &self.expected) }
    }

    /// Opens the file's only filter, which [`Opener::read`] has read, and which is not a range filter.
    pub(crate) fn open<'a>(&'a self, path: &Path, bytes: &'a [u8]) -> Result<Filter<'a>, Failure> {
        match &self.entries {
            Some(entries) => frame_file::open(path, bytes, entries).map(Filter::Frame),
            None => match partitioned_file::open(path, bytes, &self.expected) {
                Some(opened) => opened.map(|(reader, partitions)| Filter::Partitioned(reader, partitions)),
                None => block_file::open(path, bytes, &self.expected).map(Filter::Block),
            },
        }
    }
}

/// The hash, and its seed or the id of its secret key.
pub(crate) fn hash_figures(hasher: &KeyHasher) -> Map<String, Value> {
    let (hash, seed) = if hasher.hash_id() == 1 { ("xxh3-64", "seed") } else { ("siphash-1-3", "hash_key_id") };
    object([("hash", hash.into()), (seed, output::hex(hasher.seed()).into())])
}

/// Prints figures for people, a line each.
pub(crate) fn print_figures(out: &mut Output, figures: &Map<String, Value>, indent: &str) -> io::Result<()> {
    for (name, value) in figures {
        let text = match (name.as_str(), value.as_f64(), value) {
            ("predicted_fpr" | "fill", Some(rate), _) => output::rate(rate),
            ("rates", _, Value::Array(rates)) => range_filter::rates_text(rates),
            ("bits_per_key", Some(bits), _) => format!("{bits:.3}"),
            ("thinned_from", ..) => format!("{value} columns"),
            (.., Value::String(text)) => output::field(text.as_bytes()),
            _ => value.to_string(),
        };
        writeln!(out, "{indent}{name:<20} {text}")?;
    }
    Ok(())
}
