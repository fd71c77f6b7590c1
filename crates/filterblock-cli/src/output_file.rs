//! A file that appears complete or not at all, or standard output.

use crate::block_file;
use crate::exit::{Code, Failure};
use crate::keys::is_dash;
use crate::output;
use crate::temporary::{self, directory};
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Links that lead to a file, at most: what Linux follows.
const MAX_LINKS: u32 = 40;

/// Flags of the subcommands that write a block to a file.
#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// The file to write; '-' or /dev/stdout is standard output, and then the summary goes to standard error. A file that
    /// exists is replaced only if it is a filter block
    #[arg(long = "output", short = 'o', value_name = "F")]
    pub(crate) path: PathBuf,
    /// Replace the output, whatever it is
    #[arg(long)]
    force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The file to be written.
pub(crate) struct OutputFile {
    /// The path as given on the command line.
    given: PathBuf,
    /// That path, or the one to which it links; `None` for standard output.
    path: Option<PathBuf>,
    force: bool,
}

impl OutputFile {
    /// Refuses early, before hours of work, a target that renaming would destroy or fail on, and every file that is not
    /// a filter block, unless forced; and each of the `inputs`, and the file of the key. `done` is a sentence about what
    /// was done before.
    pub(crate) fn new(args: &OutputArgs, inputs: &[&Path], key: &Option<PathBuf>, done: &str) -> Result<Self, Failure> {
        let (given, force) = (args.path.as_path(), args.force);
        let next = format!("{done} Name a file in a directory that can be written to.");
        if is_stdout(given) {
            if io::stdout().is_terminal() {
                let message = format!("standard output: a terminal, which is not for bytes. {next}");
                return Err(Failure::new(Code::Usage, message));
            }
            return Ok(Self { given: given.to_owned(), path: None, force });
        }
        let refuse = |error: io::Error| Failure::io(given, "cannot be written to", &error, &next);
        if fs::metadata(given).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            let error = io::Error::other("not a regular file, and only such a file appears complete or not at all");
            let next = format!("{done} Write to standard output, with --output -, and send that there.");
            return Err(Failure::io(given, "cannot be written to", &error, &next));
        }
        let path = follow(given).map_err(refuse)?;
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(refuse(ErrorKind::IsADirectory.into())),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(refuse(error)),
            _ => {}
        }
        if path.file_name().is_none() {
            return Err(refuse(ErrorKind::InvalidInput.into()));
        }
        let mut inputs = inputs.iter().copied().chain(key.as_deref());
        if let Some(input) = inputs.find(|input| fs::canonicalize(input).is_ok_and(|input| input == path)) {
            let message =
                format!("{} is read, and would be replaced by the output. {done} Name another.", input.display());
            return Err(Failure::new(Code::Usage, message));
        }
        check_may_be_replaced(&path, force).map_err(|reason| {
            let message =
                format!("{}: {reason}. {done} Name another file; --force replaces this one.", given.display());
            Failure::new(Code::Usage, message)
        })?;
        temporary::remove_stale(&path);
        // Only an attempt shows that the directory can be written to.
        temporary::beside(&path).map_err(refuse)?;
        Ok(Self { given: given.to_owned(), path: Some(path), force })
    }

    /// Writes to a temporary file beside the target, syncs it, and renames it: the target is always the old file or the
    /// new one. After a failure the temporary file is removed.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match &self.path {
            None => output::print(|out| out.write_all(bytes)),
            Some(path) => write_whole(path, self.force, bytes).map_err(|error| {
                Failure::io(&self.given, "cannot write", &error, "The file is unchanged. Name another.")
            }),
        }
    }
}

/// Returns whether `path` denotes standard output. Its names in /dev are links to what cannot be renamed over.
pub(crate) fn is_stdout(path: &Path) -> bool {
    is_dash(path) || ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].map(Path::new).contains(&path)
}

/// Fails for a file that is not a whole filter block, or may not be written to: it was not made to be replaced.
fn check_may_be_replaced(path: &Path, force: bool) -> Result<(), &'static str> {
    match fs::metadata(path) {
        Ok(metadata) if !force && metadata.permissions().readonly() => Err("exists and may not be written to"),
        Ok(_) if !force && !block_file::is_block(path) => Err("exists and is not a filter block"),
        _ => Ok(()),
    }
}

/// The path at the end of the links, which need not exist.
fn follow(given: &Path) -> io::Result<PathBuf> {
    let mut path = given.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = directory(&path).join(next),
            // The path is not a link.
            Err(_) => return Ok(fs::canonicalize(&path).unwrap_or(path)),
        }
    }
    Err(io::Error::other("too many links"))
}

fn write_whole(target: &Path, force: bool, bytes: &[u8]) -> io::Result<()> {
    let file = temporary::beside(target)?;
    file.as_file().write_all(bytes)?;
    file.as_file().sync_all()?;
    // Another process may have written the target since it was checked.
    check_may_be_replaced(target, force).map_err(io::Error::other)?;
    if target.exists() {
        file.persist(target)?
    } else {
        file.persist_noclobber(target)?
    };
    if cfg!(unix) {
        File::open(directory(target))?.sync_all()?;
    }
    Ok(())
}
