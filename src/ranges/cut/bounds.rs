//! The bounds of a range, as groups compare them.

use super::code::End;
use super::params::Params;
use crate::ranges::query::{Numbers, Rests, Side, Span};

/// Both bounds of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bounds<'a> {
    /// The first bits of both, as groups of gaps have them.
    Numbers(u64, u64),
    Ends(End<'a>, End<'a>),
}

/// Returns the bounds of a span, which are in order; `None` if no key is in it.
#[inline(always)]
pub(crate) fn of_span<'a>(params: &Params, payload: &'a [u8], span: Span<'a>) -> Option<Bounds<'a>> {
    if params.is_exact() {
        let numbers = Numbers { prefix: params.prefix(payload), width: params.width.into() };
        let (first, last) = numbers.of_span(span)?;
        let number = |integer: u128| (integer as u64) << (64 - 8 * u32::from(params.width));
        return Some(Bounds::Numbers(number(first), number(last)));
    }
    // A key above an excluded bound may have the same bits: zeros follow the end of a key.
    let Rests { lower, upper, side, .. } = span.after(params.prefix(payload))?;
    let end = |bytes, side| End { code: params.code(payload), bytes, side };
    let (lower, upper) = (end(lower, Side::Lower), end(upper, side));
    Some(if params.is_gaps { Bounds::Numbers(lower.number(), upper.number()) } else { Bounds::Ends(lower, upper) })
}
