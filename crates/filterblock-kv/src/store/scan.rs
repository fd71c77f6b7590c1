//! The live cells of a range of rows.

use super::{Arc, Cell, Error, Merge, Shared};

/// The live cells of a range of rows, in order, as they were when the scan began. Ends after the first error.
///
/// It holds on to the store and the tables that it reads: the directory stays locked, and their files stay, until it is
/// dropped.
#[derive(Debug)]
pub struct Scan {
    state: State,
    /// The store, whose lock is held while the scan reads.
    _core: Arc<Shared>,
}

#[derive(Debug)]
enum State {
    /// The error, until it is returned.
    Failed(Option<Error>),
    At(Merge),
}

impl Scan {
    pub(super) fn new(merge: Result<Merge, Error>, shared: Arc<Shared>) -> Self {
        Self { state: merge.map_or_else(|error| State::Failed(Some(error)), State::At), _core: shared }
    }
}

impl Iterator for Scan {
    type Item = Result<Cell, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let merge = match &mut self.state {
                State::Failed(error) => return error.take().map(Err),
                State::At(merge) => merge,
            };
            let current = merge.current()?;
            let live = current.value.map(|value| Cell {
                row: current.key.row.to_vec(),
                column: current.key.column.to_vec(),
                value: value.to_vec(),
            });
            // An error on the way to the next cell does not affect this one.
            if let Err(error) = merge.advance() {
                self.state = State::Failed(Some(error));
            }
            if let Some(cell) = live {
                return Some(Ok(cell));
            }
        }
    }
}
