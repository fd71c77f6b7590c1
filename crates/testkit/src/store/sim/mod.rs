//! A storage in memory that forgets, as disks do.
//!
//! It knows for every byte whether a [`sync`](WritableFile::sync) covers it, and for every name whether a
//! [`sync_dir`](Storage::sync_dir) does, so that it can show what a power loss may leave ([`CrashImage`]), and its
//! operations fail on demand ([`Fault`]). Everything is deterministic. The rules are the weakest that POSIX allows:
//!
//! - Unsynced writes survive, vanish, are torn at any byte, or lose any of their 512-byte sectors to zeros or garbage;
//!   the file's length grows with them or does not.
//! - Unsynced creations, renames and removals survive independently, except that one of a name is undone only with all
//!   later ones of that name. A rename is atomic. A sync of a file makes its bytes durable, not its name;
//!   a sync of the directory makes names durable, not bytes.
//! - After a failed sync, nothing that it should have made durable ever is, whatever later syncs report.

mod directory;
mod fault;
mod files;
mod image;
pub mod inode;
mod operation;

pub use fault::Fault;
pub use image::{CrashImage, CrashKind, Files};
pub use operation::{FaultKind, Operation, OperationKind};

use core::fmt;
use directory::Directory;
use fault::Faults;
use files::{Lock, Locks, Reader, Writer};
use filterblock_kv::{LockMode, ReadCounts, ReadableFile, Storage, StorageLock, WritableFile};
use inode::Inode;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Observer = Box<dyn FnMut(&SimStorage, &Operation) + Send>;

/// A simulated directory in memory. Clones are handles of the same one.
#[derive(Clone, Default)]
pub struct SimStorage {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    disk: Mutex<Disk>,
    observer: Mutex<Option<Observer>>,
    read_counts: Mutex<ReadCounts>,
    locks: Arc<Mutex<Locks>>,
}

#[derive(Debug, Default)]
struct Disk {
    directory: Directory,
    faults: Faults,
    num_operations: u64,
    /// Operations after this one fail: the machine is gone.
    last_operation: Option<u64>,
    log: Vec<Operation>,
}

/// An operation before it has a number.
struct Call<'a> {
    kind: OperationKind,
    file: &'a str,
    to: &'a str,
    /// Bytes to be transferred.
    len: usize,
}

impl<'a> Call<'a> {
    fn new(kind: OperationKind, file: &'a str) -> Self {
        Self { kind, file, to: "", len: 0 }
    }
}

impl SimStorage {
    /// An empty directory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn from_files(files: Files) -> Self {
        let node = |(name, bytes)| (name, Arc::new(Mutex::new(Inode::durable(bytes))));
        let storage = Self::new();
        lock(&storage.shared.disk).directory = Directory::durable(files.into_iter().map(node).collect());
        storage
    }

    /// The bytes of a file as a reader sees them, if it exists. Not an operation, so never a fault.
    #[must_use]
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        lock(&self.shared.disk).directory.get(name).map(|node| lock(node).bytes().to_vec())
    }

    /// Replaces a file by one of these bytes, and makes it and all names durable. Not an operation. Open readers of the
    /// old file keep reading it.
    pub fn replace(&self, name: &str, bytes: Vec<u8>) {
        lock(&self.shared.disk).directory.replace(name, Inode::durable(Arc::new(bytes)));
    }

    /// The names of all files, in ascending order. Not an operation.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        lock(&self.shared.disk).directory.visible().keys().cloned().collect()
    }

    /// The number of operations so far, failed ones included.
    #[must_use]
    pub fn num_operations(&self) -> u64 {
        lock(&self.shared.disk).num_operations
    }

    /// The operations, oldest first, that [change something](OperationKind::changes) or would have without a fault.
    #[must_use]
    pub fn log(&self) -> Vec<Operation> {
        lock(&self.shared.disk).log.clone()
    }

    /// Adds a fault. Of several that apply to an operation the first added is injected.
    pub fn inject(&self, fault: Fault) {
        lock(&self.shared.disk).faults.add(fault);
    }

    /// Removes all faults. What a failed sync has lost stays lost.
    pub fn lift_faults(&self) {
        lock(&self.shared.disk).faults.lift();
    }

    /// The number of injected faults.
    #[must_use]
    pub fn num_injected(&self) -> u64 {
        lock(&self.shared.disk).faults.injected()
    }

    /// Crashes the machine after operation number `last`: all later ones fail, do nothing, and are not counted.
    /// [`SimStorage::crash_images`] then shows what is left.
    pub fn crash_after(&self, last: u64) {
        lock(&self.shared.disk).last_operation = Some(last);
    }

    /// Calls `observer` after every operation, in place of an earlier observer. Operations during the call are not
    /// observed, so the storage must be used by one thread only.
    pub fn on_operation(&self, observer: impl FnMut(&Self, &Operation) + Send + 'static) {
        *lock(&self.shared.observer) = Some(Box::new(observer));
    }

    /// The storage as a power loss of this kind leaves it now.
    #[must_use]
    pub fn crash_image(&self, kind: CrashKind) -> Self {
        Self::from_files(self.files_after(kind))
    }

    /// The files that a power loss of this kind leaves now. Images share the bytes that no crash changes.
    pub fn files_after(&self, kind: CrashKind) -> Files {
        image::files_after(&lock(&self.shared.disk).directory, kind)
    }

    /// What a power loss may leave now: distinct images, those of [`CrashKind::FIXED`] first, then random ones up to
    /// `wanted`. Fewer if no more are found, and only one if everything is durable.
    #[must_use]
    pub fn crash_images(&self, seed: u64, wanted: usize) -> Vec<CrashImage> {
        let outcomes = image::distinct(&lock(&self.shared.disk).directory, seed, wanted);
        outcomes.into_iter().map(|(kind, files)| CrashImage { kind, storage: Self::from_files(files) }).collect()
    }

    /// Counts an operation, performs it or lets it fail by a fault, then calls the observer. `act` gets the operation's
    /// number and how many bytes may be transferred.
    fn operate<T>(
        &self,
        call: Call<'_>,
        act: impl FnOnce(&mut Directory, u64, usize) -> io::Result<T>,
        lose: impl FnOnce(&mut Directory),
    ) -> io::Result<T> {
        let mut disk = lock(&self.shared.disk);
        if disk.last_operation.is_some_and(|last| disk.num_operations >= last) {
            return Err(io::Error::other("the machine has crashed"));
        }
        disk.num_operations += 1;
        let number = disk.num_operations;
        let fault = disk.faults.draw(number, call.kind, call.len);
        let len = match fault {
            Some(FaultKind::Short { bytes_max }) => call.len.min(bytes_max.max(1)),
            _ => call.len,
        };
        let result = match fault.and_then(FaultKind::error) {
            Some(error) => Err(error),
            None => act(&mut disk.directory, number, len),
        };
        if fault == Some(FaultKind::FailedSync) {
            lose(&mut disk.directory);
        }
        let operation =
            Operation { number, kind: call.kind, file: call.file.to_owned(), to: call.to.to_owned(), fault };
        if call.kind.changes() {
            disk.log.push(operation.clone());
        }
        drop(disk);
        self.observe(&operation);
        result
    }

    fn observe(&self, operation: &Operation) {
        // Taken out of its mutex, so that the observer may use the storage.
        let Some(mut observer) = lock(&self.shared.observer).take() else { return };
        observer(self, operation);
        lock(&self.shared.observer).get_or_insert(observer);
    }
}

impl fmt::Debug for SimStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimStorage").field("names", &self.names()).finish_non_exhaustive()
    }
}

impl Storage for SimStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WritableFile>> {
        let create = |directory: &mut Directory, number, _| match directory.get(name) {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => Ok(directory.create(name, number)),
        };
        let node = self.operate(Call::new(OperationKind::Create, name), create, |_| {})?;
        Ok(Box::new(Writer { storage: self.clone(), name: name.to_owned(), node }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadableFile>> {
        let open = |directory: &mut Directory, _, _| directory.get(name).cloned().ok_or(io::ErrorKind::NotFound.into());
        let node = self.operate(Call::new(OperationKind::Open, name), open, |_| {})?;
        Ok(Arc::new(Reader { storage: self.clone(), name: name.to_owned(), node }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let rename = |directory: &mut Directory, number, _| match directory.rename(from, to, number) {
            true => Ok(()),
            false => Err(io::ErrorKind::NotFound.into()),
        };
        self.operate(Call { to, ..Call::new(OperationKind::Rename, from) }, rename, |_| {})
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let remove = |directory: &mut Directory, number, _| match directory.remove(name, number) {
            true => Ok(()),
            false => Err(io::ErrorKind::NotFound.into()),
        };
        self.operate(Call::new(OperationKind::Remove, name), remove, |_| {})
    }

    fn keep_aside(&self, name: &str, kept: &str) -> io::Result<String> {
        let keep = |directory: &mut Directory, _, _| {
            let node = directory.get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
            let numbered = (2..).map(|n| format!("lost/{kept}.{n}"));
            let mut names = core::iter::once(format!("lost/{kept}")).chain(numbered);
            names.find(|kept| directory.link(&node, kept)).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
        };
        self.operate(Call { to: kept, ..Call::new(OperationKind::KeepAside, name) }, keep, |_| {})
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let is_own = |name: &&String| !name.contains('/');
        let list = |directory: &mut Directory, _, _| Ok(directory.visible().keys().filter(is_own).cloned().collect());
        self.operate(Call::new(OperationKind::List, ""), list, |_| {})
    }

    fn sync_dir(&self) -> io::Result<()> {
        let sync = |directory: &mut Directory, _, _| {
            directory.sync();
            Ok(())
        };
        self.operate(Call::new(OperationKind::SyncDir, ""), sync, Directory::doubt)
    }

    fn lock(&self, name: &str, mode: LockMode) -> io::Result<Box<dyn StorageLock>> {
        let lock = |directory: &mut Directory, number, _| {
            if directory.get(name).is_none() {
                directory.create(name, number);
            }
            Lock::take(&self.shared.locks, name, mode)
        };
        let lock = self.operate(Call::new(OperationKind::Lock, name), lock, |_| {})?;
        Ok(Box::new(lock))
    }

    fn read_counts(&self) -> ReadCounts {
        *lock(&self.shared.read_counts)
    }
}

/// A panic elsewhere leaves the guarded data consistent: every change is one call.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
