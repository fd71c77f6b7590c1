//! The keys that a query names.

use crate::query::Query;
use core::ops::Bound;

/// The keys that a query names, if filters of ranges answer it.
#[derive(Clone, Copy)]
pub(super) enum Span<'a> {
    Range(Bound<&'a [u8]>, Bound<&'a [u8]>),
    Prefix(&'a [u8]),
}

impl<'a> Span<'a> {
    /// Returns the keys of a query; `None` if it names others than all between two bounds: then the answer is *maybe*.
    #[inline]
    pub(super) fn of(query: Query<'a>) -> Option<Self> {
        match query {
            Query::Key(key) => Some(Self::Range(Bound::Included(key), Bound::Included(key))),
            Query::Prefix(prefix) => Some(Self::Prefix(prefix)),
            Query::Range(lower, upper) => Some(Self::Range(lower, upper)),
            Query::Row(_) | Query::Cell(..) | Query::Entry { .. } => None,
        }
    }
}
