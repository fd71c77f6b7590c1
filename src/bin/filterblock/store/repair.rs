//! `filterblock repair`: a damaged store, brought back to what can be proved of it.

use super::rebuild::filters_like;
use super::{NOTHING_READ, failure, open_quietly, what_failed, with_key};
use crate::exit::{Code, Failure, code_of_store};
use crate::expected::{HashKey, HashKeyArgs};
use crate::interrupt;
use crate::keys;
use crate::output::{self, Output, shell_word};
use filterblock::kv::{
    Error, LostRows, Maintenance, RepairOptions, RepairReport, RepairedTable, RowsFromTo, Store, StoreOptions,
};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  filterblock repair db                        what it would do, and what is lost; changes nothing
  filterblock repair db --apply";

const SAFETY: &str = "\
Restoring damaged files from a copy loses nothing, a repair does: it keeps the blocks of tables and the batches of logs
that are right, each where it was. Rows of which cells are lost are listed. There, a cell has the value of an older
table, and one that had been deleted may be back. All that is replaced is moved into DIR/lost, with the list, and never
removed. An interrupted repair is finished by the next. A damaged or missing MANIFEST is not repaired: tables do not
record their level, and without it obsolete ones cannot be told from live ones.

Exit codes: 0 nothing to repair, or repaired; 3 there is something to repair, or it cannot be; 4 as for all commands.";

/// Bring a damaged store back to what can be proved of it; without --apply, only list what that would be
#[derive(clap::Args)]
#[command(before_help = EXAMPLES, after_help = SAFETY)]
pub(crate) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Make the repair
    #[arg(long)]
    apply: bool,
    /// Take what the device fails to read for damaged. Without this such a failure ends the repair
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
    let how = RepairOptions::new().give_up_unreadable(args.give_up_unreadable);
    // As far as the store opens, it shows which filters its tables have.
    let opened = open_quietly(dir, StoreOptions::default(), &key, NOTHING_READ);
    let like = opened.map_or_else(|_| StoreOptions::default(), |store| filters_like(&store.stats()));
    let options = with_key(like.create(false).maintenance(Maintenance::Inline { seed: 0 }), &key);
    let plan = || Store::repair_dir(dir, options, how);
    let report = keys::with_spinner("reading", plan);
    let mut report = report.map_err(|error| refused(args, &key, &error, "Nothing was changed."))?;
    if args.apply && !report.is_empty() {
        interrupt::will_remove_unfinished(dir);
        let applied = keys::with_spinner("repairing", || Store::repair_dir(dir, options, how.apply(true)));
        interrupt::forget_unfinished(dir);
        report = applied.map_err(|error| {
            refused(args, &key, &error, "The store is as it was, or repaired; the same command again finishes.")
        })?;
    }
    output::print(|out| match args.json {
        true => out.json(&figures(dir, &report)),
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
        _ => format!(" Where there is a copy of the files, restore them and run {verify}: that loses nothing."),
    };
    writeln!(out, "{place}: {lost}. Nothing was changed.{copy} To make this repair, run {repair}.")
}

fn figures(dir: &Path, report: &RepairReport) -> Value {
    let rows = |rows: Option<&RowsFromTo>| {
        let mut object = Map::new();
        if let Some((first, last)) = rows {
            output::put_bytes(&mut object, "first_row", first);
            output::put_bytes(&mut object, "last_row", last);
        }
        object
    };
    let lost = |lost: &LostRows| {
        let mut object = rows(lost.rows.as_ref());
        object.insert("reason".to_owned(), lost.reason.as_str().into());
        let older = lost.older.iter().map(|older| Value::from(rows(Some(older))));
        object.insert("older_values_in".to_owned(), older.collect());
        Value::from(object)
    };
    let table = |table: &RepairedTable| {
        json!({
            "file": table.file,
            "level": table.level,
            "reason": table.reason,
            "cells_kept": table.cells_kept,
            "cells_lost": table.cells_lost,
            "kept_in": table.kept_in,
            "lost": table.lost.iter().map(lost).collect::<Vec<_>>(),
        })
    };
    json!({
        "store": dir.to_string_lossy(),
        "applied": report.is_applied,
        "tables": report.tables.iter().map(table).collect::<Vec<_>>(),
        "renumbered": report.renumbered.iter().map(|table| {
            json!({ "file": table.file, "num_cells": table.num_cells, "kept_in": table.kept_in })
        }).collect::<Vec<_>>(),
        "logs": report.logs.iter().map(|log| {
            json!({
                "file": log.file,
                "reason": log.reason,
                "batches_kept": log.batches_kept,
                "bytes_lost": log.bytes_lost,
                "lost": [lost(&log.lost)],
            })
        }).collect::<Vec<_>>(),
        "filters": report.filters.iter().map(|filters| {
            json!({ "file": filters.file, "reason": filters.reason })
        }).collect::<Vec<_>>(),
        "moved_aside": report.moved_aside,
    })
}
