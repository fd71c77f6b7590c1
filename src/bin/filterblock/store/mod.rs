//! Commands on the directory of a store, and their messages when it cannot be opened or read.

mod cells;
mod explain;
pub(crate) mod fill;
mod filters;
pub(crate) mod get;
pub(crate) mod rebuild;
pub(crate) mod scan;
pub(crate) mod stats;
mod synthetic;
pub(crate) mod verify;

use crate::block::shell_word;
use crate::exit::{self, Failure, code_of_store};
use crate::expected::HashKeyArgs;
use crate::output;
use filterblock::KeyHasher;
use filterblock::kv::{Error, Store, StoreOptions, Warning};
use std::path::{Path, PathBuf};

/// The manifest's name: a directory with a file of this name is a store.
const MANIFEST_NAME: &str = "MANIFEST";

/// `options` with the secret key, if one was given.
pub(crate) fn with_key(options: StoreOptions, key: Option<KeyHasher>) -> StoreOptions {
    key.map_or(options, |key| options.hashed_by(key))
}

/// Opens the store without changing it, and warns of filters that are not used.
pub(crate) fn open_for_reading(dir: &Path, key: &HashKeyArgs) -> Result<Store, Failure> {
    let store = open_quietly(dir, with_key(StoreOptions::default(), key.hasher()?))?;
    store.warnings().iter().for_each(|warning| exit::message(warning_text(dir, warning)));
    Ok(store)
}

/// Opens the store without changing it.
fn open_quietly(dir: &Path, options: StoreOptions) -> Result<Store, Failure> {
    let opened = Store::open_dir(dir, options.read_only(true));
    opened.map_err(|error| failure(dir, &error, "Nothing was read."))
}

/// The message for an error of the store in `dir`. `done` is a sentence about what was done before.
pub(crate) fn failure(dir: &Path, error: &Error, done: &str) -> Failure {
    let (what, next) = (what_failed(dir, error), next(dir, error));
    Failure::new(code_of_store(error), format!("{what}. {done} {next}"))
}

/// The problem and its path.
pub(crate) fn what_failed(dir: &Path, error: &Error) -> String {
    match error {
        Error::Io { file, operation, source } => {
            format!("{}: cannot {operation}: {source}", path_of(dir, file).display())
        }
        Error::NewerVersion { file, found, supported } => {
            let path = path_of(dir, file);
            format!("{}: its version {found} is newer than {supported}, which this filterblock reads", path.display())
        }
        Error::NoManifest { num_files } => format!(
            "{}: {MANIFEST_NAME} is missing; without it the current ones among the {} here are unknown",
            dir.display(),
            output::count(*num_files as u64, "file")
        ),
        Error::NotAStore { files, num_files } => format!(
            "{}: not a store: there is no {MANIFEST_NAME}, but {}, among them {}",
            dir.display(),
            output::count(*num_files as u64, "other file"),
            files.iter().map(|file| output::printable(file.as_bytes())).collect::<Vec<_>>().join(", ")
        ),
        Error::Damaged { .. } | Error::Misplaced { .. } | Error::Missing { .. } => {
            // Their text begins with the name of the file.
            dir.join(error.to_string()).display().to_string()
        }
        _ => format!("{}: {error}", dir.display()),
    }
}

/// The path of a file as errors name it: one of the directory's, or the directory itself.
fn path_of(dir: &Path, file: &str) -> PathBuf {
    if file == "store" || Path::new(file) == dir { dir.to_owned() } else { dir.join(file) }
}

/// The next command.
fn next(dir: &Path, error: &Error) -> String {
    let store = shell_word(dir);
    match error {
        Error::NewerVersion { .. } => {
            "A newer filterblock reads it; `filterblock --version` shows this one's.".to_owned()
        }
        Error::Damaged { .. } | Error::Misplaced { .. } | Error::Missing { .. } => {
            format!("Restore the file from a copy, then run `filterblock verify {store}`.")
        }
        Error::NoManifest { .. } => {
            format!("Restore {MANIFEST_NAME} from a copy, then run `filterblock verify {store}`.")
        }
        Error::NotAStore { .. } => {
            "Name the directory of a store; `filterblock fill --help` shows how one is made.".to_owned()
        }
        Error::NoStore => format!("To create one, run `filterblock fill {store} CELLS`."),
        Error::HashKey { stored: Some(_), .. } => format!(
            "Run the command again with `--hash-key-file KEY`, the file of that key. No data depends on it: if it is \
             lost, run `filterblock rebuild {store} --change-hash-key --hash-key-file NEW` with a new key; without \
             --hash-key-file the filters would be hashed under a seed, which protects less."
        ),
        Error::HashKey { stored: None, .. } => format!(
            "Run the command again without --hash-key-file. To hash all filters under the key, run `filterblock \
             rebuild {store} --change-hash-key --hash-key-file KEY`."
        ),
        Error::Locked => {
            let lock = shell_word(&dir.join("LOCK"));
            format!("Close it in that process and run the command again; `fuser {lock}` names the process.")
        }
        Error::Io { .. } if dir.is_file() => {
            format!("Name the directory of a store. To see what this file is, run `filterblock inspect {store}`.")
        }
        _ => format!("Resolve that, then run `filterblock verify {store}`."),
    }
}

/// A warning of the store, with the path of the file instead of its name.
pub(crate) fn warning_text(dir: &Path, warning: &Warning) -> String {
    let path = dir.join(&warning.file);
    let file = path.display().to_string();
    let mut in_place = warning.clone();
    in_place.file.clone_from(&file);
    let text = in_place.to_string();
    text.replace(&format!("`filterblock rebuild {file}`"), &format!("`filterblock rebuild {}`", shell_word(&path)))
}
