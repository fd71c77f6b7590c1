//! [`TableFilter`]: the filter of one table, as SlateDB holds it in memory.

use bytes::BufMut;
use filterblock::{AlignedBytes, FilterBlock};
use slatedb::{Filter, FilterQuery, FilterTarget};
use std::sync::Arc;

/// A table's filter, or the reason to read the table always.
///
/// The bytes are shared, as SlateDB's caches copy filters and want copies that own no more memory than they need.
#[derive(Clone)]
pub(crate) struct TableFilter(Arc<State>);

// (Nearly all are open, and a box would cost each query a line.)
enum State {
    Open(FilterBlock<AlignedBytes>),
    /// No usable filter: every answer is *maybe*. The bytes are kept, so that what is stored again, in a cache on disk,
    /// is what was read.
    Unusable(Box<[u8]>),
}

impl TableFilter {
    pub(crate) fn open(block: FilterBlock<AlignedBytes>) -> Self {
        Self(Arc::new(State::Open(block)))
    }

    pub(crate) fn unusable(bytes: &[u8]) -> Self {
        Self(Arc::new(State::Unusable(bytes.into())))
    }

    fn bytes(&self) -> &[u8] {
        match &*self.0 {
            State::Open(block) => block.as_bytes(),
            State::Unusable(bytes) => bytes,
        }
    }
}

impl Filter for TableFilter {
    fn might_match(&self, query: &FilterQuery) -> bool {
        match (&*self.0, &query.target) {
            (State::Open(block), FilterTarget::Point(key)) => block.may_contain(key),
            // The prefix may have any length: the answer is *maybe* where the transform makes no entry of it.
            (State::Open(block), FilterTarget::Prefix(prefix)) => block.may_contain_prefix(prefix),
            (State::Open(_), FilterTarget::Range { .. }) | (State::Unusable(_), _) => true,
        }
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
