//! `filterblock completions`: scripts that complete the command line, and the manual page, made from the arguments.

use crate::exit::Code;
use crate::output;
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap_complete::Shell;
use std::io::{self, Write};
use std::process::ExitCode;

/// Print a script for a shell that completes this tool's command line, or its manual page
#[derive(clap::Args)]
#[command(after_help = include_str!("help/completions.txt"))]
pub(crate) struct Args {
    /// The shell; or man, for a page of the tool and all its subcommands
    #[arg(value_name = "SHELL|man", value_parser = of_shell_or_man())]
    target: String,
}

const MAN: &str = "man";

fn of_shell_or_man() -> PossibleValuesParser {
    let shells = Shell::value_variants().iter().filter_map(Shell::to_possible_value);
    PossibleValuesParser::new(shells.chain([PossibleValue::new(MAN)]))
}

pub(crate) fn run(args: &Args, command: &mut clap::Command) -> anyhow::Result<ExitCode> {
    // Written to memory first: the generator panics when its output fails.
    let mut script = Vec::new();
    match Shell::from_str(&args.target, false) {
        Ok(shell) => clap_complete::generate(shell, command, "filterblock", &mut script),
        // The only other value.
        Err(_) => write_manual(command, &mut script)?,
    }
    output::print(|out| out.write_all(&script))?;
    Ok(Code::Ok.into())
}

/// Writes the pages of the tool and of its subcommands, one after the other.
fn write_manual(command: &mut clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    command.build();
    let subcommands = command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help");
    let all: Vec<_> = std::iter::once(&*command).chain(subcommands).cloned().collect();
    all.into_iter().try_for_each(|command| clap_mangen::Man::new(command).render(page))
}
