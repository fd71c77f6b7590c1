//! A file that appears complete or not at all.

use crate::exit::Failure;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The name that a file will get.
pub(crate) struct Target {
    /// As given on the command line.
    given: PathBuf,
    /// That, or what it links to.
    path: PathBuf,
}

impl Target {
    /// Refuses early, before hours of work, a target that renaming would destroy or fail on. `consequence` is as for
    /// [`Failure::io`].
    pub(crate) fn new(given: &Path, consequence: &str) -> Result<Self, Failure> {
        let refuse = |error: io::Error| Failure::io(given, "cannot be written to", &error, consequence);
        let path = match fs::metadata(given) {
            Ok(metadata) if metadata.is_file() => fs::canonicalize(given).map_err(refuse)?,
            Ok(metadata) if metadata.is_dir() => return Err(refuse(ErrorKind::IsADirectory.into())),
            Ok(_) => return Err(refuse(io::Error::other("not a regular file"))),
            Err(error) if error.kind() == ErrorKind::NotFound => given.to_owned(),
            Err(error) => return Err(refuse(error)),
        };
        if path.file_name().is_none() {
            return Err(refuse(ErrorKind::InvalidInput.into()));
        }
        fs::metadata(directory(&path)).map_err(refuse)?;
        Ok(Self { given: given.to_owned(), path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes to a temporary file beside the target, syncs it, and renames it: the target is always the old file or the
    /// new one. After a failure the temporary file is removed.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        write_whole(&self.path, bytes)
            .map_err(|error| Failure::io(&self.given, "cannot write", &error, "The file is unchanged. Name another."))
    }
}

fn directory(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn write_whole(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = directory(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".filterblock-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The old file's mode, or that of any new file: the process's mask is applied to it.
        let mode = fs::metadata(target).map_or(0o666, |old| old.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(target)?;
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
