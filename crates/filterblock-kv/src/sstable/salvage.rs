//! The parts of a damaged table's file that provably belong to the table.
//!
//! A data block proves itself: its checksum covers the table's number and the block's offset. Where blocks are is in
//! the index, and where that is, in the manifest. Without a usable index blocks are followed one after the other from
//! the file's start, as far as each is right: what comes after a bad one could be bytes of a value that look like a
//! block. A file with a footer that is right, but not the one that the manifest names, is another table's, and nothing
//! of it is used.

use super::{
    Arc, BlockHandle, BlockReader, Bound, CellKey, CellRef, Damage, Error, FileName, Footer, Index, OwnedKey, PAGE_LEN,
    PageBuf, ReadableFile, Rows, Storage, TableState, check_cells, check_is_named, claimed_len, open_footer, padded,
    read_pages,
};
use std::io;

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

/// Returns whether an error is the device's, not one of rights, memory or descriptors.
fn is_of_medium(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// Rows of a table that are lost.
#[derive(Clone, Debug)]
pub(crate) struct LostKeys {
    pub(crate) rows: Rows,
    pub(crate) reason: Error,
}

/// The intact part of a table.
#[derive(Debug)]
pub(crate) struct Salvage {
    pub(crate) state: TableState,
    pub(crate) file: String,
    /// The first error that was found.
    pub(crate) reason: Error,
    /// The file and its length; `None` if it is missing.
    source: Option<(Arc<dyn ReadableFile>, u64)>,
    /// The blocks that are right.
    blocks: Vec<BlockHandle>,
    /// Cells in these, tombstones included.
    pub(crate) num_cells: u64,
    /// Cells that the table was written with, if its footer is right.
    pub(crate) num_cells_written: Option<u64>,
    pub(crate) lost: Vec<LostKeys>,
}

impl Salvage {
    /// Reads all of the table that `state` describes, which is damaged for `reason`.
    ///
    /// # Errors
    /// [`Error::NewerVersion`]; [`Error::Io`], as `io_errors` decides.
    pub(crate) fn read(
        storage: &dyn Storage,
        state: &TableState,
        reason: Error,
        io_errors: IoErrors,
    ) -> Result<Self, Error> {
        let file = FileName::Table(state.number).to_string();
        let source = match storage.open(&file) {
            Ok(source) => Some(source),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io(&file, "open", error)),
        };
        let len = source.as_ref().map_or(Ok(0), |source| source.len());
        let len = len.map_err(|error| Error::io(&file, "get the length", error))?;
        let mut salvage = Self {
            state: state.clone(),
            file,
            reason,
            source: source.map(|source| (source, len)),
            blocks: Vec::new(),
            num_cells: 0,
            num_cells_written: None,
            lost: Vec::new(),
        };
        if let Err(reason) = salvage.read_parts(io_errors) {
            let reason = io_errors.check(reason)?;
            salvage.lose(state.rows.clone(), reason);
        }
        Ok(salvage)
    }

    /// Reads the blocks again, and calls `each` with every cell, in order.
    ///
    /// # Errors
    /// The errors of `each`; [`Error::Io`] or [`Error::Damaged`] for a block that was intact when it was read first.
    pub(crate) fn for_each_cell(&self, mut each: impl FnMut(&CellRef<'_>) -> Result<(), Error>) -> Result<(), Error> {
        for block in &self.blocks {
            let pages = self.read_part(block.offset, block.len as u64)?;
            for cell in BlockReader::open(&self.file, self.state.number, block.offset, pages.as_slice())?.cells() {
                each(&cell?)?;
            }
        }
        Ok(())
    }

    /// Reads whole pages.
    fn read_part(&self, offset: u64, len: u64) -> Result<PageBuf, Error> {
        let Some((source, file_len)) = &self.source else {
            return Err(Error::Missing { file: self.file.clone() });
        };
        match padded(len).and_then(|len| offset.checked_add(len)) {
            Some(end) if end <= *file_len => read_pages(&self.file, &**source, offset, end - offset),
            _ => {
                let (name, expected) = ("length of the table", self.state.len);
                Err(Error::damaged(&self.file, offset, Damage::Field { name, found: *file_len, expected }))
            }
        }
    }

    /// Finds the blocks that are right.
    ///
    /// # Errors
    /// Why the whole table is lost.
    fn read_parts(&mut self, io_errors: IoErrors) -> Result<(), Error> {
        let state = &self.state;
        let (source, _) = self.source.as_ref().ok_or_else(|| Error::Missing { file: self.file.clone() })?;
        let footer = match open_footer(&self.file, &**source) {
            Ok((footer, crc, len)) => {
                check_is_named(&self.file, state, &footer, crc, len)?;
                self.num_cells_written = Some(footer.num_cells);
                footer
            }
            Err(error) => {
                io_errors.check(error)?;
                let TableState { number, data_len, index_len, max_seq, .. } = *state;
                Footer { number, data_len, index_len, max_seq, ..Footer::default() }
            }
        };
        let index = self.read_part(footer.data_len, footer.index_len).and_then(|mut pages| {
            pages.truncate(footer.index_len as usize);
            Index::decode(&self.file, &footer, pages)
        });
        match index {
            Ok(index) => self.read_blocks(&index, &footer, io_errors),
            Err(error) => self.follow_blocks(&footer, io_errors.check(error)?, io_errors),
        }
    }

    fn read_blocks(&mut self, index: &Index, footer: &Footer, io_errors: IoErrors) -> Result<(), Error> {
        let mut is_after_lost = false;
        for block in 0..index.len() {
            let (handle, keys) = (index.handle(block), index.bounds(block));
            is_after_lost = match self.check(handle, footer, Some(keys), &mut None) {
                Ok(num_cells) => {
                    self.keep(handle, num_cells);
                    false
                }
                Err(error) => {
                    let reason = io_errors.check(error)?;
                    let (Bound::Included(first) | Bound::Excluded(first), last) = keys else { continue };
                    match self.lost.last_mut().filter(|_| is_after_lost) {
                        // Neighbours are one range.
                        Some(lost) => lost.rows = Arc::new(lost.rows.start().clone()..=last.row.to_vec()),
                        None => self.lose(Arc::new(first.row.to_vec()..=last.row.to_vec()), reason),
                    }
                    true
                }
            };
        }
        Ok(())
    }

    /// Follows blocks from the file's start to the first that is not right; the index is not, for `reason`.
    fn follow_blocks(&mut self, footer: &Footer, reason: Error, io_errors: IoErrors) -> Result<(), Error> {
        let (mut offset, mut last) = (0, None::<OwnedKey>);
        while offset < footer.data_len {
            let len = self.read_part(offset, PAGE_LEN as u64).map(|page| claimed_len(page.as_slice()));
            let found = len.and_then(|len| {
                let (handle, mut next) = (BlockHandle { offset, len: len.unwrap_or(PAGE_LEN) }, last.clone());
                Ok((handle, self.check(handle, footer, None, &mut next)?, next))
            });
            match found {
                Ok((handle, num_cells, next)) => {
                    last = next;
                    offset += handle.len as u64;
                    self.keep(handle, num_cells);
                }
                Err(error) => {
                    io_errors.check(error)?;
                    // Other cells of the last row may follow it.
                    let first = last.map_or_else(|| self.state.rows.start().clone(), |last| last.row);
                    self.lose(Arc::new(first..=self.state.rows.end().clone()), reason);
                    break;
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, block: BlockHandle, num_cells: u64) {
        self.blocks.push(block);
        self.num_cells += num_cells;
    }

    fn lose(&mut self, rows: Rows, reason: Error) {
        self.lost.push(LostKeys { rows, reason });
    }

    /// Reads and checks a block, and returns the number of its cells.
    fn check(
        &self,
        BlockHandle { offset, len }: BlockHandle,
        footer: &Footer,
        bounds: Option<(Bound<CellKey<'_>>, CellKey<'_>)>,
        last: &mut Option<OwnedKey>,
    ) -> Result<u64, Error> {
        let pages = self.read_part(offset, len as u64)?;
        let (mut num_cells, mut is_of_table) = (0, true);
        let block = BlockReader::open(&self.file, self.state.number, offset, pages.as_slice())?;
        check_cells(&block, footer, bounds, last, |cell| {
            num_cells += 1;
            is_of_table &= **self.state.rows.start() <= *cell.key.row && *cell.key.row <= **self.state.rows.end();
        })?;
        match is_of_table {
            true => Ok(num_cells),
            false => Err(block.damaged(Damage::Contradiction { name: "row of a cell", found: num_cells })),
        }
    }
}
