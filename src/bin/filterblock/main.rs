//! The command-line tool: builds, queries, shows and checks filter blocks, calculates their sizes, and manages a small
//! row/column store that embeds them.

mod answers;
mod block;
mod build;
mod calc;
mod cli;
mod completions;
mod demo;
mod exit;
mod expected;
mod frame;
mod inspect;
mod interrupt;
mod keys;
mod model;
mod output;
mod query;
mod store;
mod table;
mod target;
mod thin;
mod units;
mod verify;
mod workload;

use clap::{CommandFactory, Parser};
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match &Cli::parse().command {
        Command::Build(args) => build::run(args),
        Command::Query(args) => query::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Thin(args) => thin::run(args),
        Command::Calc(args) => calc::run(args),
        Command::Fill(args) => store::fill::run(args),
        Command::Get(args) => store::get::run(args),
        Command::Scan(args) => store::scan::run(args),
        Command::Stats(args) => store::stats::run(args),
        Command::Rebuild(args) => store::rebuild::run(args),
        Command::Repair(args) => store::repair::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Completions(args) => completions::run(args, &mut Cli::command()),
    };
    result.unwrap_or_else(|error| exit::report(&error))
}
