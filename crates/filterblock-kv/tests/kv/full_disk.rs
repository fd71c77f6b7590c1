//! A full disk: what fails reports it, what was acknowledged stays, and nothing is left behind that keeps the disk
//! full.

use crate::*;

/// Bytes of a value.
const LEN: usize = 500;

/// The most bytes that all files have together, and whether the store can ask what is left of them.
#[derive(Clone, Debug)]
struct Capacity(Arc<AtomicU64>, bool);

impl Capacity {
    fn left(&self, disk: &SimStorage) -> u64 {
        // A file may be removed meanwhile.
        let used: usize = disk.names().iter().filter_map(|name| disk.contents(name)).map(|bytes| bytes.len()).sum();
        self.0.load(Ordering::Relaxed).saturating_sub(used as u64)
    }
}

/// A simulated disk of limited size.
#[derive(Clone)]
struct SmallDisk(Changed<Capacity>);

impl SmallDisk {
    fn new() -> Self {
        Self::of(SimStorage::new())
    }

    fn of(inner: SimStorage) -> Self {
        Self(Changed { inner, change: Capacity(Arc::new(AtomicU64::new(u64::MAX)), false) })
    }

    fn used(&self) -> u64 {
        self.0.change.0.load(Ordering::Relaxed) - self.0.change.left(&self.0.inner)
    }

    /// Leaves room for `bytes` more.
    fn leave(&self, bytes: u64) {
        self.0.change.0.store(self.used() + bytes, Ordering::Relaxed);
    }

    fn grow(&self) {
        self.0.change.0.store(u64::MAX, Ordering::Relaxed);
    }

    fn open(&self) -> Result<Store, Error> {
        self.open_with(StoreOptions::default())
    }

    fn open_with(&self, options: StoreOptions) -> Result<Store, Error> {
        Store::open(Arc::new(self.0.clone()), options.with_seed(1))
    }
}

#[derive(Debug)]
struct SmallFile {
    disk: Changed<Capacity>,
    file: Box<dyn WritableFile>,
}

impl io::Write for SmallFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // As systems do: a write takes what fits, and fails only if nothing does.
        let room = self.disk.change.left(&self.disk.inner);
        let fits = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        if fits == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write(&bytes[..fits])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl WritableFile for SmallFile {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

impl Change for Capacity {
    fn create(&self, disk: &SimStorage, name: &str) -> io::Result<Box<dyn WritableFile>> {
        let file = disk.create(name)?;
        Ok(Box::new(SmallFile { disk: Changed { inner: disk.clone(), change: self.clone() }, file }))
    }

    fn free_bytes(&self, disk: &SimStorage) -> Option<u64> {
        self.1.then(|| self.left(disk))
    }
}

fn is_full(error: &Error) -> bool {
    error.to_string().contains("no storage space") || error.to_string().contains("No space left")
}

/// A store of 400 kB in a log, and none in tables.
fn with_a_log() -> SmallDisk {
    let disk = SmallDisk::new();
    let store = disk.open().unwrap();
    (0..800).for_each(|i| put(&store, i, LEN).unwrap());
    store.close().unwrap();
    disk
}

#[test]
fn an_opening_without_room_leaves_nothing_behind() {
    let full = with_a_log();
    let copy = || SmallDisk::of(full.0.inner.crash_image(CrashKind::Everything));
    // With room for the table, what follows it may not fit.
    let table_bytes = copy().open().unwrap().stats().tables[0].file_bytes;
    let around = (0..600).step_by(19).map(|more| table_bytes + more);
    let mut num_refused = 0;
    for room in [0, 100, 5_000, 100_000, 300_000].into_iter().chain(around) {
        let disk = copy();
        let used = disk.used();
        disk.leave(room);
        for _ in 0..3 {
            let Err(refused) = disk.open() else { break };
            num_refused += 1;
            assert!(is_full(&refused), "{refused}");
            let names = disk.0.inner.names();
            assert!(names.iter().all(|name| !name.ends_with(".tmp") && !name.ends_with(".sst")), "{room}: {names:?}");
            // One manifest is left: the old one, or a new one of the same state.
            assert!(disk.used() <= used + 100, "{room}: {} bytes where there were {used}", disk.used());
            let readable = disk.open_with(StoreOptions::default().with_read_only(true)).unwrap();
            has(&readable, 0..800, LEN);
        }
        disk.grow();
        has(&disk.open().unwrap(), 0..800, LEN);
    }
    assert!(num_refused > 20, "{num_refused}");
}

#[test]
fn leftovers_go_before_anything_is_written() {
    let disk = with_a_log();
    // What an interrupted flush leaves, and a compaction whose inputs were not removed.
    let leftovers = ["000900.sst.tmp", "000901.sst", "MANIFEST.tmp"];
    leftovers.into_iter().for_each(|name| disk.0.inner.replace(name, vec![7; 200_000]));
    disk.leave(1_000);
    has(&disk.open().unwrap(), 0..800, LEN);
    let names = disk.0.inner.names();
    assert!(leftovers.iter().all(|&leftover| names.iter().all(|name| name != leftover)), "{names:?}");
}

#[test]
fn a_store_goes_on_when_there_is_room_again() {
    for maintenance in [Maintenance::Background, Maintenance::Inline { seed: 5 }] {
        for room in (0..60_000).step_by(731) {
            let disk = SmallDisk::new();
            let options = StoreOptions::default().with_max_memtable_bytes(4_000).with_max_level0_tables(2);
            let options = options.with_durability(Durability::Never).with_maintenance(maintenance);
            let store = disk.open_with(options).unwrap();
            put(&store, 0, LEN).unwrap();
            disk.leave(room);
            let (acknowledged, refused) = put_until_refused(&store, 1, LEN);
            assert!(is_full(&refused), "{refused}");
            let flushed = store.flush().and_then(|()| store.settle());
            flushed.err().iter().for_each(|error| assert!(is_full(error), "room {room}: {error}"));
            has(&store, 0..acknowledged, LEN);
            disk.grow();
            // An attempt made before may be reported only now.
            let _ = store.settle();
            (acknowledged..acknowledged + 20).for_each(|i| put(&store, i, LEN).unwrap());
            store.compact().unwrap();
            has(&store, 0..acknowledged + 20, LEN);
            store.close().unwrap();
            has(&disk.open().unwrap(), 0..acknowledged + 20, LEN);
        }
    }
}

/// Writes are refused before the disk has too little room to compact: what is due is done, the store opens for writing,
/// rows that are written again and again fit for ever, and with room writes go on.
#[test]
fn a_store_keeps_room_for_a_compaction() {
    let mut num_refused = 0;
    for maintenance in [Maintenance::Background, Maintenance::Inline { seed: 5 }] {
        for room in (400_000..1_050_000).step_by(50_331) {
            let mut disk = SmallDisk::new();
            disk.0.change.1 = true;
            disk.leave(room);
            let options = StoreOptions::default().with_max_memtable_bytes(4_000).with_max_level0_tables(2);
            let options = options.with_durability(Durability::Never).with_maintenance(maintenance);
            let store = disk.open_with(options.clone()).unwrap();
            (0..1_000).for_each(|i| put(&store, i % 20, LEN).unwrap());
            let (acknowledged, refused) = put_until_refused(&store, 20, LEN);
            let Error::NoRoom { free_bytes, needed_bytes } = refused else { panic!("room {room}: {refused}") };
            assert!(free_bytes < needed_bytes && needed_bytes <= room, "{free_bytes} {needed_bytes} {room}");
            assert!(acknowledged as u64 * LEN as u64 > (room - 300_000) / 5, "room {room}: {acknowledged}");
            num_refused += 1;
            store.flush().and_then(|()| store.settle()).unwrap();
            assert!(store.stats().tables.iter().filter(|table| table.level == 0).count() < 2);
            has(&store, 0..acknowledged, LEN);
            store.close().unwrap();
            let store = disk.open_with(options).unwrap();
            has(&store, 0..acknowledged, LEN);
            disk.grow();
            (acknowledged..acknowledged + 20).for_each(|i| put(&store, i, LEN).unwrap());
            store.compact().unwrap();
            has(&store, 0..acknowledged + 20, LEN);
        }
    }
    assert_eq!(num_refused, 26);
}
