//! The descriptors of files being read: their number is bounded, however many tables a store has.
//!
//! A file is opened again when it is read after its descriptor was closed. That finds the same file: a store gives no
//! name twice, and removes a file only when nothing reads it any more.

use super::direct::{Bypass, DIRECT, is_refusal, read_direct};
use super::{ReadCounter, ReadableFile};
use quick_cache::sync::Cache;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The greatest number of descriptors that are held, and the greatest share of those that the process may have.
const DESCRIPTORS_MAX: u64 = 512;
const SHARE_OF_PROCESS: u64 = 4;
/// Other threads may take the descriptors that were closed for this one.
const ATTEMPTS: usize = 4;

/// An open directory, and descriptors of files in it.
#[derive(Debug)]
pub(super) struct Descriptors {
    pub(super) dir: File,
    pub(super) bypass: Bypass,
    pub(super) counter: ReadCounter,
    held: Cache<u64, Arc<Descriptor>>,
    next_id: AtomicU64,
}

impl Descriptors {
    pub(super) fn new(dir: File, bypass: Bypass) -> Self {
        let of_process = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let max = (of_process / SHARE_OF_PROCESS).clamp(1, DESCRIPTORS_MAX);
        Self {
            dir,
            bypass,
            counter: ReadCounter::default(),
            held: Cache::new(max as usize),
            next_id: AtomicU64::new(0),
        }
    }

    /// Opens the file `name` of the directory. If the process has no descriptor left, those held here are given up.
    pub(super) fn open_at(&self, name: &str, flags: OFlags) -> io::Result<File> {
        // Read and write for all, less the process's mask, as the standard library creates files.
        let mode = Mode::from_raw_mode(0o666);
        let mut attempts = 0;
        loop {
            match retry_on_intr(|| openat(&self.dir, name, flags | OFlags::CLOEXEC, mode)) {
                Ok(file) => return Ok(File::from(file)),
                Err(Errno::MFILE | Errno::NFILE) if attempts < ATTEMPTS && !self.held.is_empty() => self.held.clear(),
                Err(error) => return Err(error.into()),
            }
            attempts += 1;
        }
    }

    /// Opens a file for reading.
    pub(super) fn open(self: &Arc<Self>, name: &str) -> io::Result<PooledFile> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let file = PooledFile { descriptors: Arc::clone(self), name: name.to_owned(), id };
        file.descriptor()?;
        Ok(file)
    }

    fn open_to_read(&self, name: &str) -> io::Result<Descriptor> {
        if self.bypass.is_wanted() {
            match self.open_at(name, OFlags::RDONLY | DIRECT) {
                Err(error) if is_refusal(&error) => self.bypass.refuse(&error),
                opened => return Ok(Descriptor { file: opened?, is_direct: true }),
            }
        }
        Ok(Descriptor { file: self.open_at(name, OFlags::RDONLY)?, is_direct: false })
    }
}

#[derive(Debug)]
struct Descriptor {
    file: File,
    is_direct: bool,
}

/// A file that is open whenever it is read.
#[derive(Debug)]
pub(super) struct PooledFile {
    descriptors: Arc<Descriptors>,
    name: String,
    id: u64,
}

impl PooledFile {
    fn descriptor(&self) -> io::Result<Arc<Descriptor>> {
        if let Some(held) = self.descriptors.held.get(&self.id) {
            return Ok(held);
        }
        let opened = Arc::new(self.descriptors.open_to_read(&self.name)?);
        self.descriptors.held.insert(self.id, Arc::clone(&opened));
        Ok(opened)
    }
}

impl ReadableFile for PooledFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let Descriptors { counter, bypass, held, .. } = &*self.descriptors;
        let descriptor = self.descriptor()?;
        if descriptor.is_direct {
            let read = |buf: &mut [u8], offset| {
                let len = descriptor.file.read_at(buf, offset)?;
                counter.add(len);
                Ok(len)
            };
            match read_direct(buf, offset, read) {
                // Some file systems refuse the read, and not the flag.
                Err(error) if is_refusal(&error) => bypass.refuse(&error),
                read => return read,
            }
            held.remove(&self.id);
        }
        let len = self.descriptor()?.file.read_at(buf, offset)?;
        counter.add(len);
        Ok(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.descriptor()?.file.metadata()?.len())
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        self.descriptors.held.remove(&self.id);
    }
}
