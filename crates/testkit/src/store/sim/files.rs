//! Open files and locks.

use super::directory::{Directory, Node};
use super::operation::OperationKind;
use super::{Call, SimStorage, lock};
use filterblock_kv::{LockMode, ReadableFile, StorageLock, WritableFile};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

/// A file being written. It survives renaming and removal, like a file descriptor.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) storage: SimStorage,
    /// The name that it was created with.
    pub(super) name: String,
    pub(super) node: Node,
}

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let append = |_: &mut Directory, number, len: usize| {
            lock(&self.node).append(&bytes[..len], number);
            Ok(len)
        };
        let call = Call { len: bytes.len(), ..Call::new(OperationKind::Write, &self.name) };
        self.storage.operate(call, append, |_| {})
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WritableFile for Writer {
    fn sync(&mut self) -> io::Result<()> {
        let sync = |_: &mut Directory, _, _| {
            lock(&self.node).sync();
            Ok(())
        };
        let lose = |_: &mut Directory| lock(&self.node).lose_unsynced();
        self.storage.operate(Call::new(OperationKind::Sync, &self.name), sync, lose)
    }
}

/// A file being read.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) storage: SimStorage,
    pub(super) name: String,
    pub(super) node: Node,
}

impl ReadableFile for Reader {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let call = Call { len: buf.len(), ..Call::new(OperationKind::Read, &self.name) };
        let read = |_: &mut Directory, _, len: usize| Ok(lock(&self.node).read_at(&mut buf[..len], offset));
        let len = self.storage.operate(call, read, |_| {})?;
        let mut counts = lock(&self.storage.shared.read_counts);
        counts.reads += 1;
        counts.bytes += len as u64;
        Ok(len)
    }

    fn len(&self) -> io::Result<u64> {
        let len = |_: &mut Directory, _, _| Ok(lock(&self.node).bytes().len() as u64);
        self.storage.operate(Call::new(OperationKind::Length, &self.name), len, |_| {})
    }
}

/// The locks held: for each name the number of shared holders, or `None` for an exclusive one.
pub(super) type Locks = BTreeMap<String, Option<u64>>;

#[derive(Debug)]
pub(super) struct Lock {
    locks: Arc<Mutex<Locks>>,
    name: String,
}

impl Lock {
    pub(super) fn take(locks: &Arc<Mutex<Locks>>, name: &str, mode: LockMode) -> io::Result<Self> {
        let mut held = lock(locks);
        let holders = match (held.get(name), mode) {
            (None, LockMode::Shared) => Some(1),
            (None, _) => None,
            (Some(Some(sharers)), LockMode::Shared) => Some(sharers + 1),
            (Some(_), _) => return Err(io::ErrorKind::WouldBlock.into()),
        };
        held.insert(name.to_owned(), holders);
        Ok(Self { locks: Arc::clone(locks), name: name.to_owned() })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut held = lock(&self.locks);
        match held.get_mut(&self.name) {
            Some(Some(sharers)) if *sharers > 1 => *sharers -= 1,
            _ => drop(held.remove(&self.name)),
        }
    }
}

impl StorageLock for Lock {}
