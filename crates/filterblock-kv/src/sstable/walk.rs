//! The walk over all cells of a table that verifies it.

use super::{
    BlockReader, Bound, CellKey, CellRef, Damage, Error, Footer, OwnedKey, Probe, RangeBounds, Run, TableReader,
};

/// The counts of a walk.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) num_cells: u64,
    pub(crate) num_tombstones: u64,
    /// The counts of each filter, in the order given.
    pub(crate) probes: Vec<Probes>,
    /// The counts of the range filter, if it is usable, in place of the last of `probes`.
    pub(crate) of_range: Option<Probes>,
    /// The blocks that are not what was written, with the first error in each.
    pub(crate) damaged: Vec<(usize, Error)>,
}

/// The probes of one filter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probes {
    /// Cells that have an entry in the filter.
    pub(crate) asked: u64,
    /// The number of these that the filter denies: each denial hides data.
    pub(crate) denied: u64,
}

impl TableReader {
    /// Reads every data block; checks checksums, order, key ranges, sequence numbers and counts; and probes `filters`
    /// for every cell. Goes on after a block that is not what was written.
    ///
    /// # Errors
    /// [`Error::Damaged`] if all blocks are intact, but the footer's counts differ from those of their cells.
    pub(crate) fn walk(&self, filters: &[Probe<'_>]) -> Result<Walk, Error> {
        let probes = vec![Probes::default(); filters.len()];
        let mut walk = Walk { num_cells: 0, num_tombstones: 0, probes, of_range: None, damaged: Vec::new() };
        let mut last = None;
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
        filters: &[Probe<'_>],
        walk: &mut Walk,
        last: &mut Option<OwnedKey>,
    ) -> Result<(), Error> {
        let opened = self.open_block(block, run)?.0;
        check_cells(&opened, &self.footer, Some(self.index.bounds(block)), last, |cell| {
            walk.num_cells += 1;
            walk.num_tombstones += u64::from(cell.value.is_none());
            for (filter, probes) in filters.iter().zip(&mut walk.probes) {
                if let Some(answer) = filter(cell.key) {
                    probes.asked += 1;
                    probes.denied += u64::from(!answer);
                }
            }
        })
    }
}

/// Checks that the cells of a block are within the bounds that the index gives, covered by the footer, and in order
/// after `last`, which becomes the last of them.
pub(super) fn check_cells(
    block: &BlockReader<'_>,
    footer: &Footer,
    bounds: Option<(Bound<CellKey<'_>>, CellKey<'_>)>,
    last: &mut Option<OwnedKey>,
    mut each: impl FnMut(&CellRef<'_>),
) -> Result<(), Error> {
    for (position, cell) in (0..).zip(block.cells()) {
        let cell = cell?;
        // A lookup would not find it.
        if bounds.is_some_and(|(start, last)| !(start, Bound::Included(last)).contains(&cell.key)) {
            return Err(block.damaged(Damage::Contradiction { name: "key of a cell", found: position }));
        }
        if !footer.covers(cell.seq) {
            return Err(block.damaged(Damage::Contradiction { name: "sequence number of a cell", found: cell.seq }));
        }
        if last.as_ref().is_some_and(|last| last.as_key() >= cell.key) {
            return Err(block.damaged(Damage::Order { position }));
        }
        last.get_or_insert_default().assign(cell.key);
        each(&cell);
    }
    Ok(())
}
