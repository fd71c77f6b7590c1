//! A file that appears complete or not at all.

use crate::exit::Failure;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Where a file will be renamed to.
pub(crate) struct Target {
    /// As the person named it.
    asked: PathBuf,
    /// That, or what it links to.
    path: PathBuf,
}

impl Target {
    /// Refuses early, before hours of work, what a renaming would destroy or fail on. `consequence` is as for
    /// [`Failure::io`].
    pub(crate) fn new(asked: &Path, consequence: &str) -> Result<Self, Failure> {
        let refuse = |error: io::Error| Failure::io(asked, "cannot be written to", &error, consequence);
        let path = match fs::metadata(asked) {
            Ok(metadata) if metadata.is_file() => fs::canonicalize(asked).map_err(refuse)?,
            Ok(metadata) if metadata.is_dir() => return Err(refuse(ErrorKind::IsADirectory.into())),
            Ok(_) => return Err(refuse(io::Error::other("not a regular file"))),
            Err(error) if error.kind() == ErrorKind::NotFound => asked.to_owned(),
            Err(error) => return Err(refuse(error)),
        };
        if path.file_name().is_none() {
            return Err(refuse(ErrorKind::InvalidInput.into()));
        }
        fs::metadata(directory(&path)).map_err(refuse)?;
        Ok(Self { asked: asked.to_owned(), path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes to a temporary file beside the target, makes it durable, and gives it its name; whoever looks at the
    /// target sees the old file or the new one. A temporary file that does not get that far is removed.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        write_whole(&self.path, bytes)
            .map_err(|error| Failure::io(&self.asked, "cannot write", &error, "The file is as it was. Name another."))
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
        // The old file's mode, or what any new file gets: the process's mask is applied to it.
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
