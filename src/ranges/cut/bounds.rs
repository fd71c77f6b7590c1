//! The strings of a range's bounds.

use super::code::{Side, Text};
use super::params::Params;
use core::cmp::Ordering;
use core::ops::Bound;

/// The strings of both bounds of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    pub(crate) lower: Text<'a>,
    pub(crate) upper: Text<'a>,
}

/// Returns the bounds of a range; `None` if nothing in it has the table's common prefix.
#[inline]
pub(crate) fn of_range<'a>(
    params: &Params,
    payload: &'a [u8],
    lower: Bound<&'a [u8]>,
    upper: Bound<&'a [u8]>,
) -> Option<Bounds<'a>> {
    let (prefix, code) = (params.prefix(payload), params.code(payload));
    // A key above an excluded bound may have the same bits: zeros follow the end of a key.
    let lower = match lower {
        Bound::Unbounded => Text::end(false),
        Bound::Included(bytes) | Bound::Excluded(bytes) => match beside(prefix, bytes) {
            Ok(rest) => Text::new(code, rest, Side::Lower),
            Err(Ordering::Greater) => return None,
            Err(_) => Text::end(false),
        },
    };
    let upper = match upper {
        Bound::Unbounded => Text::end(true),
        Bound::Included(bytes) | Bound::Excluded(bytes) => match beside(prefix, bytes) {
            Ok(rest) if matches!(upper, Bound::Excluded(_)) => Text::below(code, rest)?,
            Ok(rest) => Text::new(code, rest, Side::Upper),
            Err(Ordering::Less) => return None,
            Err(_) => Text::end(true),
        },
    };
    Some(Bounds { lower, upper })
}

/// Returns the bounds of the keys with `prefix`, as [`of_range`] does.
#[inline]
pub(crate) fn of_prefix<'a>(params: &Params, payload: &'a [u8], prefix: &'a [u8]) -> Option<Bounds<'a>> {
    let (common, code) = (params.prefix(payload), params.code(payload));
    match prefix.strip_prefix(common) {
        Some(rest) => {
            let text = |side| Text::new(code, rest, side);
            Some(Bounds { lower: text(Side::Lower), upper: text(Side::UpperOfPrefix) })
        }
        None => common.starts_with(prefix).then(|| Bounds { lower: Text::end(false), upper: Text::end(true) }),
    }
}

/// Returns the bytes after `prefix`, or the order of the bytes beside all keys that have it.
#[inline]
fn beside<'a>(prefix: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], Ordering> {
    bytes.strip_prefix(prefix).ok_or_else(|| bytes.cmp(prefix))
}
