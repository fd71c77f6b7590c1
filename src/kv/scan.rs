//! Merging the sources of a store into one ordered run of live cells.

use super::cell::{Cell, OwnedCell};
use super::error::Error;
use core::iter::Peekable;

pub(crate) type Source<'a> = Box<dyn Iterator<Item = Result<OwnedCell, Error>> + 'a>;

/// The live cells of a range of rows, in order. Ends after the first error.
pub struct Scan<'a> {
    sources: Vec<Peekable<Source<'a>>>,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(sources: impl IntoIterator<Item = Source<'a>>) -> Self {
        Self { sources: sources.into_iter().map(Iterator::peekable).collect() }
    }

    /// The version with the highest sequence number of the least key; all older ones are dropped.
    fn next_version(&mut self) -> Result<Option<OwnedCell>, Error> {
        let mut newest: Option<usize> = None;
        for i in 0..self.sources.len() {
            if self.sources[i].peek().is_some_and(Result::is_err) {
                newest = Some(i);
                break;
            }
            newest = match newest {
                Some(best) if !self.precedes(i, best) => Some(best),
                _ if self.sources[i].peek().is_none() => newest,
                _ => Some(i),
            };
        }
        let Some(cell) = newest.and_then(|i| self.sources[i].next()).transpose()? else {
            return Ok(None);
        };
        for source in &mut self.sources {
            // At most one version of a cell in each source.
            let _older = source.next_if(|other| other.as_ref().is_ok_and(|other| other.key() == cell.key()));
        }
        Ok(Some(cell))
    }

    /// Whether source `a` has a cell that comes before that of source `b`, or is a newer version of the same.
    fn precedes(&mut self, a: usize, b: usize) -> bool {
        let (low, high) = self.sources.split_at_mut(a.max(b));
        let (a, b) = if a < b { (&mut low[a], &mut high[0]) } else { (&mut high[0], &mut low[b]) };
        match (a.peek(), b.peek()) {
            (Some(Ok(a)), Some(Ok(b))) => (a.key(), b.version.seq) < (b.key(), a.version.seq),
            _ => false,
        }
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<Cell, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_version() {
                Ok(None) => return None,
                Ok(Some(OwnedCell { row, column, version })) => {
                    if let Some(value) = version.value {
                        return Some(Ok(Cell { row, column, value }));
                    }
                }
                Err(error) => {
                    self.sources.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}

impl core::fmt::Debug for Scan<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scan").field("num_sources", &self.sources.len()).finish()
    }
}
