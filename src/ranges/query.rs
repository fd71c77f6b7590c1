//! A query as a user states it.

use core::ops::Bound;

/// The keys that are queried.
#[derive(Clone, Copy)]
pub(super) enum Query<'a> {
    Range(Bound<&'a [u8]>, Bound<&'a [u8]>),
    Prefix(&'a [u8]),
}
