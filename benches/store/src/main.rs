//! Measures filterblock's store beside RocksDB and fjall, each in a process of its own. See README.md.

mod arguments;
mod cells;
mod engine;
mod engines;
mod filters;
mod latencies;
mod page_cache;
mod phases;
mod process;
mod report;
mod summary;

use anyhow::{Context, Result, ensure};
use arguments::Arguments;
use clap::Parser;
use phases::{Figures, Subject, Task};
use report::{Report, Row};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(task) = &arguments.task {
        let task: Task = serde_json::from_str(task).context("--task")?;
        let figures = serde_json::to_string(&task.run()?)?;
        return Ok(writeln!(std::io::stdout(), "{figures}")?);
    }
    let report = measure(&arguments)?;
    if arguments.markdown.is_none() {
        print!("{}", report.markdown());
    }
    Ok(())
}

/// Writes the requested files.
fn write_files(arguments: &Arguments, report: &Report) -> Result<()> {
    if let Some(path) = &arguments.markdown {
        write(path, &report.markdown())?;
    }
    arguments.json.as_ref().map_or(Ok(()), |path| write(path, &format!("{:#}\n", report.json())))
}

fn measure(arguments: &Arguments) -> Result<Report> {
    let visits = arguments.visits();
    // Before the first of them takes its minutes.
    visits.iter().flatten().try_for_each(|subject| arguments.settings(subject).map(drop))?;
    let mut rows: Vec<Row> = Vec::new();
    for &subject in visits.iter().flatten() {
        // After the last row of the same table.
        let at =
            rows.iter().rposition(|row| row.subject.title() == subject.title()).map_or(rows.len(), |last| last + 1);
        rows.insert(at, Row { subject, rounds: Vec::new() });
    }
    let mut report = Report { setting: setting(arguments), rows };
    for round in 0..arguments.rounds {
        for visit in &visits {
            let kind = visit[0].kind.name();
            let store = format!("{}, {}", visit[0].title(), visit[0].label());
            eprintln!("round {} of {}: {store}", round + 1, arguments.rounds);
            let version = self::visit(arguments, round, visit, &mut report.rows).context(store)?;
            if report.setting.iter().all(|(name, _)| *name != kind) {
                report.setting.push((kind, json!(version)));
            }
        }
        // After each round, in case a later one fails.
        write_files(arguments, &report)?;
    }
    Ok(report)
}

/// Fills a store and queries it, each in a process of its own.
fn visit(arguments: &Arguments, round: u64, visit: &[Subject], rows: &mut [Row]) -> Result<String> {
    let dir = tempfile::Builder::new().prefix("store-compare-").tempdir_in(&arguments.dir)?;
    for &subject in visit {
        let task = Task {
            subject,
            dir: dir.path().to_owned(),
            settings: arguments.settings(&subject)?,
            memory_bytes: arguments.memory.map(|memory| memory.as_u64()),
            num_cells: arguments.num_cells,
            num_readers: arguments.readers,
            num_gets: arguments.gets,
            seed: round,
        };
        let figures = run_apart(&task).with_context(|| format!("{}, {}", subject.title(), subject.label()))?;
        eprintln!("{}, {}: {}", subject.title(), subject.label(), serde_json::to_string(&figures)?);
        let row = rows.iter_mut().find(|row| row.subject == subject);
        row.context("no such row")?.rounds.push(figures);
    }
    Ok(engines::version(visit[0].kind, dir.path()))
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
    let memory = arguments.memory.map_or_else(|| "all data".to_owned(), |memory| memory.to_string());
    vec![
        ("processor", json!(process::processor())),
        ("kernel", json!(process::kernel())),
        ("cells", json!(arguments.num_cells)),
        ("data_mib", json!(arguments.data_bytes() >> 20)),
        ("gets", json!(arguments.gets)),
        ("memory", json!(memory)),
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
