//! The bounds of a range, as groups compare them.

use super::code::{End, Side};
use super::params::Params;
use core::cmp::Ordering;
use core::ops::Bound;

/// Both bounds of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bounds<'a> {
    /// The first bits of both, as groups of gaps have them.
    Numbers(u64, u64),
    Ends(End<'a>, End<'a>),
}

/// Returns the bounds of a range; `None` if nothing in it has the table's common prefix.
#[inline(always)]
pub(crate) fn of_range<'a>(
    params: &Params,
    payload: &'a [u8],
    lower: Bound<&'a [u8]>,
    upper: Bound<&'a [u8]>,
) -> Option<Bounds<'a>> {
    let prefix = params.prefix(payload);
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
    Some(of_ends(params, payload, lower, upper))
}

/// Returns the bounds of the keys with `prefix`, as [`of_range`] does.
#[inline(always)]
pub(crate) fn of_prefix<'a>(params: &Params, payload: &'a [u8], prefix: &'a [u8]) -> Option<Bounds<'a>> {
    let common = params.prefix(payload);
    let rest = prefix.strip_prefix(common).or_else(|| common.starts_with(prefix).then_some(&[]))?;
    Some(of_ends(params, payload, rest, (rest, Side::UpperOfPrefix)))
}

#[inline(always)]
fn of_ends<'a>(params: &Params, payload: &'a [u8], lower: &'a [u8], upper: (&'a [u8], Side)) -> Bounds<'a> {
    let end = |bytes, side| End { code: params.code(payload), bytes, side };
    let (lower, upper) = (end(lower, Side::Lower), end(upper.0, upper.1));
    if params.is_gaps { Bounds::Numbers(lower.number(), upper.number()) } else { Bounds::Ends(lower, upper) }
}

/// Returns the bytes after `prefix`, or the order of the bytes beside all keys that have it.
#[inline(always)]
fn beside<'a>(prefix: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], Ordering> {
    bytes.strip_prefix(prefix).ok_or_else(|| bytes.cmp(prefix))
}
