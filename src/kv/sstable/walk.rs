//! The walk over all cells of a table that verifies it.

use super::super::cell::OwnedKey;
use super::super::error::{Damage, Error};
use super::filter::Loaded;
use super::reader::{Run, TableReader};
use core::ops::{Bound, RangeBounds};

/// What a walk has counted.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) num_cells: u64,
    pub(crate) num_tombstones: u64,
    /// For each filter, in the order given.
    pub(crate) probes: Vec<Probes>,
    /// The blocks that are not what was written, with the first error in each.
    pub(crate) damaged: Vec<(usize, Error)>,
}

/// The probes of one filter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probes {
    /// Cells that have an entry in the filter.
    pub(crate) asked: u64,
    /// Those of them that the filter denies: each hides data.
    pub(crate) denied: u64,
}

impl TableReader {
    /// Reads every data block; checks checksums, order, key ranges, sequence numbers and counts; and probes `filters`
    /// for every cell. Goes on after a block that is not what was written.
    ///
    /// # Errors
    /// [`Error::Damaged`] if all blocks are right, and the counts in the footer are not those of their cells.
    pub(crate) fn walk(&self, filters: &[Loaded<'_>]) -> Result<Walk, Error> {
        let probes = vec![Probes::default(); filters.len()];
        let mut walk = Walk { num_cells: 0, num_tombstones: 0, probes, damaged: Vec::new() };
        let mut last = OwnedKey::default();
        let mut blocks = 0..self.index.len();
        while !blocks.is_empty() {
            let run_blocks = self.next_run(blocks.clone());
            blocks.start = run_blocks.end;
            let run = self.read_blocks(run_blocks.clone());
            for block in run_blocks {
                let walked = match &run {
                    Ok(run) => self.walk_block(block, run, filters, &mut walk, &mut last),
                    // One page of the run cannot be read; the others may.
                    Err(_) => self
                        .read_blocks(block..block + 1)
                        .and_then(|run| self.walk_block(block, &run, filters, &mut walk, &mut last)),
                };
                walk.damaged.extend(walked.err().map(|error| (block, error)));
            }
        }
        let footer = &self.footer;
        let counts = [
            ("number of cells", walk.num_cells, footer.num_cells),
            ("number of tombstones", walk.num_tombstones, footer.num_tombstones),
        ];
        let wrong = counts.into_iter().find(|(_, found, expected)| found != expected);
        match wrong.filter(|_| walk.damaged.is_empty()) {
            Some((name, found, expected)) => {
                Err(Error::damaged(&self.file, 0, Damage::Field { name, found, expected }))
            }
            None => Ok(walk),
        }
    }

    fn walk_block(
        &self,
        block: usize,
        run: &Run,
        filters: &[Loaded<'_>],
        walk: &mut Walk,
        last: &mut OwnedKey,
    ) -> Result<(), Error> {
        let (start, last_key) = self.index.bounds(block);
        for cell in self.open_block(block, run)?.0.cells() {
            let cell = cell?;
            // A lookup would not find it.
            if !(start, Bound::Included(last_key)).contains(&cell.key) {
                let name = "key range in the index of block";
                return Err(self.damaged(block, Damage::Contradiction { name, found: block as u64 }));
            }
            self.check_seq(block, cell.seq)?;
            if walk.num_cells > 0 && last.as_key() >= cell.key {
                return Err(self.damaged(block, Damage::Order { position: walk.num_cells }));
            }
            last.assign(cell.key);
            walk.num_cells += 1;
            walk.num_tombstones += u64::from(cell.value.is_none());
            for (filter, probes) in filters.iter().zip(&mut walk.probes) {
                if let Some(answer) = filter.may_contain_cell(cell.key) {
                    probes.asked += 1;
                    probes.denied += u64::from(!answer);
                }
            }
        }
        Ok(())
    }
}
