use super::Reached;
use crate::records::{LogBytes, MANIFEST_MAGIC, assemble, payloads, tables};
use crate::sample::{levels, options, sample};
use crate::store::{all, ask, go_on, is_ascending, open};
use std::collections::BTreeMap;

/// Any bytes as the manifest of the sample store. The input's first byte states what becomes of the bytes after it: bit
/// 0, they stand for records whose checksums are made right ([`assemble`]); bit 1, a manifest's first record is written
/// in front of them; bit 2, the store is written to, closed, opened again and compacted.
pub fn manifest(input: &[u8]) -> Reached {
    let Some((&mode, bytes)) = input.split_first() else { return Reached::Nothing };
    let mut log = match mode >> 1 & 1 {
        0 => LogBytes::empty(0),
        _ => LogBytes::new(MANIFEST_MAGIC, 0),
    };
    match mode & 1 {
        0 => log.bytes.extend_from_slice(bytes),
        _ => assemble(&mut log, bytes),
    }
    let mut files = sample().files.clone();
    let log = log.bytes;
    files.insert("MANIFEST".to_owned(), log.clone());
    let Some(opened) = open(&files, options()) else { return Reached::Refused };
    let records = payloads(0, &log);
    let named = tables(records.iter().skip(1).map(|record| &log[record.clone()])).expect("edits that can be made");
    let mut found = levels(&opened.store);
    // What stood in a log only is a table in front of the others now.
    if found.len() > named.len() {
        found.remove(0);
    }
    assert_eq!(found.iter().map(|&(level, number)| (number, level as u64)).collect::<BTreeMap<_, _>>(), named);
    // Whatever tables and logs it names, each is intact.
    let cells = all(&opened.store).expect("no table is damaged");
    assert!(is_ascending(&cells), "{cells:?}");
    // Levels in the wrong order show other versions of cells to scans than to lookups.
    let is_right = found == sample().levels && cells == sample().state.all();
    ask(&opened.store, &cells, is_right);
    if mode >> 2 & 1 == 1 {
        go_on(opened, cells, is_right);
    }
    if is_right { Reached::Compared } else { Reached::Opened }
}
