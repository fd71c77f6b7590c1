//! The file of a table: footer and index, checked and in memory, and data blocks, read on demand.

use super::{
    Arc, BlockReader, CellKey, Damage, Error, FOOTER_LEN, Footer, Index, PageBuf, Range, ReadableFile,
    SHORT_HEADER_LEN, TableState, open_footer, read_pages,
};

/// Blocks that are all needed are read in runs of about this many bytes.
const RUN_LEN: u64 = 256 << 10;

/// Refuses counts that the data cannot hold, so that sums over tables do not overflow.
fn check_counts(file: &str, footer: &Footer, file_len: u64) -> Result<(), Error> {
    let counts = [
        ("number of cells", footer.num_cells, footer.data_len / SHORT_HEADER_LEN as u64),
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

/// Fails if a file with a right footer is not the table that the manifest names.
pub(super) fn check_is_named(
    file: &str,
    state: &TableState,
    footer: &Footer,
    footer_crc: u32,
    len: u64,
) -> Result<(), Error> {
    if footer.number != state.number {
        return Err(Error::Misplaced { file: file.to_owned(), named: state.number, stored: footer.number });
    }
    let fields = [
        ("length of the table", len, state.len),
        ("checksum of the footer", footer_crc.into(), state.footer_crc.into()),
    ];
    match fields.into_iter().find(|(_, found, expected)| found != expected) {
        Some((name, found, expected)) => Err(Error::damaged(file, len, Damage::Field { name, found, expected })),
        None => Ok(()),
    }
}

/// The file of a table, whose footer and index passed every check.
#[derive(Debug)]
pub(crate) struct TableReader {
    pub(super) file: String,
    pub(super) source: Arc<dyn ReadableFile>,
    pub(super) footer: Footer,
    pub(super) footer_crc: u32,
    pub(super) index: Index,
    pub(crate) file_len: u64,
}

/// The bytes of consecutive data blocks.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) pages: PageBuf,
    /// The offset of the pages in the file.
    offset: u64,
}

impl Run {
    pub(super) const EMPTY: Self = Self { pages: PageBuf::EMPTY, offset: 0 };
}

impl TableReader {
    pub(super) fn open(file: String, source: Arc<dyn ReadableFile>) -> Result<Self, Error> {
        let (footer, footer_crc, file_len) = open_footer(&file, &*source)?;
        check_counts(&file, &footer, file_len)?;
        // The footer's lengths add up to the file's, so none of them allocates more than the file's length.
        let index_pages = footer.index_len.next_multiple_of(FOOTER_LEN as u64);
        let mut index = read_pages(&file, &*source, footer.data_len, index_pages)?;
        // Within the pages that were read, so within `usize`.
        index.truncate(footer.index_len as usize);
        let index = Index::decode(&file, &footer, index)?;
        Ok(Self { file, source, footer, footer_crc, index, file_len })
    }

    /// First and last key. A store opens no table without cells.
    pub(super) fn key_range(&self) -> (CellKey<'_>, CellKey<'_>) {
        let empty = CellKey { row: b"", column: b"" };
        self.index.key_range().unwrap_or((empty, empty))
    }

    /// Reads consecutive data blocks in one piece.
    pub(super) fn read_blocks(&self, blocks: Range<usize>) -> Result<Run, Error> {
        let offset = self.index.handle(blocks.start).offset;
        let len = blocks.map(|block| self.index.handle(block).len as u64).sum();
        Ok(Run { pages: read_pages(&self.file, &*self.source, offset, len)?, offset })
    }

    /// The first of `blocks`, about [`RUN_LEN`] bytes of them.
    pub(super) fn next_run(&self, blocks: Range<usize>) -> Range<usize> {
        let end = blocks
            .clone()
            .find(|&block| self.index.handle(block).offset - self.index.handle(blocks.start).offset >= RUN_LEN);
        blocks.start..end.unwrap_or(blocks.end)
    }

    /// A block of a run, and where it starts in the run.
    pub(super) fn open_block<'a>(&'a self, block: usize, run: &'a Run) -> Result<(BlockReader<'a>, usize), Error> {
        let handle = self.index.handle(block);
        // Within the run, so within `usize`.
        let start = (handle.offset - run.offset) as usize;
        let bytes = &run.pages.as_slice()[start..start + handle.len];
        Ok((BlockReader::open(&self.file, self.footer.number, handle.offset, bytes)?, start))
    }

    /// Refuses a cell whose sequence number the footer does not cover. The store continues from the greatest number in
    /// a footer, so a greater one would be taken for later than writes to come, and a merged table might not open.
    #[inline]
    pub(super) fn check_seq(&self, block: usize, seq: u64) -> Result<(), Error> {
        if self.footer.covers(seq) { Ok(()) } else { Err(self.seq_not_covered(block, seq)) }
    }

    #[cold]
    fn seq_not_covered(&self, block: usize, seq: u64) -> Error {
        self.damaged(block, Damage::Contradiction { name: "sequence number of a cell", found: seq })
    }

    pub(super) fn damaged(&self, block: usize, damage: Damage) -> Error {
        Error::damaged(&self.file, self.index.handle(block).offset, damage)
    }
}

#[cfg(test)]
mod tests {
    use super::{Damage, Error, FOOTER_LEN, Footer, ReadableFile, TableReader, check_counts};
    use std::io;
    use std::sync::Arc;

    fn footer() -> Footer {
        let (num_cells, num_tombstones, num_rows) = (409, 409, 409);
        Footer { num_cells, num_tombstones, num_rows, data_len: 4096, index_len: 20, ..Footer::default() }
    }

    /// A file of zeros with the length that its footer, the last page, claims.
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
        // The least that is too long, and one that is 0 when truncated to 32 bits.
        for index_len in [isize::MAX as u64 + 1, 1 << 63] {
            let footer_at = 4096 + index_len;
            let footer = Footer { index_len, ..footer() }.encode(footer_at);
            let refused = TableReader::open("table".to_owned(), Arc::new(Hole { footer, footer_at }));
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
            Footer { num_cells: 410, ..right.clone() },
            Footer { num_cells: u64::MAX, ..right.clone() },
            Footer { num_tombstones: 410, ..right.clone() },
            Footer { num_rows: u64::MAX, ..right },
        ] {
            let refused = check_counts("table", &wrong, 12_288);
            assert!(
                matches!(refused, Err(Error::Damaged { offset: 8192, damage: Damage::Field { .. }, .. })),
                "{wrong:?}"
            );
        }
    }
}
