//! Progress of long commands, on standard error if that is a terminal. Nothing is shown of what is over at once.

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Work that takes less is not worth a line that comes and goes.
const SHOWN_AFTER: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

/// The bar that is shown: messages are printed above it.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Runs `write`, which writes to the terminal, without the bar.
pub(crate) fn beside<T>(write: impl FnOnce() -> T) -> T {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match &*shown {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn show(template: &str, len: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(len, ProgressDrawTarget::stderr());
    // The templates are constants of this file: one that does not parse shows the library's own.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    bar
}

fn clear(bar: &ProgressBar) {
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
    bar.finish_and_clear();
}

/// The part of a list that has been read.
pub(crate) struct Reading {
    begun: Instant,
    /// The length of the list, if it has one.
    num_bytes: Option<u64>,
    is_terminal: bool,
    bar: Option<ProgressBar>,
}

impl Reading {
    pub(crate) fn new(num_bytes: Option<u64>) -> Self {
        Self { begun: Instant::now(), num_bytes, is_terminal: stderr().is_terminal(), bar: None }
    }

    /// Shows nothing, where answers are printed to the same terminal.
    pub(crate) fn hide(&mut self) {
        self.is_terminal = false;
    }

    /// `done` bytes and `num_lines` lines have been read.
    pub(crate) fn at(&mut self, done: u64, num_lines: u64) {
        if !self.is_terminal || self.bar.is_none() && self.begun.elapsed() < SHOWN_AFTER {
            return;
        }
        let num_bytes = self.num_bytes;
        let bar = self.bar.get_or_insert_with(|| match num_bytes {
            Some(_) => show("reading: {wide_bar} {bytes} of {total_bytes}, {msg}, {eta} left", num_bytes),
            None => show("reading: {bytes}, {msg}", None),
        });
        bar.set_message(output::count(num_lines, "line"));
        bar.set_position(done);
    }
}

impl Reading {
    /// The end of the list.
    pub(crate) fn end(&mut self) {
        self.bar.take().iter().for_each(clear);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.end();
    }
}

/// Work whose end cannot be foreseen: its name and the time since it began. It ends when it is dropped.
pub(crate) struct Working {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Working {
    /// `what` is as in `building`.
    pub(crate) fn new(what: String) -> Self {
        if !stderr().is_terminal() {
            return Self { thread: None };
        }
        let (end, is_over) = mpsc::channel();
        let wait = move || {
            if is_over.recv_timeout(SHOWN_AFTER) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = show("{msg}: {elapsed}", None);
            bar.set_message(what);
            bar.enable_steady_tick(TICK);
            // The end, or the sender's.
            let _ = is_over.recv();
            clear(&bar);
        };
        // Without a thread there is nothing to see, and nothing amiss.
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(wait).ok();
        Self { thread: thread.map(|thread| (end, thread)) }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            // It only shows something.
            let _ = thread.join();
        }
    }
}
