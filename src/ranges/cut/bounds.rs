//! The bits of a range's bounds.

use super::bits::Bits;
use super::code::Side;
use super::layout::Layout;
use core::cmp::Ordering;
use core::ops::Bound;

/// The bits of both bounds of a range.
pub(crate) struct Bounds {
    pub(crate) lower: Bits,
    pub(crate) upper: Bits,
}

impl Bounds {
    /// The bounds of all keys.
    pub(crate) const ALL: Self = Self { lower: Bits::ZEROS, upper: Bits::ONES };
}

/// Fills in the bounds of a range over the bounds of all keys. Returns `false` if nothing in the range has the table's
/// common prefix.
#[inline]
pub(crate) fn of_range(
    layout: &Layout,
    payload: &[u8],
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
    bounds: &mut Bounds,
) -> bool {
    let (prefix, depth) = (layout.prefix(payload), u32::from(layout.params.depth));
    // A key above an excluded bound may have the same bits: zeros follow the end of a key.
    if let Bound::Included(bytes) | Bound::Excluded(bytes) = lower {
        match beside(prefix, bytes) {
            Ok(rest) => layout.code.encode(rest, depth, Side::Lower, &mut bounds.lower),
            Err(Ordering::Greater) => return false,
            Err(_) => {}
        }
    }
    if let Bound::Included(bytes) | Bound::Excluded(bytes) = upper {
        match beside(prefix, bytes) {
            Ok(rest) => {
                layout.code.encode(rest, depth, Side::Upper, &mut bounds.upper);
                if matches!(upper, Bound::Excluded(_)) && layout.code.is_exact(rest, depth) {
                    return bounds.upper.step_below();
                }
            }
            Err(Ordering::Less) => return false,
            Err(_) => {}
        }
    }
    true
}

/// Fills in the bounds of the keys with `prefix`, as [`of_range`] does.
#[inline]
pub(crate) fn of_prefix(layout: &Layout, payload: &[u8], prefix: &[u8], bounds: &mut Bounds) -> bool {
    let depth = layout.params.depth.into();
    match prefix.strip_prefix(layout.prefix(payload)) {
        Some(rest) => {
            layout.code.encode(rest, depth, Side::Lower, &mut bounds.lower);
            layout.code.encode(rest, depth, Side::UpperOfPrefix, &mut bounds.upper);
            true
        }
        None => layout.prefix(payload).starts_with(prefix),
    }
}

/// Returns the bytes after `prefix`, or the order of the bytes beside all keys that have it.
#[inline]
fn beside<'a>(prefix: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], Ordering> {
    bytes.strip_prefix(prefix).ok_or_else(|| bytes.cmp(prefix))
}
