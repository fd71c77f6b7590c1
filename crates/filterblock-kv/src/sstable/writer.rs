//! Writing a table from cells in order.

use super::{
    BlockBuilder, CellKey, CellRef, Error, FilterPolicies, FilterWriter, Footer, IndexBuilder, KeyHasher, OwnedKey,
    PAGE_LEN, Warning, WritableFile,
};

/// The file is written in pieces of about this many bytes.
const WRITE_LEN: usize = 1 << 20;

/// Writes a table: `new add* finish`, cells in strictly ascending order. The file is complete when `finish` returns;
/// the caller syncs and renames it.
#[derive(Debug)]
pub(crate) struct TableWriter {
    file: String,
    out: Box<dyn WritableFile>,
    pending: Vec<u8>,
    written: u64,
    block: BlockBuilder,
    last_key: OwnedKey,
    /// Begun with the first cell.
    index: Option<IndexBuilder>,
    filters: FilterWriter,
    footer: Footer,
}

impl TableWriter {
    pub(crate) fn new(
        file: String,
        out: Box<dyn WritableFile>,
        number: u64,
        hasher: KeyHasher,
        policies: &FilterPolicies,
    ) -> Self {
        Self {
            file,
            out,
            pending: Vec::new(),
            written: 0,
            block: BlockBuilder::new(),
            last_key: OwnedKey::default(),
            index: None,
            filters: FilterWriter::new(number, policies),
            footer: Footer { number, table: number, seed: hasher.seed(), min_seq: u64::MAX, ..Footer::default() },
        }
    }

    pub(crate) fn add(&mut self, cell: &CellRef<'_>) -> Result<(), Error> {
        if !self.block.is_empty() && !self.block.fits(cell) {
            self.finish_block()?;
        }
        let last = (self.footer.num_cells > 0).then(|| self.last_key.as_key());
        self.filters.add(cell.key, last);
        self.footer.num_rows += u64::from(last.is_none_or(|last| last.row != cell.key.row));
        self.index.get_or_insert_with(|| IndexBuilder::new(cell.key));
        self.last_key.assign(cell.key);
        self.block.push(cell);
        let footer = &mut self.footer;
        footer.num_cells += 1;
        footer.num_tombstones += u64::from(cell.value.is_none());
        footer.min_seq = footer.min_seq.min(cell.seq);
        footer.max_seq = footer.max_seq.max(cell.seq);
        Ok(())
    }

    /// Length of the data blocks so far.
    pub(crate) fn len(&self) -> u64 {
        self.offset() + self.block.len() as u64
    }

    fn finish_block(&mut self) -> Result<(), Error> {
        if self.block.is_empty() {
            return Ok(());
        }
        let offset = self.offset();
        let pages = self.block.finish_into(self.footer.number, offset, &mut self.pending);
        let last = self.last_key.as_key();
        self.index.iter_mut().for_each(|index| index.push(pages, last));
        self.write_out(WRITE_LEN)
    }

    /// The offset of the next byte.
    fn offset(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// Writes the pending bytes if there are at least `len`.
    fn write_out(&mut self, len: usize) -> Result<(), Error> {
        if self.pending.len() >= len {
            self.out.write_all(&self.pending).map_err(|error| Error::io(&self.file, "write", error))?;
            self.written += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(())
    }

    /// Completes the file, but does not sync it. It also returns warnings about filters that could not be built.
    pub(crate) fn finish(mut self) -> Result<(Box<dyn WritableFile>, Vec<Warning>), Error> {
        self.finish_block()?;
        self.footer.data_len = self.offset();
        let index = self.index.unwrap_or_else(|| IndexBuilder::new(CellKey { row: b"", column: b"" }));
        let index = index.finish(self.footer.number, self.footer.data_len);
        self.footer.index_len = index.len() as u64;
        self.pending.extend_from_slice(&index);
        self.pending.resize(self.pending.len().next_multiple_of(PAGE_LEN), 0);
        let offset = self.written + self.pending.len() as u64;
        let warnings = self.filters.finish_into(&self.file, offset, &mut self.pending, &mut self.footer);
        let footer = self.footer.encode(self.written + self.pending.len() as u64);
        self.pending.extend_from_slice(&footer);
        self.out.write_all(&self.pending).map_err(|error| Error::io(&self.file, "write", error))?;
        Ok((self.out, warnings))
    }
}
