//! `filterblock completions`: scripts that complete the command line.

use crate::exit::Code;
use crate::output;
use clap_complete::Shell;
use std::io::Write;
use std::process::ExitCode;

/// Print a script for a shell that completes this tool's command line
#[derive(clap::Args)]
#[command(after_help = include_str!("help/completions.txt"))]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, command: &mut clap::Command) -> anyhow::Result<ExitCode> {
    // Written to memory first: the generator panics when its output fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "filterblock", &mut script);
    output::print(|out| out.write_all(&script))?;
    Ok(Code::Ok.into())
}
