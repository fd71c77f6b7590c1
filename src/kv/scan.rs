//! The live cells of a range of rows.

use super::cell::Cell;
use super::error::Error;
use super::merge::Merge;
use core::any::Any;
use std::sync::Arc;

/// The live cells of a range of rows, in order, as they were when the scan began. Ends after the first error.
///
/// It holds on to the store and the tables that it reads: the directory stays locked, and their files stay, until it is
/// dropped.
pub struct Scan {
    state: State,
    /// The store: its lock is held as long as somebody reads.
    _store: Arc<dyn Any + Send + Sync>,
}

impl core::fmt::Debug for Scan {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scan").field("state", &self.state).finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum State {
    Failed(Option<Error>),
    At(Merge),
}

impl Scan {
    pub(crate) fn new(merge: Result<Merge, Error>, store: Arc<dyn Any + Send + Sync>) -> Self {
        Self { state: merge.map_or_else(|error| State::Failed(Some(error)), State::At), _store: store }
    }
}

impl Iterator for Scan {
    type Item = Result<Cell, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let merge = match &mut self.state {
            State::Failed(error) => return error.take().map(Err),
            State::At(merge) => merge,
        };
        loop {
            let current = merge.current()?;
            let live = current.value.map(|value| Cell {
                row: current.key.row.to_vec(),
                column: current.key.column.to_vec(),
                value: value.to_vec(),
            });
            // An error on the way to the next cell takes nothing from this one.
            let advanced = merge.advance();
            match (live, advanced) {
                (None, Ok(())) => {}
                (Some(cell), Ok(())) => return Some(Ok(cell)),
                (live, Err(error)) => {
                    let (now, later) = match live {
                        Some(cell) => (Ok(cell), Some(error)),
                        None => (Err(error), None),
                    };
                    self.state = State::Failed(later);
                    return Some(now);
                }
            }
        }
    }
}
