//! Bits of several tables side by side: the one place where lanes move.

use crate::bytes;
use crate::error::SetBuildError;
use crate::group::{CHECK_LEN, Group, Record};
use std::io::{Read, Seek, SeekFrom, Write};

/// Rows of some lanes, as the writer's scratch has them: each row in whole bytes, unused bits 0.
#[derive(Debug)]
pub(crate) struct Source {
    /// Where the rows begin.
    pub(crate) at: u64,
    /// The file of each lane: its identity, and its number in the index.
    pub(crate) lanes: Vec<(u64, u32)>,
    /// The CRC-32 of all rows: a scratch that loses bits would lose keys.
    pub(crate) crc: u32,
}

impl Source {
    /// Returns the number of bytes of a row.
    pub(crate) fn row_len(&self) -> usize {
        self.lanes.len().div_ceil(8)
    }
}

/// ORs `len` bits of `from`, from bit `from_at` on, into those of `to` from bit `to_at` on.
pub(crate) fn copy_bits(from: &[u8], from_at: usize, to: &mut [u8], to_at: usize, len: usize) {
    let bit = |at: usize| from.get(at).copied().map_or(0, u16::from);
    for done in (0..len).step_by(8) {
        let (at, mask) = (from_at + done, 0xff >> (8 - (len - done).min(8)));
        let byte = (bit(at / 8) | bit(at / 8 + 1) << 8) >> (at % 8) & mask;
        let moved = byte << ((to_at + done) % 8);
        let place = (to_at + done) / 8;
        to[place] |= moved as u8;
        if moved >> 8 != 0 {
            to[place + 1] |= (moved >> 8) as u8;
        }
    }
}

/// The bytes of units, and of rows of a byte each, that are made, or read, at once: at least one unit.
pub(crate) const BATCH_LEN: u64 = 4 << 20;

type Done = Result<(), SetBuildError>;

/// Calls `each` with batches of the group's units: part, first unit and number of units. Fails if a `usize` cannot number
/// a unit's bits, as for units of 512 MiB and more on 32 bits.
pub(crate) fn batches(record: &Record, mut each: impl FnMut(u32, u32, u32) -> Done) -> Done {
    usize::try_from(8 * record.payload_len(0)).map_err(|_| SetBuildError::TooLarge)?;
    let unit_rows = u64::from(record.unit_pages) * u64::from(record.table.shape.page_rows());
    let at_once = (BATCH_LEN / (record.payload_len(0) + unit_rows)).clamp(1, record.num_units().into()) as u32;
    for part in 0..u32::from(record.table.shape.num_visits) {
        for first in (0..record.num_units()).step_by(at_once as usize) {
            each(part, first, at_once.min(record.num_units() - first))?;
        }
    }
    Ok(())
}

/// Writes the group of `record`, whose lanes are those of `sources`, in turn. It keeps a batch, and a batch's rows of one
/// source.
pub(crate) fn write_group(
    record: &Record,
    context: u64,
    sources: &[Source],
    scratch: &mut (impl Read + Seek),
    sink: &mut impl Write,
) -> Done {
    let (page_rows, num_lanes) = (u64::from(record.table.shape.page_rows()), record.num_lanes as usize);
    let unit_rows = (u64::from(record.unit_pages) * page_rows) as usize;
    let (mut units, mut rows): (Vec<Vec<u8>>, Vec<u8>) = (Vec::new(), Vec::new());
    let mut crcs = vec![crc32fast::Hasher::new(); sources.len()];
    batches(record, |part, first, count| {
        units.clear();
        units.extend((first..first + count).map(|unit| vec![0; record.payload_len(unit) as usize]));
        let num_pages = (first..first + count).map(|unit| u64::from(record.pages_of(unit))).sum::<u64>();
        let before =
            u64::from(part) * u64::from(record.table.num_pages) + u64::from(first) * u64::from(record.unit_pages);
        let mut lane = 0;
        for (source, crc) in sources.iter().zip(&mut crcs) {
            rows.resize(num_pages as usize * page_rows as usize * source.row_len(), 0);
            scratch.seek(SeekFrom::Start(source.at + before * page_rows * source.row_len() as u64))?;
            scratch.read_exact(&mut rows)?;
            crc.update(&rows);
            for (number, row) in rows.chunks_exact(source.row_len()).enumerate() {
                let to_at = number % unit_rows * num_lanes + lane;
                copy_bits(row, 0, &mut units[number / unit_rows], to_at, source.lanes.len());
            }
            lane += source.lanes.len();
        }
        for (unit, payload) in (first..).zip(&mut units) {
            let check = Group::check_of(context, part, unit, payload);
            bytes::append(payload, &[check], CHECK_LEN as usize);
            sink.write_all(payload)?;
        }
        Ok(())
    })?;
    // Each source was read once, from its first row to its last.
    let is_intact = |(source, crc): (&Source, crc32fast::Hasher)| source.crc == crc.finalize();
    if sources.iter().zip(crcs).all(is_intact) { Ok(()) } else { Err(SetBuildError::Check) }
}
