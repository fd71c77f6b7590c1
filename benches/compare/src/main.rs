//! Measures filterblock beside other membership filters, interleaved in one process. See README.md.

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
}

impl Arguments {
    fn wants(&self, row: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| row.contains(part.as_str()))
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
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

    match &arguments.markdown {
        Some(path) => write(path, &report.markdown())?,
        None => print!("{}", report.markdown()),
    }
    if let Some(path) = &arguments.json {
        write(path, &format!("{:#}\n", report.json()))?;
    }
    if let Some(prefix) = &arguments.draw {
        front::write(&report.rows, &report.setting, prefix)?;
    }
    Ok(())
}

fn setting(num_rounds: usize) -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("processor", json!(machine::processor())),
        ("compiled_for", json!(machine::instructions())),
        ("rounds", json!(num_rounds)),
        #[cfg(feature = "engines")]
        ("rocksdb", json!(peers::rocksdb_version())),
    ]
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("{}", path.display()))
}
