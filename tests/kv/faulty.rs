//! A storage in memory whose faults are chosen by the test.

use filterblock::kv::{LockMode, ReadCounts, ReadableFile, Storage, StorageLock, WritableFile};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// What goes wrong, as long as it is set.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Reads return at most so many bytes; 0 is no limit.
    pub(crate) read_at_most: AtomicUsize,
    /// Every other read is interrupted by a signal.
    pub(crate) interrupt: AtomicBool,
    /// Syncing a file fails.
    pub(crate) fail_sync: AtomicBool,
    /// Syncing the directory fails.
    pub(crate) fail_sync_dir: AtomicBool,
    /// Appending fails after half of the bytes.
    pub(crate) fail_append: AtomicBool,
}

#[derive(Debug, Default)]
pub(crate) struct MemStorage {
    files: Files,
    pub(crate) faults: Arc<Faults>,
    reads: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
    /// Every call that changes something, in order.
    pub(crate) log: Arc<Mutex<Vec<String>>>,
}

impl MemStorage {
    pub(crate) fn contents(&self, name: &str) -> Vec<u8> {
        self.files.lock().unwrap()[name].clone()
    }

    pub(crate) fn replace(&self, name: &str, bytes: Vec<u8>) {
        self.files.lock().unwrap().insert(name.to_owned(), bytes);
    }

    fn note(&self, event: String) {
        self.log.lock().unwrap().push(event);
    }
}

fn broken() -> io::Error {
    io::Error::other("broken on purpose")
}

impl Storage for MemStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WritableFile>> {
        if self.files.lock().unwrap().contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.files.lock().unwrap().entry(name.to_owned()).or_default();
        let (files, faults, log) = (self.files.clone(), self.faults.clone(), self.log.clone());
        Ok(Box::new(MemWriter { files, faults, log, name: name.to_owned() }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        let bytes = self.files.lock().unwrap().get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        let (faults, reads, total) = (self.faults.clone(), self.reads.clone(), self.bytes.clone());
        Ok(Arc::new(MemReader { bytes, faults, reads, total, calls: AtomicU64::new(0) }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files.lock().unwrap();
        let bytes = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), bytes);
        self.note(format!("rename {from} {to}"));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.note(format!("remove {name}"));
        self.files.lock().unwrap().remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files.lock().unwrap().keys().cloned().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.note("sync dir".to_owned());
        if self.faults.fail_sync_dir.load(Ordering::Relaxed) { Err(broken()) } else { Ok(()) }
    }

    fn lock(&self, _name: &str, _mode: LockMode) -> io::Result<Box<dyn StorageLock>> {
        Ok(Box::new(NoLock))
    }

    fn read_counts(&self) -> ReadCounts {
        ReadCounts { reads: self.reads.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }
}

#[derive(Debug)]
struct NoLock;

impl StorageLock for NoLock {}

#[derive(Debug)]
struct MemWriter {
    files: Files,
    faults: Arc<Faults>,
    log: Arc<Mutex<Vec<String>>>,
    name: String,
}

impl WritableFile for MemWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut files = self.files.lock().unwrap();
        let file = files.get_mut(&self.name).ok_or(io::ErrorKind::NotFound)?;
        if self.faults.fail_append.load(Ordering::Relaxed) {
            return Err(broken());
        }
        // A short write, as the system may make.
        let len = bytes.len().div_ceil(2);
        file.extend_from_slice(&bytes[..len]);
        Ok(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.log.lock().unwrap().push(format!("sync {}", self.name));
        if self.faults.fail_sync.load(Ordering::Relaxed) { Err(broken()) } else { Ok(()) }
    }
}

#[derive(Debug)]
struct MemReader {
    bytes: Vec<u8>,
    faults: Arc<Faults>,
    reads: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
    calls: AtomicU64,
}

impl ReadableFile for MemReader {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if self.faults.interrupt.load(Ordering::Relaxed) && call % 2 == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let there = self.bytes.get(offset as usize..).unwrap_or_default();
        let limit = match self.faults.read_at_most.load(Ordering::Relaxed) {
            0 => usize::MAX,
            limit => limit,
        };
        let len = there.len().min(buf.len()).min(limit);
        buf[..len].copy_from_slice(&there[..len]);
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(len as u64, Ordering::Relaxed);
        Ok(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }
}
