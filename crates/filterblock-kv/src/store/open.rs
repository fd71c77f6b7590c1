//! Opening: checking the directory, reading the manifest, replaying logs.
//!
//! Nothing in the directory changes before everything in it was checked. After that, files that do not belong to the
//! state are removed, for the disk may be full of them; writes that are in logs only become a table, a new log is
//! begun, and one record of the manifest switches from the old state to the new one. An opening that fails removes what
//! it has written.

use super::{
    Arc, AtomicBool, AtomicU64, BTreeMap, BlockCache, ColumnState, Condvar, Damage, Edit, Error, FileName, HasherId,
    Instant, KeyHasher, LOCK_NAME, LockMode, LogContents, LogKind, LogState, LogWriter, MANIFEST_NAME,
    MANIFEST_TMP_NAME, MAX_FILE_NUMBER, Maintenance, MaintenanceState, Manifest, Memtable, Mutex, Ordering, Purpose,
    Queue, RwLock, Shared, State, Storage, StorageLock, StoreOptions, TMP_SUFFIX, Table, TableContext, TableState,
    Unreadable, Version, View, Work, Writer, batch, flush, held_columns, manifest,
};
use filterblock_engine::ledger::Accounts;
use std::hash::{BuildHasher, RandomState};
use std::io;

/// No store reaches this sequence number; a file that claims a greater one is damaged, even if its checksum is right.
const MAX_SEQ: u64 = 1 << 56;
/// A process that writes may be faster than a reader that opens, but not so often.
const READ_ATTEMPTS: usize = 100;

pub(super) fn open(storage: Arc<dyn Storage>, options: StoreOptions) -> Result<Shared, Error> {
    options.check()?;
    let given = options.given_hasher()?;
    // This comes before the lock, whose file must not be created in a directory that is not for a store.
    is_there(&list(&*storage)?, &options)?;
    if options.read_only {
        return open_for_reading(&storage, options, given);
    }
    let lock = storage.lock(LOCK_NAME, LockMode::Exclusive).map_err(lock_error)?;
    // Again: another process may have changed everything before it released the lock.
    let names = list(&*storage)?;
    let state = match is_there(&names, &options)? {
        true => manifest::read(&*storage)?,
        false => create(&storage, given.clone().unwrap_or_else(random_hasher))?,
    };
    let hasher = hasher(state.hasher, given, &options)?;
    let memtable = replay(&*storage, &state.logs, &names)?;
    let shared = load(storage, options, hasher, Some(lock), &names, &state, memtable)?;
    take_over(&shared, &names, &state)?;
    held_columns::hold_columns(&shared, &mut shared.maintenance.lock())?;
    Ok(shared)
}

/// Opens the store as its manifest describes it, perhaps beside a process that writes. What that one removes, a later
/// manifest does not name: so if anything is wrong, and the manifest has changed meanwhile, this begins again.
fn open_for_reading(
    storage: &Arc<dyn Storage>,
    options: StoreOptions,
    given: Option<KeyHasher>,
) -> Result<Shared, Error> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let state = manifest::read(&**storage)?;
        let hasher = hasher(state.hasher, given.clone(), &options)?;
        // This comes after the manifest, whose logs must be among the files.
        let names = list(&**storage)?;
        let loaded = replay(&**storage, &state.logs, &names)
            .and_then(|memtable| load(Arc::clone(storage), options.clone(), hasher, None, &names, &state, memtable));
        let is_whole = loaded.as_ref().is_ok_and(is_whole);
        if is_whole || attempts == READ_ATTEMPTS || manifest::read(&**storage)? == state {
            let shared = loaded?;
            held_columns::hold_columns(&shared, &mut shared.maintenance.lock())?;
            return Ok(shared);
        }
    }
}

pub(super) fn lock_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => Error::Locked,
        _ => Error::io(LOCK_NAME, "lock", error),
    }
}

/// Returns whether there is a store. Fails if there is none and none may be created.
pub(super) fn is_there(names: &[String], options: &StoreOptions) -> Result<bool, Error> {
    if names.iter().any(|name| name == MANIFEST_NAME) {
        return Ok(true);
    }
    check_empty(names)?;
    if options.read_only || !options.create { Err(Error::NoStore) } else { Ok(false) }
}

/// Creates an empty store. Its manifest comes first: numbered files without a manifest are a store that lost it.
fn create(storage: &Arc<dyn Storage>, hasher: KeyHasher) -> Result<State, Error> {
    let state = State { hasher: HasherId::of(&hasher), next_number: 1, ..State::default() };
    Ok(Manifest::create(Arc::clone(storage), state)?.state)
}

/// The hasher of a store whose manifest records `stored`.
pub(super) fn hasher(stored: HasherId, given: Option<KeyHasher>, options: &StoreOptions) -> Result<KeyHasher, Error> {
    let given_id = given.as_ref().and_then(|hasher| HasherId::of(hasher).key_id());
    match (stored, &given) {
        (HasherId::Seed(seed), _) if given_id.is_none() => Ok(KeyHasher::new(seed)),
        (HasherId::Key(id), Some(hasher)) if given_id == Some(id) => Ok(hasher.clone()),
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
) -> Result<Shared, Error> {
    let tables = Arc::new(TableContext {
        storage,
        accounts: Accounts::new(&Purpose::LOOKUPS),
        warnings: Mutex::default(),
        prefixes: options.filters.prefixes,
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
    // No store reaches half of the numbers: a greater one is a stranger's, and would leave too few.
    let own = names.iter().filter_map(|name| number_of(name)).filter(|&number| number <= MAX_FILE_NUMBER / 2);
    let highest = own.max().unwrap_or(0);
    let next_number = state.next_number.max(highest.saturating_add(1));
    let random = match options.maintenance {
        Maintenance::Inline { seed } => seed,
        Maintenance::Background => 0,
    };
    let view = View { memtables: vec![Arc::new(memtable)], version: Arc::new(version) };
    let writer = Writer { log: None, last_seq, bytes_since_pause: 0, unchecked_bytes: 0, last_sync: Instant::now() };
    Ok(Shared {
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

/// Returns whether a file is one of the store's that was never given its name.
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
            // A newer version is not damage, and is reported at once.
            Err(error) if read_only && !matches!(error, Error::NewerVersion { .. }) => {
                let file = FileName::Table(known.number).to_string();
                unreadable.push(Arc::new(Unreadable { file, state: known.clone(), error }));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Version::new(tables)?.with_unreadable(unreadable))
}

/// Opens a table, and checks that it is the one that the manifest names.
fn load_table(context: &Arc<TableContext>, known: &TableState) -> Result<Table, Error> {
    let table = Table::open(context, known.number, known.level, known.filter_file)?;
    table.check_is_named(known)?;
    Ok(table)
}

/// A log that is not whole.
pub(super) struct DamagedLog {
    pub(super) number: u64,
    pub(super) reason: Error,
    /// The number of its intact batches.
    pub(super) batches_kept: u64,
    /// Bytes that are in none; `None` if it is unknown how many there were.
    pub(super) bytes_lost: Option<u64>,
}

/// The writes in the logs; those that are not whole are read as far as they are right.
pub(super) fn read_logs(
    storage: &dyn Storage,
    logs: &[LogState],
    names: &[String],
) -> Result<(Memtable, Vec<DamagedLog>), Error> {
    let (memtable, mut damaged) = (Memtable::new(0), Vec::new());
    for &LogState { number, sealed } in logs {
        let file = FileName::Log(number).to_string();
        if !names.contains(&file) {
            damaged.push(DamagedLog { number, reason: Error::Missing { file }, batches_kept: 0, bytes_lost: sealed });
            continue;
        }
        let contents = LogContents::salvage(storage, &file, number, LogKind::WriteAhead, sealed)?;
        let (mut reason, mut lost, mut batches_kept) = (contents.damage.clone(), contents.lost_bytes, 0);
        for (offset, record) in contents.payloads() {
            let len_bytes = record.len() as u64;
            match batch::decode(record) {
                Some(writes) => {
                    memtable.insert(writes);
                    batches_kept += 1;
                }
                None => {
                    let damage = Damage::CutOff { unit: "batch", actual_bytes: len_bytes };
                    reason.get_or_insert_with(|| Error::damaged(&file, offset, damage));
                    lost += len_bytes;
                }
            }
        }
        let bytes_lost = Some(lost);
        damaged.extend(reason.map(|reason| DamagedLog { number, reason, batches_kept, bytes_lost }));
    }
    Ok((memtable, damaged))
}

/// The writes in the logs, which must be whole.
fn replay(storage: &dyn Storage, logs: &[LogState], names: &[String]) -> Result<Memtable, Error> {
    let (memtable, damaged) = read_logs(storage, logs, names)?;
    damaged.into_iter().next().map_or(Ok(memtable), |log| Err(log.reason))
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

/// Returns whether every table and filter could be opened.
fn is_whole(shared: &Shared) -> bool {
    shared.view().version.unreadable.is_empty() && shared.tables.warnings.lock().is_empty()
}

/// Removes files that do not belong to the loaded state, and writes to the disk what is in logs only.
fn take_over(shared: &Shared, names: &[String], state: &State) -> Result<(), Error> {
    // No manifest names them, so they may go before the new one is written, which needs a little room.
    remove_files(shared, names, is_unfinished);
    begin_manifest(shared, state)?;
    remove_files(shared, names, |name| FileName::parse(name).is_some_and(|file| !state.has(file)));
    let written = write_replayed(shared)?;
    replace_logs(shared, &state.logs, &[], written.as_slice())
}

/// Writes the manifest of the loaded state anew: the last records of the old one may not be durable, and without
/// them it names files that this one does not.
pub(super) fn begin_manifest(shared: &Shared, state: &State) -> Result<(), Error> {
    let (next_number, last_seq) = (shared.next_number.load(Ordering::Relaxed), shared.visible.load(Ordering::Relaxed));
    let state = State { next_number, last_seq, ..state.clone() };
    *shared.manifest.lock() = Some(Manifest::create(Arc::clone(&shared.tables.storage), state)?);
    Ok(())
}

/// Writes what was in logs to a table of level 0.
pub(super) fn write_replayed(shared: &Shared) -> Result<Option<Arc<Table>>, Error> {
    let view = shared.view();
    let replayed = view.memtables.first().filter(|memtable| !memtable.is_empty());
    replayed.map(|memtable| flush::write_memtable(shared, memtable, &view.version)).transpose()
}

/// Replaces the tables `gone` by those that were written, and all logs by a new one, by one record of the manifest.
pub(super) fn replace_logs(
    shared: &Shared,
    logs: &[LogState],
    gone: &[u64],
    written: &[Arc<Table>],
) -> Result<(), Error> {
    let number = shared.new_number();
    let log = begin_log(shared, number).inspect_err(|_| written.iter().for_each(|table| table.mark_obsolete()))?;
    let mut edits: Vec<Edit> = gone.iter().copied().map(Edit::TableRemoved).collect();
    edits.extend(written.iter().map(|table| Edit::TableAdded(table.state())));
    edits.extend(logs.iter().map(|log| Edit::LogEnded(log.number)));
    edits.extend([Edit::Hasher(HasherId::of(&shared.hasher())), Edit::LogBegun(number)]);
    let committed = shared.commit(&edits, |view| {
        let version = view.version.changed(gone, written)?.with_unreadable(Vec::new());
        Ok(View { memtables: vec![Arc::new(Memtable::new(number))], version: Arc::new(version) })
    });
    committed.inspect_err(|_| {
        shared.discard(written);
        shared.discard_log(number);
    })?;
    shared.writer.lock().log = Some(log);
    logs.iter().for_each(|log| shared.remove_file(FileName::Log(log.number)));
    Ok(())
}

/// Creates a log, durably with everything before it in the directory.
pub(super) fn begin_log(shared: &Shared, number: u64) -> Result<LogWriter, Error> {
    let name = FileName::Log(number).to_string();
    let create = || {
        let mut log = LogWriter::create(&*shared.tables.storage, &name, number, LogKind::WriteAhead)?;
        // A log that the manifest names has a first record: without one it is damaged, not new.
        log.sync().map_err(|error| shared.poison(error))?;
        shared.sync_dir()?;
        Ok(log)
    };
    create().inspect_err(|_| shared.remove_file(FileName::Log(number)))
}

/// Removes those files of `names` that are obsolete. If this fails, the next opening tries again.
pub(super) fn remove_files(shared: &Shared, names: &[String], is_obsolete: impl Fn(&str) -> bool) {
    names.iter().filter(|name| is_obsolete(name)).for_each(|name| drop(shared.tables.storage.remove(name)));
}

/// A hasher of an unpredictable seed, from the keys that the standard library draws for its own maps.
fn random_hasher() -> KeyHasher {
    KeyHasher::new(RandomState::new().hash_one(0u64))
}
