use crate::records::{LogBytes, MANIFEST_MAGIC, assemble};
use crate::sample::sample;
use crate::store::{all, ask, go_on, is_ascending, open};

/// Any bytes as the manifest of the sample store. The input's first byte says what becomes of the bytes behind it: bit 0,
/// they stand for records whose checksums are made right ([`assemble`]); bit 1, a manifest's first record is written in
/// front of them; bit 2, the tables are compacted and the store opened again.
pub fn manifest(input: &[u8]) {
    let Some((&mode, bytes)) = input.split_first() else { return };
    let mut log = match mode >> 1 & 1 {
        0 => LogBytes::empty(0),
        _ => LogBytes::new(MANIFEST_MAGIC, 0),
    };
    match mode & 1 {
        0 => log.bytes.extend_from_slice(bytes),
        _ => assemble(&mut log, bytes),
    }
    let mut files = sample().files.clone();
    files.insert("MANIFEST".to_owned(), log.bytes);
    let Some((storage, store)) = open(&files) else { return };
    // Whatever tables and logs it names, each is intact.
    let cells = all(&store).expect("no table is damaged");
    assert!(is_ascending(&cells), "{cells:?}");
    // Levels in the wrong order show other versions of cells to scans than to lookups.
    ask(&store, &cells, false);
    if mode >> 2 & 1 == 1 {
        go_on(&storage, store, cells, false);
    }
}
