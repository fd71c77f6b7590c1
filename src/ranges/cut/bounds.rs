//! The bounds of a range, as groups compare them.

use super::code::{End, Side};
use super::params::Params;
use crate::ranges::query::Span;
use core::cmp::Ordering;
use core::ops::Bound;

/// Both bounds of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bounds<'a> {
    /// The first bits of both, as groups of gaps have them.
    Numbers(u64, u64),
    Ends(End<'a>, End<'a>),
}

/// Returns the bounds of a span, which are in order; `None` if nothing in it has the table's common prefix.
#[inline(always)]
pub(crate) fn of_span<'a>(params: &Params, payload: &'a [u8], span: Span<'a>) -> Option<Bounds<'a>> {
    let prefix = params.prefix(payload);
    let (lower, (upper, side)) = match span {
        Span::Range(lower, upper) => of_range(prefix, lower, upper)?,
        Span::Prefix(bytes) => {
            let rest = bytes.strip_prefix(prefix).or_else(|| prefix.starts_with(bytes).then_some(&[]))?;
            (rest, (rest, Side::UpperOfPrefix))
        }
    };
    let end = |bytes, side| End { code: params.code(payload), bytes, side };
    let (lower, upper) = (end(lower, Side::Lower), end(upper, side));
    Some(if params.is_gaps { Bounds::Numbers(lower.number(), upper.number()) } else { Bounds::Ends(lower, upper) })
}

/// A bound's bytes after the prefix.
type Rest<'a> = &'a [u8];

#[inline(always)]
fn of_range<'a>(prefix: &[u8], lower: Bound<Rest<'a>>, upper: Bound<Rest<'a>>) -> Option<(Rest<'a>, (Rest<'a>, Side))> {
    // A key above an excluded bound may have the same bits: zeros follow the end of a key.
    let lower = match lower {
        Bound::Unbounded => &[],
        Bound::Included(bytes) | Bound::Excluded(bytes) => match beside(prefix, bytes) {
            Ok(rest) => rest,
            Err(Ordering::Greater) => return None,
            Err(_) => &[],
        },
    };
    let upper = match upper {
        Bound::Unbounded => (&[][..], Side::UpperOfPrefix),
        Bound::Included(bytes) | Bound::Excluded(bytes) => match beside(prefix, bytes) {
            Ok(rest) if matches!(upper, Bound::Included(_)) => (rest, Side::Upper),
            Ok([]) | Err(Ordering::Less) => return None,
            Ok(rest) => (rest, Side::UpperExcluded),
            Err(_) => (&[][..], Side::UpperOfPrefix),
        },
    };
    Some((lower, upper))
}

/// Returns the bytes after `prefix`, or the order of the bytes beside all keys that have it.
#[inline(always)]
fn beside<'a>(prefix: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], Ordering> {
    bytes.strip_prefix(prefix).ok_or_else(|| bytes.cmp(prefix))
}
