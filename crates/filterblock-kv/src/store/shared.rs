//! State that the threads of a store share.

use super::{
    Arc, AtomicBool, AtomicU64, BTreeMap, ColumnState, Condvar, Edit, Error, FileName, KeyHasher, LogWriter, Manifest,
    Memtable, Mutex, Ordering, RwLock, StorageLock, StoreOptions, Table, TableContext, Version, WritableFile,
    WriteBatch,
};

/// The memtables, newest first, and the tables. Only the first memtable is written to.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(super) memtables: Vec<Arc<Memtable>>,
    pub(super) version: Arc<Version>,
}

impl View {
    /// The memtable to be flushed next, if any is waiting.
    pub(super) fn oldest_full(&self) -> Option<&Arc<Memtable>> {
        self.memtables.get(1..)?.last()
    }
}

/// Held by the writing thread.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` in a store that is read-only or closed.
    pub(super) log: Option<LogWriter>,
    pub(super) last_seq: u64,
    /// Bytes written since the last pause for compaction.
    pub(super) bytes_since_pause: usize,
    /// Bytes that may be written before room on the disk is looked for.
    pub(super) unchecked_bytes: u64,
    pub(super) last_sync: std::time::Instant,
}

/// The queue of writers that wait for their group to be written.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) next_ticket: u64,
    pub(super) waiting: Vec<WriteBatch>,
    /// Tickets below this one are done.
    pub(super) done_before: u64,
    /// Errors of failed groups, for the writers that have not yet picked theirs up.
    pub(super) failed: BTreeMap<u64, Error>,
    /// The group that is being written, if one is: the ticket of its leader, and the number of its batches.
    pub(super) led: Option<(u64, u64)>,
}

/// The state of maintenance.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// A signal that there may be due work.
    pub(super) wanted: bool,
    /// The store is being closed.
    pub(super) stopping: bool,
    /// The background thread is doing a job.
    pub(super) busy: bool,
    /// The error of the last job, until one succeeds.
    pub(super) failed: Option<Error>,
    /// Counts progress, so that a thread notices progress made before it began to wait.
    pub(super) progress: u64,
    /// The number of failures, by which a waiting thread distinguishes a new failure from an old one.
    pub(super) num_failures: u64,
}

/// The state of maintenance, held by the thread that does a job.
#[derive(Debug)]
pub(super) struct MaintenanceState {
    /// Decides when inline work is done.
    pub(super) random: u64,
    /// The share in bytes, by table, for which its filters were last rebuilt.
    pub(super) shrunk: BTreeMap<u64, u64>,
    pub(super) columns: ColumnState,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) options: StoreOptions,
    pub(super) tables: Arc<TableContext>,
    pub(super) queue: Mutex<Queue>,
    pub(super) committed: Condvar,
    pub(super) writer: Mutex<Writer>,
    pub(super) maintenance: Mutex<MaintenanceState>,
    /// `None` in a read-only store.
    pub(super) manifest: Mutex<Option<Manifest>>,
    /// Held while the directory is synced. See [`Shared::sync_dir`].
    pub(super) directory: Mutex<()>,
    pub(super) view: RwLock<Arc<View>>,
    /// Sequence number of the last write that readers may see.
    pub(super) visible: AtomicU64,
    pub(super) next_number: AtomicU64,
    /// Counted only where they decide which columns are held.
    pub(super) num_lookups: AtomicU64,
    /// Set by a failed sync or a panic, and never reset.
    pub(super) is_poisoned: AtomicBool,
    /// Set before `is_poisoned` if that is for a panic.
    pub(super) has_panicked: AtomicBool,
    pub(super) work: Mutex<Work>,
    pub(super) work_changed: Condvar,
    /// Held until the last reader is gone. `None` in a store that is open for reading only.
    pub(super) _lock: Option<Box<dyn StorageLock>>,
}

impl Shared {
    /// The view, and the sequence number of the last write that it holds completely.
    pub(super) fn view_and_seq(&self) -> (Arc<View>, u64) {
        let view = self.view.read();
        // This is done under the lock under which memtables are added, so that every visible write is in this view.
        (Arc::clone(&view), self.visible.load(Ordering::Acquire))
    }

    pub(super) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    pub(super) fn new_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }

    pub(super) fn check_poison(&self) -> Result<(), Error> {
        match self.is_poisoned() {
            false => Ok(()),
            true if self.has_panicked.load(Ordering::Acquire) => Err(Error::Panicked),
            true => Err(Error::Poisoned),
        }
    }

    pub(super) fn check_writable(&self) -> Result<(), Error> {
        if self.options.read_only { Err(Error::ReadOnly) } else { self.check_poison() }
    }

    /// Refuses all writes from now on: after `error` it is unknown which unsynced data the disk holds.
    pub(super) fn poison(&self, error: Error) -> Error {
        self.is_poisoned.store(true, Ordering::Release);
        error
    }

    /// Makes `edits` durable, then visible through the view that `change` makes from the current one.
    pub(super) fn commit(
        &self,
        edits: &[Edit],
        change: impl FnOnce(&View) -> Result<View, Error>,
    ) -> Result<(), Error> {
        let mut manifest = self.manifest.lock();
        self.check_poison()?;
        let manifest = manifest.as_mut().ok_or(Error::ReadOnly)?;
        // The view changes under the manifest's lock only, so no change is lost between here and below.
        let view = change(&self.view())?;
        let mut edits = edits.to_vec();
        edits.push(Edit::NextNumber(self.next_number.load(Ordering::Relaxed)));
        // A manifest that has grown is rewritten and renamed.
        let _turn = self.directory.lock();
        self.check_poison()?;
        manifest.commit(&edits).map_err(|failed| match failed.in_doubt {
            true => self.poison(failed.error),
            false => failed.error,
        })?;
        let before = core::mem::replace(&mut *self.view.write(), Arc::new(view));
        // This is done outside the lock: the last holder of a table removes its file.
        drop(before);
        Ok(())
    }

    /// A commit that only replaces tables.
    pub(super) fn commit_tables(&self, edits: &[Edit], gone: &[u64], come: &[Arc<Table>]) -> Result<(), Error> {
        self.commit(edits, |view| {
            let version = view.version.changed(gone, come)?;
            Ok(View { version: Arc::new(version), ..view.clone() })
        })
    }

    /// Removes a file that nothing refers to. If this fails, the next opening of the store removes it.
    pub(super) fn remove_file(&self, file: FileName) {
        let _ = self.tables.storage.remove(&file.to_string());
    }

    /// Wakes waiting threads after progress.
    pub(super) fn note_progress(&self) {
        self.work.lock().progress += 1;
        self.work_changed.notify_all();
    }

    /// Wakes the background thread, as there may be work.
    pub(super) fn want_work(&self) {
        self.work.lock().wanted = true;
        self.work_changed.notify_all();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.work.lock().stopping
    }

    /// Stops maintenance.
    pub(super) fn stop(&self) {
        self.work.lock().stopping = true;
        self.work_changed.notify_all();
    }

    /// The hasher of filters to be written.
    pub(super) fn hasher(&self) -> KeyHasher {
        self.tables.hasher.read().clone()
    }

    /// Syncs a finished file and gives it its final name.
    pub(super) fn publish(&self, out: &mut dyn WritableFile, tmp: &str, file: FileName) -> Result<(), Error> {
        out.sync().map_err(|error| self.poison(Error::io(tmp, "sync", error)))?;
        let name = file.to_string();
        self.tables.storage.rename(tmp, &name).map_err(|error| self.poison(Error::io(&name, "rename", error)))
    }

    /// Makes the names of published files durable. One thread at a time: a failed sync is reported once but may lose
    /// the names of several threads, so no other sync may succeed before the store is poisoned.
    pub(super) fn sync_dir(&self) -> Result<(), Error> {
        let _turn = self.directory.lock();
        self.check_poison()?;
        self.tables.storage.sync_dir().map_err(|error| self.poison(Error::io("store", "sync the directory", error)))
    }

    /// Removes tables that a failed commit has not named, which they would be after a failed sync for all that is
    /// known.
    pub(super) fn discard(&self, tables: &[Arc<Table>]) {
        if !self.is_poisoned() {
            tables.iter().for_each(|table| table.mark_obsolete());
        }
    }

    /// Removes an unfinished table. If this fails, the next opening of the store removes it.
    pub(super) fn abandon(&self, number: u64) {
        let _ = self.tables.storage.remove(&FileName::Table(number).tmp());
    }

    /// Refuses writes, and wakes threads that wait for maintenance.
    pub(super) fn note_panic(&self) {
        self.has_panicked.store(true, Ordering::Release);
        // This comes after the reason, which a thread reads that sees the store poisoned.
        self.poison(Error::Panicked);
        let mut work = self.work.lock();
        work.busy = false;
        work.failed = Some(Error::Panicked);
        work.num_failures += 1;
        work.progress += 1;
        drop(work);
        self.work_changed.notify_all();
    }

    /// Removes a log like [`Shared::discard`].
    pub(super) fn discard_log(&self, number: u64) {
        if !self.is_poisoned() {
            self.remove_file(FileName::Log(number));
        }
    }
}
