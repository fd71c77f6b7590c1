//! The jobs of maintenance, and the longest of them, compaction.

use super::{
    Arc, CellKey, CellRef, Compaction, Durability, Edit, Error, LevelCursor, MaintenanceState, Merge, NUM_LEVELS,
    Output, Purpose, Reading, RowRange, Shared, Source, Table, Version, compaction, entries_of,
};

/// A long job polls after about this many bytes whether memtables wait to be flushed, or the store is being closed.
const POLL_BYTES: usize = 256 << 10;
/// The bytes that a cell counts towards [`POLL_BYTES`], besides its value.
const CELL_WORTH_BYTES: usize = 200;

/// The tables that a compaction has written.
#[derive(Default)]
struct Outputs {
    finished: Vec<Arc<Table>>,
    current: Option<Output>,
}

impl Shared {
    /// Does the most urgent job. False if none is due.
    pub(super) fn run_job(&self, maintenance: &mut MaintenanceState) -> Result<bool, Error> {
        self.check_writable()?;
        if self.flush_oldest()? {
            return Ok(true);
        }
        let has_failed = self.work.lock().failed.is_some();
        let compaction = compaction::pick(&self.view().version, &self.options, has_failed);
        if let Some(compaction) = compaction {
            return self.run_compaction(&compaction);
        }
        Ok(self.shrink_filters(maintenance)? || self.hold_columns(maintenance)?)
    }

    /// Merges everything into the deepest level that has a table.
    pub(super) fn compact_all(&self) -> Result<(), Error> {
        let mut maintenance = self.maintenance.lock();
        let all = compaction::whole_store(&self.view().version);
        let is_move = |compaction: &Compaction| compaction.is_move() && self.has_same_filters(compaction);
        let (moves, merges): (Vec<_>, Vec<_>) = all.into_iter().partition(is_move);
        if let Some(to_level) = moves.first().map(|compaction| compaction.to_level) {
            let runs = moves.into_iter().flat_map(|compaction| compaction.runs).collect();
            self.move_tables(&Compaction { runs, to_level })?;
        }
        for compaction in &merges {
            self.run_compaction(compaction)?;
        }
        while self.shrink_filters(&mut maintenance)? {}
        self.hold_columns(&mut maintenance).map(drop)
    }

    /// Merges tables into a level. False if the store is being closed; nothing has changed then.
    fn run_compaction(&self, compaction: &Compaction) -> Result<bool, Error> {
        let version = Arc::clone(&self.view().version);
        if compaction.is_move() && self.has_same_filters(compaction) {
            return self.move_tables(compaction).map(|()| true);
        }
        let mut outputs = Outputs::default();
        match self.merge(compaction, &version, &mut outputs) {
            Ok(true) => {}
            given_up => {
                // No manifest names them.
                outputs.current.iter().for_each(|output| self.abandon(output.number));
                outputs.finished.iter().for_each(|table| table.mark_obsolete());
                return given_up;
            }
        }
        let outputs = outputs.finished;
        if !outputs.is_empty() {
            self.sync_dir()?;
        }
        let gone: Vec<u64> = compaction.inputs().map(|table| table.number()).collect();
        let removed = gone.iter().copied().map(Edit::TableRemoved);
        let added = outputs.iter().map(|table| Edit::TableAdded(table.state()));
        let committed = self.commit_tables(&removed.chain(added).collect::<Vec<_>>(), &gone, &outputs);
        committed.inspect_err(|_| self.discard(&outputs))?;
        compaction.inputs().for_each(|table| table.mark_obsolete());
        Ok(true)
    }

    /// Whether the tables get the same filters at both levels.
    fn has_same_filters(&self, compaction: &Compaction) -> bool {
        let filters = &self.options.filters;
        let at = |level, purpose, num_entries| {
            let policy = filters.policy(level, purpose)?;
            // An automatic policy differs from level to level, but what it chooses may not.
            Some(policy.choice(num_entries).map_or(policy, |choice| choice.policy()))
        };
        let same = |(table, purpose): (&Arc<Table>, Purpose)| {
            let num_entries = table.num_entries(purpose);
            at(table.level, purpose, num_entries) == at(compaction.to_level, purpose, num_entries)
        };
        let of_table = |table| Purpose::ALL.into_iter().map(move |purpose| (table, purpose));
        let same = compaction.upper().flat_map(of_table).all(same);
        same && filters.budget_bytes.is_none() && !filters.skip_last_level
    }

    fn move_tables(&self, compaction: &Compaction) -> Result<(), Error> {
        let level = compaction.to_level;
        let gone: Vec<u64> = compaction.upper().map(|table| table.number()).collect();
        let come: Vec<Arc<Table>> = compaction.upper().map(|table| Arc::new(table.at_level(level))).collect();
        let moved: Vec<Edit> = gone.iter().map(|&number| Edit::TableMoved { number, level }).collect();
        self.commit_tables(&moved, &gone, &come)
    }

    /// Writes the tables that replace the inputs. False if the store is being closed.
    fn merge(&self, compaction: &Compaction, version: &Version, outputs: &mut Outputs) -> Result<bool, Error> {
        let level = compaction.to_level;
        let gone: Vec<u64> = compaction.inputs().map(|table| table.number()).collect();
        let policies = self.filter_policies(version, &gone, level, entries_of(compaction.inputs()));
        let mut merge = Merge::new(sources(compaction)?);
        let (mut borders, len_max) = (Borders::new(version, level), self.options.table_bytes_max);
        let mut since_poll = 0;
        while let Some(cell) = merge.current() {
            if !self.poll(&mut since_poll, &cell)? {
                return Ok(false);
            }
            // A tombstone is needed only while a deeper level may hold the cell.
            let is_dropped = cell.value.is_none() && !version.is_below(level, cell.key);
            if !is_dropped {
                let len = outputs.current.as_ref().map(|output| output.writer.len());
                let ends = borders.ends_before(cell.key, len, len_max);
                if let Some(full) = outputs.current.take_if(|_| ends) {
                    outputs.finished.push(self.finish_table(full, level)?);
                }
                let output = match &mut outputs.current {
                    Some(output) => output,
                    None => outputs.current.insert(self.begin_table(&policies)?),
                };
                output.writer.add(&cell)?;
            }
            if let Some(full) = outputs.current.take_if(|output| output.writer.len() >= len_max) {
                outputs.finished.push(self.finish_table(full, level)?);
            }
            merge.advance()?;
        }
        if let Some(last) = outputs.current.take() {
            outputs.finished.push(self.finish_table(last, level)?);
        }
        Ok(true)
    }

    /// Counts a cell of a long job and, now and then, syncs the log and flushes a memtable if due: writers must not
    /// wait for the end of the job. False if the store is being closed.
    pub(super) fn poll(&self, since_poll: &mut usize, cell: &CellRef<'_>) -> Result<bool, Error> {
        *since_poll += CELL_WORTH_BYTES + cell.value.map_or(0, <[u8]>::len);
        if *since_poll < POLL_BYTES {
            return Ok(true);
        }
        *since_poll = 0;
        if self.is_stopping() {
            return Ok(false);
        }
        if let Durability::Interval(interval) = self.options.durability {
            self.sync_in_background(interval);
        }
        if self.flush_oldest()? {
            self.note_progress();
        }
        Ok(true)
    }
}

fn sources(compaction: &Compaction) -> Result<Vec<Source>, Error> {
    let range = Arc::new(RowRange::ALL);
    let cursor =
        |run: &Vec<_>| LevelCursor::new(run.clone(), Arc::clone(&range), Reading::Maintenance).map(Source::Tables);
    compaction.runs.iter().map(cursor).collect()
}

/// The borders at which a merge ends a table, besides its greatest length: the ends of tables of the next level, so
/// that this table is merged with few of them later.
struct Borders<'a> {
    next_level: core::iter::Peekable<core::slice::Iter<'a, Arc<Table>>>,
    /// The number of borders that the current table has crossed.
    num_crossed: u64,
}

impl<'a> Borders<'a> {
    fn new(version: &'a Version, level: usize) -> Self {
        let next_level = if level + 1 < NUM_LEVELS { version.level(level + 1) } else { &[] };
        Self { next_level: next_level.iter().peekable(), num_crossed: 0 }
    }

    /// Whether the current table, of `len` bytes so far and of `len_max` at most, should end before `key`: it is behind
    /// a border, and the next one is likely to come too late. If there is none, `key` will be its first.
    fn ends_before(&mut self, key: CellKey<'_>, len: Option<u64>, len_max: u64) -> bool {
        let before = self.num_crossed;
        while self.next_level.next_if(|table| table.last_key() < key).is_some() {
            self.num_crossed += 1;
        }
        let crosses = self.num_crossed > before;
        let ends = len.is_none_or(|len| crosses && len + len / self.num_crossed > len_max);
        if ends {
            self.num_crossed = 0;
        }
        ends
    }
}
