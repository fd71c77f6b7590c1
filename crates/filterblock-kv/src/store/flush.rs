//! Flushing a memtable to a table; and the steps of any new table: written, synced, renamed, opened.

use super::{
    Arc, Edit, Error, FileName, FilterPolicies, MAX_WAITING_MEMTABLES, Maintenance, Memtable, Purpose, Seen, Shared,
    Table, TableWriter, Version, View, WritableFile,
};

/// A table being written.
pub(super) struct Output {
    pub(super) number: u64,
    pub(super) writer: TableWriter,
}

impl Shared {
    /// Writes all memtables to tables and waits for it.
    pub(super) fn flush(&self) -> Result<(), Error> {
        self.check_writable()?;
        let first = self.seen(None);
        let mut writer = self.writer.lock();
        self.check_poison()?;
        loop {
            let seen = self.seen(Some(first));
            if self.view().memtables.len() <= MAX_WAITING_MEMTABLES {
                break;
            }
            self.make_progress(seen)?;
        }
        if self.view().memtables.first().is_some_and(|memtable| !memtable.is_empty()) {
            self.rotate(&mut writer)?;
        }
        drop(writer);
        let last = self.view().memtables.get(1).map_or(0, |memtable| memtable.log_number);
        loop {
            let seen = self.seen(Some(first));
            let view = self.view();
            if view.oldest_full().is_none_or(|memtable| memtable.log_number > last) {
                return Ok(());
            }
            self.make_progress(seen)?;
        }
    }

    /// Flushes a memtable, or waits for it.
    fn make_progress(&self, seen: Seen) -> Result<(), Error> {
        self.check_poison()?;
        match self.options.maintenance {
            Maintenance::Inline { .. } => {
                let _turn = self.maintenance.lock();
                self.flush_oldest().map(drop)
            }
            Maintenance::Background => self.wait_for_work(seen),
        }
    }

    /// Writes the oldest waiting memtable to a table of level 0. False if none waits. The caller holds the maintenance
    /// lock.
    pub(super) fn flush_oldest(&self) -> Result<bool, Error> {
        let view = self.view();
        let Some(memtable) = view.oldest_full() else {
            return Ok(false);
        };
        let table = self.write_memtable(memtable, &view.version)?;
        self.sync_dir()?;
        let log = memtable.log_number;
        let committed = self.commit(&[Edit::TableAdded(table.state()), Edit::LogEnded(log)], |view| {
            let version = Arc::new(view.version.changed(&[], &[Arc::clone(&table)])?);
            let memtables = view.memtables.iter().filter(|other| !Arc::ptr_eq(other, memtable)).cloned().collect();
            Ok(View { memtables, version })
        });
        committed.inspect_err(|_| self.discard(&[table]))?;
        self.remove_file(FileName::Log(log));
        Ok(true)
    }

    /// Writes a memtable to a table of level 0, which [`Shared::sync_dir`] makes durable.
    pub(super) fn write_memtable(&self, memtable: &Memtable, version: &Version) -> Result<Arc<Table>, Error> {
        // Rows and prefixes are not counted, but there are no more of them than cells.
        let policies = self.filter_policies(version, &[], 0, [memtable.num_entries(); Purpose::ALL.len()]);
        let mut output = self.begin_table(&policies)?;
        let written = memtable.for_each_newest(|cell| output.writer.add(&cell));
        written.inspect_err(|_| self.abandon(output.number))?;
        self.finish_table(output, 0)
    }

    pub(super) fn begin_table(&self, policies: &FilterPolicies) -> Result<Output, Error> {
        let number = self.new_number();
        let tmp = FileName::Table(number).tmp();
        let out = self.tables.storage.create(&tmp).map_err(|error| {
            self.abandon(number);
            Error::io(&tmp, "create", error)
        })?;
        let partition_bytes = self.options.filters.partition_bytes;
        Ok(Output { number, writer: TableWriter::new(tmp, out, number, self.hasher(), policies, partition_bytes) })
    }

    /// Completes, syncs, renames and opens a table. Its name is durable after [`Shared::sync_dir`].
    pub(super) fn finish_table(&self, output: Output, level: usize) -> Result<Arc<Table>, Error> {
        let (number, tmp) = (output.number, FileName::Table(output.number).tmp());
        let (mut out, warnings) = output.writer.finish().inspect_err(|_| self.abandon(number))?;
        self.publish(&mut *out, &tmp, FileName::Table(number)).inspect_err(|_| self.abandon(number))?;
        warnings.into_iter().for_each(|warning| self.tables.warn(warning));
        let table = Table::open(&self.tables, number, level, None);
        // A table that cannot be read back is removed, as nothing refers to it yet.
        Ok(Arc::new(table.inspect_err(|_| self.remove_file(FileName::Table(number)))?))
    }

    /// Syncs a finished file and gives it its final name.
    pub(super) fn publish(&self, out: &mut dyn WritableFile, tmp: &str, file: FileName) -> Result<(), Error> {
        out.sync().map_err(|error| self.poison(Error::io(tmp, "sync", error)))?;
        let name = file.to_string();
        self.tables.storage.rename(tmp, &name).map_err(|error| self.poison(Error::io(&name, "rename", error)))
    }

    /// Makes the names of published files durable. One thread at a time: a failed sync is reported once but may lose
    /// the names of several threads, so no other sync may succeed before the store is poisoned.
    pub(super) fn sync_dir(&self) -> Result<(), Error> {
        let _turn = self.directory.lock();
        self.check_poison()?;
        self.tables.storage.sync_dir().map_err(|error| self.poison(Error::io("store", "sync the directory", error)))
    }

    /// Removes tables that a failed commit has not named, which they would be after a failed sync for all that is
    /// known.
    pub(super) fn discard(&self, tables: &[Arc<Table>]) {
        if !self.is_poisoned() {
            tables.iter().for_each(|table| table.mark_obsolete());
        }
    }

    /// Removes an unfinished table. If this fails, the next opening of the store removes it.
    pub(super) fn abandon(&self, number: u64) {
        let _ = self.tables.storage.remove(&FileName::Table(number).tmp());
    }
}
