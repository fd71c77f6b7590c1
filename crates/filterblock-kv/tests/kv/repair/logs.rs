//! Damaged logs, and logs that a crash has torn.

use super::{Counts, check_repair, contents, plan, repair};
use crate::unreadable::{Cells, options, row};
use crate::*;

/// A store of 30 batches of two cells in a log, which is sealed or as a crash leaves it.
fn with_a_log(is_sealed: bool) -> (SimStorage, String) {
    let storage = SimStorage::new();
    let store = Store::open(Arc::new(storage.clone()), options().with_max_memtable_bytes(1 << 20)).unwrap();
    (0..30).for_each(|i| store.put(&row(i), b"column", b"before").unwrap());
    store.flush().unwrap();
    for i in 0..30 {
        let mut batch = WriteBatch::new();
        batch.put(&row(i), b"column", format!("{i:050}").as_bytes()).unwrap();
        batch.delete(&row(29 - i), b"column").unwrap();
        store.write(batch).unwrap();
    }
    let storage = if is_sealed { storage } else { storage.crash_image(CrashKind::NothingUnsynced) };
    store.close().unwrap();
    let log = storage.names().into_iter().rfind(|name| name.ends_with(".wal")).unwrap();
    (storage, log)
}

/// The cells after those batches for which `is_kept`.
fn after_batches(is_kept: impl Fn(usize) -> bool) -> Cells {
    let mut cells: Cells = (0..30).map(|i| (row(i), b"before".to_vec())).collect();
    for i in (0..30).filter(|&i| is_kept(i as usize)) {
        cells.insert(row(i), format!("{i:050}").into_bytes());
        cells.remove(&row(29 - i));
    }
    cells
}

#[test]
fn a_log_keeps_every_batch_that_is_proved() {
    let (storage, log) = with_a_log(true);
    let intact = storage.contents(&log).unwrap();
    // The first record has 24 bytes after its header; the batches are of one length.
    let record_len = (intact.len() - 48) / 30;
    assert_eq!(48 + 30 * record_len, intact.len());
    let whole = after_batches(|_| true);
    let mut counts = Counts::default();
    let mut check = |bytes: Option<Vec<u8>>, is_kept: &dyn Fn(usize) -> bool, context: &str| {
        let image = storage.crash_image(CrashKind::Everything);
        replace(&image, &log, bytes);
        assert!(Store::open(Arc::new(image.clone()), options()).is_err(), "{context}");
        let expected = after_batches(is_kept);
        let report = check_repair(&image, &whole, &expected, context, &mut counts);
        let [repaired] = &report.logs[..] else { panic!("{context}: {report}") };
        let num_kept = (0..30).filter(|&i| is_kept(i)).count();
        assert_eq!(repaired.batches_kept, num_kept as u64, "{context}");
        let payload_lost = (30 - num_kept) * record_len;
        let bytes_lost = repaired.bytes_lost.unwrap() as usize;
        assert!((payload_lost..payload_lost + 48 + 1).contains(&bytes_lost), "{context}: {bytes_lost} {payload_lost}");
    };
    for i in 0..30 {
        let at = 48 + i * record_len;
        for place in (0..record_len).step_by(5) {
            let mut bytes = intact.clone();
            bytes[at + place] ^= 16;
            // If the header is intact, the next record is found.
            let is_kept = |other: usize| other < i || place >= 24 && other > i;
            check(Some(bytes), &is_kept, &format!("record {i}, byte {place}"));
        }
        check(Some(intact[..at + 30].to_vec()), &|other| other < i, &format!("cut in record {i}"));
    }
    for place in 0..48 {
        let mut bytes = intact.clone();
        bytes[place] ^= 1;
        check(Some(bytes), &|_| true, &format!("first record, byte {place}"));
    }
    check(Some(Vec::new()), &|_| false, "empty");
    check(None, &|_| false, "missing");
}

/// The end that a crash tears off was never promised: it is no damage, and no loss.
#[test]
fn the_torn_end_of_a_log_is_no_damage() {
    let (storage, log) = with_a_log(false);
    let intact = storage.contents(&log).unwrap();
    let record_len = (intact.len() - 48) / 30;
    let damaged = |records: &[usize]| {
        let image = storage.crash_image(CrashKind::Everything);
        let mut bytes = intact.clone();
        records.iter().for_each(|record| bytes[48 + record * record_len + 40] ^= 1);
        image.replace(&log, bytes);
        image
    };
    let contents = |image: SimStorage| contents(&Store::open(Arc::new(image), options()).unwrap());
    // The last record is durable, but no later one proves it.
    let torn = damaged(&[29]);
    assert!(plan(&torn).unwrap().is_empty());
    assert!(contents(torn) == after_batches(|i| i != 29));
    for (records, num_lost) in [(&[10][..], 1), (&[10, 29], 1), (&[0, 10, 27], 3), (&[28], 1)] {
        let image = damaged(records);
        assert!(Store::open(Arc::new(image.clone()), options()).is_err(), "{records:?}");
        let report = repair(&image).unwrap();
        assert_eq!(report.logs[0].bytes_lost, Some((num_lost * record_len) as u64), "{report}");
        assert!(contents(image) == after_batches(|i| !records.contains(&i)), "{records:?}");
    }
}
