//! The jobs of maintenance, and the longest of them, compaction.

use super::{
    Arc, CellKey, CellRef, Compaction, Durability, Edit, Error, LevelCursor, MaintenanceState, Merge, NUM_LEVELS,
    Output, Purpose, Reading, RowRange, Shared, Source, Table, Version, compaction, entries_of, filter_policies, flush,
    held_columns, write,
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

/// Does the most urgent job. False if none is due.
pub(super) fn run_job(shared: &Shared, maintenance: &mut MaintenanceState) -> Result<bool, Error> {
    shared.check_writable()?;
    if flush::flush_oldest(shared)? {
        return Ok(true);
    }
    let has_failed = shared.work.lock().failed.is_some();
    let compaction = compaction::pick(&shared.view().version, &shared.options, has_failed);
    if let Some(compaction) = compaction {
        return run_compaction(shared, &compaction);
    }
    Ok(filter_policies::shrink_filters(shared, maintenance)? || held_columns::hold_columns(shared, maintenance)?)
}

/// Merges everything into the deepest level that has a table.
pub(super) fn compact_all(shared: &Shared) -> Result<(), Error> {
    let mut maintenance = shared.maintenance.lock();
    let all = compaction::whole_store(&shared.view().version);
    let is_move = |compaction: &Compaction| compaction.is_move() && has_same_filters(shared, compaction);
    let (moves, merges): (Vec<_>, Vec<_>) = all.into_iter().partition(is_move);
    if let Some(to_level) = moves.first().map(|compaction| compaction.to_level) {
        let runs = moves.into_iter().flat_map(|compaction| compaction.runs).collect();
        move_tables(shared, &Compaction { runs, to_level })?;
    }
    for compaction in &merges {
        run_compaction(shared, compaction)?;
    }
    while filter_policies::shrink_filters(shared, &mut maintenance)? {}
    held_columns::hold_columns(shared, &mut maintenance).map(drop)
}

/// Merges tables into a level. False if the store is being closed; nothing has changed then.
fn run_compaction(shared: &Shared, compaction: &Compaction) -> Result<bool, Error> {
    let version = Arc::clone(&shared.view().version);
    if compaction.is_move() && has_same_filters(shared, compaction) {
        return move_tables(shared, compaction).map(|()| true);
    }
    let mut outputs = Outputs::default();
    match merge(shared, compaction, &version, &mut outputs) {
        Ok(true) => {}
        given_up => {
            // No manifest names them.
            outputs.current.iter().for_each(|output| shared.abandon(output.number));
            outputs.finished.iter().for_each(|table| table.mark_obsolete());
            return given_up;
        }
    }
    let outputs = outputs.finished;
    if !outputs.is_empty() {
        shared.sync_dir()?;
    }
    let gone: Vec<u64> = compaction.inputs().map(|table| table.number()).collect();
    let removed = gone.iter().copied().map(Edit::TableRemoved);
    let added = outputs.iter().map(|table| Edit::TableAdded(table.state()));
    let committed = shared.commit_tables(&removed.chain(added).collect::<Vec<_>>(), &gone, &outputs);
    committed.inspect_err(|_| shared.discard(&outputs))?;
    compaction.inputs().for_each(|table| table.mark_obsolete());
    Ok(true)
}

/// Returns whether the tables get the same filters at both levels.
fn has_same_filters(shared: &Shared, compaction: &Compaction) -> bool {
    let filters = &shared.options.filters;
    let at = |level, purpose, num_entries| {
        let policy = filters.policy(level, purpose)?;
        // An automatic policy differs from level to level, but what it chooses may not.
        Some(policy.choice(num_entries).map_or(policy, |choice| choice.policy()))
    };
    let same = |(table, purpose): (&Arc<Table>, Purpose)| {
        let num_entries = table.num_entries(purpose);
        at(table.level, purpose, num_entries) == at(compaction.to_level, purpose, num_entries)
    };
    let of_table = |table| Purpose::OF_KEYS.into_iter().map(move |purpose| (table, purpose));
    let same_range = |table: &Arc<Table>| filters.ranges[table.level] == filters.ranges[compaction.to_level];
    filters.budget_bytes.is_none()
        && compaction.upper().all(same_range)
        && compaction.upper().flat_map(of_table).all(same)
}

fn move_tables(shared: &Shared, compaction: &Compaction) -> Result<(), Error> {
    let level = compaction.to_level;
    let gone: Vec<u64> = compaction.upper().map(|table| table.number()).collect();
    let come: Vec<Arc<Table>> = compaction.upper().map(|table| Arc::new(table.at_level(level))).collect();
    let moved: Vec<Edit> = gone.iter().map(|&number| Edit::TableMoved { number, level }).collect();
    shared.commit_tables(&moved, &gone, &come)
}

/// Writes the tables that replace the inputs. False if the store is being closed.
fn merge(shared: &Shared, compaction: &Compaction, version: &Version, outputs: &mut Outputs) -> Result<bool, Error> {
    let level = compaction.to_level;
    let gone: Vec<u64> = compaction.inputs().map(|table| table.number()).collect();
    let policies = filter_policies::choose(shared, version, &gone, level, entries_of(compaction.inputs()));
    let mut merge = Merge::new(sources(compaction)?);
    let (mut borders, max_len) = (Borders::new(version, level), shared.options.max_table_bytes);
    let mut since_poll = 0;
    while let Some(cell) = merge.current() {
        if !poll(shared, &mut since_poll, &cell)? {
            return Ok(false);
        }
        // A tombstone is needed only while a deeper level may hold the cell.
        let is_dropped = cell.value.is_none() && !version.is_below(level, cell.key);
        if !is_dropped {
            let len = outputs.current.as_ref().map(|output| output.writer.len());
            let ends = borders.ends_before(cell.key, len, max_len);
            if let Some(full) = outputs.current.take_if(|_| ends) {
                outputs.finished.push(flush::finish_table(shared, full, level)?);
            }
            let output = match &mut outputs.current {
                Some(output) => output,
                None => outputs.current.insert(flush::begin_table(shared, &policies)?),
            };
            output.writer.add(&cell)?;
        }
        if let Some(full) = outputs.current.take_if(|output| output.writer.len() >= max_len) {
            outputs.finished.push(flush::finish_table(shared, full, level)?);
        }
        merge.advance()?;
    }
    if let Some(last) = outputs.current.take() {
        outputs.finished.push(flush::finish_table(shared, last, level)?);
    }
    Ok(true)
}

/// Counts a cell of a long job and, now and then, syncs the log and flushes a memtable if due: writers must not
/// wait for the end of the job. False if the store is being closed.
pub(super) fn poll(shared: &Shared, since_poll: &mut usize, cell: &CellRef<'_>) -> Result<bool, Error> {
    *since_poll += CELL_WORTH_BYTES + cell.value.map_or(0, <[u8]>::len);
    if *since_poll < POLL_BYTES {
        return Ok(true);
    }
    *since_poll = 0;
    if shared.is_stopping() {
        return Ok(false);
    }
    if let Durability::Interval(interval) = shared.options.durability {
        write::sync_in_background(shared, interval);
    }
    if flush::flush_oldest(shared)? {
        shared.note_progress();
    }
    Ok(true)
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

    /// Returns whether the current table, of `len` bytes so far and of `max_len` at most, should end before `key`: it
    /// is after a border, and the next one is likely to come too late. If there is none, `key` will be its first.
    fn ends_before(&mut self, key: CellKey<'_>, len: Option<u64>, max_len: u64) -> bool {
        let before = self.num_crossed;
        while self.next_level.next_if(|table| table.last_key() < key).is_some() {
            self.num_crossed += 1;
        }
        let crosses = self.num_crossed > before;
        let ends = len.is_none_or(|len| crosses && len + len / self.num_crossed > max_len);
        if ends {
            self.num_crossed = 0;
        }
        ends
    }
}
