//! The command-line tool: builds, asks, shows and checks filter blocks, and calculates their sizes.

mod answers;
mod args;
mod block;
mod build;
mod calc;
mod completions;
mod demo;
mod exit;
mod inspect;
mod keys;
mod model;
mod output;
mod query;
mod table;
mod verify;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match &Cli::parse().command {
        Command::Build(args) => build::run(args),
        Command::Query(args) => query::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Calc(args) => calc::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Completions(args) => completions::run(args),
    };
    result.unwrap_or_else(|error| exit::report(&error))
}
