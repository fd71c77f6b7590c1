//! Moving files aside: into a directory within the store's, where nothing is overwritten or removed.

use super::durable::{DIRECTORY, sync};
use rustix::fs::{AtFlags, Mode, OFlags, linkat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io;

/// The directory of files that were moved aside.
const ASIDE_DIR: &str = "lost";

/// Gives the file `name` of `dir` a second name in [`ASIDE_DIR`], `kept` or that with a number, durably, and returns
/// it. In a file system without hard links it keeps a copy there.
pub(super) fn keep_aside(dir: &File, name: &str, kept: &str) -> io::Result<String> {
    match retry_on_intr(|| mkdirat(dir, ASIDE_DIR, Mode::from_raw_mode(0o777))) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let aside = File::from(retry_on_intr(|| openat(dir, ASIDE_DIR, DIRECTORY, Mode::empty()))?);
    let kept = link(dir, name, &aside, kept)?;
    sync(&aside)?;
    sync(dir)?;
    Ok(format!("{ASIDE_DIR}/{kept}"))
}

fn link(dir: &File, name: &str, aside: &File, kept: &str) -> io::Result<String> {
    let own = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let first = kept;
    for kept in names(first) {
        match retry_on_intr(|| linkat(dir, name, aside, &kept, AtFlags::empty())) {
            Ok(()) => return Ok(kept),
            // An attempt that was interrupted later has kept it before.
            Err(Errno::EXIST) => {
                let other = statat(aside, &kept, AtFlags::SYMLINK_NOFOLLOW)?;
                if (other.st_dev, other.st_ino) == (own.st_dev, own.st_ino) {
                    return Ok(kept);
                }
            }
            Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS | Errno::MLINK) => return copy(dir, name, aside, first),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The names that a file may get: its own, or with the first number that is free.
fn names(name: &str) -> impl Iterator<Item = String> {
    core::iter::once(name.to_owned()).chain((2u64..).map(move |n| format!("{name}.{n}")))
}

fn copy(dir: &File, name: &str, aside: &File, kept: &str) -> io::Result<String> {
    let tmp = format!("{kept}.tmp");
    // An interrupted attempt has left this.
    let _ = unlinkat(aside, &tmp, AtFlags::empty());
    let mode = Mode::from_raw_mode(0o666);
    let mut from = File::from(retry_on_intr(|| openat(dir, name, OFlags::RDONLY | OFlags::CLOEXEC, mode))?);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut to = File::from(retry_on_intr(|| openat(aside, &tmp, flags, mode))?);
    let copied = io::copy(&mut from, &mut to).and_then(|_| to.sync_all());
    if let Err(error) = copied {
        let _ = unlinkat(aside, &tmp, AtFlags::empty());
        return Err(error);
    }
    // A free name stays free, as only processes that hold the store's lock write here.
    let is_free = |kept: &String| matches!(statat(aside, kept, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT));
    let kept = names(kept).find(is_free).ok_or(io::ErrorKind::AlreadyExists)?;
    retry_on_intr(|| renameat(aside, &tmp, aside, &kept))?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::super::durable::open_dir;
    use super::super::{FileStorage, Storage};
    use super::copy;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn what_is_kept_aside_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let storage = FileStorage::open(dir.path()).unwrap();
        let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
        for (round, expected) in [(1, "lost/000007.sst"), (2, "lost/000007.sst.2"), (3, "lost/000007.sst.3")] {
            fs::write(dir.path().join("000007.sst"), [round; 5]).unwrap();
            // The same file is kept once.
            for _ in 0..2 {
                assert_eq!(storage.keep_aside("000007.sst", "000007.sst").unwrap(), expected);
            }
            assert_eq!(read("000007.sst"), read(expected));
            storage.remove("000007.sst").unwrap();
            assert_eq!(read(expected), [round; 5]);
        }
        assert!(storage.keep_aside("000008.sst", "a").is_err());
        assert_eq!(storage.list().unwrap(), ["lost"]);
    }

    #[test]
    fn without_hard_links_a_copy_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("lost")).unwrap();
        fs::write(dir.path().join("lost/a.tmp"), "left by an interrupted copy").unwrap();
        let (own, aside) = (open_dir(dir.path()).unwrap(), open_dir(&dir.path().join("lost")).unwrap());
        for (round, expected) in [(1, "a"), (2, "a.2")] {
            fs::write(dir.path().join("a"), [round; 5]).unwrap();
            assert_eq!(copy(&own, "a", &aside, "a").unwrap(), expected);
            let kept = dir.path().join("lost").join(expected);
            assert_eq!(fs::read(&kept).unwrap(), [round; 5]);
            assert_eq!(fs::metadata(&kept).unwrap().nlink(), 1);
        }
        assert!(!dir.path().join("lost/a.tmp").exists());
    }
}
