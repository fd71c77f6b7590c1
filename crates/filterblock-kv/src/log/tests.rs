//! Logs that are torn, damaged, sealed, misplaced and newer.

use super::super::encoding::counted::CHECKSUMS;
use super::super::error::{Damage, Error};
use super::super::storage::{FileStorage, Storage};
use super::writer::push_record;
use super::{LogContents, LogKind, LogWriter};

const NUMBER: u64 = 7;
const KIND: LogKind = LogKind::WriteAhead;
const PAYLOADS: [&[u8]; 4] = [b"first", b"", b"third", &[0; 40]];

fn storage() -> (tempfile::TempDir, FileStorage) {
    let dir = tempfile::tempdir().unwrap();
    let storage = FileStorage::open(dir.path()).unwrap();
    (dir, storage)
}

/// A log of four records, the second and third synced before the fourth was written; and where records end.
fn log() -> (Vec<u8>, Vec<usize>) {
    let (dir, storage) = storage();
    let mut log = LogWriter::create(&storage, "log", NUMBER, KIND).unwrap();
    let mut ends = vec![log.len() as usize];
    for (i, payload) in PAYLOADS.into_iter().enumerate() {
        log.push(payload);
        log.append().unwrap();
        ends.push(log.len() as usize);
        if i == 2 {
            log.sync().unwrap();
        }
    }
    assert!(!log.is_synced());
    (std::fs::read(dir.path().join("log")).unwrap(), ends)
}

fn record(number: u64, offset: u64, synced: u64, payload: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    push_record(&mut record, number, offset, synced, payload);
    record
}

fn read(bytes: &[u8], sealed: Option<u64>) -> Result<Vec<Vec<u8>>, Error> {
    let (_dir, storage) = storage();
    storage.create("log").unwrap().write_all(bytes).unwrap();
    let contents = LogContents::read(&storage, "log", NUMBER, KIND, sealed)?;
    Ok(contents.payloads().map(|(_, payload)| payload.to_vec()).collect())
}

#[test]
fn records_return_in_order() {
    let (bytes, ends) = log();
    assert_eq!(bytes.len(), ends[4]);
    for sealed in [None, Some(bytes.len() as u64)] {
        assert_eq!(read(&bytes, sealed).unwrap(), PAYLOADS);
    }
    // Sealed before the last record, which some append left there and then failed.
    assert_eq!(read(&bytes, Some(ends[3] as u64)).unwrap(), PAYLOADS[..3]);
}

#[test]
fn what_was_read_knows_its_file_its_length_and_where_payloads_stand() {
    let (bytes, ends) = log();
    let (_dir, storage) = storage();
    storage.create("log").unwrap().write_all(&bytes).unwrap();
    let contents = LogContents::read(&storage, "log", NUMBER, KIND, None).unwrap();
    assert_eq!((&contents.file[..], contents.len()), ("log", bytes.len() as u64));
    let starts: Vec<u64> = contents.payloads().map(|(start, _)| start).collect();
    let expected: Vec<u64> =
        ends[1..].iter().zip(PAYLOADS).map(|(end, payload)| (end - payload.len()) as u64).collect();
    assert_eq!(starts, expected);
}

#[test]
fn a_seal_within_a_record_names_what_is_left_of_it() {
    let (bytes, ends) = log();
    let payload_len = PAYLOADS[3].len();
    for left in 1..bytes.len() - ends[3] {
        let (unit, actual_bytes) = match left.checked_sub(bytes.len() - ends[3] - payload_len) {
            Some(of_payload) => ("record payload", of_payload as u64),
            None => ("record header", left as u64),
        };
        match read(&bytes, Some((ends[3] + left) as u64)) {
            Err(Error::Damaged { offset, damage, .. }) => {
                assert_eq!((offset, damage), (ends[3] as u64, Damage::CutOff { unit, actual_bytes }));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The payloads of the first records; without even one record the log is damaged.
fn check_whole(bytes: &[u8], num_records: usize) {
    match read(bytes, None) {
        Err(error) => assert!(num_records == 0 && matches!(error, Error::Damaged { offset: 0, .. }), "{error}"),
        Ok(payloads) => assert_eq!(payloads, PAYLOADS[..num_records - 1]),
    }
}

#[test]
fn a_log_may_end_anywhere_behind_its_first_record_unless_it_is_sealed() {
    let (bytes, ends) = log();
    for len in 0..bytes.len() {
        check_whole(&bytes[..len], ends.iter().filter(|&&end| end <= len).count());
        assert!(matches!(read(&bytes[..len], Some(bytes.len() as u64)), Err(Error::Damaged { .. })), "{len}");
        // What a file system may leave of bytes that were not synced.
        let zeros = [&bytes[..len], &vec![0; bytes.len() - len]].concat();
        check_whole(&zeros, ends.iter().filter(|&&end| zeros[..end] == bytes[..end]).count());
    }
}

#[test]
fn what_was_promised_and_is_wrong_is_damage() {
    let (bytes, ends) = log();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(matches!(read(&damaged, Some(bytes.len() as u64)), Err(Error::Damaged { .. })), "{at}");
        match read(&damaged, None) {
            // The last record was written after the sync, and states what the sync covered.
            Err(Error::Damaged { offset, .. }) => assert!(at < ends[3] && offset <= at as u64, "{at}"),
            other => {
                assert!(at >= ends[3], "{at}");
                assert_eq!(other.unwrap(), PAYLOADS[..3]);
            }
        }
    }
}

#[test]
fn records_behind_a_torn_one_do_not_count_unless_they_promise_it() {
    let (bytes, ends) = log();
    // The third record is lost, the fourth survives: writes reached the disk in another order, none was promised.
    let mut torn = bytes[..ends[2]].to_vec();
    torn.resize(ends[3], 0);
    torn.extend(record(NUMBER, ends[3] as u64, ends[2] as u64, PAYLOADS[3]));
    assert_eq!(read(&torn, None).unwrap(), PAYLOADS[..2]);
    let promised = record(NUMBER, ends[3] as u64, ends[2] as u64 + 1, PAYLOADS[3]);
    torn.truncate(ends[3]);
    torn.extend(promised);
    assert!(matches!(read(&torn, None), Err(Error::Damaged { offset, .. }) if offset == ends[2] as u64));
}

#[test]
fn a_manifest_is_bound_to_its_generation() {
    let write = |generation: u64, payload: &[u8]| {
        let (dir, storage) = storage();
        let mut log = LogWriter::create(&storage, "log", generation, LogKind::Manifest).unwrap();
        log.push(payload);
        log.append().unwrap();
        std::fs::read(dir.path().join("log")).unwrap()
    };
    let read = |bytes: &[u8]| {
        let (_dir, storage) = storage();
        storage.create("log").unwrap().write_all(bytes).unwrap();
        let contents = LogContents::read(&storage, "log", 0, LogKind::Manifest, None)?;
        let payloads: Vec<_> = contents.payloads().map(|(_, payload)| payload.to_vec()).collect();
        Ok::<_, Error>((contents.number, payloads))
    };
    let (older, newer) = (write(8, b"older"), write(9, b"newer"));
    assert_eq!(read(&newer).unwrap(), (9, vec![b"newer".to_vec()]));
    // Its end is that of an older one, at the same offset.
    let first_len = newer.len() - 24 - 5;
    let mixed = [&newer[..first_len], &older[first_len..]].concat();
    assert_eq!(read(&mixed).unwrap(), (9, vec![]));
    let mut newer = LogKind::Manifest.first_payload(3);
    newer[8] = 2;
    assert!(matches!(read(&record(0, 0, 0, &newer)), Err(Error::NewerVersion { found: 2, supported: 1, .. })));
}

#[test]
fn a_torn_batch_is_searched_without_a_checksum_for_each_byte() {
    const LEN: usize = 1 << 20;
    let mut random = 1u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 56) as u8
    };
    let payloads: [(&str, Vec<u8>); 4] = [
        ("zeros", vec![0; LEN]),
        ("text", b"com.example.www/language: EN\r\n".iter().copied().cycle().take(LEN).collect()),
        ("random", (0..LEN).map(|_| next()).collect()),
        ("small numbers", (0..LEN).map(|i| if i % 8 == 0 { (i / 8) as u8 } else { 0 }).collect()),
    ];
    for (name, payload) in payloads {
        let mut torn = record(NUMBER, 0, 0, &KIND.first_payload(NUMBER));
        let bad = torn.len();
        torn.extend(record(NUMBER, bad as u64, bad as u64, &payload));
        // The first sector was lost, the rest was written.
        torn[bad..bad + 512].fill(0);
        let before = CHECKSUMS.get();
        assert!(read(&torn, None).unwrap().is_empty(), "{name}");
        // Numbers may look like fields, at one offset in four, and at others where the number is 0.
        let at_most = if name == "small numbers" { LEN / 4 + LEN / 128 } else { 100 };
        let computed = CHECKSUMS.get() - before;
        assert!(computed <= at_most as u64, "{name}: {computed} checksums for {LEN} bytes");
        // A promise after it is found.
        let end = torn.len() as u64;
        torn.extend(record(NUMBER, end, end, b"promise"));
        assert!(matches!(read(&torn, None), Err(Error::Damaged { .. })), "{name}");
    }
}

#[test]
fn a_log_is_bound_to_its_number_and_kind() {
    let (bytes, _) = log();
    let (_dir, storage) = storage();
    storage.create("log").unwrap().write_all(&bytes).unwrap();
    // Checksums know the number: under another one, nothing in the file is a record.
    let error = LogContents::read(&storage, "log", 8, KIND, None).unwrap_err();
    assert!(matches!(error, Error::Damaged { damage: Damage::Checksum { .. }, .. }), "{error}");
    let (_dir, storage) = self::storage();
    storage.create("log").unwrap().write_all(&record(0, 0, 0, &KIND.first_payload(0))).unwrap();
    let error = LogContents::read(&storage, "log", 0, LogKind::Manifest, None).unwrap_err();
    assert!(matches!(error, Error::Damaged { damage: Damage::Magic { unit: "manifest", .. }, .. }), "{error}");

    let mut newer = KIND.first_payload(NUMBER);
    newer[8] = 9;
    assert!(matches!(read(&record(NUMBER, 0, 0, &newer), None), Err(Error::NewerVersion { found: 9, .. })));
    assert!(matches!(read(&record(NUMBER, 0, 0, b"short"), None), Err(Error::Damaged { .. })));
    let other = record(NUMBER, 0, 0, &KIND.first_payload(8));
    assert!(matches!(read(&other, None), Err(Error::Misplaced { named: 7, stored: 8, .. })));
}
