//! `filterblock calc`: from any two of entries, rate, bits per key and bytes to the rest.

use crate::exit::{Code, Failure};
use crate::model::{self, Dimensions};
use crate::output::{self, Output};
use crate::units::{parse_bytes, parse_count, parse_rate};
use filterblock::{BuildError, FilterKind, sizing};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock calc --entries 1e6 --fpr 1%              how large?
  filterblock calc --entries 1e6 --bits-per-key 10     how often wrong?
  filterblock calc --entries 1e6 --bytes 1MiB          how often wrong?
  filterblock calc --fpr 0.1% --bytes 64KiB            how many keys?
  filterblock calc --fpr 1% --bits-per-key 8           which kinds can do it?";

/// Calculate sizes and rates, for every kind side by side
///
/// Give any two of entries, rate, bits per key and bytes. Bits per key and bytes include the block's header. The
/// lower bound is log2(1/rate), which no filter of any kind can go below; the overhead is what a kind needs above it.
/// With rate and bits per key given, of which the one decides the other, each kind says what it reaches and needs.
/// Figures are those of blocks of up to 131072 pseudo-random keys that are built for the purpose, scaled up.
/// Rates include the collisions of 64-bit hashes.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Distinct keys
    #[arg(long, value_name = "N", value_parser = parse_count)]
    entries: Option<u64>,
    /// False-positive rate, as 0.01 or 1%
    #[arg(long, value_name = "P", value_parser = parse_rate)]
    fpr: Option<f64>,
    /// Bits for each key
    #[arg(long, value_name = "B")]
    bits_per_key: Option<f64>,
    /// Length of the block, as 65536 or 64KiB
    #[arg(long, value_name = "N", value_parser = parse_bytes)]
    bytes: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Two given figures.
#[derive(Clone, Copy)]
enum Question {
    EntriesRate(u64, f64),
    EntriesBits(u64, f64),
    EntriesBytes(u64, u64),
    RateBytes(f64, u64),
    BitsBytes(f64, u64),
    RateBits(f64, f64),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let question = question(args)?;
    let answers = FilterKind::ALL.map(|kind| (kind, question.answer(kind)));
    if let Some(nothing) = nothing_possible(&answers) {
        return Err(nothing.into());
    }
    let mut out = Output::new();
    let written = if args.json {
        let kinds: Vec<Value> = answers.iter().map(json_answer).collect();
        out.json(&json!({ "given": given(args), "kinds": kinds }))
    } else {
        print(&mut out, &answers)
    };
    written.map_err(output::failure)?;
    out.finish()?;
    Ok(Code::Ok.into())
}

fn question(args: &Args) -> Result<Question, Failure> {
    let question = match (args.entries, args.fpr, args.bits_per_key, args.bytes) {
        (Some(entries), Some(rate), None, None) => Question::EntriesRate(entries, rate),
        (Some(entries), None, Some(bits), None) => Question::EntriesBits(entries, bits),
        (Some(entries), None, None, Some(bytes)) => Question::EntriesBytes(entries, bytes),
        (None, Some(rate), None, Some(bytes)) => Question::RateBytes(rate, bytes),
        (None, None, Some(bits), Some(bytes)) => Question::BitsBytes(bits, bytes),
        (None, Some(rate), Some(bits), None) => Question::RateBits(rate, bits),
        given => {
            let num_given = [given.0.is_some(), given.1.is_some(), given.2.is_some(), given.3.is_some()];
            let num_given = num_given.into_iter().filter(|&is_given| is_given).count();
            let trouble = if num_given < 2 { "leaves the rest open" } else { "would contradict each other" };
            return Err(Failure::usage(
                "calc",
                format_args!(
                    "{num_given} of --entries, --fpr, --bits-per-key and --bytes {trouble}: give exactly two. The pairs: \
                     --entries with one of the others; --bytes with --fpr or --bits-per-key; --fpr with --bits-per-key"
                ),
            ));
        }
    };
    match question {
        Question::EntriesRate(0, _) | Question::EntriesBits(0, _) | Question::EntriesBytes(0, _) => {
            Err(Failure::usage("calc", "--entries must be at least 1"))
        }
        other => Ok(other),
    }
}

/// One kind's figures.
struct Row {
    entries: Option<u64>,
    fpr: f64,
    bits_per_key: f64,
    bytes: Option<u64>,
    num_probes: Option<u32>,
    /// log2(1/rate) of the rate that `bits_per_key` buy.
    lower_bound: f64,
    /// Whether the kind meets both figures, where rate and bits per key are given.
    met: Option<bool>,
}

impl Row {
    fn new(dimensions: Dimensions) -> Self {
        let Dimensions { entries, bytes, fpr, num_probes } = dimensions;
        Self {
            entries: Some(entries),
            fpr,
            bits_per_key: dimensions.bits_per_key(),
            bytes: Some(bytes),
            num_probes,
            lower_bound: sizing::bits_lower_bound(fpr),
            met: None,
        }
    }

    /// What `kind` needs for `rate`, and the rate it has for `bits`: in blocks so large that the header does not count.
    fn scale_free(kind: FilterKind, rate: f64, bits: f64) -> Result<Self, BuildError> {
        const MANY: u64 = 1 << 24;
        let needed = model::with_false_positive_rate(kind, MANY, rate)?;
        let reached = model::with_bits_per_key(kind, MANY, bits)?;
        Ok(Self {
            entries: None,
            bytes: None,
            fpr: reached.fpr,
            met: Some(needed.bits_per_key() <= bits),
            ..Self::new(needed)
        })
    }

    /// Bits per key above the lower bound.
    fn overhead(&self) -> f64 {
        self.bits_per_key - self.lower_bound
    }

    fn json(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        put("entries", json!(self.entries));
        put("fpr", json!(self.fpr));
        put("bits_per_key", json!(self.bits_per_key));
        put("bytes", json!(self.bytes));
        put("lower_bound_bits_per_key", json!(self.lower_bound));
        put("overhead_bits_per_key", json!(self.overhead()));
        if let Some(num_probes) = self.num_probes {
            put("num_probes", json!(num_probes));
        }
        if let Some(met) = self.met {
            put("met", json!(met));
        }
        fields
    }

    fn cells(&self) -> Vec<String> {
        let whole = |value: Option<u64>| value.map_or_else(|| "any".to_owned(), |value| value.to_string());
        let (overhead, bound) = (self.overhead(), self.lower_bound);
        let mut cells = vec![
            whole(self.entries),
            output::rate(self.fpr),
            format!("{:.3}", self.bits_per_key),
            whole(self.bytes),
            format!("{bound:.3}"),
            if bound > 0.0 { format!("{overhead:+.3} ({:.1} %)", overhead / bound * 100.0) } else { "-".to_owned() },
            self.num_probes.map_or_else(|| "-".to_owned(), |num_probes| num_probes.to_string()),
        ];
        cells.extend(self.met.map(|met| if met { "yes" } else { "no" }.to_owned()));
        cells
    }
}

type Answer = (FilterKind, Result<Row, BuildError>);

impl Question {
    fn answer(self, kind: FilterKind) -> Result<Row, BuildError> {
        let dimensions = match self {
            Self::EntriesRate(entries, rate) => model::with_false_positive_rate(kind, entries, rate),
            Self::EntriesBits(entries, bits) => model::with_bits_per_key(kind, entries, bits),
            Self::EntriesBytes(entries, bytes) => model::with_max_bytes(kind, entries, bytes),
            Self::RateBytes(rate, bytes) => {
                model::most_entries(kind, bytes, |entries| model::with_false_positive_rate(kind, entries, rate))
            }
            Self::BitsBytes(bits, bytes) => {
                model::most_entries(kind, bytes, |entries| model::with_bits_per_key(kind, entries, bits))
            }
            Self::RateBits(rate, bits) => return Row::scale_free(kind, rate, bits),
        };
        dimensions.map(Row::new)
    }
}

/// What cannot be had of any kind is a mistake in the question.
fn nothing_possible(answers: &[Answer]) -> Option<Failure> {
    let refusals: Option<Vec<String>> =
        answers.iter().map(|(_, row)| row.as_ref().err().map(BuildError::to_string)).collect();
    refusals.map(|mut refusals| {
        refusals.dedup();
        Failure::usage("calc", format_args!("no kind can do it: {}", refusals.join("; ")))
    })
}

fn json_answer((kind, row): &Answer) -> Value {
    let mut fields = Map::new();
    fields.insert("kind".to_owned(), json!(kind.name()));
    match row {
        Ok(row) => fields.extend(row.json()),
        Err(error) => {
            fields.insert("error".to_owned(), json!(error.to_string()));
        }
    }
    fields.into()
}

fn given(args: &Args) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("entries", args.entries.map(Value::from));
    put("fpr", args.fpr.map(Value::from));
    put("bits_per_key", args.bits_per_key.map(Value::from));
    put("bytes", args.bytes.map(Value::from));
    fields.into()
}

fn print(out: &mut Output, answers: &[Answer]) -> io::Result<()> {
    let scale_free = answers.iter().any(|(_, row)| row.as_ref().is_ok_and(|row| row.met.is_some()));
    let mut head = vec!["kind", "entries", "fpr", "bits/key", "bytes", "lower bound", "overhead", "probes"];
    if scale_free {
        (head[2], head[3]) = ("fpr reached", "bits/key needed");
        head.push("both met");
    }
    let mut table = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for (kind, row) in answers {
        let cells = row.as_ref().map_or_else(|_| vec!["-".to_owned()], Row::cells);
        table.push([vec![kind.name().to_owned()], cells].concat());
    }
    output::table(out, &table)?;
    for (_, row) in answers {
        if let Err(error) = row {
            writeln!(out, "\n{error}")?;
        }
    }
    Ok(())
}
