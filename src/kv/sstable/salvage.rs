//! What of a table's file is still provably the table's.
//!
//! A data block proves itself: its checksum covers the table's number and the block's offset. Where blocks are is in
//! the index. Without a usable index they are followed one after the other from the file's start, as far as each is
//! right: what comes after a bad one could be bytes of a value that look like a block. Without a usable footer the
//! index is searched for, whose checksum covers its place, too. A file with a footer that is right, but not the one
//! that the manifest names, is another table's, and nothing of it is used.

use super::super::cell::{CellKey, CellRef, OwnedKey};
use super::super::encoding::Cursor;
use super::super::error::{Damage, Error};
use super::super::manifest::{Rows, TableState};
use super::super::names::FileName;
use super::super::storage::{PAGE_LEN, PageBuf, ReadableFile, Storage};
use super::block::{BlockReader, claimed_len};
use super::format::Footer;
use super::index::{BlockHandle, Index};
use super::reader::{TableReader, open_footer, read_pages};
use core::ops::{Bound, RangeBounds};
use std::io;
use std::sync::Arc;

/// A file is read in pieces of this many bytes.
const PIECE_LEN: u64 = 256 << 10;

/// Whether bytes that the system fails to read count as damaged. Otherwise the failure ends the salvage: the bytes may
/// be right, and readable later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IoErrors {
    Fatal,
    Damage,
}

impl IoErrors {
    /// The error that a part of the table is lost for, unless it ends the salvage.
    pub(crate) fn check(self, error: Error) -> Result<Error, Error> {
        match &error {
            Error::Damaged { .. } | Error::Missing { .. } | Error::Misplaced { .. } => Ok(error),
            Error::Io { source, .. } if self == Self::Damage && is_of_medium(source) => Ok(error),
            _ => Err(error),
        }
    }
}

/// Whether an error is that of the device, not of rights, memory or descriptors.
fn is_of_medium(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// Rows that are lost with a table or with blocks of it; any row if they are unknown.
#[derive(Clone, Debug)]
pub(crate) struct LostKeys {
    pub(crate) rows: Option<Rows>,
    pub(crate) reason: Error,
}

/// What is left of a table.
#[derive(Debug)]
pub(crate) struct Salvage {
    pub(crate) state: TableState,
    file: String,
    source: Option<Arc<dyn ReadableFile>>,
    blocks: Vec<BlockHandle>,
    /// Cells in blocks that are right, tombstones included.
    pub(crate) num_cells: u64,
    /// The first and the last row of these.
    pub(crate) kept: Option<(Vec<u8>, Vec<u8>)>,
    /// Cells that the table was written with, if its footer is right.
    pub(crate) num_cells_written: Option<u64>,
    pub(crate) lost: Vec<LostKeys>,
}

/// The cells of a block that is right.
struct Found {
    num_cells: u64,
    first_row: Option<Vec<u8>>,
    last: Option<OwnedKey>,
}

/// What cells of a block have to be, besides in order.
struct Bounds<'a> {
    footer: Option<&'a Footer>,
    /// Of the block's keys, if the index is right: where they start, and the last.
    keys: Option<(Bound<CellKey<'a>>, CellKey<'a>)>,
}

impl Salvage {
    /// Reads all of the table that `state` describes.
    ///
    /// # Errors
    /// [`Error::NewerVersion`]; [`Error::Io`], as `io_errors` decides.
    pub(crate) fn read(storage: &dyn Storage, state: &TableState, io_errors: IoErrors) -> Result<Self, Error> {
        let file = FileName::Table(state.number).to_string();
        let mut salvage = Self {
            state: state.clone(),
            file: file.clone(),
            source: None,
            blocks: Vec::new(),
            num_cells: 0,
            kept: None,
            num_cells_written: None,
            lost: Vec::new(),
        };
        let source = match storage.open(&file) {
            Ok(source) => source,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                salvage.lose_all(Error::Missing { file });
                return Ok(salvage);
            }
            Err(error) => return Err(Error::io(&file, "open", error)),
        };
        salvage.source = Some(Arc::clone(&source));
        match open_footer(&file, &*source) {
            Ok((footer, crc, len)) => match another_table(&file, state, &footer, crc, len) {
                Some(error) => salvage.lose_all(error),
                None => salvage.read_with_footer(&*source, &footer, io_errors)?,
            },
            Err(error) => salvage.read_without_footer(&*source, io_errors.check(error)?, io_errors)?,
        }
        Ok(salvage)
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.num_cells == 0
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Reads the blocks again, and calls `each` with every cell, in order.
    ///
    /// # Errors
    /// Those of `each`; [`Error::Io`] or [`Error::Damaged`] for a block that was right when it was read first.
    pub(crate) fn for_each_cell(&self, mut each: impl FnMut(&CellRef<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let Some(source) = &self.source else { return Ok(()) };
        for &BlockHandle { offset, len } in &self.blocks {
            let pages = read_pages(&self.file, &**source, offset, len as u64)?;
            for cell in BlockReader::open(&self.file, self.state.number, offset, pages.as_slice())?.cells() {
                each(&cell?)?;
            }
        }
        Ok(())
    }

    fn lose_all(&mut self, reason: Error) {
        self.lost.push(LostKeys { rows: self.state.rows.clone(), reason });
    }

    fn read_with_footer(
        &mut self,
        source: &dyn ReadableFile,
        footer: &Footer,
        io_errors: IoErrors,
    ) -> Result<(), Error> {
        self.num_cells_written = Some(footer.num_cells);
        let pages = read_pages(&self.file, source, footer.data_len, footer.index_len);
        let index = pages.and_then(|pages| Index::decode(&self.file, footer, pages));
        match index {
            Ok(index) => self.read_blocks(source, &index, Some(footer), io_errors),
            Err(error) => {
                let reason = io_errors.check(error)?;
                let data = read_all(&self.file, source, footer.data_len, io_errors)?;
                self.follow_blocks(&data, Some(footer), reason);
                Ok(())
            }
        }
    }

    fn read_without_footer(
        &mut self,
        source: &dyn ReadableFile,
        reason: Error,
        io_errors: IoErrors,
    ) -> Result<(), Error> {
        let len = source.len().map_err(|error| Error::io(&self.file, "get the length", error))?;
        let bytes = read_all(&self.file, source, len, io_errors)?;
        match self.find_index(&bytes) {
            Some(index) => self.read_blocks(source, &index, None, io_errors),
            None => {
                self.follow_blocks(&bytes, None, reason);
                Ok(())
            }
        }
    }

    /// The index that is stored last: a value may contain bytes that look like one, but values precede the index.
    fn find_index(&self, bytes: &[u8]) -> Option<Index> {
        let at = |offset: usize, lists_first_keys: bool| {
            let footer =
                Footer { number: self.state.number, data_len: offset as u64, lists_first_keys, ..Footer::default() };
            let len = index_len(&bytes[offset..], &footer)?;
            let mut pages = PageBuf::new(len);
            pages.as_mut_slice().copy_from_slice(&bytes[offset..offset + len]);
            Index::decode(&self.file, &footer, pages).ok()
        };
        let offsets = (0..bytes.len()).step_by(PAGE_LEN).rev();
        // Without a footer, the version of the table is unknown.
        offsets.flat_map(|offset| [(offset, false), (offset, true)]).find_map(|(offset, lists)| at(offset, lists))
    }

    fn read_blocks(
        &mut self,
        source: &dyn ReadableFile,
        index: &Index,
        footer: Option<&Footer>,
        io_errors: IoErrors,
    ) -> Result<(), Error> {
        let mut is_after_lost = false;
        for block in 0..index.len() {
            let (handle, keys) = (index.handle(block), index.bounds(block));
            let pages = read_pages(&self.file, source, handle.offset, handle.len as u64);
            let bounds = Bounds { footer, keys: Some(keys) };
            let checked = pages.and_then(|pages| self.check(handle.offset, pages.as_slice(), &bounds, None));
            match checked {
                Ok(found) => {
                    self.keep(handle, found);
                    is_after_lost = false;
                }
                Err(error) => {
                    let reason = io_errors.check(error)?;
                    let last = keys.1.row.to_vec();
                    match self.lost.last_mut().and_then(|lost| lost.rows.as_mut()).filter(|_| is_after_lost) {
                        // Neighbours are one range.
                        Some(rows) => *rows = Arc::new((rows.0.clone(), last)),
                        None => {
                            let rows = Some(Arc::new((row_of(keys.0).to_vec(), last)));
                            self.lost.push(LostKeys { rows, reason });
                        }
                    }
                    is_after_lost = true;
                }
            }
        }
        Ok(())
    }

    /// Follows blocks from the file's start to the first that is not right.
    fn follow_blocks(&mut self, bytes: &[u8], footer: Option<&Footer>, reason: Error) {
        let (mut at, mut last) = (0, None::<OwnedKey>);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let len = claimed_len(rest).and_then(|len| usize::try_from(len).ok());
            let Some((len, block)) = len.and_then(|len| Some((len, rest.get(..len)?))) else { break };
            let bounds = Bounds { footer, keys: None };
            let Ok(found) = self.check(at as u64, block, &bounds, last.as_ref()) else { break };
            last = found.last.clone().or(last);
            self.keep(BlockHandle { offset: at as u64, len }, found);
            at += len;
        }
        if footer.is_some_and(|footer| footer.data_len == at as u64) {
            return;
        }
        // Other cells of the last row may follow it.
        let rows = self.state.rows.as_ref().map(|rows| {
            let first = last.map_or_else(|| rows.0.clone(), |last| last.row);
            Arc::new((first, rows.1.clone()))
        });
        self.lost.push(LostKeys { rows, reason });
    }

    fn keep(&mut self, block: BlockHandle, found: Found) {
        self.blocks.push(block);
        self.num_cells += found.num_cells;
        if let (Some(first), Some(last)) = (found.first_row, found.last) {
            let first = self.kept.take().map_or(first, |(first, _)| first);
            self.kept = Some((first, last.row));
        }
    }

    /// Checks a block that was read at `offset`, and whose cells must be above `after`.
    fn check(&self, offset: u64, block: &[u8], bounds: &Bounds<'_>, after: Option<&OwnedKey>) -> Result<Found, Error> {
        let damaged = |damage| Error::damaged(&self.file, offset, damage);
        let (mut num_cells, mut first, mut last) = (0, None, after.map(OwnedKey::as_key));
        for cell in BlockReader::open(&self.file, self.state.number, offset, block)?.cells() {
            let CellRef { key, seq, .. } = cell?;
            if last.is_some_and(|last| last >= key) {
                return Err(damaged(Damage::Order { position: num_cells }));
            }
            let rows = self.state.rows.as_ref();
            let is_of_table = rows.is_none_or(|rows| *rows.0 <= *key.row && *key.row <= *rows.1);
            let is_of_block = bounds.keys.is_none_or(|(start, last)| (start, Bound::Included(last)).contains(&key));
            if !is_of_table || !is_of_block {
                return Err(damaged(Damage::Contradiction { name: "key of cell", found: num_cells }));
            }
            if bounds.footer.is_some_and(|footer| !footer.covers(seq)) {
                return Err(damaged(Damage::Contradiction { name: "sequence number of a cell", found: seq }));
            }
            first = first.or(Some(key.row));
            last = Some(key);
            num_cells += 1;
        }
        let last = last.map(|CellKey { row, column }| OwnedKey { row: row.to_vec(), column: column.to_vec() });
        Ok(Found { num_cells, first_row: first.map(<[u8]>::to_vec), last })
    }
}

impl TableReader {
    /// The first and the last row of the table within `rows`, or of all of it, as far as its index shows.
    pub(crate) fn rows_within(&self, rows: Option<&Rows>) -> Option<(Vec<u8>, Vec<u8>)> {
        let index = &self.index;
        let blocks = match rows {
            Some(rows) => index.find_rows(Bound::Included(&rows.0), Bound::Included(&rows.1)),
            None => 0..index.len(),
        };
        let last_block = blocks.clone().last()?;
        let (first, last) = (row_of(index.bounds(blocks.start).0), index.last(last_block).row);
        let first = rows.map_or(first, |rows| first.max(&rows.0));
        Some((first.to_vec(), rows.map_or(last, |rows| last.min(&rows.1)).to_vec()))
    }
}

/// The first row of which a block that starts there may have cells.
fn row_of<'a>(start: Bound<CellKey<'a>>) -> &'a [u8] {
    match start {
        Bound::Included(key) | Bound::Excluded(key) => key.row,
        Bound::Unbounded => b"",
    }
}

/// Why a file with a right footer is not the table that the manifest names.
fn another_table(file: &str, state: &TableState, footer: &Footer, footer_crc: u32, len: u64) -> Option<Error> {
    if footer.number != state.number {
        return Some(Error::Misplaced { file: file.to_owned(), named: state.number, stored: footer.number });
    }
    let fields = [
        ("length of the table", len, state.len),
        ("checksum of the footer", footer_crc.into(), state.footer_crc.into()),
    ];
    let (name, found, expected) = fields.into_iter().find(|(_, found, expected)| found != expected)?;
    Some(Error::damaged(file, len, Damage::Field { name, found, expected }))
}

/// Length of the index of the table of `footer` that `bytes` may begin with, if its blocks would fill all before it.
fn index_len(bytes: &[u8], footer: &Footer) -> Option<usize> {
    let mut cursor = Cursor::new(bytes);
    let (_checksum, num_blocks) = (cursor.u32()?, cursor.u32().filter(|&blocks| blocks > 0)?);
    if !footer.lists_first_keys {
        skip_keys(&mut cursor, 1)?;
    }
    let mut pages_left = footer.data_len / PAGE_LEN as u64;
    for _ in 0..num_blocks {
        pages_left = pages_left.checked_sub(cursor.u32()?.into())?;
        skip_keys(&mut cursor, if footer.lists_first_keys { 2 } else { 1 })?;
    }
    (pages_left == 0).then(|| cursor.at())
}

/// Skips keys whose lengths, of row and column, precede the bytes of all of them.
fn skip_keys(cursor: &mut Cursor<'_>, num_keys: usize) -> Option<()> {
    let lens = (0..2 * num_keys).map(|_| cursor.u16().map(usize::from)).sum::<Option<usize>>()?;
    cursor.take(lens).map(drop)
}

/// The first `len` bytes of a file, with zeros for pages that the device fails to read, if these count as damaged.
fn read_all(file: &str, source: &dyn ReadableFile, len: u64, io_errors: IoErrors) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let page = PAGE_LEN as u64;
    // A last page that is cut off holds nothing that could be proved.
    let len = len - len % page;
    for offset in (0..len).step_by(PIECE_LEN as usize) {
        let piece_len = PIECE_LEN.min(len - offset);
        match read_pages(file, source, offset, piece_len) {
            Ok(piece) => bytes.extend_from_slice(piece.as_slice()),
            Err(error) => {
                io_errors.check(error)?;
                for at in (offset..offset + piece_len).step_by(PAGE_LEN) {
                    match read_pages(file, source, at, page) {
                        Ok(piece) => bytes.extend_from_slice(piece.as_slice()),
                        Err(error) => {
                            io_errors.check(error)?;
                            bytes.resize(bytes.len() + PAGE_LEN, 0);
                        }
                    }
                }
            }
        }
    }
    Ok(bytes)
}
