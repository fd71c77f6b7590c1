//! The store on real files: flushing, limits, direct I/O, and tables inspected from outside.

use crate::ledger::{ask, load};
use crate::*;
use filterblock_kv::{CellKey, MAX_ROW_LEN};

/// The table with the least number.
fn first_table(dir: &Path) -> PathBuf {
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "sst")).min().unwrap()
}

#[test]
fn a_full_memtable_flushes_itself() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::default().with_max_memtable_bytes(10_000);
    let store = Store::open_dir(dir.path(), options).unwrap();
    for i in 0..100u8 {
        store.put(&[i], b"column", &[i; 500]).unwrap();
    }
    // The number of tables depends on what was merged meanwhile; their cells do not.
    store.settle().unwrap();
    let stats = store.stats();
    let flushed: u64 = stats.tables.iter().map(|table| table.num_cells).sum();
    assert_eq!(flushed + stats.memtable_cells, 100);
    assert!((80..100).contains(&flushed), "{flushed} cells of 100 in tables, a memtable has place for 20 at most");
    assert!((0..100u8).all(|i| store.get(&[i], b"column").unwrap() == Some(vec![i; 500])));
}

#[test]
fn limits_are_refused_and_the_largest_key_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_dir(dir.path(), StoreOptions::default()).unwrap();
    let longest = vec![b'r'; MAX_ROW_LEN];
    store.put(&longest, &longest, b"value").unwrap();
    store.flush().unwrap();
    assert_eq!(store.get(&longest, &longest).unwrap().as_deref(), Some(&b"value"[..]));
    let too_long = vec![b'r'; MAX_ROW_LEN + 1];
    for (row, column) in [(&too_long[..], &b"c"[..]), (b"r", &too_long)] {
        let refused = store.put(row, column, b"").unwrap_err();
        assert!(matches!(refused, Error::TooLong { actual_bytes: 65_536, max_bytes: 65_535, .. }), "{refused}");
        assert!(matches!(store.delete(row, column), Err(Error::TooLong { .. })));
    }
    assert!(matches!(store.put(b"r", b"c", &vec![0; MAX_VALUE_LEN + 1]), Err(Error::TooLong { what: "value", .. })));
}

#[test]
fn direct_and_buffered_storage_give_the_same_bytes_and_count_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::default().with_seed(7).with_cache_bytes(0);
    load(&Store::open_dir(dir.path(), options.clone()).unwrap());
    let direct: Arc<dyn Storage> = Arc::new(FileStorage::open_direct(dir.path()).unwrap());
    let buffered: Arc<dyn Storage> = Arc::new(FileStorage::open(dir.path()).unwrap());
    for storage in [direct, buffered] {
        let store = Store::open(storage.clone(), options.clone()).unwrap();
        let before = storage.read_counts();
        ask(&store);
        assert_eq!(store.scan(..).count(), 2000);
        let (after, ledger) = (storage.read_counts(), store.ledger());
        assert_eq!(after.reads - before.reads, ledger.data_block_reads());
        assert_eq!(after.bytes - before.bytes, ledger.data_block_bytes());
        assert_eq!(ledger.scan_block_reads, store.stats().tables[0].num_blocks);
    }
    // Unaligned reads of a direct file are copied, up to the end of the file and beyond.
    let name = first_table(dir.path()).file_name().unwrap().to_str().unwrap().to_owned();
    let (direct, buffered) = (FileStorage::open_direct(dir.path()).unwrap(), FileStorage::open(dir.path()).unwrap());
    let (direct, buffered) = (direct.open(&name).unwrap(), buffered.open(&name).unwrap());
    let len = buffered.len().unwrap();
    for (offset, wanted) in [(0, 1), (1, 4096), (4095, 2), (5000, 10_000), (len - 10, 100), (len, 1)] {
        let (mut a, mut b) = (vec![0; wanted], vec![0; wanted]);
        assert_eq!(direct.read_at(&mut a, offset).unwrap(), buffered.read_at(&mut b, offset).unwrap());
        assert_eq!(a, b);
    }
}

#[test]
fn direct_storage_leaves_the_directories_of_others_alone() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("other"), "of another program").unwrap();
    let modified = || std::fs::metadata(dir.path()).unwrap().modified().unwrap();
    let before = modified();
    let storage = Arc::new(FileStorage::open_direct(dir.path()).unwrap());
    assert!(matches!(Store::open(storage, StoreOptions::default()), Err(Error::NotAStore { .. })));
    assert_eq!(modified(), before, "a file was created or removed");
}

#[test]
fn direct_storage_is_opened_by_many_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        Store::open(Arc::new(FileStorage::open_direct(dir.path())?), StoreOptions::default())
            .map_err(std::io::Error::other)
    };
    open().unwrap();
    let failed = std::thread::scope(|scope| {
        let tries = (0..8).map(|_| scope.spawn(|| (0..20).filter_map(|_| open().err()).collect::<Vec<_>>()));
        tries.collect::<Vec<_>>().into_iter().flat_map(|tries| tries.join().unwrap()).collect::<Vec<_>>()
    });
    let others: Vec<_> = failed.iter().filter(|error| !error.to_string().contains("open elsewhere")).collect();
    assert!(others.is_empty(), "{} of 160 failed: {others:?}", others.len());
}

#[test]
fn a_table_can_be_inspected_and_checked_from_outside() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_dir(dir.path(), StoreOptions::default().with_seed(3)).unwrap();
    load(&store);
    let path = first_table(dir.path());
    assert!(TableFile::is_table(&path).unwrap());
    let table = TableFile::open(&path).unwrap();
    assert_eq!((table.seed(), table.num_cells(), table.num_tombstones()), (3, 2000, 0));
    assert!(path.ends_with(format!("{:06}.sst", table.number())));
    let (first, last) = (CellKey { row: b"r0000", column: b"a" }, CellKey { row: b"r1998", column: b"c" });
    assert_eq!(table.key_range(), Some(first..=last));
    let [row, cell] = table.filters() else { panic!("two filters") };
    assert_eq!((row.purpose, cell.purpose), (Purpose::Row, Purpose::RowColumn));
    assert_eq!(row.open::<Keys>().unwrap().num_entries(), 1000);
    assert_eq!(cell.open::<Keys>().unwrap().num_entries(), 2000);
    assert_eq!(row.offset % 4096, 0);
    assert_ne!(row.context, cell.context);
    assert!(row.open_options().with_context(cell.context).open(&row.bytes).is_err(), "bound to their purposes");
    let check = table.check().unwrap();
    assert_eq!((check.num_cells, check.num_tombstones), (2000, 0));
    assert_eq!((check.missing_in_row_filter, check.missing_in_row_column_filter), (0, 0));

    let text = dir.path().join("text");
    for (contents, is_table) in [(&b""[..], false), (&[b'x'; 5000], false)] {
        std::fs::write(&text, contents).unwrap();
        assert_eq!(TableFile::is_table(&text).unwrap(), is_table);
        assert!(matches!(TableFile::open(&text), Err(Error::Damaged { .. })));
    }
}

#[test]
fn the_same_writes_give_the_same_bytes() {
    let table = || {
        let dir = tempfile::tempdir().unwrap();
        load(&Store::open_dir(dir.path(), StoreOptions::default().with_seed(3)).unwrap());
        std::fs::read(first_table(dir.path())).unwrap()
    };
    assert_eq!(table(), table());
}

#[test]
fn a_store_keeps_its_seed_whatever_the_options() {
    let dir = tempfile::tempdir().unwrap();
    load(&Store::open_dir(dir.path(), StoreOptions::default()).unwrap());
    let store = Store::open_dir(dir.path(), StoreOptions::default().with_seed(99)).unwrap();
    ask(&store);
    assert!(store.warnings().is_empty());
    assert!(store.ledger().total().count(Outcome::Avoided) > 2000);
}
