//! Flushing a memtable to a table; and the steps of any new table: written, synced, renamed, opened.

use super::{
    Arc, Edit, Error, FileName, FilterPolicies, MAX_WAITING_MEMTABLES, Maintenance, Memtable, Purpose, Seen, Shared,
    Table, TableWriter, Version, View, filter_policies, write,
};

/// A table being written.
pub(super) struct Output {
    pub(super) number: u64,
    pub(super) writer: TableWriter,
}

/// Writes all memtables to tables and waits for it.
pub(super) fn flush(shared: &Shared) -> Result<(), Error> {
    shared.check_writable()?;
    let first = write::seen(shared, None);
    let mut writer = shared.writer.lock();
    shared.check_poison()?;
    loop {
        let seen = write::seen(shared, Some(first));
        if shared.view().memtables.len() <= MAX_WAITING_MEMTABLES {
            break;
        }
        make_progress(shared, seen)?;
    }
    if shared.view().memtables.first().is_some_and(|memtable| !memtable.is_empty()) {
        write::rotate(shared, &mut writer)?;
    }
    drop(writer);
    let last = shared.view().memtables.get(1).map_or(0, |memtable| memtable.log_number);
    loop {
        let seen = write::seen(shared, Some(first));
        let view = shared.view();
        if view.oldest_full().is_none_or(|memtable| memtable.log_number > last) {
            return Ok(());
        }
        make_progress(shared, seen)?;
    }
}

/// Flushes a memtable, or waits for it.
fn make_progress(shared: &Shared, seen: Seen) -> Result<(), Error> {
    shared.check_poison()?;
    match shared.options.maintenance {
        Maintenance::Inline { .. } => {
            let _turn = shared.maintenance.lock();
            flush_oldest(shared).map(drop)
        }
        Maintenance::Background => write::wait_for_work(shared, seen),
    }
}

/// Writes the oldest waiting memtable to a table of level 0. False if none waits. The caller holds the maintenance
/// lock.
pub(super) fn flush_oldest(shared: &Shared) -> Result<bool, Error> {
    let view = shared.view();
    let Some(memtable) = view.oldest_full() else {
        return Ok(false);
    };
    let table = write_memtable(shared, memtable, &view.version)?;
    shared.sync_dir()?;
    let log = memtable.log_number;
    let committed = shared.commit(&[Edit::TableAdded(table.state()), Edit::LogEnded(log)], |view| {
        let version = Arc::new(view.version.changed(&[], &[Arc::clone(&table)])?);
        let memtables = view.memtables.iter().filter(|other| !Arc::ptr_eq(other, memtable)).cloned().collect();
        Ok(View { memtables, version })
    });
    committed.inspect_err(|_| shared.discard(&[table]))?;
    shared.remove_file(FileName::Log(log));
    Ok(true)
}

/// Writes a memtable to a table of level 0, which [`Shared::sync_dir`] makes durable.
pub(super) fn write_memtable(shared: &Shared, memtable: &Memtable, version: &Version) -> Result<Arc<Table>, Error> {
    // Rows and prefixes are not counted, but there are no more of them than cells.
    let policies = filter_policies::choose(shared, version, &[], 0, [memtable.num_entries(); Purpose::OF_KEYS.len()]);
    let mut output = begin_table(shared, &policies)?;
    let written = memtable.for_each_newest(|cell| output.writer.add(&cell));
    written.inspect_err(|_| shared.abandon(output.number))?;
    finish_table(shared, output, 0)
}

pub(super) fn begin_table(shared: &Shared, policies: &FilterPolicies) -> Result<Output, Error> {
    let number = shared.new_number();
    let tmp = FileName::Table(number).tmp();
    let out = shared.tables.storage.create(&tmp).map_err(|error| {
        shared.abandon(number);
        Error::io(&tmp, "create", error)
    })?;
    Ok(Output { number, writer: TableWriter::new(tmp, out, number, shared.hasher(), policies) })
}

/// Completes, syncs, renames and opens a table. Its name is durable after [`Shared::sync_dir`].
pub(super) fn finish_table(shared: &Shared, output: Output, level: usize) -> Result<Arc<Table>, Error> {
    let (number, tmp) = (output.number, FileName::Table(output.number).tmp());
    let (mut out, warnings) = output.writer.finish().inspect_err(|_| shared.abandon(number))?;
    shared.publish(&mut *out, &tmp, FileName::Table(number)).inspect_err(|_| shared.abandon(number))?;
    warnings.into_iter().for_each(|warning| shared.tables.warn(warning));
    let table = Table::open(&shared.tables, number, level, None);
    // A table that cannot be read back is removed, as nothing refers to it yet.
    Ok(Arc::new(table.inspect_err(|_| shared.remove_file(FileName::Table(number)))?))
}
