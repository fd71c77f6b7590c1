//! A device that fails to read some bytes, which may be right.

use super::{blocks, contents, data_and_index_len, in_log, newest};
use crate::unreadable::{PAGE, options, store};
use crate::*;
use filterblock_kv::ReadableFile;

/// Some bytes of a file that cannot be read.
#[derive(Debug)]
struct BadSectors {
    file: String,
    bad: core::ops::Range<u64>,
}

#[derive(Debug)]
struct BadFile {
    file: Arc<dyn ReadableFile>,
    bad: core::ops::Range<u64>,
}

impl ReadableFile for BadFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match offset < self.bad.end && self.bad.start < offset + buf.len() as u64 {
            // EIO.
            true => Err(io::Error::from_raw_os_error(5)),
            false => self.file.read_at(buf, offset),
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl Change for BadSectors {
    fn open(&self, disk: &SimStorage, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        let file = disk.open(name)?;
        let bad = if name == self.file { self.bad.clone() } else { 0..0 };
        Ok(Arc::new(BadFile { file, bad }))
    }
}

/// The bytes may be right: only on demand are they given up, and no others with them.
#[test]
fn what_the_device_fails_to_read_is_given_up_on_demand() {
    let (storage, cells) = store();
    let (blocks, in_log) = (blocks(&storage), in_log(&cells));
    let file = tables(&storage)[2].clone();
    let len = storage.contents(&file).unwrap().len();
    let (data_len, _) = data_and_index_len(&storage.contents(&file).unwrap());
    for page in (0..len).step_by(PAGE) {
        // Filters hold no data, and are built anew in any case.
        let is_filter = page > data_len && page + PAGE < len;
        let files = storage.crash_image(CrashKind::Everything);
        let bad = page as u64 + 100..page as u64 + 101;
        let change = BadSectors { file: file.clone(), bad };
        let disk = Arc::new(Changed { inner: files.clone(), change });
        let repair = |how: RepairOptions| Store::repair(disk.clone(), options(), how);
        let before: Vec<_> = files.names().into_iter().map(|name| files.contents(&name)).collect();
        if !is_filter {
            for apply in [false, true] {
                let refused = repair(RepairOptions::new().with_apply(apply));
                assert!(matches!(&refused, Err(Error::Io { .. })), "{page}: {refused:?}");
            }
            let after: Vec<_> = files.names().into_iter().map(|name| files.contents(&name)).collect();
            assert!(before == after, "{page}: something was changed");
        }
        let report = repair(RepairOptions::new().with_give_up_unreadable(true).with_apply(true)).unwrap();
        assert!(report.is_applied, "{page}");
        let is_lost = |table: &str, offset: usize| table == file && offset == page;
        let expected = newest(&blocks, is_lost, &in_log);
        let store = Store::open(disk, options()).unwrap();
        assert!(contents(&store) == expected, "{page}: not what is left\n{report}");
        assert_eq!(report.lost().count(), usize::from(page < data_len), "{page}: {report}");
    }
}
