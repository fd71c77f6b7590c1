//! [`TableFilter`]: the filter of one table, as SlateDB holds it in memory.

use crate::outcomes::Tally;
use bytes::{BufMut, Bytes};
use filterblock::range::RangeFilter;
use filterblock::{AlignedBytes, DecodeError, FilterBlock, KeyTransform};
use slatedb::{Filter, FilterQuery, FilterTarget};
use std::ops::Bound;
use std::sync::Arc;

/// A table's filter, or the reason to read the table always.
///
/// The bytes are shared, as SlateDB's caches copy filters and want copies that own no more memory than they need.
#[derive(Clone)]
pub(crate) struct TableFilter {
    state: Arc<State>,
    tally: Arc<Tally>,
}

enum State {
    /// Not in a box: that would cost each lookup a line.
    Keys(FilterBlock<AlignedBytes>),
    /// It is larger, and a scan can afford a line more.
    Ranges(Box<RangeFilter<AlignedBytes>>),
    /// No usable filter: every answer is *maybe*. The bytes are kept, so that what is stored again, in a cache on disk,
    /// is what was read.
    Unusable(Box<[u8]>),
}

impl TableFilter {
    pub(crate) fn of_keys(block: FilterBlock<AlignedBytes>, tally: &Arc<Tally>) -> Self {
        Self::new(State::Keys(block), tally)
    }

    pub(crate) fn of_ranges(filter: RangeFilter<AlignedBytes>, tally: &Arc<Tally>) -> Self {
        Self::new(State::Ranges(Box::new(filter)), tally)
    }

    pub(crate) fn unusable(bytes: &[u8], tally: &Arc<Tally>) -> Self {
        Self::new(State::Unusable(bytes.into()), tally)
    }

    fn new(state: State, tally: &Arc<Tally>) -> Self {
        Self { state: Arc::new(state), tally: Arc::clone(tally) }
    }

    /// The filter of stored bytes. Those that are not a usable filter match every query, and are counted.
    pub(crate) fn decoded(
        data: &[u8],
        tally: &Arc<Tally>,
        open: impl FnOnce(AlignedBytes) -> Result<Self, DecodeError>,
    ) -> Arc<dyn Filter> {
        // A writer that could not build the filter stores this.
        if data.is_empty() {
            tally.missing();
            return Arc::new(Self::unusable(data, tally));
        }
        // SlateDB's slices begin anywhere.
        Arc::new(match open(AlignedBytes::copy_of(data)) {
            Ok(filter) => {
                tally.opened();
                filter
            }
            Err(error) => {
                tally.ignored(error, data.len());
                Self::unusable(data, tally)
            }
        })
    }

    fn bytes(&self) -> &[u8] {
        match &*self.state {
            State::Keys(block) => block.as_bytes(),
            State::Ranges(filter) => filter.as_bytes(),
            State::Unusable(bytes) => bytes,
        }
    }
}

impl Filter for TableFilter {
    fn might_match(&self, query: &FilterQuery) -> bool {
        let matches = match (&*self.state, &query.target) {
            (State::Keys(block), FilterTarget::Point(key)) => block.may_contain(key),
            // Such a filter is queried because another policy answers scans. It has nothing to answer with.
            (State::Keys(block), FilterTarget::Prefix(_))
                if block.entry_hasher().transform() == KeyTransform::WholeKey =>
            {
                return true;
            }
            // The prefix may have any length: the answer is *maybe* where the transform makes no entry of it.
            (State::Keys(block), FilterTarget::Prefix(prefix)) => block.may_contain_prefix(prefix),
            (State::Ranges(filter), FilterTarget::Point(key)) => filter.may_contain(key),
            (State::Ranges(filter), FilterTarget::Prefix(prefix)) => filter.may_contain_prefix(prefix),
            (State::Ranges(filter), FilterTarget::Range { lower, upper }) => {
                filter.may_contain_range(bytes_of(lower), bytes_of(upper))
            }
            (State::Keys(_), FilterTarget::Range { .. }) | (State::Unusable(_), _) => return true,
        };
        self.tally.queried(matches);
        matches
    }

    fn encode(&self, writer: &mut dyn BufMut) {
        writer.put_slice(self.bytes());
    }

    fn size(&self) -> usize {
        self.bytes().len()
    }

    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(self.clone())
    }
}

fn bytes_of(bound: &Bound<Bytes>) -> Bound<&[u8]> {
    bound.as_ref().map(|bytes| &bytes[..])
}
