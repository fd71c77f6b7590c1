//! The file of a table in a store, read through the cache and removed when it is obsolete.

use super::{
    Arc, BlockCounters, BlockReader, CellRef, Damage, Error, FileName, OpenFile, Range, TableContext, TableReader,
};

/// A data block whose checksum holds.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    bytes: Arc<[u8]>,
    cells: Range<usize>,
    pub(super) num_cells: u32,
}

impl Block {
    pub(super) fn cells(&self) -> &[u8] {
        &self.bytes[self.cells.clone()]
    }
}

/// A table's file, and its reader.
#[derive(Debug)]
pub(super) struct TableData {
    pub(super) file: OpenFile,
    pub(super) reader: TableReader,
}

impl TableData {
    pub(super) fn open(context: &Arc<TableContext>, number: u64) -> Result<Self, Error> {
        let file = FileName::Table(number).to_string();
        let source = context.storage.open(&file).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Missing { file: file.clone() },
            _ => Error::io(&file, "open", error),
        })?;
        let reader = TableReader::open(file.clone(), source)?;
        let stored = reader.footer.number;
        if stored != number {
            return Err(Error::Misplaced { file, named: number, stored });
        }
        if reader.index.key_range().is_none() {
            return Err(Error::damaged(&file, 0, Damage::Contradiction { name: "number of blocks", found: 0 }));
        }
        Ok(Self { file: OpenFile::new(context, file), reader })
    }

    /// A data block, from the cache or from storage, counted in `account`.
    pub(super) fn read_block(&self, block: usize, account: &BlockCounters) -> Result<Block, Error> {
        let (file, cache) = (&self.reader.file, &self.file.context.cache);
        let offset = self.reader.index.handle(block).offset;
        if let Some(bytes) = cache.data(self.file.id, offset) {
            account.note_cache_hit();
            // Its checksum was checked when it was read.
            let (cells, num_cells) = BlockReader::open_checked(file, offset, &bytes)?.extent();
            return Ok(Block { bytes, cells, num_cells });
        }
        let run = self.reader.read_blocks(block..block + 1)?;
        account.note_read(run.pages.as_slice().len());
        let (cells, num_cells) = self.reader.open_block(block, &run)?.0.extent();
        let bytes: Arc<[u8]> = run.pages.as_slice().into();
        cache.insert_data(self.file.id, offset, Arc::clone(&bytes));
        Ok(Block { bytes, cells, num_cells })
    }

    /// The cells of a block that was read.
    pub(super) fn cells<'a>(
        &'a self,
        block: usize,
        loaded: &'a Block,
    ) -> impl Iterator<Item = Result<CellRef<'a>, Error>> + use<'a> {
        let offset = self.reader.index.handle(block).offset;
        BlockReader::new(&self.reader.file, offset, loaded.cells(), loaded.num_cells).cells()
    }
}
