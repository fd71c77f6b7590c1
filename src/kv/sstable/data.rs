//! The immutable part of a table: its footer, its index, and its data blocks on the disk.

use super::super::cache::FileId;
use super::super::cell::CellKey;
use super::super::error::{Damage, Error};
use super::super::ledger::BlockCounters;
use super::super::names::FileName;
use super::super::storage::{PageBuf, ReadableFile, read_exact_at};
use super::block::{BlockReader, CELL_HEADER_LEN, cell_cut_off, cell_not_covered};
use super::context::TableContext;
use super::format::{CRC_AT, FOOTER_LEN, Footer, padded};
use super::index::Index;
use crate::bytes;
use core::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Footer and index of a file, with every check.
#[derive(Debug)]
pub(super) struct Structure {
    pub(super) footer: Footer,
    pub(super) footer_crc: u32,
    pub(super) index: Index,
    pub(super) file_len: u64,
}

/// The footer of `file` with its CRC, and the file's length.
pub(super) fn open_footer(file: &str, source: &dyn ReadableFile) -> Result<(Footer, u32, u64), Error> {
    let file_len = source.len().map_err(|error| Error::io(file, "get the length", error))?;
    let footer_at = file_len.checked_sub(FOOTER_LEN as u64).filter(|&at| padded(at) == Some(at));
    let Some(footer_at) = footer_at else {
        return Err(Error::damaged(file, 0, Damage::FileLength { len_bytes: file_len }));
    };
    let page = read_pages(file, source, footer_at, FOOTER_LEN as u64)?;
    let footer = Footer::decode(file, page.as_slice(), footer_at)?;
    Ok((footer, bytes::u32_at(page.as_slice(), CRC_AT), file_len))
}

/// Refuses counts that the data cannot hold, so that sums over tables stay sums.
fn check_counts(file: &str, footer: &Footer, file_len: u64) -> Result<(), Error> {
    let counts = [
        ("number of cells", footer.num_cells, footer.data_len / CELL_HEADER_LEN as u64),
        ("number of tombstones", footer.num_tombstones, footer.num_cells),
        ("number of rows", footer.num_rows, footer.num_cells),
    ];
    match counts.into_iter().find(|(_, found, most)| found > most) {
        Some((name, found, expected)) => {
            let footer_at = file_len.saturating_sub(FOOTER_LEN as u64);
            Err(Error::damaged(file, footer_at, Damage::Field { name, found, expected }))
        }
        None => Ok(()),
    }
}

impl Structure {
    pub(super) fn open(file: &str, source: &dyn ReadableFile) -> Result<Self, Error> {
        let (footer, footer_crc, file_len) = open_footer(file, source)?;
        check_counts(file, &footer, file_len)?;
        // The footer's lengths add up to the file's, so none of them asks for more memory than the file has bytes.
        let mut page = read_pages(file, source, footer.data_len, footer.index_len.next_multiple_of(FOOTER_LEN as u64))?;
        // Within the pages that were read, so within usize.
        page.truncate(footer.index_len as usize);
        let index = page.as_slice().to_vec();
        let index = Index::decode(file, footer.number, footer.data_len, index, footer.data_len)?;
        Ok(Self { footer, footer_crc, index, file_len })
    }
}

fn read_pages(file: &str, source: &dyn ReadableFile, offset: u64, len: u64) -> Result<PageBuf, Error> {
    let read = || {
        let mut pages = PageBuf::for_stored(len)?;
        read_exact_at(source, pages.as_mut_slice(), offset).map(|()| pages)
    };
    read().map_err(|error| Error::io(file, "read", error))
}

/// A data block whose checksum holds.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    bytes: Arc<[u8]>,
    cells: Range<usize>,
    num_cells: u32,
}

impl Block {
    pub(super) fn cells(&self) -> &[u8] {
        &self.bytes[self.cells.clone()]
    }

    pub(super) fn num_cells(&self) -> u32 {
        self.num_cells
    }
}

/// A table's file. It is removed with the last holder, once it is said to be obsolete.
#[derive(Debug)]
pub(super) struct TableData {
    pub(super) context: Arc<TableContext>,
    pub(super) file: String,
    pub(super) file_id: FileId,
    pub(super) source: Arc<dyn ReadableFile>,
    pub(super) structure: Structure,
    is_obsolete: AtomicBool,
}

impl TableData {
    pub(super) fn open(context: &Arc<TableContext>, number: u64) -> Result<Self, Error> {
        let file = FileName::Table(number).to_string();
        let source = context.storage.open(&file).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Missing { file: file.clone() },
            _ => Error::io(&file, "open", error),
        })?;
        let structure = Structure::open(&file, &*source)?;
        let stored = structure.footer.number;
        if stored != number {
            return Err(Error::Misplaced { file, named: number, stored });
        }
        if structure.index.key_range().is_none() {
            return Err(Error::damaged(&file, 0, Damage::Contradiction { name: "number of blocks", found: 0 }));
        }
        let (context, file_id) = (Arc::clone(context), context.cache.open_file());
        Ok(Self { context, file, file_id, source, structure, is_obsolete: AtomicBool::new(false) })
    }

    pub(super) fn index(&self) -> &Index {
        &self.structure.index
    }

    /// First and last key. A table of no cells is not opened.
    pub(super) fn key_range(&self) -> (CellKey<'_>, CellKey<'_>) {
        let empty = CellKey { row: b"", column: b"" };
        self.index().key_range().unwrap_or((empty, empty))
    }

    /// A data block, from the cache or the disk, on the given account.
    pub(super) fn read_block(&self, block: usize, account: &BlockCounters) -> Result<Block, Error> {
        let (place, cache) = (self.index().place(block), &self.context.cache);
        if let Some(bytes) = cache.data(self.file_id, place.offset) {
            account.note_cache_hit();
            // Its checksum was right when it came in.
            let (cells, num_cells) = BlockReader::open_checked(&self.file, place.offset, &bytes)?.place();
            return Ok(Block { bytes, cells, num_cells });
        }
        let pages = read_pages(&self.file, &*self.source, place.offset, place.len as u64)?;
        account.note_read(place.len);
        let (cells, num_cells) = self.check_block(block, pages.as_slice())?.place();
        let bytes: Arc<[u8]> = pages.as_slice().into();
        cache.insert_data(self.file_id, place.offset, Arc::clone(&bytes));
        Ok(Block { bytes, cells, num_cells })
    }

    /// Reads data blocks in one piece.
    pub(super) fn read_blocks(&self, blocks: Range<usize>) -> Result<PageBuf, Error> {
        let start = self.index().place(blocks.start).offset;
        let len = blocks.map(|block| self.index().place(block).len as u64).sum();
        read_pages(&self.file, &*self.source, start, len)
    }

    pub(super) fn check_block<'a>(&'a self, block: usize, pages: &'a [u8]) -> Result<BlockReader<'a>, Error> {
        let Structure { footer, index, .. } = &self.structure;
        BlockReader::open(&self.file, footer.number, index.place(block).offset, pages)
    }

    /// Refuses a cell whose sequence number the footer does not cover. The store counts on from the footers' numbers, so a
    /// greater one would pass for later than writes to come, and a merged table could be one that does not open.
    #[inline]
    pub(super) fn check_seq(&self, block: usize, seq: u64) -> Result<(), Error> {
        match self.structure.footer.covers(seq) {
            true => Ok(()),
            false => Err(cell_not_covered(&self.file, self.index().place(block).offset, seq)),
        }
    }

    /// A block whose bytes do not hold as many cells as it says.
    pub(super) fn cell_cut_off(&self, block: usize, cells: &[u8]) -> Error {
        cell_cut_off(&self.file, self.index().place(block).offset, cells)
    }

    pub(super) fn mark_obsolete(&self) {
        self.is_obsolete.store(true, Ordering::Release);
    }
}

impl Drop for TableData {
    fn drop(&mut self) {
        if self.is_obsolete.load(Ordering::Acquire) {
            self.context.cache.remove_file(self.file_id);
            // What cannot be removed now is removed when the store is opened.
            let _ = self.context.storage.remove(&self.file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Damage, Error, FOOTER_LEN, Footer, ReadableFile, Structure, check_counts};
    use std::io;

    fn footer() -> Footer {
        Footer {
            number: 1,
            table: 1,
            seed: 0,
            num_cells: 240,
            num_tombstones: 240,
            num_rows: 240,
            min_seq: 1,
            max_seq: 9,
            data_len: 4096,
            index_len: 20,
            filters: Vec::new(),
        }
    }

    /// A file of zeros that is as long as its footer says, and ends with it.
    #[derive(Debug)]
    struct Hole {
        footer: Vec<u8>,
        footer_at: u64,
    }

    impl ReadableFile for Hole {
        fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
            buf.fill(0);
            if offset == self.footer_at {
                buf.copy_from_slice(&self.footer);
            }
            Ok(buf.len())
        }

        fn len(&self) -> io::Result<u64> {
            Ok(self.footer_at + FOOTER_LEN as u64)
        }
    }

    #[test]
    fn an_index_longer_than_memory_can_hold_is_an_error() {
        // The least that is too long, and what has no bit left where a `usize` has 32.
        for index_len in [isize::MAX as u64 + 1, 1 << 63] {
            let footer_at = 4096 + index_len;
            let footer = Footer { index_len, ..footer() }.encode(footer_at);
            let refused = Structure::open("table", &Hole { footer, footer_at });
            let is_refused = matches!(&refused, Err(Error::Io { source, .. })
                if source.kind() == io::ErrorKind::OutOfMemory);
            assert!(is_refused, "{index_len}: {refused:?}");
        }
    }

    #[test]
    fn counts_that_the_data_cannot_hold_are_refused() {
        let right = footer();
        assert!(check_counts("table", &right, 12_288).is_ok());
        for wrong in [
            Footer { num_cells: 241, ..right.clone() },
            Footer { num_cells: u64::MAX, ..right.clone() },
            Footer { num_tombstones: 241, ..right.clone() },
            Footer { num_rows: u64::MAX, ..right.clone() },
        ] {
            let refused = check_counts("table", &wrong, 12_288);
            assert!(
                matches!(refused, Err(Error::Damaged { offset: 8192, damage: Damage::Field { .. }, .. })),
                "{wrong:?}"
            );
        }
    }
}
