//! `filterblock repair`: a damaged store, brought back to what can be proved of it.

use super::rebuild::filters_like;
use super::{NOTHING_READ, failure, of_store, open_quietly, what_failed, with_key};
use crate::exit::{Code, Failure, code_of_store};
use crate::open_args::{HashKey, HashKeyArgs};
use crate::output::{self, Output, shell_word};
use filterblock_kv::{Error, Maintenance, RepairOptions, RepairReport, Store, StoreOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bring a damaged store back to what can be proved of it; without --apply, only list what that would be
#[derive(clap::Args)]
#[command(after_help = include_str!("../help/repair.txt"))]
pub(crate) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Make the repair
    #[arg(long)]
    apply: bool,
    /// Treat data that the device fails to read as damaged. Without this such a failure ends the repair
    #[arg(long)]
    give_up_unreadable: bool,
    #[command(flatten)]
    key: HashKeyArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (dir, key) = (&args.dir, args.key.read()?);
    let how = RepairOptions::new().with_give_up_unreadable(args.give_up_unreadable);
    // If the store opens, it shows which filters its tables have.
    let opened = open_quietly(dir, StoreOptions::default(), &key, NOTHING_READ);
    let like = opened.map_or_else(|_| StoreOptions::default(), |store| filters_like(&store.stats()));
    let options = with_key(like.with_create(false).with_maintenance(Maintenance::Inline { seed: 0 }), &key);
    let plan = || Store::repair_dir(dir, options.clone(), how);
    let report = plan();
    let mut report = report.map_err(|error| refused(args, &key, &error, "Nothing was changed."))?;
    if args.apply && !report.is_empty() {
        let applied = Store::repair_dir(dir, options, how.with_apply(true));
        report = applied.map_err(|error| {
            refused(args, &key, &error, "The store is as it was, or repaired; the same command again finishes.")
        })?;
    }
    output::print(|out| match args.json {
        true => out.json(&of_store(dir, &report)),
        false => print(out, dir, &key, &report),
    })?;
    let is_whole = report.is_empty() || report.is_applied;
    Ok(if is_whole { Code::Ok.into() } else { Code::Damaged.into() })
}

/// The message for a store that is not repaired.
fn refused(args: &Args, key: &HashKey, error: &Error, done: &str) -> Failure {
    let dir = &args.dir;
    let is_of_device = matches!(error, Error::Io { source, .. } if source.raw_os_error() == Some(5));
    if !is_of_device || args.give_up_unreadable {
        return failure(dir, key, error, done);
    }
    let repair = key.command(format_args!("repair {} --give-up-unreadable", shell_word(dir)));
    let next = format!(
        "The device may fail: copy the store to another one first, and repair the copy. There, {repair} shows what is \
         left without the bytes that cannot be read."
    );
    Failure::new(code_of_store(error), format!("{}. {done} {next}", what_failed(dir, error)))
}

fn print(out: &mut Output, dir: &Path, key: &HashKey, report: &RepairReport) -> io::Result<()> {
    let place = dir.display();
    if report.is_empty() {
        return writeln!(out, "{place}: nothing to repair");
    }
    write!(out, "{report}")?;
    let verify = key.command(format_args!("verify {}", shell_word(dir)));
    let num_lost = report.lost().count() as u64;
    let lost = match num_lost {
        0 => "no cell is lost".to_owned(),
        ranges => format!("{} of rows with lost cells, named above", output::count(ranges, "range")),
    };
    if report.is_applied {
        return writeln!(out, "{place}: repaired; {lost}. Run {verify}.");
    }
    let repair = key.command(format_args!("repair {} --apply", shell_word(dir)));
    let copy = match num_lost {
        0 => String::new(),
        _ => format!(" Restoring copies made after their last write loses nothing: do so, then run {verify}."),
    };
    writeln!(out, "{place}: {lost}. Nothing was changed.{copy} To make this repair, run {repair}.")
}
