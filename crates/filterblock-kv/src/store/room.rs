//! Room on the disk for the next compaction. A store that fills its disk with flushed tables could not merge them for
//! lack of room: writes are refused before that.

use super::{Error, Maintenance, Shared, Writer, background, compaction, write};

/// Room is looked for whenever about this many bytes were written.
const CHECKED_BYTES: u64 = 256 << 10;
/// For the manifest, new names, and pages that files do not fill.
const SPARE_BYTES: u64 = 64 << 10;

/// Refuses a write of `len_bytes` bytes if the disk would then lack room to flush and compact what is written. Due work
/// is done, or waited for, before: it may make room.
pub(super) fn check(shared: &Shared, writer: &mut Writer, len_bytes: u64) -> Result<(), Error> {
    if len_bytes > writer.unchecked_bytes {
        let ahead = len_bytes + CHECKED_BYTES.min(shared.options.max_memtable_bytes as u64);
        writer.unchecked_bytes = 0;
        if is_short(shared, ahead).is_err() {
            if shared.options.maintenance == Maintenance::Background {
                write::sync_before_waiting(shared, writer)?;
            }
            // Its failure is not this write's, if there is room.
            let _ = background::settle(shared);
            is_short(shared, ahead)?;
        }
        writer.unchecked_bytes = ahead;
    }
    writer.unchecked_bytes -= len_bytes;
    Ok(())
}

/// Fails if the disk has less room than the store needs after a write of `ahead` bytes.
fn is_short(shared: &Shared, ahead: u64) -> Result<(), Error> {
    let Some(free_bytes) = shared.tables.storage.free_bytes() else { return Ok(()) };
    let view = shared.view();
    let in_memory: u64 = view.memtables.iter().map(|memtable| memtable.bytes() as u64).sum();
    // A table of what is in memory, before its log goes, and as much for its compaction with the others. Blocks of a
    // table may be padded, by half where values are long.
    let needed_bytes = ahead + 2 * (in_memory + ahead) + compaction::most_bytes(&view.version) + SPARE_BYTES;
    if free_bytes < needed_bytes { Err(Error::NoRoom { free_bytes, needed_bytes }) } else { Ok(()) }
}
