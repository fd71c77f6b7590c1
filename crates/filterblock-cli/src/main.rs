//! The command-line tool: builds, queries, shows and checks filter blocks, calculates their sizes, and manages a small
//! row/column store that embeds them.
#![forbid(unsafe_code)]

mod answers;
mod block_file;
mod build;
mod calc;
mod combine;
mod completions;
mod demo;
mod exit;
mod filter;
mod frame_file;
mod inspect;
mod interrupt;
mod keys;
mod open_args;
mod output;
mod output_file;
mod partitioned_file;
mod policy_args;
mod progress;
mod query;
mod range_calc;
mod range_filter;
mod range_query;
mod set;
mod store;
mod table_file;
mod temporary;
mod thin;
mod units;
mod verdict;
mod verify;

use clap::{CommandFactory, Parser, Subcommand};
use filterblock::FORMAT_VERSION;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::LazyLock;
use store::{fill, get, rebuild, repair, scan, stats};

/// The text that `-V` prints after the name.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("FILTERBLOCK_COMMIT").map_or_else(String::new, |commit| format!(", commit {commit}"));
    format!("{} (format version {FORMAT_VERSION}{commit})", env!("CARGO_PKG_VERSION"))
});
/// The same, with the code that this processor runs.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let engines = filterblock::detected_engines().collect::<Vec<_>>().join(", ");
    format!("{}\nengines: {engines}", *VERSION)
});

/// Builds, queries, shows and checks filter blocks: small files that rule out keys which a table does not hold
///
/// fill, get, scan, stats, rebuild and repair work on a small row/column store that embeds filter blocks.
#[derive(Parser)]
#[command(name = "filterblock", version = VERSION.as_str(), long_version = LONG_VERSION.as_str(), after_help = include_str!("help/filterblock.txt"))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Build(build::Args),
    Query(query::Args),
    Inspect(inspect::Args),
    Verify(verify::Args),
    List(set::list::Args),
    Thin(thin::Args),
    Combine(combine::Args),
    Calc(calc::Args),
    Fill(fill::Args),
    Get(get::Args),
    Scan(scan::Args),
    Stats(stats::Args),
    Rebuild(rebuild::Args),
    Repair(repair::Args),
    Demo(demo::Args),
    Completions(completions::Args),
}

/// Prints help, the version, or the refusal of a command line. clap itself would ignore that they cannot be written.
fn show(shown: &clap::Error) -> ExitCode {
    let printed = shown.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if !shown.use_stderr() && error.kind() != ErrorKind::BrokenPipe => {
            exit::report(&output::failure(error).into())
        }
        _ if shown.use_stderr() => exit::Code::Usage.into(),
        _ => exit::Code::Ok.into(),
    }
}

fn main() -> ExitCode {
    interrupt::catch_file_limit();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(shown) => return show(&shown),
    };
    let result = match &cli.command {
        Command::Build(args) => build::run(args),
        Command::Query(args) => query::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Verify(args) => verify::run(args),
        Command::List(args) => set::list::run(args),
        Command::Thin(args) => thin::run(args),
        Command::Combine(args) => combine::run(args),
        Command::Calc(args) => calc::run(args),
        Command::Fill(args) => fill::run(args),
        Command::Get(args) => get::run(args),
        Command::Scan(args) => scan::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Rebuild(args) => rebuild::run(args),
        Command::Repair(args) => repair::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Completions(args) => completions::run(args, &mut Cli::command()),
    };
    result.unwrap_or_else(|error| exit::report(&error))
}
