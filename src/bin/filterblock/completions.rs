//! `filterblock completions`: scripts that complete the command line.

use crate::args::Cli;
use crate::exit::Code;
use crate::output::{self, Output};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock completions bash > ~/.local/share/bash-completion/completions/filterblock
  filterblock completions zsh > ~/.zfunc/_filterblock
  filterblock completions fish > ~/.config/fish/completions/filterblock.fish";

/// Print a script that completes this tool's command line
#[derive(clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell to print it for
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // Written to memory first: the generator panics where its output fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "filterblock", &mut script);
    let mut out = Output::new();
    out.write_all(&script).map_err(output::failure)?;
    out.finish()?;
    Ok(Code::Ok.into())
}
