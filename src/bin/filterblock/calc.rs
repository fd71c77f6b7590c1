//! `filterblock calc`: from any two of entries, rate, bits per key and bytes to the rest.

use crate::exit::{Code, Failure};
use crate::model::{self, Dimensions};
use crate::output::{self, Output};
use crate::units::{parse_bytes, parse_count, parse_rate};
use crate::workload::{KindName, Size, WorkloadArgs};
use filterblock::sizing::Formula;
use filterblock::{BuildError, Choice, FilterKind, FilterPolicy, HEADER_LEN, KindCost, sizing};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock calc --entries 1e6 --fpr 1%              how large?
  filterblock calc --entries 1e6 --bits-per-key 10     how often wrong?
  filterblock calc --entries 1e6 --bytes 1MiB          how often wrong?
  filterblock calc --fpr 0.1% --bytes 64KiB            how many keys?
  filterblock calc --fpr 1% --bits-per-key 8           which kinds can do it?
  filterblock calc --entries 1e6 --fpr 1% --level 4    which kind costs least?
  filterblock calc --entries 1e6 --bits-per-key 10 --explain";

/// Calculate sizes and rates, for every kind side by side
///
/// Give any two of entries, rate, bits per key and bytes. Bits per key and bytes include the block's header. The
/// lower bound is log2(1/rate), the fewest bits per key of any filter; the overhead is what a kind needs above it.
/// With rate and bits per key given, each kind shows the rate that it reaches and the bits that it needs.
/// Figures are measured on blocks of up to 131072 pseudo-random keys. Above, they are those that a block is planned
/// with, and scaled up where a kind's length depends on its keys.
/// Rates include the collisions of 64-bit hashes; those of --explain do not.
///
/// With entries given, it also shows what each kind costs over the life of a table, and which kind an automatic policy
/// (`--kind auto`) chooses: that with the least sum of
///
///   entries x build + queries x (query + rate x a read in vain) + bytes x a byte held
///
/// where bytes are the block's if a rate is given, and otherwise those beyond the given size, the header and a line of
/// 64 bytes. The times to build and to query are constants, measured on one machine.
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
    #[command(flatten, next_help_heading = "By which a kind is chosen")]
    workload: WorkloadArgs,
    /// Also show what published formulas predict for as many bits, entries and probes, each with its ratio to the exact
    /// rate of the same filter
    #[arg(long)]
    explain: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.entries == Some(0) {
        return Err(Failure::usage("calc", "--entries must be at least 1").into());
    }
    let answers = FilterKind::ALL.iter().copied().map(|kind| Some((kind, answer(args, kind)?)));
    let answers: Vec<Answer> = answers.collect::<Option<_>>().ok_or_else(|| not_a_pair(args))?;
    if let Some(nothing) = nothing_possible(&answers) {
        return Err(nothing.into());
    }
    let choice = choice(args);
    if choice.is_none() && args.workload.is_given() {
        let message = "--level, --queries, --read-ns and --byte-ns tell which kind costs least for a number of entries: give \
                       --entries";
        return Err(Failure::usage("calc", message).into());
    }
    output::print(|out| {
        if args.json {
            let json_answer = |answer| json_answer(answer, args.explain, choice.as_ref());
            let kinds: Vec<Value> = answers.iter().map(json_answer).collect();
            return out.json(&json!({
                "given": given(args),
                "kinds": kinds,
                "choice": choice.as_ref().map(json_choice),
            }));
        }
        print(out, &answers, choice.as_ref())?;
        if let Some(choice) = &choice {
            writeln!(out, "\nauto: {choice}")?;
        }
        if args.explain { explain(out, &answers) } else { Ok(()) }
    })?;
    Ok(Code::Ok.into())
}

/// The figures of one kind; `None` unless exactly two are given.
fn answer(args: &Args, kind: FilterKind) -> Option<Result<Row, BuildError>> {
    let dimensions = match (args.entries, args.fpr, args.bits_per_key, args.bytes) {
        (Some(entries), Some(rate), None, None) => model::with_false_positive_rate(kind, entries, rate),
        (Some(entries), None, Some(bits), None) => model::with_bits_per_key(kind, entries, bits),
        (Some(entries), None, None, Some(bytes)) => model::with_max_bytes(kind, entries, bytes),
        (None, Some(rate), None, Some(bytes)) => {
            let policy = FilterPolicy::with_false_positive_rate(kind, rate);
            model::most_entries(kind, bytes, policy, |entries| model::with_false_positive_rate(kind, entries, rate))
        }
        (None, None, Some(bits), Some(bytes)) => {
            let policy = FilterPolicy::with_bits_per_key(kind, bits);
            model::most_entries(kind, bytes, policy, |entries| model::with_bits_per_key(kind, entries, bits))
        }
        (None, Some(rate), Some(bits), None) => return Some(Row::scale_free(kind, rate, bits)),
        _ => return None,
    };
    Some(dimensions.map(|dimensions| Row { dimensions, scale_free: None }))
}

/// What an automatic policy chooses; `None` without a number of entries.
fn choice(args: &Args) -> Option<Choice> {
    let size = match (args.fpr, args.bits_per_key, args.bytes) {
        (Some(rate), None, None) => Size::FalsePositiveRate(rate),
        (None, Some(bits), None) => Size::BitsPerKey(bits),
        (None, None, Some(bytes)) => Size::MaxBytes(bytes),
        _ => return None,
    };
    KindName::Auto.policy(size, args.workload.workload()).ok()?.choice(args.entries?).ok()
}

fn not_a_pair(args: &Args) -> Failure {
    let given = [args.entries.is_some(), args.fpr.is_some(), args.bits_per_key.is_some(), args.bytes.is_some()];
    let num_given = given.into_iter().filter(|&is_given| is_given).count();
    let trouble = if num_given < 2 { "leaves the rest open" } else { "would contradict each other" };
    Failure::usage(
        "calc",
        format_args!(
            "{num_given} of --entries, --fpr, --bits-per-key and --bytes {trouble}: give exactly two. The pairs: \
             --entries with one of the others; --bytes with --fpr or --bits-per-key; --fpr with --bits-per-key"
        ),
    )
}

/// One kind's figures.
struct Row {
    dimensions: Dimensions,
    /// Rate that the given bits per key reach, and whether the kind meets both figures, where rate and bits per key are
    /// given.
    scale_free: Option<(f64, bool)>,
}

impl Row {
    /// What `kind` needs for `rate`, and the rate it has for `bits`: in blocks so large that the header does not count.
    fn scale_free(kind: FilterKind, rate: f64, bits: f64) -> Result<Self, BuildError> {
        const MANY: u64 = 1 << 24;
        let dimensions = model::with_false_positive_rate(kind, MANY, rate)?;
        let reached = model::with_bits_per_key(kind, MANY, bits)?;
        Ok(Self { dimensions, scale_free: Some((reached.fpr, dimensions.bits_per_key() <= bits)) })
    }

    /// log2(1/rate) of the rate that the bits per key buy.
    fn lower_bound(&self) -> f64 {
        sizing::bits_lower_bound(self.dimensions.fpr)
    }

    /// Bits per key above the lower bound.
    fn overhead(&self) -> f64 {
        self.dimensions.bits_per_key() - self.lower_bound()
    }

    fn fpr(&self) -> f64 {
        self.scale_free.map_or(self.dimensions.fpr, |(reached, _)| reached)
    }

    /// `None` for kinds without probes.
    fn parameters(&self) -> Option<sizing::Dimensions> {
        let Dimensions { entries, bytes, num_probes, .. } = self.dimensions;
        let num_bits = bytes.saturating_sub(HEADER_LEN as u64).saturating_mul(8);
        Some(sizing::Dimensions { num_bits, num_entries: entries, num_probes: num_probes? })
    }

    fn json(&self, with_formulas: bool) -> Value {
        let Dimensions { entries, bytes, num_probes, .. } = self.dimensions;
        let sized = self.scale_free.is_none();
        let mut fields = json!({
            "entries": sized.then_some(entries),
            "fpr": self.fpr(),
            "bits_per_key": self.dimensions.bits_per_key(),
            "bytes": sized.then_some(bytes),
            "lower_bound_bits_per_key": self.lower_bound(),
            "overhead_bits_per_key": self.overhead(),
        });
        if let Some(num_probes) = num_probes {
            fields["num_probes"] = num_probes.into();
        }
        if let Some((_, met)) = self.scale_free {
            fields["met"] = met.into();
        }
        if let Some(parameters) = self.parameters().filter(|_| with_formulas) {
            fields["formulas"] = formulas_json(parameters);
        }
        fields
    }

    fn cells(&self) -> Vec<String> {
        let Dimensions { entries, bytes, num_probes, .. } = self.dimensions;
        let sized = |value: u64| if self.scale_free.is_some() { "any".to_owned() } else { value.to_string() };
        let (overhead, bound) = (self.overhead(), self.lower_bound());
        let mut cells = vec![
            sized(entries),
            output::rate(self.fpr()),
            format!("{:.3}", self.dimensions.bits_per_key()),
            sized(bytes),
            format!("{bound:.3}"),
            if bound > 0.0 { format!("{overhead:+.3} ({:.1} %)", overhead / bound * 100.0) } else { "-".to_owned() },
            num_probes.map_or_else(|| "-".to_owned(), |num_probes| num_probes.to_string()),
        ];
        cells.extend(self.scale_free.map(|(_, met)| if met { "yes" } else { "no" }.to_owned()));
        cells
    }
}

type Answer = (FilterKind, Result<Row, BuildError>);

/// Figures that no kind can meet are wrong usage.
fn nothing_possible(answers: &[Answer]) -> Option<Failure> {
    let refusals: Option<Vec<String>> =
        answers.iter().map(|(_, row)| row.as_ref().err().map(BuildError::to_string)).collect();
    refusals.map(|mut refusals| {
        refusals.dedup();
        Failure::usage("calc", format_args!("no kind can do it: {}", refusals.join("; ")))
    })
}

/// What published formulas give for these dimensions.
fn formulas_json(of: sizing::Dimensions) -> Value {
    let formula = |formula: &Formula| {
        let (fpr, exact) = (formula.rate(of), formula.exact_rate(of));
        json!({ "name": formula.name, "source": formula.source, "fpr": fpr, "ratio_to_exact": fpr / exact })
    };
    json!({ "num_bits": of.num_bits, "rates": sizing::formulas().map(formula).collect::<Vec<_>>() })
}

fn json_answer((kind, row): &Answer, with_formulas: bool, choice: Option<&Choice>) -> Value {
    let mut fields = Map::from_iter([("kind".to_owned(), json!(kind.name()))]);
    match row.as_ref().map(|row| row.json(with_formulas)) {
        Ok(Value::Object(row)) => fields.extend(row),
        Ok(_) => {}
        Err(error) => fields.extend([("error".to_owned(), json!(error.to_string()))]),
    }
    if let Some(cost) = choice.and_then(|choice| cost_of(choice, *kind)) {
        let cost = json!({
            "build_ns": cost.build_ns,
            "query_ns": cost.query_ns,
            "queries_ns": cost.queries_ns,
            "reads_ns": cost.reads_ns,
            "bytes_ns": cost.bytes_ns,
            "total_ns": cost.total_ns(),
        });
        fields.insert("cost".to_owned(), cost);
    }
    fields.into()
}

fn cost_of(choice: &Choice, kind: FilterKind) -> Option<&KindCost> {
    choice.costs().find(|cost| cost.kind == kind)
}

fn json_choice(choice: &Choice) -> Value {
    let workload = choice.workload();
    json!({
        "kind": choice.kind().name(),
        "reason": choice.to_string(),
        "level": workload.level(),
        "queries": workload.num_queries(choice.num_entries()),
        "read_ns": workload.read_ns(),
        "byte_ns": workload.byte_ns(),
    })
}

/// Nanoseconds to build a key's part of the block and to query it; the cost of a table, in milliseconds.
fn cost_cells(choice: &Choice, kind: FilterKind) -> Vec<String> {
    let Some(cost) = cost_of(choice, kind) else {
        return vec!["-".to_owned(); 3];
    };
    let build_ns = cost.build_ns / choice.num_entries().max(1) as f64;
    vec![format!("{build_ns:.0}"), format!("{:.0}", cost.query_ns), format!("{:.3}", cost.total_ns() / 1e6)]
}

fn given(args: &Args) -> Value {
    let given = [
        ("entries", args.entries.map(Value::from)),
        ("fpr", args.fpr.map(Value::from)),
        ("bits_per_key", args.bits_per_key.map(Value::from)),
        ("bytes", args.bytes.map(Value::from)),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn print(out: &mut Output, answers: &[Answer], choice: Option<&Choice>) -> io::Result<()> {
    let scale_free = answers.iter().any(|(_, row)| row.as_ref().is_ok_and(|row| row.scale_free.is_some()));
    let mut head = vec!["kind", "entries", "fpr", "bits/key", "bytes", "lower bound", "overhead", "probes"];
    if scale_free {
        (head[2], head[3]) = ("fpr reached", "bits/key needed");
        head.push("both met");
    }
    if choice.is_some() {
        head.extend(["build ns", "query ns", "cost ms"]);
    }
    let mut table = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for (kind, row) in answers {
        let mut cells = row.as_ref().map_or_else(|_| vec!["-".to_owned()], Row::cells);
        if let Some(choice) = choice.filter(|_| row.is_ok()) {
            cells.extend(cost_cells(choice, *kind));
        }
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

/// A row for each formula, a column for each kind that has probes.
fn explain(out: &mut Output, answers: &[Answer]) -> io::Result<()> {
    let rows = answers.iter().filter_map(|(kind, row)| Some((kind, row.as_ref().ok()?)));
    let columns: Vec<_> = rows.filter_map(|(kind, row)| Some((kind, row, row.parameters()?))).collect();
    if columns.is_empty() {
        return Ok(());
    }
    let mut table = vec![vec!["rate for as many bits and probes".to_owned()]];
    table[0].extend(columns.iter().map(|(kind, ..)| format!("{kind} (to exact)")));
    for formula in sizing::formulas() {
        let cells = columns.iter().map(|(.., parameters)| {
            let (rate, exact) = (formula.rate(*parameters), formula.exact_rate(*parameters));
            format!("{} ({:.4})", output::rate(rate), rate / exact)
        });
        table.push(std::iter::once(format!("{} ({})", formula.name, formula.source)).chain(cells).collect());
    }
    let own = columns.iter().map(|(_, row, _)| output::rate(row.dimensions.fpr));
    table.push(std::iter::once("blocks of this kind, from their bits".to_owned()).chain(own).collect());
    writeln!(out)?;
    output::table(out, &table)
}
