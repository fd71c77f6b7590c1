//! Commands on the directory of a store, and their messages when it cannot be opened or read.

mod cells;
mod explain;
pub(crate) mod fill;
mod filters;
pub(crate) mod get;
pub(crate) mod rebuild;
pub(crate) mod repair;
pub(crate) mod scan;
pub(crate) mod stats;
pub(crate) mod verify;

use crate::exit::{self, Failure, code_of_store};
use crate::open_args::HashKey;
use crate::output::{self, shell_word};
use filterblock_kv::{Error, Stats, Store, StoreOptions, UnreadableRows, Warning};
use serde::Serialize;
use serde_json::Value;
use std::io;
use std::path::Path;

/// The manifest's name: a directory with a file of this name is a store.
const MANIFEST_NAME: &str = "MANIFEST";

/// `options` with the secret key, if one was given.
pub(crate) fn with_key(options: StoreOptions, key: &HashKey) -> StoreOptions {
    key.hasher.clone().map_or(options.clone(), |hasher| options.with_hasher(hasher))
}

/// Opens the store without changing it, and warns of filters that are not used or not under its key.
pub(crate) fn open_for_reading(dir: &Path, key: &HashKey) -> Result<Store, Failure> {
    let store = open_quietly(dir, StoreOptions::default(), key, NOTHING_READ)?;
    store.warnings().iter().for_each(|warning| exit::message(warning_text(dir, key, warning)));
    store.stats().unreadable.iter().for_each(|rows| exit::message(unreadable_text(dir, key, rows)));
    warn_of_seeds(dir, key, &store);
    Ok(store)
}

/// The message for rows that cannot be read, and a command that can be followed.
pub(crate) fn unreadable_text(dir: &Path, key: &HashKey, unreadable: &UnreadableRows) -> String {
    let rows = match (unreadable.rows.start(), unreadable.rows.end()) {
        (first, last) if first == last => format!("row \"{}\"", output::printable(first)),
        (first, last) => format!("rows from \"{}\" to \"{}\"", output::printable(first), output::printable(last)),
    };
    // The reason begins with the name of the file.
    let reason = dir.join(&unreadable.reason);
    let next = restore(dir, key);
    format!("{}. Lookups of {rows} fail unless a newer cell answers them. {next}", reason.display())
}

/// The figures of a store, after its name.
pub(crate) fn of_store(dir: &Path, figures: impl Serialize) -> Value {
    let mut all = serde_json::Map::new();
    output::put_path(&mut all, "store", dir);
    if let Ok(Value::Object(figures)) = serde_json::to_value(figures) {
        all.extend(figures);
    }
    all.into()
}

const NOTHING_READ: &str = "Nothing was read.";

/// Opens the store without changing it; `done` is as for [`failure`].
fn open_quietly(dir: &Path, options: StoreOptions, key: &HashKey, done: &str) -> Result<Store, Failure> {
    let opened = Store::open_dir(dir, with_key(options, key).with_read_only(true));
    opened.map_err(|error| failure(dir, key, &error, done))
}

/// Warns of tables whose filters are hashed with a seed though the store has a secret key.
pub(crate) fn warn_of_seeds(dir: &Path, key: &HashKey, store: &Store) {
    let stats = store.stats();
    let num_tables = num_tables_under(&stats, None);
    if stats.hash_key_id.is_some() && num_tables > 0 {
        exit::message(format_args!(
            "{}: the filters of {num_tables} of {} are still hashed with a seed, which the table states and which \
             protects less than the store's secret key. Run {}.",
            dir.display(),
            output::count(stats.tables.len() as u64, "table"),
            key.command(format_args!("rebuild {}", shell_word(dir)))
        ));
    }
}

/// Tables with usable filters under the secret key of this id, or with a seed.
fn num_tables_under(stats: &Stats, key_id: Option<u64>) -> usize {
    stats.tables.iter().filter(|table| table.filters.iter().any(|filter| filter.hash_key_id == key_id)).count()
}

/// The message for an error of the store in `dir`. `done` is a sentence about what was done before.
pub(crate) fn failure(dir: &Path, key: &HashKey, error: &Error, done: &str) -> Failure {
    let (what, next) = (what_failed(dir, error), next(dir, key, error));
    Failure::new(code_of_store(error), format!("{what}. {done} {next}"))
}

/// The problem and its path.
pub(crate) fn what_failed(dir: &Path, error: &Error) -> String {
    match error {
        Error::Io { file, operation, source } => {
            // A file of the directory, or the directory itself.
            let path = if file == "store" || Path::new(file) == dir { dir.to_owned() } else { dir.join(file) };
            format!("{}: cannot {operation}: {source}", path.display())
        }
        Error::NotAStore { files, num_files } => format!(
            "{}: not a store: there is no {MANIFEST_NAME}, but {}, among them {}",
            dir.display(),
            output::count(*num_files as u64, "other file"),
            files.iter().map(|file| output::printable(file.as_bytes())).collect::<Vec<_>>().join(", ")
        ),
        Error::Damaged { .. } | Error::NewerVersion { .. } | Error::Misplaced { .. } | Error::Missing { .. } => {
            // Their text begins with the name of the file.
            dir.join(error.to_string()).display().to_string()
        }
        _ => format!("{}: {error}", dir.display()),
    }
}

/// The next command.
fn next(dir: &Path, key: &HashKey, error: &Error) -> String {
    let store = shell_word(dir);
    let verify = || key.command(format_args!("verify {store}"));
    match error {
        Error::NewerVersion { .. } => {
            "A newer filterblock reads it; `filterblock --version` shows this one's.".to_owned()
        }
        Error::Damaged { file, .. } if file == MANIFEST_NAME => restore_all(dir, key),
        Error::NoManifest { .. } => restore_all(dir, key),
        Error::Damaged { .. } | Error::Misplaced { .. } | Error::Missing { .. } => restore(dir, key),
        Error::NotAStore { .. } => {
            "Name the directory of a store; `filterblock fill --help` shows how one is made.".to_owned()
        }
        Error::NoStore => format!("To create one, run {}.", key.command(format_args!("fill {store} CELLS"))),
        Error::HashKey { stored, given } => next_for_key(dir, key, *stored, *given),
        Error::Locked => {
            let lock = shell_word(&dir.join("LOCK"));
            format!("Close it in that process and run the command again; `fuser {lock}` names the process.")
        }
        Error::Io { .. } if dir.is_file() => {
            let inspect = key.command(format_args!("inspect {store}"));
            format!("Name the directory of a store. To see what this file is, run {inspect}.")
        }
        Error::Io { source, .. } if is_out_of_room(source) => {
            format!("Make room on its file system, then run {}; meanwhile the store can be read.", verify())
        }
        _ => format!("Resolve that, then run {}.", verify()),
    }
}

fn is_out_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The next command for a damaged table or log. A repair without --apply changes nothing.
fn restore(dir: &Path, key: &HashKey) -> String {
    let [verify, repair] = ["verify", "repair"].map(|name| key.command(format_args!("{name} {}", shell_word(dir))));
    // An older copy of a log has none of what was written since, and nothing would notice.
    let copy = "Restore the file from a copy made after its last write";
    format!("{copy}, then run {verify}. Without one, run {repair}: it shows what can be kept.")
}

/// The next command for a damaged manifest. An older one beside newer tables would have these removed.
fn restore_all(dir: &Path, key: &HashKey) -> String {
    let verify = key.command(format_args!("verify {}", shell_word(dir)));
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let table = files.filter(|path| path.extension().is_some_and(|extension| extension == "sst")).max();
    let scan = table.map(|table| {
        let scan = key.command(format_args!("scan {}", shell_word(&table)));
        format!(" Without a copy, run {scan}: it prints the cells of this table. So for the others.")
    });
    format!(
        "Without it, deleted cells could not be told from live ones, so it is not repaired. Restore all files of the \
         store from one copy, which has nothing that was written since, then run {verify}.{}",
        scan.unwrap_or_default()
    )
}

/// The next command where the key `given` is not the one `stored` by the store.
fn next_for_key(dir: &Path, key: &HashKey, stored: Option<u64>, given: Option<u64>) -> String {
    let store = shell_word(dir);
    let change = key.command(format_args!("rebuild {store} --change-hash-key"));
    // The given key is used, even if the store has another: filters that it opens are still hashed as before the
    // change.
    let options = with_key(StoreOptions::default(), key).with_key_change(true).with_read_only(true);
    let stats = Store::open_dir(dir, options).ok().map(|store| store.stats());
    if let Some(stats) = stats.filter(|stats| num_tables_under(stats, given) > 0) {
        let old = if given.is_some() { "the given key" } else { "a seed" };
        let num_tables = output::count(stats.tables.len() as u64, "table");
        let begun = format!(
            "A change of the store's key was begun and not finished: the filters of {} of {num_tables} are still \
             hashed under {old}.",
            num_tables_under(&stats, given)
        );
        let (flag, whose) = match stored {
            Some(_) => (" --hash-key-file NEW", "where NEW is the file of the key that is needed now"),
            None => ("", "as the store needs no key now"),
        };
        return format!(
            "{begun} To finish it, run `filterblock rebuild {store}{flag}`, {whose}; to go back to {old}, run {change}."
        );
    }
    match stored {
        Some(_) => format!(
            "Run the command again with `--hash-key-file KEY`, the file of that key. No data depends on it: if it is \
             lost, run `filterblock rebuild {store} --change-hash-key --hash-key-file NEW` with a new key; without \
             --hash-key-file the filters would be hashed under a seed, which protects less."
        ),
        None => format!(
            "Run the command again without --hash-key-file. To hash all filters under the given key, run {change}."
        ),
    }
}

/// A warning of the store, with the path of the file instead of its name, and a command that can be followed.
pub(crate) fn warning_text(dir: &Path, key: &HashKey, warning: &Warning) -> String {
    let path = dir.join(&warning.file);
    let file = path.display().to_string();
    let mut in_place = warning.clone();
    in_place.file.clone_from(&file);
    let text = in_place.to_string();
    let rebuild = key.command(format_args!("rebuild {}", shell_word(&path)));
    text.replace(&format!("`filterblock rebuild {file}`"), &rebuild)
}
