//! Measures filterblock's store beside RocksDB and fjall, each in a process of its own. See README.md.

mod cells;
mod engine;
mod engines;
mod latencies;
mod phases;
mod process;
mod report;

use anyhow::{Context, Result, ensure};
use cells::{CELL_LEN, Order};
use clap::{Parser, value_parser};
use engine::Settings;
use engines::Kind;
use phases::{Figures, Phase, Task};
use report::{Report, Row};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Measures filterblock's store beside RocksDB and fjall, each in a process of its own.
#[derive(Parser)]
struct Arguments {
    /// Number of cells to write
    #[arg(long = "n", value_name = "N", default_value_t = 10_000_000,
          value_parser = value_parser!(u64).range(1..=1 << 40))]
    num_cells: u64,
    /// Rounds; each visits every engine
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u64).range(1..))]
    rounds: u64,
    /// Engines to measure [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    engines: Vec<Kind>,
    /// Orders of writing
    #[arg(long, value_enum, value_delimiter = ',', default_value = "random,sequential")]
    orders: Vec<Order>,
    /// Threads that get present cells while one thread writes
    #[arg(long, default_value_t = 1)]
    readers: usize,
    /// Queries of each kind in a read phase; each is made three times
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = value_parser!(u64).range(1..))]
    gets: u64,
    /// Size of a memtable, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = value_parser!(u64).range(1..=1 << 20))]
    memtable: u64,
    /// Size of a table, in MiB; level 1 holds four
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = value_parser!(u64).range(1..=1 << 20))]
    table: u64,
    /// Size of the block cache during the load, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = value_parser!(u64).range(1..=1 << 20))]
    cache: u64,
    /// Directory for the stores; one exists at a time
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Write the tables to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the figures to this file as JSON, with those of each round
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs one task in this process and prints its figures as JSON
    #[arg(long, value_name = "TASK", hide = true)]
    task: Option<String>,
}

impl Arguments {
    fn data_bytes(&self) -> u64 {
        self.num_cells * CELL_LEN as u64
    }

    fn settings(&self, phase: Phase) -> Settings {
        let cache_bytes = match phase {
            Phase::Load => self.cache << 20,
            // Tables and cache entries take more than the data; nothing is ever evicted.
            Phase::ReadCached => 2 * self.data_bytes() + (256 << 20),
            Phase::ReadSmall => self.data_bytes() / 16,
        };
        let filter_bytes = self.num_cells * u64::from(Settings::BITS_PER_KEY) / 8;
        Settings { memtable_bytes: self.memtable << 20, cache_bytes, table_bytes: self.table << 20, filter_bytes }
    }
}

fn main() -> Result<()> {
    let mut arguments = Arguments::parse();
    if let Some(task) = &arguments.task {
        let task: Task = serde_json::from_str(task).context("--task")?;
        let figures = serde_json::to_string(&task.run()?)?;
        return Ok(writeln!(std::io::stdout(), "{figures}")?);
    }
    if arguments.engines.is_empty() {
        arguments.engines = Kind::ALL.to_vec();
    }
    let report = measure(&arguments)?;
    match &arguments.markdown {
        Some(path) => write(path, &report.markdown())?,
        None => print!("{}", report.markdown()),
    }
    match &arguments.json {
        Some(path) => write(path, &format!("{:#}\n", report.json())),
        None => Ok(()),
    }
}

fn measure(arguments: &Arguments) -> Result<Report> {
    let mut rows = Vec::new();
    for &order in &arguments.orders {
        for phase in Phase::ALL {
            let row = |&kind| Row { order, phase, kind, rounds: Vec::new() };
            rows.extend(arguments.engines.iter().map(row));
        }
    }
    let mut versions = Vec::new();
    for round in 0..arguments.rounds {
        for &order in &arguments.orders {
            for &kind in &arguments.engines {
                eprintln!("round {} of {}: {} order, {}", round + 1, arguments.rounds, order.name(), kind.name());
                let version = visit(arguments, round, order, kind, &mut rows)
                    .with_context(|| format!("{}, {} order", kind.name(), order.name()))?;
                if round == 0 && order == arguments.orders[0] {
                    versions.push((kind.name(), json!(version)));
                }
            }
        }
    }
    let mut setting = setting(arguments);
    setting.extend(versions);
    Ok(Report { setting, rows })
}

/// Fills a store and queries it, each in a process of its own.
fn visit(arguments: &Arguments, round: u64, order: Order, kind: Kind, rows: &mut [Row]) -> Result<String> {
    let dir = tempfile::Builder::new().prefix("store-compare-").tempdir_in(&arguments.dir)?;
    for phase in Phase::ALL {
        let task = Task {
            phase,
            kind,
            order,
            dir: dir.path().to_owned(),
            settings: arguments.settings(phase),
            num_cells: arguments.num_cells,
            num_readers: arguments.readers,
            num_gets: arguments.gets,
            seed: round,
        };
        let figures = run_apart(&task).with_context(|| phase.name().to_owned())?;
        eprintln!("{}", serde_json::to_string(&figures)?);
        let row = rows.iter_mut().find(|row| row.order == order && row.phase == phase && row.kind == kind);
        row.context("no such row")?.rounds.push(figures);
    }
    Ok(engines::version(kind, dir.path()))
}

/// Runs the task in a process of its own, so that the process's memory is the engine's.
fn run_apart(task: &Task) -> Result<Figures> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args(["--task", &serde_json::to_string(task)?]).stderr(Stdio::inherit());
    let output = child.output()?;
    ensure!(output.status.success(), "the measuring process ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("the measuring process's figures")
}

fn setting(arguments: &Arguments) -> report::Setting {
    vec![
        ("processor", json!(process::processor())),
        ("cells", json!(arguments.num_cells)),
        ("data_mib", json!(arguments.data_bytes() >> 20)),
        ("readers", json!(arguments.readers)),
        ("memtable_mib", json!(arguments.memtable)),
        ("table_mib", json!(arguments.table)),
        ("cache_mib", json!(arguments.cache)),
        ("rounds", json!(arguments.rounds)),
    ]
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("{}", path.display()))
}
