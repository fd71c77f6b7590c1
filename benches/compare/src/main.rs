//! Measures filterblock beside other membership filters, interleaved in one process. See README.md.

mod documents;
mod front;
mod keys;
mod machine;
mod peer;
mod peers;
mod report;
mod rounds;
mod stats;
mod tables;
mod timing;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use peer::Peer;
use report::Report;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Measures filterblock beside other membership filters, interleaved in one process.
#[derive(Parser)]
struct Arguments {
    /// Keys per table
    #[arg(long = "n", value_name = "N,...", value_delimiter = ',', default_value = "10000,1000000",
          value_parser = clap::value_parser!(u32).range(1..))]
    num_keys: Vec<u32>,
    /// Rounds; each visits every peer
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only rows whose peer and kind ("filterblock blocked 10 bits", "filterblock probe_tables") contain one of these
    #[arg(long, value_name = "SUBSTRING,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Absent keys queried in each filter for its false-positive rate, over all rounds
    #[arg(long, value_name = "N", default_value_t = 20_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    fpr_queries: u32,
    /// Run on this core only (Linux)
    #[arg(long)]
    core: Option<usize>,
    /// Take a sample up to this many times, until no neighbour slowed the core down before or after it
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tries: u32,
    /// Write the tables to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the figures to this file as JSON, with quartiles
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the largest tables' size against time of queries and of builds: PREFIX-query.svg and PREFIX-build.svg
    #[arg(long, value_name = "PREFIX")]
    draw: Option<PathBuf>,
    /// Write the repository's figures, the tables of its documents and its pictures; its root is the working directory
    #[arg(long, conflicts_with_all = ["num_keys", "only"])]
    documents: bool,
    /// Fill the documents with the repository's figures again, without a run
    #[arg(long, exclusive = true)]
    refill: bool,
}

impl Arguments {
    fn wants(&self, row: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| row.contains(part.as_str()))
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.refill {
        return fill_documents(&std::fs::read_to_string(documents::FIGURES)?);
    }
    if arguments.documents {
        ensure!(cfg!(rocksdb_src), "--documents has rows of RocksDB with AVX2: set --features engines and ROCKSDB_SRC");
        ensure!(Path::new(documents::FIGURES).exists(), "{} is not here", documents::FIGURES);
    }
    if let Some(core) = arguments.core {
        machine::pin(core)?;
    }
    machine::keep_freed_memory();
    timing::try_until_calm(arguments.tries);
    let mut peers = peers::all();
    peers.retain(|peer: &Peer| arguments.wants(&format!("{} {}", peer.name, peer.kind())));
    let wants_tables = arguments.wants("filterblock probe_tables");
    ensure!(!peers.is_empty() || wants_tables, "no row's name contains any of {:?}", arguments.only);

    let num_rounds = arguments.rounds as usize;
    let mut report = Report { setting: setting(num_rounds), rows: Vec::new(), tables: Vec::new() };
    for num_keys in arguments.num_keys.iter().map(|&num_keys| num_keys as usize) {
        if !peers.is_empty() {
            report.rows.extend(rounds::measure(&peers, num_keys, num_rounds, arguments.fpr_queries as usize)?);
        }
        if wants_tables {
            report.tables.push(tables::measure(num_keys, num_rounds)?);
        }
    }

    let markdown = report.markdown().context("a setting that is no text")?;
    match &arguments.markdown {
        Some(path) => write(path, &markdown)?,
        None => print!("{markdown}"),
    }
    if let Some(path) = &arguments.json {
        write(path, &format!("{:#}\n", report.json()))?;
    }
    if let Some(prefix) = &arguments.draw {
        front::write(&report.rows, &report.setting, prefix)?;
    }
    if arguments.documents {
        let figures = report.figures();
        fill_documents(&figures)?;
        write(Path::new(documents::FIGURES), &figures)?;
        front::write(&report.rows, &report.setting, Path::new("docs/front"))?;
    }
    Ok(())
}

fn setting(num_rounds: usize) -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("date", json!(machine::date())),
        ("processor", json!(machine::processor())),
        ("engines", json!(filterblock::detected_engines().collect::<Vec<_>>().join(", "))),
        ("compiled_for", json!(machine::instructions())),
        ("rounds", json!(num_rounds)),
        #[cfg(feature = "engines")]
        ("rocksdb", json!(peers::rocksdb_version())),
    ]
}

/// Fills all documents, or none.
fn fill_documents(figures: &str) -> Result<()> {
    let figures = serde_json::from_str(figures).context(documents::FIGURES)?;
    let filled = documents::DOCUMENTS.map(Path::new).map(|path| {
        let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
        let filled = documents::filled(&text, &figures).map_err(anyhow::Error::msg);
        Ok((path, filled.with_context(|| format!("{}", path.display()))?))
    });
    let filled: Vec<_> = filled.into_iter().collect::<Result<_>>()?;
    filled.iter().try_for_each(|(path, text)| write(path, text))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("{}", path.display()))
}
