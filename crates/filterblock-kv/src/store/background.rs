//! The threads that do due work: the background thread, or the writing threads. With [`Durability::Interval`] there is
//! a background thread in either case: a store that is idle must be synced too.

use super::{Arc, Durability, Duration, Error, Maintenance, PanicGuard, Shared, Work, compact, thread, write};

/// The shortest interval at which the background thread syncs.
const INTERVAL_MIN: Duration = Duration::from_millis(1);
/// Inline, one chance in this many is used for a due job.
const INLINE_CHANCE: u64 = 4;

/// Starts the background thread of a store that has one.
pub(super) fn spawn(shared: &Arc<Shared>) -> Result<Option<thread::JoinHandle<()>>, Error> {
    let syncs = matches!(shared.options.durability, Durability::Interval(_));
    if shared.options.read_only || !(syncs || shared.options.maintenance == Maintenance::Background) {
        return Ok(None);
    }
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name("store".to_owned()).spawn(move || maintain(&shared));
    thread.map(Some).map_err(|error| Error::io("store", "start the background thread", error))
}

/// The loop of the background thread.
fn maintain(shared: &Shared) {
    let _guard = PanicGuard::new(shared);
    while wait_until_wanted(shared) {
        let result = run_due_jobs(shared);
        let mut work = shared.work.lock();
        work.busy = false;
        work.progress += 1;
        record(&mut work, result);
        drop(work);
        shared.work_changed.notify_all();
    }
}

/// Waits for work of this thread, and syncs the log meanwhile. False if the thread must end.
fn wait_until_wanted(shared: &Shared) -> bool {
    let does_jobs = shared.options.maintenance == Maintenance::Background;
    loop {
        let mut work = shared.work.lock();
        if work.stopping {
            return false;
        }
        if does_jobs && core::mem::take(&mut work.wanted) {
            work.busy = true;
            return true;
        }
        match shared.options.durability {
            Durability::Interval(interval) => {
                // Zero would keep the thread spinning; with it every write syncs itself.
                let interval = interval.max(INTERVAL_MIN);
                drop(shared.work_changed.wait_timeout(work, interval));
                write::sync_in_background(shared, interval);
            }
            Durability::Always | Durability::Never => drop(shared.work_changed.wait(work)),
        }
    }
}

fn run_due_jobs(shared: &Shared) -> Result<(), Error> {
    // The lock is released between jobs, for threads with maintenance of their own to do.
    while !shared.is_stopping() && compact::run_job(shared, &mut shared.maintenance.lock())? {
        shared.note_progress();
    }
    Ok(())
}

/// Does one due job on a random part of the calls. Called by a writing thread after its write: a failure is
/// recorded, and reported by a later write that needs room.
pub(super) fn run_some_inline(shared: &Shared) {
    let Maintenance::Inline { .. } = shared.options.maintenance else {
        return;
    };
    let mut maintenance = shared.maintenance.lock();
    // A step of a linear congruential generator (Knuth's MMIX); its high bits are the random ones.
    maintenance.random =
        maintenance.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    if (maintenance.random >> 33) % INLINE_CHANCE == 0 {
        let result = compact::run_job(shared, &mut maintenance).map(drop);
        record(&mut shared.work.lock(), result);
    }
}

/// Does all due work, or waits until it is done.
pub(super) fn settle(shared: &Shared) -> Result<(), Error> {
    shared.check_writable()?;
    if let Maintenance::Inline { .. } = shared.options.maintenance {
        while compact::run_job(shared, &mut shared.maintenance.lock())? {}
        return Ok(());
    }
    let failures = shared.work.lock().num_failures;
    shared.want_work();
    let mut work = shared.work.lock();
    // After a panic there may be no thread to do the work.
    while (work.wanted || work.busy) && !shared.is_poisoned() {
        if work.num_failures > failures {
            break;
        }
        work = shared.work_changed.wait(work);
    }
    match &work.failed {
        Some(error) if work.num_failures > failures => Err(error.clone()),
        _ => shared.check_poison(),
    }
}

fn record(work: &mut Work, result: Result<(), Error>) {
    match result {
        Ok(()) => work.failed = None,
        Err(error) => {
            work.failed = Some(error);
            work.num_failures += 1;
        }
    }
}
