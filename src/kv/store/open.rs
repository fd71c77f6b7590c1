//! Opening: checking the directory, reading the manifest, replaying logs.
//!
//! Nothing in the directory changes before everything in it was checked. Then files that do not belong to the state are
//! removed, for the disk may be full of them; writes that are in logs only become a table, a new log is begun, and one
//! record of the manifest switches from the old state to the new one. An opening that fails removes what it has
//! written.

use super::super::batch;
use super::super::cache::BlockCache;
use super::super::error::{Damage, Error};
use super::super::log::{LogContents, LogKind, LogWriter};
use super::super::manifest::{
    self, Edit, HasherId, LogState, MANIFEST_NAME, MANIFEST_TMP_NAME, Manifest, State, TableState,
};
use super::super::memtable::Memtable;
use super::super::names::{FileName, LOCK_NAME, MAX_FILE_NUMBER, TMP_SUFFIX};
use super::super::options::{Maintenance, StoreOptions};
use super::super::purpose::Purpose;
use super::super::sstable::{Table, TableContext};
use super::super::storage::{LockMode, Storage, StorageLock};
use super::super::sync::{AtomicBool, AtomicU64, Condvar, Mutex, RwLock};
use super::super::version::{Unreadable, Version};
use super::columns::ColumnState;
use super::core::{Core, MaintenanceState, Queue, View, Work, Writer};
use crate::KeyHasher;
use crate::ledger::Accounts;
use core::sync::atomic::Ordering;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// No store reaches this sequence number; a file that claims a greater one is damaged, even if its checksum is right.
const MAX_SEQ: u64 = 1 << 56;
/// A process that writes may be faster than a reader that opens, but not so often.
const READ_ATTEMPTS: usize = 100;

pub(super) fn open(storage: Arc<dyn Storage>, options: StoreOptions) -> Result<Core, Error> {
    options.check()?;
    let given = options.given_hasher()?;
    // Before the lock, whose file must not be created where no store belongs.
    is_there(&list(&*storage)?, &options)?;
    if options.read_only {
        return open_for_reading(&storage, options, given);
    }
    let lock = storage.lock(LOCK_NAME, LockMode::Exclusive).map_err(lock_error)?;
    // Again: another process may have changed everything before it released the lock.
    let names = list(&*storage)?;
    let state = match is_there(&names, &options)? {
        true => manifest::read(&*storage)?,
        false => create(&storage, given.unwrap_or_else(random_hasher))?,
    };
    let hasher = hasher(state.hasher, given, &options)?;
    let memtable = replay(&*storage, &state.logs, &names)?;
    let core = load(storage, options, hasher, Some(lock), &names, &state, memtable)?;
    core.take_over(&names, state)?;
    core.hold_columns(&mut core.maintenance.lock())?;
    Ok(core)
}

/// Opens the store as its manifest describes it, perhaps beside a process that writes. What that one removes, a later
/// manifest does not name: so if anything is wrong, and the manifest has changed meanwhile, this begins again.
fn open_for_reading(
    storage: &Arc<dyn Storage>,
    options: StoreOptions,
    given: Option<KeyHasher>,
) -> Result<Core, Error> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let state = manifest::read(&**storage)?;
        let hasher = hasher(state.hasher, given, &options)?;
        // After the manifest, whose logs must be among them.
        let names = list(&**storage)?;
        let loaded = replay(&**storage, &state.logs, &names)
            .and_then(|memtable| load(Arc::clone(storage), options, hasher, None, &names, &state, memtable));
        let is_whole = loaded.as_ref().is_ok_and(Core::is_whole);
        if is_whole || attempts == READ_ATTEMPTS || manifest::read(&**storage)? == state {
            let core = loaded?;
            core.hold_columns(&mut core.maintenance.lock())?;
            return Ok(core);
        }
    }
}

pub(super) fn lock_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => Error::Locked,
        _ => Error::io(LOCK_NAME, "lock", error),
    }
}

/// Whether there is a store. Fails if there is none and none may be created.
pub(super) fn is_there(names: &[String], options: &StoreOptions) -> Result<bool, Error> {
    if names.iter().any(|name| name == MANIFEST_NAME) {
        return Ok(true);
    }
    check_empty(names)?;
    if options.read_only || !options.create { Err(Error::NoStore) } else { Ok(false) }
}

/// Creates an empty store. Its manifest comes first: numbered files without a manifest are a store that lost it.
fn create(storage: &Arc<dyn Storage>, hasher: KeyHasher) -> Result<State, Error> {
    let state = State { hasher: HasherId::of(hasher), next_number: 1, ..State::default() };
    Ok(Manifest::create(Arc::clone(storage), state)?.state().clone())
}

/// The hasher of a store whose manifest records `stored`.
pub(super) fn hasher(stored: HasherId, given: Option<KeyHasher>, options: &StoreOptions) -> Result<KeyHasher, Error> {
    let given_id = given.and_then(|hasher| HasherId::of(hasher).key_id());
    match (stored, given) {
        (HasherId::Seed(seed), _) if given_id.is_none() => Ok(KeyHasher::new(seed)),
        (HasherId::Key(id), Some(hasher)) if given_id == Some(id) => Ok(hasher),
        _ if options.change_hash_key => Ok(given.unwrap_or_else(random_hasher)),
        _ => Err(Error::HashKey { stored: stored.key_id(), given: given_id }),
    }
}

pub(super) fn list(storage: &dyn Storage) -> Result<Vec<String>, Error> {
    storage.list().map_err(|error| Error::io("store", "list the directory", error))
}

/// Refuses to create a store among files that may belong to others.
fn check_empty(names: &[String]) -> Result<(), Error> {
    let num_files = names.iter().filter(|name| FileName::parse(name).is_some()).count();
    if num_files > 0 {
        return Err(Error::NoManifest { num_files });
    }
    let own = [LOCK_NAME, MANIFEST_TMP_NAME];
    let mut files: Vec<String> = names.iter().filter(|name| !own.contains(&name.as_str())).cloned().collect();
    if files.is_empty() {
        return Ok(());
    }
    let num_files = files.len();
    files.sort_unstable();
    files.truncate(3);
    Err(Error::NotAStore { files, num_files })
}

/// Loads the store into memory; `memtable` has the writes in its logs. Changes nothing on the disk.
pub(super) fn load(
    storage: Arc<dyn Storage>,
    options: StoreOptions,
    hasher: KeyHasher,
    lock: Option<Box<dyn StorageLock>>,
    names: &[String],
    state: &State,
    memtable: Memtable,
) -> Result<Core, Error> {
    let tables = Arc::new(TableContext {
        storage,
        accounts: Accounts::new(&Purpose::LOOKUPS),
        warnings: Mutex::default(),
        prefix_len: options.filters.prefix_len,
        hasher: RwLock::new(hasher),
        cache: BlockCache::new(options.cache_bytes),
        filter_residence: options.filter_residence,
        limits_columns: options.filters.column_budget(options.filter_residence).is_some(),
    });
    let version = load_tables(&tables, state, options.read_only)?;
    check_no_log_missed(&*tables.storage, &state.logs, names)?;
    let mut last_seq = state.last_seq.max(memtable.max_seq());
    for table in version.tables() {
        last_seq = last_seq.max(table.footer().max_seq);
    }
    let of_manifest =
        [("next number", state.next_number, MAX_FILE_NUMBER), ("last sequence number", last_seq, MAX_SEQ)];
    for (name, found, max) in of_manifest {
        if found > max {
            return Err(Error::damaged(MANIFEST_NAME, 0, Damage::Contradiction { name, found }));
        }
    }
    let highest = names.iter().filter_map(|name| number_of(name)).max().unwrap_or(0);
    let next_number = state.next_number.max(highest.saturating_add(1));
    let random = match options.maintenance {
        Maintenance::Inline { seed } => seed,
        Maintenance::Background => 0,
    };
    let view = View { memtables: vec![Arc::new(memtable)], version: Arc::new(version) };
    let writer = Writer { log: None, last_seq, bytes_since_pause: 0, last_sync: Instant::now() };
    Ok(Core {
        options,
        tables,
        queue: Mutex::new(Queue::default()),
        committed: Condvar::default(),
        writer: Mutex::new(writer),
        maintenance: Mutex::new(MaintenanceState { random, shrunk: BTreeMap::new(), columns: ColumnState::default() }),
        manifest: Mutex::new(None),
        directory: Mutex::new(()),
        view: RwLock::new(Arc::new(view)),
        visible: AtomicU64::new(last_seq),
        next_number: AtomicU64::new(next_number),
        num_lookups: AtomicU64::new(0),
        is_poisoned: AtomicBool::new(false),
        has_panicked: AtomicBool::new(false),
        work: Mutex::new(Work::default()),
        work_changed: Condvar::default(),
        _lock: lock,
    })
}

/// Whether a file is one of the store's that was never given its name.
pub(super) fn is_unfinished(name: &str) -> bool {
    name == MANIFEST_TMP_NAME || name.ends_with(TMP_SUFFIX) && number_of(name).is_some()
}

/// The number in the name of a file, finished or not.
pub(super) fn number_of(name: &str) -> Option<u64> {
    FileName::parse(name.strip_suffix(TMP_SUFFIX).unwrap_or(name)).map(FileName::number)
}

/// Opens the tables. A store that is open for reading only has those that can be read: what the others may hold is an
/// error, and never absent.
fn load_tables(context: &Arc<TableContext>, state: &State, read_only: bool) -> Result<Version, Error> {
    let (mut tables, mut unreadable) = (Vec::with_capacity(state.tables.len()), Vec::new());
    for known in state.tables.values() {
        match load_table(context, known) {
            Ok(table) => tables.push(Arc::new(table)),
            // A newer version is no damage, and is to be told at once.
            Err(error) if read_only && !matches!(error, Error::NewerVersion { .. }) => {
                let (number, level, rows) = (known.number, known.level as usize, known.rows.clone());
                let file = FileName::Table(number).to_string();
                unreadable.push(Arc::new(Unreadable { file, number, level, rows, error }));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Version::new(tables)?.with_unreadable(unreadable))
}

/// Opens a table, and checks that it is the one that the manifest names.
fn load_table(context: &Arc<TableContext>, known: &TableState) -> Result<Table, Error> {
    let table = Table::open(context, known.number, known.level as usize, known.filter_file)?;
    let found = table.state();
    let fields = [
        ("length of the table", found.len, known.len),
        ("checksum of the footer", found.footer_crc.into(), known.footer_crc.into()),
    ];
    match fields.into_iter().find(|(_, found, expected)| found != expected) {
        Some((name, found, expected)) => {
            Err(Error::damaged(table.file(), found, Damage::Field { name, found, expected }))
        }
        None => Ok(table),
    }
}

/// The writes in the logs.
fn replay(storage: &dyn Storage, logs: &[LogState], names: &[String]) -> Result<Memtable, Error> {
    let memtable = Memtable::new(0);
    for log in logs {
        let file = FileName::Log(log.number).to_string();
        if !names.contains(&file) {
            return Err(Error::Missing { file });
        }
        let contents = LogContents::read(storage, &file, log.number, LogKind::WriteAhead, log.sealed)?;
        for (offset, record) in contents.payloads() {
            let damage = Damage::CutOff { unit: "batch", len_bytes: record.len() as u64 };
            memtable.insert(batch::decode(record).ok_or_else(|| Error::damaged(&file, offset, damage))?);
        }
    }
    Ok(memtable)
}

/// Looks for a log that is missing in the manifest. The manifest's last record may be bad because a crash tore it, or
/// because of damage to a record that was durable. Nothing is written to a log before the record that begins it is
/// durable, so a log that has writes and is newer than all known ones proves damage.
fn check_no_log_missed(storage: &dyn Storage, known: &[LogState], names: &[String]) -> Result<(), Error> {
    let newest_known = known.last().map_or(0, |log| log.number);
    for name in names {
        let Some(FileName::Log(number)) = FileName::parse(name).filter(|file| file.number() > newest_known) else {
            continue;
        };
        let has_writes = match LogContents::read(storage, name, number, LogKind::WriteAhead, None) {
            Ok(contents) => contents.payloads().next().is_some(),
            // Its first record was not durable yet, so neither was the edit that begins the log.
            Err(Error::Damaged { .. }) => false,
            Err(error) => return Err(error),
        };
        if has_writes {
            let damage = Damage::Contradiction { name: "a log with writes that it does not name", found: number };
            return Err(Error::damaged(MANIFEST_NAME, 0, damage));
        }
    }
    Ok(())
}

impl Core {
    /// Whether every table and filter could be opened.
    fn is_whole(&self) -> bool {
        self.view().version.unreadable().is_empty() && self.tables.warnings.lock().is_empty()
    }

    /// Removes files that do not belong to the loaded state, and writes to the disk what is in logs only.
    fn take_over(&self, names: &[String], mut state: State) -> Result<(), Error> {
        let storage = &self.tables.storage;
        // No manifest names them, so they may go before the new one is written, which needs a little room.
        names.iter().filter(|name| is_unfinished(name)).for_each(|name| drop(storage.remove(name)));
        state.next_number = self.next_number.load(Ordering::Relaxed);
        state.last_seq = self.writer.lock().last_seq;
        // Older manifests do not know the tables' rows.
        state.tables = self.view().version.tables().map(|table| (table.number(), table.state())).collect();
        let (logs, stored_hasher) = (state.logs.clone(), state.hasher);
        // The same state, written anew: the last records of the old manifest may not be durable, and without them it
        // names files that this one does not.
        let manifest = Manifest::create(Arc::clone(storage), state)?;
        self.remove_obsolete_files(names, manifest.state());
        *self.manifest.lock() = Some(manifest);

        let view = self.view();
        let replayed = view.memtables.first().filter(|memtable| !memtable.is_empty());
        let table = replayed.map(|memtable| self.write_memtable(memtable, &view.version)).transpose()?;
        let number = self.new_number();
        let tables = table.as_slice();
        let log = self.begin_log(number).inspect_err(|_| tables.iter().for_each(|table| table.mark_obsolete()))?;
        let mut edits: Vec<Edit> = tables.iter().map(|table| Edit::TableAdded(table.state())).collect();
        edits.extend(logs.iter().map(|log| Edit::LogEnded(log.number)));
        let hasher = HasherId::of(self.hasher());
        edits.extend((hasher != stored_hasher).then_some(Edit::Hasher(hasher)));
        edits.push(Edit::LogBegun(number));
        let committed = self.commit(&edits, |view| {
            let version = Arc::new(view.version.changed(&[], tables)?);
            Ok(View { memtables: vec![Arc::new(Memtable::new(number))], version })
        });
        committed.inspect_err(|_| {
            self.discard(tables);
            self.discard_log(number);
        })?;
        self.writer.lock().log = Some(log);
        logs.iter().for_each(|log| self.remove_file(FileName::Log(log.number)));
        Ok(())
    }

    /// Creates a log, durably with everything before it in the directory.
    pub(super) fn begin_log(&self, number: u64) -> Result<LogWriter, Error> {
        let name = FileName::Log(number).to_string();
        let create = || {
            let mut log = LogWriter::create(&*self.tables.storage, &name, number, LogKind::WriteAhead)?;
            log.sync()?;
            self.sync_dir()?;
            Ok(log)
        };
        create().inspect_err(|_| self.remove_file(FileName::Log(number)))
    }

    /// Removes those files of `names` that are a store's but not in `state`. If this fails, the next opening tries
    /// again.
    fn remove_obsolete_files(&self, names: &[String], state: &State) {
        for name in names {
            let is_named = FileName::parse(name).is_some_and(|file| match file {
                FileName::Log(number) => state.logs.iter().any(|log| log.number == number),
                FileName::Table(number) => state.tables.contains_key(&number),
                FileName::Filters(number) => state.tables.values().any(|table| table.filter_file == Some(number)),
            });
            if number_of(name).is_some() && !is_named {
                let _ = self.tables.storage.remove(name);
            }
        }
    }
}

/// A hasher of an unpredictable seed, from the keys that the standard library draws for its own maps.
fn random_hasher() -> KeyHasher {
    KeyHasher::new(RandomState::new().hash_one(0u64))
}
