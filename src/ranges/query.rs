//! The keys that a query names.

use super::order::are_ordered;
use crate::bytes;
use crate::query::Query;
use core::cmp::Ordering;
use core::ops::Bound;

/// The keys that a query names, if filters of ranges answer it.
#[derive(Clone, Copy)]
pub(super) enum Span<'a> {
    Range(Bound<&'a [u8]>, Bound<&'a [u8]>),
    Prefix(&'a [u8]),
}

/// The side of a bound on which keys are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The least key that is not below.
    Lower,
    /// The greatest key that is not above.
    Upper,
    /// The greatest key that is below.
    UpperExcluded,
    /// The greatest key that begins with the bytes, or is below.
    UpperOfPrefix,
}

/// What follows a prefix in both bounds of a span.
pub(super) struct Rests<'a> {
    pub(super) lower: &'a [u8],
    /// Whether a key that equals the lower bound is outside.
    pub(super) is_excluded: bool,
    pub(super) upper: &'a [u8],
    pub(super) side: Side,
}

impl<'a> Span<'a> {
    /// Returns what follows `prefix`, with which all keys begin, in both bounds: nothing of a bound that is missing, or
    /// beside all keys and excludes none. `None` if no key is in the span.
    #[inline(always)]
    pub(super) fn after(self, prefix: &[u8]) -> Option<Rests<'a>> {
        let (none, beside): (&[u8], _) = (&[], |bytes: &'a [u8]| match prefix.is_empty() {
            // Random integers have none, and no call.
            true => Ok(bytes),
            false => bytes.strip_prefix(prefix).ok_or_else(|| bytes.cmp(prefix)),
        });
        let (lower, upper) = match self {
            Self::Range(lower, upper) => (lower, upper),
            Self::Prefix(bytes) => {
                let rest = beside(bytes).ok().or_else(|| prefix.starts_with(bytes).then_some(none))?;
                return Some(Rests { lower: rest, is_excluded: false, upper: rest, side: Side::UpperOfPrefix });
            }
        };
        let (lower, is_excluded) = match lower {
            Bound::Unbounded => (none, false),
            Bound::Included(bytes) | Bound::Excluded(bytes) => match beside(bytes) {
                Ok(rest) => (rest, matches!(lower, Bound::Excluded(_))),
                Err(Ordering::Greater) => return None,
                Err(_) => (none, false),
            },
        };
        let (upper, side) = match upper {
            Bound::Unbounded => (none, Side::UpperOfPrefix),
            Bound::Included(bytes) | Bound::Excluded(bytes) => match beside(bytes) {
                Ok(rest) if matches!(upper, Bound::Included(_)) => (rest, Side::Upper),
                Ok([]) | Err(Ordering::Less) => return None,
                Ok(rest) => (rest, Side::UpperExcluded),
                Err(_) => (none, Side::UpperOfPrefix),
            },
        };
        Some(Rests { lower, is_excluded, upper, side })
    }

    /// Returns whether bounds are in order, if there are any.
    #[inline]
    pub(super) fn is_ordered(&self) -> bool {
        match *self {
            Self::Range(lower, upper) => are_ordered(lower, upper),
            Self::Prefix(_) => true,
        }
    }

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

/// The greatest number of bytes of a number.
pub(super) const MAX_WIDTH: usize = 16;

/// The numbers of keys that are integers.
///
/// All keys are the prefix and `width` bytes. So each set of keys between two bounds is one of consecutive numbers:
///
/// | bytes of a bound after the prefix | least number of a key above it | greatest number of a key below it |
/// |---|---|---|
/// | fewer than `width`: no key equals it | these, and zeros | one less than these and zeros |
/// | `width` | the number, or one more if it is excluded | the number, or one less if it is excluded |
/// | more: it is above the key that it begins with | one more than the first `width` | the first `width` |
///
/// Where that is below zero or has more than `width` bytes, no key is between the bounds.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    pub(super) prefix: &'a [u8],
    /// The number of bytes of a number, at most [`MAX_WIDTH`].
    pub(super) width: usize,
}

impl Numbers<'_> {
    /// Returns the first `width` bytes as a number, with zeros for missing ones.
    #[inline(always)]
    pub(super) fn number(&self, rest: &[u8]) -> u128 {
        let rest = &rest[..rest.len().min(self.width)];
        bytes::u128_big_padded(rest).checked_shr(8 * (MAX_WIDTH - self.width) as u32).unwrap_or(0)
    }

    /// Returns the first and the last number of a key of `span`, or `None` if there is none.
    #[inline(always)]
    pub(super) fn of_span(&self, span: Span<'_>) -> Option<(u128, u128)> {
        let Rests { lower, is_excluded, upper, side } = span.after(self.prefix)?;
        let is_above = lower.len() > self.width || is_excluded && lower.len() == self.width;
        let first = self.number(lower).checked_add(is_above.into())?;
        let (number, free) = (self.number(upper), self.width.saturating_sub(upper.len()));
        let last = match side {
            // Of 2^128 numbers no bit is shifted out.
            Side::UpperOfPrefix => number | u128::MAX.checked_shr(8 * (MAX_WIDTH - free) as u32).unwrap_or(0),
            _ => {
                let is_below = free > 0 || side == Side::UpperExcluded && upper.len() == self.width;
                number.checked_sub(is_below.into())?
            }
        };
        (first <= last).then_some((first, last))
    }
}
