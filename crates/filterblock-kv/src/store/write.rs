//! Writing: groups of batches, the log, and making room.

use super::{
    Arc, Durability, Duration, Edit, Error, FileName, Instant, Maintenance, Memtable, MutexGuard, Ordering, PanicGuard,
    SLOW_LEVEL0_FACTOR, Shared, View, WriteBatch, Writer, batch, compact, open, room, thread,
};

/// Memtables that may wait to be flushed before writers wait too.
pub(super) const MAX_WAITING_MEMTABLES: usize = 2;
/// Tables in level 0 at which writers wait, as a multiple of the number that compaction begins at.
const STOP_LEVEL0_FACTOR: usize = 6;
/// Slowed-down writers pause once for each of this many bytes, a millisecond for each excess table.
const BYTES_PER_PAUSE: usize = 64 << 10;

/// The progress of maintenance at some moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    progress: u64,
    num_failures: u64,
}

/// Writes a batch, together with those that other threads submit while the log is busy.
pub(super) fn write(shared: &Shared, batch: WriteBatch) -> Result<(), Error> {
    if batch.is_empty() {
        return shared.check_poison();
    }
    let mut queue = shared.queue.lock();
    let ticket = queue.next_ticket;
    queue.next_ticket += 1;
    queue.waiting.push(batch);
    while queue.led.is_some() && ticket >= queue.done_before {
        queue = shared.committed.wait(queue);
    }
    if ticket < queue.done_before {
        return queue.failed.remove(&ticket).map_or(Ok(()), Err);
    }
    // No thread leads, so this one writes every waiting batch, its own included.
    let mut group = core::mem::take(&mut queue.waiting);
    queue.led = Some((ticket, group.len() as u64));
    drop(queue);
    let _guard = PanicGuard::of_leader(shared);
    let result = write_group(shared, &mut group);
    end_led_group(shared, result.clone());
    result
}

/// Passes the result of the group that is being written, if one is, to all its writers but the leader.
pub(super) fn end_led_group(shared: &Shared, result: Result<(), Error>) {
    let mut queue = shared.queue.lock();
    let Some((leader, len)) = queue.led.take() else {
        return;
    };
    let tickets = queue.done_before..queue.done_before + len;
    queue.done_before = tickets.end;
    if let Err(error) = result {
        queue.failed.extend(tickets.filter(|&ticket| ticket != leader).map(|ticket| (ticket, error.clone())));
    }
    // Waking is a system call even if no thread waits.
    let has_others = len > 1 || !queue.waiting.is_empty();
    drop(queue);
    if has_others {
        shared.committed.notify_all();
    }
}

fn write_group(shared: &Shared, group: &mut [WriteBatch]) -> Result<(), Error> {
    let mut writer = shared.writer.lock();
    let len_bytes = group.iter_mut().map(|batch| batch.record(0).len() as u64).sum();
    room::check(shared, &mut writer, len_bytes)?;
    make_room(shared, &mut writer)?;
    let Writer { log, last_seq, .. } = &mut *writer;
    let log = log.as_mut().ok_or(Error::ReadOnly)?;
    let mut seq = *last_seq;
    for batch in &mut *group {
        log.push(batch.record(seq + 1));
        seq += batch.len() as u64;
    }
    let len_before = log.len();
    log.append()?;
    let bytes = (log.len() - len_before) as usize;
    *last_seq = seq;
    sync_if_due(shared, &mut writer)?;
    let view = shared.view();
    if let Some(memtable) = view.memtables.first() {
        let first_seq = seq + 1 - group.iter().map(|batch| batch.len() as u64).sum::<u64>();
        let mut next = first_seq;
        for batch in &mut *group {
            let record = batch.record(next);
            memtable.insert(batch::decode(record).into_iter().flatten());
            next += batch.len() as u64;
        }
    }
    shared.visible.store(seq, Ordering::Release);
    pause(shared, &mut writer, &view, bytes);
    Ok(())
}

fn sync_if_due(shared: &Shared, writer: &mut Writer) -> Result<(), Error> {
    match shared.options.durability {
        Durability::Always => sync_writer(shared, writer),
        Durability::Interval(interval) if writer.last_sync.elapsed() >= interval => sync_writer(shared, writer),
        Durability::Interval(_) | Durability::Never => Ok(()),
    }
}

fn sync_writer(shared: &Shared, writer: &mut Writer) -> Result<(), Error> {
    let log = writer.log.as_mut().ok_or(Error::ReadOnly)?;
    writer.last_sync = Instant::now();
    log.sync().map_err(|error| shared.poison(error))
}

/// Syncs the log for [`Durability::Interval`]: it may be long until this thread writes again, and no other can sync the
/// log meanwhile.
pub(super) fn sync_before_waiting(shared: &Shared, writer: &mut Writer) -> Result<(), Error> {
    match shared.options.durability {
        Durability::Interval(_) => sync_writer(shared, writer),
        Durability::Always | Durability::Never => Ok(()),
    }
}

/// Syncs the log for [`Durability::Interval`], unless a writer holds it, which then syncs it when due.
pub(super) fn sync_in_background(shared: &Shared, interval: Duration) {
    if let Some(mut writer) = shared.writer.try_lock() {
        let is_due = writer.last_sync.elapsed() >= interval && !shared.is_poisoned();
        if is_due && writer.log.as_ref().is_some_and(|log| !log.is_synced()) {
            // A failure poisons the store, which the next write reports.
            let _ = sync_writer(shared, &mut writer);
        }
    }
}

/// Makes everything written so far durable.
pub(super) fn sync_log(shared: &Shared) -> Result<(), Error> {
    let mut writer = shared.writer.lock();
    shared.check_poison()?;
    sync_writer(shared, &mut writer)
}

/// Seals the log, unless that was done before.
pub(super) fn seal(shared: &Shared) -> Result<(), Error> {
    let mut writer = shared.writer.lock();
    if writer.log.is_none() {
        return Ok(());
    }
    shared.check_poison()?;
    sync_writer(shared, &mut writer)?;
    let Some(log) = writer.log.take() else {
        return Ok(());
    };
    let sealed = Edit::LogSealed { number: log.number, len: log.len() };
    shared.commit(&[sealed, Edit::LastSeq(writer.last_seq)], |view| Ok(view.clone()))
}

/// Makes room in the log and the memtable, waiting for maintenance if that cannot keep up.
fn make_room(shared: &Shared, writer: &mut MutexGuard<'_, Writer>) -> Result<(), Error> {
    if has_room(shared, writer)? {
        return Ok(());
    }
    let first = seen(shared, None);
    loop {
        // Taken before the state is checked, so that no later progress is missed.
        let seen = seen(shared, Some(first));
        if has_room(shared, writer)? {
            return Ok(());
        }
        let view = shared.view();
        let stop = shared.options.max_level0_tables.saturating_mul(STOP_LEVEL0_FACTOR);
        if view.memtables.len() <= MAX_WAITING_MEMTABLES && view.version.level(0).len() < stop {
            rotate(shared, writer)?;
            continue;
        }
        sync_before_waiting(shared, writer)?;
        match shared.options.maintenance {
            Maintenance::Inline { .. } => {
                compact::run_job(shared, &mut shared.maintenance.lock())?;
            }
            Maintenance::Background => wait_for_work(shared, seen).map_err(|error| match error {
                Error::Poisoned | Error::Panicked => error,
                other => Error::Stalled { cause: other.to_string() },
            })?,
        }
    }
}

fn has_room(shared: &Shared, writer: &Writer) -> Result<bool, Error> {
    shared.check_poison()?;
    let is_broken = writer.log.as_ref().ok_or(Error::ReadOnly)?.is_broken;
    let limit = shared.options.max_memtable_bytes;
    let is_full = |memtable: &Arc<Memtable>| !memtable.is_empty() && memtable.bytes() >= limit;
    Ok(!is_broken && !shared.view().memtables.first().is_some_and(is_full))
}

/// Waits for progress of maintenance since `seen`, or returns the error of a failure since then.
pub(super) fn wait_for_work(shared: &Shared, seen: Seen) -> Result<(), Error> {
    let mut work = shared.work.lock();
    // Once only: waiting threads would otherwise wake each other until the work is done.
    if !core::mem::replace(&mut work.wanted, true) {
        shared.work_changed.notify_all();
    }
    match &work.failed {
        // The work is retried at once, for the next waiting thread.
        Some(error) if work.num_failures > seen.num_failures => Err(error.clone()),
        _ if work.progress != seen.progress => Ok(()),
        _ => {
            drop(shared.work_changed.wait(work));
            Ok(())
        }
    }
}

/// The progress of maintenance so far, with the number of failures as of `first`.
pub(super) fn seen(shared: &Shared, first: Option<Seen>) -> Seen {
    let work = shared.work.lock();
    Seen { progress: work.progress, num_failures: first.map_or(work.num_failures, |seen| seen.num_failures) }
}

/// Slows writers down a little while compaction lags, so that none has to wait for long.
fn pause(shared: &Shared, writer: &mut Writer, view: &View, bytes: usize) {
    let slow = shared.options.max_level0_tables.saturating_mul(SLOW_LEVEL0_FACTOR);
    let too_many = (view.version.level(0).len() + 1).saturating_sub(slow);
    if too_many == 0 || shared.options.maintenance != Maintenance::Background {
        return;
    }
    writer.bytes_since_pause += bytes;
    if writer.bytes_since_pause >= BYTES_PER_PAUSE {
        writer.bytes_since_pause = 0;
        thread::sleep(Duration::from_millis(too_many as u64));
    }
}

/// Seals the log, and begins a new log and memtable.
pub(super) fn rotate(shared: &Shared, writer: &mut Writer) -> Result<(), Error> {
    let old = writer.log.as_mut().ok_or(Error::ReadOnly)?;
    old.sync().map_err(|error| shared.poison(error))?;
    let number = shared.new_number();
    let log = open::begin_log(shared, number)?;
    let ended = shared.view().memtables.first().filter(|memtable| memtable.is_empty()).map(|_| old.number);
    let mut edits = vec![
        Edit::LogSealed { number: old.number, len: old.len() },
        Edit::LogBegun(number),
        Edit::LastSeq(writer.last_seq),
    ];
    edits.extend(ended.map(Edit::LogEnded));
    let committed = shared.commit(&edits, |view| {
        let mut memtables = view.memtables.clone();
        if ended.is_some() {
            memtables.remove(0);
        }
        memtables.insert(0, Arc::new(Memtable::new(number)));
        Ok(View { memtables, ..view.clone() })
    });
    committed.inspect_err(|_| shared.discard_log(number))?;
    writer.log = Some(log);
    if let Some(ended) = ended {
        shared.remove_file(FileName::Log(ended));
    }
    shared.want_work();
    Ok(())
}
