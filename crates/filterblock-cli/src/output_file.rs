//! A file that appears complete or not at all, or standard output.

use crate::exit::{Code, Failure};
use crate::interrupt;
use crate::keys::is_dash;
use crate::output;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Links that lead to a file, at most: what Linux follows.
const MAX_LINKS: u32 = 40;

/// The file to be written.
pub(crate) struct OutputFile {
    /// The path as given on the command line.
    given: PathBuf,
    /// That path, or the one to which it links; `None` for standard output.
    path: Option<PathBuf>,
}

impl OutputFile {
    /// Refuses early, before hours of work, a target that renaming would destroy or fail on. `consequence` is as for
    /// [`Failure::io`].
    pub(crate) fn new(given: &Path, consequence: &str) -> Result<Self, Failure> {
        if is_dash(given) {
            if io::stdout().is_terminal() {
                let message = format!("standard output: a terminal, which is not for bytes. {consequence}");
                return Err(Failure::new(Code::Usage, message));
            }
            return Ok(Self { given: given.to_owned(), path: None });
        }
        let refuse = |error: io::Error| Failure::io(given, "cannot be written to", &error, consequence);
        let path = follow(given).map_err(refuse)?;
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(refuse(ErrorKind::IsADirectory.into())),
            Ok(metadata) if !metadata.is_file() => return Err(refuse(io::Error::other("not a regular file"))),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(refuse(error)),
            _ => {}
        }
        if path.file_name().is_none() {
            return Err(refuse(ErrorKind::InvalidInput.into()));
        }
        // Only an attempt shows that the directory can be written to.
        temporary(&path).map_err(refuse)?;
        Ok(Self { given: given.to_owned(), path: Some(path) })
    }

    /// The file; `None` for standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Writes to a temporary file beside the target, syncs it, and renames it: the target is always the old file or the
    /// new one. After a failure the temporary file is removed.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match &self.path {
            None => output::print(|out| out.write_all(bytes)),
            Some(path) => write_whole(path, bytes).map_err(|error| {
                Failure::io(&self.given, "cannot write", &error, "The file is unchanged. Name another.")
            }),
        }
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

fn directory(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An empty file beside the target, removed unless it is given the target's name.
fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".filterblock-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The mode is that of the old file, or of any new file: the process's mask is applied to it.
        let mode = fs::metadata(target).map_or(0o666, |old| old.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    let file = builder.tempfile_in(directory(target))?;
    interrupt::will_remove(file.path());
    Ok(file)
}

fn write_whole(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = temporary(target)?;
    file.as_file().write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(target)?;
    if cfg!(unix) {
        File::open(directory(target))?.sync_all()?;
    }
    Ok(())
}
