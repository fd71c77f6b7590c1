//! `filterblock calc`: from any two of entries, rate, bits per key and bytes to the rest.

use crate::exit::{Code, Failure};
use crate::output::{self, Output, object};
use crate::policy_args::{AUTO, Size};
use crate::range_calc;
use crate::units::{parse_bytes, parse_count, parse_rate};
use filterblock::{BuildError, Choice, FilterKind, FilterPolicy, KindCost};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::process::ExitCode;

/// Calculate sizes and rates, for every kind side by side
///
/// Give entries or bytes, and one of rate, bits per key and bytes. Bits per key and bytes include the block's header. The
/// lower bound is log2(1/rate), the fewest bits per key of any filter; the overhead is what a kind needs above it.
/// Figures are those that the library plans a block with, and include the collisions of 64-bit hashes.
///
/// With entries given, it also shows what each kind costs over the life of a table, and which kind an automatic policy
/// (`--kind auto`) chooses: that with the least sum of
///
///   entries x build + queries x (query + rate x a wasted read) + bytes x a byte held
///
/// where bytes are the block's if a rate is given, and otherwise those beyond the given size, the header and a line of
/// 64 bytes. The times to build and to query are constants, measured on one core of an AMD EPYC of family 25, model 17
/// (Zen 4): on other machines their ratios hold better than the nanoseconds.
#[derive(clap::Args)]
#[command(after_help = include_str!("help/calc.txt"))]
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
    /// Greatest length of the block, as 65536 or 64KiB
    #[arg(long, value_name = "N", value_parser = parse_bytes)]
    max_bytes: Option<u64>,
    /// Calculate a range filter of integers instead, for ranges of up to N of them; with --entries, and --fpr or
    /// --bits-per-key
    #[arg(long, value_name = "N", requires = "entries", conflicts_with_all = ["max_bytes", "level", "queries", "read_ns", "byte_ns"], value_parser = parse_count)]
    range_len: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Level of the table, 0 where memtables are flushed to; sets what the options below do not [default: 2]
    #[arg(long, value_name = "L", requires = "entries", help_heading = WORKLOAD)]
    level: Option<u8>,
    /// Queries of absent keys over the table's life [default: the number of entries]
    #[arg(long, value_name = "N", requires = "entries", help_heading = WORKLOAD, value_parser = parse_count)]
    queries: Option<u64>,
    /// Nanoseconds that a wasted read costs
    #[arg(long, value_name = "NS", requires = "entries", help_heading = WORKLOAD)]
    read_ns: Option<u32>,
    /// Nanoseconds that a byte of filter costs, held over the table's life
    #[arg(long, value_name = "NS", requires = "entries", help_heading = WORKLOAD)]
    byte_ns: Option<u32>,
}

const WORKLOAD: &str = "By which a kind is chosen";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.entries == Some(0) {
        return Err(Failure::usage("calc", "--entries must be at least 1").into());
    }
    if let (Some(entries), Some(len)) = (args.entries, args.range_len) {
        return range_calc::run(entries, len, (args.fpr, args.bits_per_key), args.json);
    }
    let choice = choice(args);
    let row = |&kind| {
        let figures = figures(args, kind).ok_or_else(not_a_pair)?;
        let cost = choice.as_ref().and_then(|choice| cost_of(choice, kind.name())).map(cost_figures);
        let (figures, error) = figures.map_or_else(|error| (None, Some(error)), |figures| (Some(figures), None));
        Ok(Row { kind: kind.name(), figures, error, cost })
    };
    let rows: Vec<Row> = FilterKind::ALL.iter().map(row).collect::<Result<_, Failure>>()?;
    if rows.iter().all(|row| row.figures.is_none()) {
        let mut refusals: Vec<&str> = rows.iter().filter_map(|row| row.error.as_deref()).collect();
        refusals.dedup();
        return Err(Failure::usage("calc", format_args!("no kind can do it: {}", refusals.join("; "))).into());
    }
    let report = Report { kinds: rows, choice: choice.as_ref().map(choice_figures) };
    output::print(|out| if args.json { out.json(&report) } else { report.print(out, choice.as_ref()) })?;
    Ok(Code::Ok.into())
}

/// The choice of an automatic policy; `None` without a number of entries.
fn choice(args: &Args) -> Option<Choice> {
    let size = match (args.fpr, args.bits_per_key, args.max_bytes) {
        (Some(rate), None, None) => Size::FalsePositiveRate(rate),
        (None, Some(bits), None) => Size::BitsPerKey(bits),
        (None, None, Some(bytes)) => Size::MaxBytes(bytes),
        _ => return None,
    };
    let settings = [
        ("level", args.level.map(u64::from)),
        ("queries", args.queries),
        ("read_ns", args.read_ns.map(u64::from)),
        ("byte_ns", args.byte_ns.map(u64::from)),
    ];
    let settings: String =
        settings.into_iter().filter_map(|(name, value)| Some(format!(",{name}={}", value?))).collect();
    let policy: FilterPolicy = format!("{AUTO}:{size}{settings}").parse().ok()?;
    policy.choice(args.entries?).ok()
}

fn not_a_pair() -> Failure {
    let message = "give exactly two of --entries, --fpr, --bits-per-key and --max-bytes. The pairs: --entries with one of \
                   the others; --max-bytes with --fpr or --bits-per-key";
    Failure::usage("calc", message)
}

/// The figures of a block of one kind.
#[derive(Serialize)]
struct Figures {
    entries: u64,
    fpr: f64,
    bits_per_key: f64,
    bytes: u64,
    lower_bound_bits_per_key: f64,
    overhead_bits_per_key: f64,
}

/// The figures of one kind, or why there are none; `None` unless exactly two are given.
fn figures(args: &Args, kind: FilterKind) -> Option<Result<Figures, String>> {
    let max_bytes = args.max_bytes.map(Size::MaxBytes);
    let sizes = [args.fpr.map(Size::FalsePositiveRate), args.bits_per_key.map(Size::BitsPerKey), max_bytes];
    let of = |size: Size| size.policy(kind.name()).map_err(|error| error.to_string());
    let figures_of = |policy, entries| Figures::of(policy, entries).map_err(|error| error.to_string());
    Some(match (args.entries, sizes) {
        (Some(entries), [Some(size), None, None] | [None, Some(size), None] | [None, None, Some(size)]) => {
            of(size).and_then(|policy| figures_of(policy, entries))
        }
        (None, [Some(size), None, Some(Size::MaxBytes(bytes))] | [None, Some(size), Some(Size::MaxBytes(bytes))]) => {
            let policy = of(Size::MaxBytes(bytes)).and_then(|_| of(size));
            policy.and_then(|policy| match policy.expected_num_entries(bytes) {
                0 => Err(format!("{kind}: {bytes} bytes do not hold a block of one entry")),
                entries => figures_of(policy, entries),
            })
        }
        _ => return None,
    })
}

impl Figures {
    fn of(policy: FilterPolicy, entries: u64) -> Result<Self, BuildError> {
        let (bytes, fpr) = (policy.expected_block_len(entries)?, policy.expected_false_positive_rate(entries)?);
        let (bits_per_key, bound) = (bytes as f64 * 8.0 / entries as f64, (-fpr.log2()).max(0.0));
        Ok(Self {
            entries,
            fpr,
            bits_per_key,
            bytes,
            lower_bound_bits_per_key: bound,
            overhead_bits_per_key: bits_per_key - bound,
        })
    }

    fn cells(&self) -> Vec<String> {
        let (overhead, bound) = (self.overhead_bits_per_key, self.lower_bound_bits_per_key);
        vec![
            self.entries.to_string(),
            output::rate(self.fpr),
            format!("{:.3}", self.bits_per_key),
            self.bytes.to_string(),
            format!("{bound:.3}"),
            if bound > 0.0 { format!("{overhead:+.3} ({:.1} %)", overhead / bound * 100.0) } else { "-".to_owned() },
        ]
    }
}

/// One kind's part of the answer.
#[derive(Serialize)]
struct Row {
    kind: &'static str,
    #[serde(flatten)]
    figures: Option<Figures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Map<String, Value>>,
}

/// The cost of a kind over the life of a table.
fn cost_figures(cost: &KindCost) -> Map<String, Value> {
    object([
        ("build_ns", cost.build_ns.into()),
        ("query_ns", cost.query_ns.into()),
        ("queries_ns", cost.queries_ns.into()),
        ("reads_ns", cost.reads_ns.into()),
        ("bytes_ns", cost.bytes_ns.into()),
        ("total_ns", cost.total_ns().into()),
    ])
}

/// The choice, and its workload.
fn choice_figures(choice: &Choice) -> Map<String, Value> {
    let workload = choice.workload();
    object([
        ("kind", choice.cost().kind.name().into()),
        ("level", workload.level().into()),
        ("queries", workload.num_queries(choice.num_entries()).into()),
        ("read_ns", workload.read_ns().into()),
        ("byte_ns", workload.byte_ns().into()),
    ])
}

#[derive(Serialize)]
struct Report {
    kinds: Vec<Row>,
    choice: Option<Map<String, Value>>,
}

impl Report {
    fn print(&self, out: &mut Output, choice: Option<&Choice>) -> io::Result<()> {
        let mut head = vec!["kind", "entries", "fpr", "bits/key", "bytes", "lower bound", "overhead"];
        if choice.is_some() {
            head.extend(["build ns", "query ns", "cost ms"]);
        }
        let mut table = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        for Row { kind, figures, .. } in &self.kinds {
            let mut cells = figures.as_ref().map_or_else(|| vec!["-".to_owned()], Figures::cells);
            if let Some((choice, cost)) = choice.and_then(|choice| Some((choice, cost_of(choice, kind)?))) {
                let build_ns = cost.build_ns / choice.num_entries() as f64;
                cells.extend([format!("{build_ns:.0}"), format!("{:.0}", cost.query_ns), ms(cost)]);
            }
            table.push([vec![(*kind).to_owned()], cells].concat());
        }
        write!(out, "{}", output::table(&table))?;
        self.kinds.iter().filter_map(|row| row.error.as_ref()).try_for_each(|error| writeln!(out, "\n{error}"))?;
        choice.map_or(Ok(()), |choice| writeln!(out, "\nauto: {}", reason(choice)))
    }
}

fn cost_of<'a>(choice: &'a Choice, kind: &str) -> Option<&'a KindCost> {
    choice.costs().find(|cost| cost.kind.name() == kind)
}

/// The reason why a kind is chosen. The costs rest on constants of one machine, so that a few per cent mean nothing.
fn reason(choice: &Choice) -> String {
    let (best, queries) = (choice.cost(), choice.workload().num_queries(choice.num_entries()));
    let next = match choice.costs().nth(1) {
        None => "no other kind can have this size".to_owned(),
        Some(next) if next.total_ns() < best.total_ns() * 1.05 => format!("next is {}, about the same", next.kind),
        Some(next) => format!("next is {}, {} ms", next.kind, ms(next)),
    };
    format!("{} costs least, {} ms if queried {queries} times for absent keys; {next}", best.kind, ms(best))
}

fn ms(cost: &KindCost) -> String {
    output::three_digits(cost.total_ns() / 1e6)
}
