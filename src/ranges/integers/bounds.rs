//! The numbers between the bounds of a range.
//!
//! All keys are the prefix and `width` bytes. So each set of keys between two bounds is one of consecutive numbers:
//!
//! | bytes of a bound after the prefix | least number of a key above it | greatest number of a key below it |
//! |---|---|---|
//! | fewer than `width`: no key equals it | these, and zeros | one less than these and zeros |
//! | `width` | the number, or one more if it is excluded | the number, or one less if it is excluded |
//! | more: it is above the key that it begins with | one more than the first `width` | the first `width` |
//!
//! Where that is below zero or has more than `width` bytes, no key is between the bounds.

use super::params::MAX_WIDTH;
use crate::bytes;
use core::cmp::Ordering;
use core::ops::Bound;

/// The numbers of a filter's keys.
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

    /// Returns the bytes of a bound after the prefix, if it has that.
    #[inline(always)]
    fn rest<'b>(&self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        // Random integers have none, and no call.
        if self.prefix.is_empty() { Some(bytes) } else { bytes.strip_prefix(self.prefix) }
    }

    /// Returns the greatest number.
    #[inline(always)]
    fn greatest(&self) -> u128 {
        u128::MAX.checked_shr(8 * (MAX_WIDTH - self.width) as u32).unwrap_or(0)
    }

    /// Returns the first and the last number between the bounds, or `None` if there is none.
    #[inline(always)]
    pub(super) fn of_range(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<(u128, u128)> {
        let first = match lower {
            Bound::Unbounded => 0,
            Bound::Included(bytes) | Bound::Excluded(bytes) => match self.rest(bytes) {
                Some(rest) => {
                    let is_above = match rest.len().cmp(&self.width) {
                        Ordering::Less => false,
                        Ordering::Equal => matches!(lower, Bound::Excluded(_)),
                        Ordering::Greater => true,
                    };
                    self.number(rest).checked_add(is_above.into())?
                }
                None if bytes > self.prefix => return None,
                None => 0,
            },
        };
        let last = match upper {
            Bound::Unbounded => self.greatest(),
            Bound::Included(bytes) | Bound::Excluded(bytes) => match self.rest(bytes) {
                Some(rest) => {
                    let is_below = match rest.len().cmp(&self.width) {
                        Ordering::Less => true,
                        Ordering::Equal => matches!(upper, Bound::Excluded(_)),
                        Ordering::Greater => false,
                    };
                    self.number(rest).checked_sub(is_below.into())?
                }
                None if bytes < self.prefix => return None,
                None => self.greatest(),
            },
        };
        (first <= last).then_some((first, last))
    }

    /// Returns the first and the last number of a key that begins with `prefix`, or `None` if there is none.
    #[inline(always)]
    pub(super) fn of_prefix(&self, prefix: &[u8]) -> Option<(u128, u128)> {
        let Some(rest) = self.rest(prefix) else {
            return self.prefix.starts_with(prefix).then_some((0, self.greatest()));
        };
        let first = self.number(rest);
        let free = self.width.checked_sub(rest.len())?;
        // Of 2^128 numbers no bit is shifted out.
        Some((first, first | u128::MAX.checked_shr(8 * (MAX_WIDTH - free) as u32).unwrap_or(0)))
    }
}
