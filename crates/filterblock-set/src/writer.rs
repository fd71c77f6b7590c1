//! The writer of the groups of one column: a file's keys become a lane, and files of one table a group.

use crate::error::SetBuildError;
use crate::group::{Column, Group, Record};
use crate::join::{self, Source, copy_bits};
use crate::table::{Sizing, Table};
use filterblock::{KeyHash, KeyHasher};
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;

/// Lanes of files whose keys were added last: a byte a row.
struct Strip {
    rows: Vec<u8>,
    lanes: Vec<(u64, u32)>,
}

/// The number of lanes of a strip. A strip of usual files fits a core's cache, where a key's rows are set.
const STRIP_LANES: usize = 8;

/// Writes the groups of one column.
///
/// Its memory is that of one file's hashes, which the caller has; of a strip of eight lanes, eight times the bytes of a
/// file's filter, for each table in use, but of all strips together at most a limit, or one strip if that is more; and when
/// groups are written, of a batch of 4 MiB, or one unit. The rest is in the scratch, about as large as the groups.
pub struct GroupWriter<S> {
    sizing: Sizing,
    scratch: S,
    max_strip_bytes: usize,
    strips: BTreeMap<u32, Strip>,
    /// By the number of pages, in the order in which they were added.
    sources: BTreeMap<u32, Vec<Source>>,
}

impl<S: Read + Write + Seek> GroupWriter<S> {
    /// Returns a writer that keeps lanes in `scratch`, which is empty, and strips of at most `max_strip_bytes` in memory.
    pub fn new(sizing: Sizing, scratch: S, max_strip_bytes: usize) -> Self {
        Self { sizing, scratch, max_strip_bytes, strips: BTreeMap::new(), sources: BTreeMap::new() }
    }

    /// Adds a file: all hashes of the column's values, in any order, with duplicates or without. `file` is its number in
    /// the index. Each hash is looked up again.
    ///
    /// # Errors
    /// [`SetBuildError::TooLarge`] and [`SetBuildError::Check`]: the file is then not in a group. [`SetBuildError::Io`]:
    /// the writer is of no further use.
    pub fn add_file(&mut self, identity: u64, file: u32, hashes: &mut Vec<KeyHash>) -> Result<Table, SetBuildError> {
        hashes.sort_unstable();
        hashes.dedup();
        let table = self.sizing.table(hashes.len() as u64).ok_or(SetBuildError::TooLarge)?;
        let num_rows = usize::try_from(table.num_rows()).map_err(|_| SetBuildError::TooLarge)?;
        let held = self.strips.values().map(|strip| strip.rows.len()).sum::<usize>();
        if !self.strips.contains_key(&table.num_pages) && held.saturating_add(num_rows) > self.max_strip_bytes {
            self.spill_all()?;
        }
        let new = || Strip { rows: vec![0; num_rows], lanes: Vec::new() };
        let strip = self.strips.entry(table.num_pages).or_insert_with(new);
        let bit = 1 << strip.lanes.len();
        for &hash in hashes.iter() {
            table.probes(hash).for_each(|row| strip.rows[row as usize] |= bit);
        }
        if !hashes.iter().all(|&hash| table.probes(hash).all(|row| strip.rows[row as usize] & bit != 0)) {
            // What is set of the lane would be the next file's.
            strip.rows.iter_mut().for_each(|row| *row &= !bit);
            return Err(SetBuildError::Check);
        }
        strip.lanes.push((identity, file));
        if strip.lanes.len() == STRIP_LANES {
            self.spill(table.num_pages)?;
        }
        Ok(table)
    }

    /// Moves a strip to the scratch.
    fn spill(&mut self, num_pages: u32) -> Result<(), SetBuildError> {
        let Some(Strip { rows, lanes }) = self.strips.remove(&num_pages) else { return Ok(()) };
        if !lanes.is_empty() {
            let (at, crc) = (self.scratch.seek(SeekFrom::End(0))?, crc32fast::hash(&rows));
            self.scratch.write_all(&rows)?;
            self.sources.entry(num_pages).or_default().push(Source { at, lanes, crc });
        }
        Ok(())
    }

    fn spill_all(&mut self) -> Result<(), SetBuildError> {
        let open: Vec<u32> = self.strips.keys().copied().collect();
        open.into_iter().try_for_each(|num_pages| self.spill(num_pages))
    }

    /// Takes over a group's lanes without their keys. `lanes` has the identity of each lane's file and its number in the
    /// new index, or `None` to leave it out. The group has the writer's shape. It is read in ascending order by `fetch`,
    /// some MiB at once; it costs a row of the group and a batch of memory. Units whose check fails become ones, *maybe*;
    /// returns their number.
    ///
    /// # Errors
    /// [`SetBuildError::Io`]; [`SetBuildError::TooLarge`] on 32 bits, for units of 512 MiB and more.
    pub fn absorb<B: AsRef<[u8]>>(
        &mut self,
        group: &Group,
        lanes: &[Option<(u64, u32)>],
        mut fetch: impl FnMut(Range<u64>) -> io::Result<B>,
    ) -> Result<u64, SetBuildError> {
        let record = &group.record;
        self.spill(record.table.num_pages)?;
        let num_lanes = record.num_lanes as usize;
        let kept: Vec<usize> = (0..lanes.len()).filter(|&lane| lanes[lane].is_some()).collect();
        let runs: Vec<&[usize]> = kept.chunk_by(|lane, next| lane + 1 == *next).collect();
        if runs.is_empty() {
            return Ok(0);
        }
        let (at, lanes) = (self.scratch.seek(SeekFrom::End(0))?, lanes.iter().copied().flatten().collect());
        let (mut crc, mut num_bad, mut rows) = (crc32fast::Hasher::new(), 0, Vec::new());
        // Appended in pieces: rows of few lanes are up to eight times as long as in their unit.
        let mut append = |rows: &mut Vec<u8>| {
            crc.update(rows);
            self.scratch.write_all(rows).map(|()| rows.clear())
        };
        join::batches(record, |part, first, count| {
            let range = record.unit_range(part, first).start..record.unit_range(part, first + count - 1).end;
            let bytes = fetch(range.clone())?;
            for unit in first..first + count {
                let Range { start, end } = record.unit_range(part, unit);
                let bytes = bytes.as_ref().get((start - range.start) as usize..(end - range.start) as usize);
                let opened = bytes.and_then(|bytes| group.open(part, unit, bytes).ok());
                num_bad += u64::from(opened.is_none());
                let payload = opened.unwrap_or_else(|| vec![0xff; record.payload_len(unit) as usize].into());
                for row in 0..(u64::from(record.pages_of(unit)) * u64::from(record.table.shape.page_rows())) as usize {
                    let (begin, mut to_at) = (rows.len(), 0);
                    rows.resize(begin + kept.len().div_ceil(8), 0);
                    for run in &runs {
                        copy_bits(&payload, row * num_lanes + run[0], &mut rows[begin..], to_at, run.len());
                        to_at += run.len();
                    }
                    if rows.len() >= join::BATCH_LEN as usize {
                        append(&mut rows)?;
                    }
                }
            }
            Ok(append(&mut rows)?)
        })?;
        let crc = crc.finalize();
        self.sources.entry(record.table.num_pages).or_default().push(Source { at, lanes, crc });
        Ok(num_bad)
    }

    /// Writes all groups to `sink`, whose bytes begin at `offset` of the set, for column number `number`. Smaller tables
    /// come first, and files in the order in which they were added. Returns the groups, and the numbers of the files of
    /// each.
    ///
    /// # Errors
    /// [`SetBuildError::Io`], [`SetBuildError::TooLarge`].
    pub fn finish(
        mut self,
        number: u16,
        column: &Column,
        hasher: &KeyHasher,
        mut offset: u64,
        sink: &mut impl Write,
    ) -> Result<Vec<(Record, Vec<u32>)>, SetBuildError> {
        self.spill_all()?;
        let mut written = Vec::new();
        for (num_pages, sources) in self.sources {
            let (identities, files): (Vec<u64>, Vec<u32>) =
                sources.iter().flat_map(|source| source.lanes.iter().copied()).unzip();
            let table = Table { shape: self.sizing.shape(), num_pages };
            let record = Record::new(offset, number, table, files.len() as u32).ok_or(SetBuildError::TooLarge)?;
            let context = record.context(hasher, column, &identities);
            join::write_group(&record, context, &sources, &mut self.scratch, sink)?;
            offset += record.group_len();
            written.push((record, files));
        }
        Ok(written)
    }
}
