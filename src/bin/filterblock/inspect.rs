//! `filterblock inspect`: what a block says of itself.

use crate::block;
use crate::exit::Code;
use crate::expected::ExpectedArgs;
use crate::output::{self, Output};
use crate::table;
use filterblock::FilterBlockReader;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock inspect table.fb
  filterblock inspect table.fb --json
  filterblock inspect store/000001.sst         the filters of a table, with their offsets";

/// Show a block's kind, size, rate and fill
///
/// The block is checked before anything is shown. The false-positive rate is predicted from the payload as it
/// stands; the fill is the share of set bits (golomb: of the hash range that is occupied). Of a table of the store all
/// filters are shown, each with its offset in the file.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file that holds the block, or a table of the store
    #[arg(value_name = "F")]
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    expected: ExpectedArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if table::is_table(&args.file)? {
        return table::inspect(&args.file, args.json);
    }
    let bytes = block::read(&args.file)?;
    let reader = block::open(&args.file, &bytes, args.expected.options()?)?;
    let fields = fields(&bytes, &reader);
    let mut out = Output::new();
    let written = if args.json { out.json(&Value::Object(fields)) } else { print(&mut out, &fields, "") };
    written.map_err(output::failure)?;
    out.finish()?;
    Ok(Code::Ok.into())
}

/// The figures of a block under the names that JSON gives them.
pub(crate) fn fields(block: &[u8], reader: &FilterBlockReader<'_>) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("kind", json!(reader.kind().name()));
    put("version", json!(block::version(block)));
    put("num_entries", json!(reader.num_entries()));
    put("bits_per_key", json!(reader.bits_per_key()));
    if let Some(num_probes) = reader.num_probes() {
        put("num_probes", json!(num_probes));
    }
    put("predicted_fpr", json!(reader.false_positive_rate()));
    put("block_len_bytes", json!(reader.block_len()));
    let hasher = reader.hasher();
    let (hash, seed) = if hasher.hash_id() == 1 { ("xxh3-64", "seed") } else { ("siphash-1-3", "hash_key_id") };
    put("hash", json!(hash));
    put(seed, json!(output::hex(hasher.seed())));
    put("transform", json!(reader.transform().to_string()));
    put("fill", json!(reader.fill()));
    fields
}

/// The same figures for people.
pub(crate) fn print(out: &mut Output, fields: &Map<String, Value>, indent: &str) -> io::Result<()> {
    for (name, value) in fields {
        let text = match (name.as_str(), value) {
            ("predicted_fpr" | "fill", value) => value.as_f64().map_or_else(String::new, output::rate),
            ("bits_per_key", value) => value.as_f64().map_or_else(|| "-".to_owned(), |bits| format!("{bits:.3}")),
            (_, Value::String(text)) => text.clone(),
            (_, other) => other.to_string(),
        };
        writeln!(out, "{indent}{name:<20} {text}")?;
    }
    Ok(())
}
