//! Insertion in lanes: a step of an equation waits for the step before it, but hardly ever for those of other equations.

use super::band::Cursor;

/// The number of equations of a bucket that are inserted together. With more, the registers do not suffice.
pub(super) const LANES: usize = 4;

/// Equations of one bucket that are inserted together.
pub(super) struct Queue<'a> {
    /// The coefficients and marks of the stretch's slots.
    pub(super) rows: (&'a mut [u64], &'a mut [u64]),
    /// The equations of the bucket in the order of their insertion, and [`ENDS`] without coefficients.
    pub(super) equations: &'a [Cursor],
    /// The first equation that is not inserted.
    pub(super) next: usize,
    /// The slots of the equations that were inserted, in the order in which they found them, with room for all.
    pub(super) placed: &'a mut [u32],
    pub(super) num_placed: usize,
}

/// The number of equations without coefficients at the end of a queue: each lane may take one at first, and one more
/// before the first of them is noticed.
pub(super) const ENDS: usize = 2 * LANES;

/// Takes steps until one of the lanes has no coefficients left. Returns the lanes and the number of equations that have
/// been placed.
#[inline(always)]
pub(super) fn take(queue: Queue<'_>) -> ([Cursor; LANES], usize) {
    let Queue { rows: (coefficients, marks), equations, next: begin, placed, num_placed } = queue;
    let mut next = begin + LANES;
    let placed_before_next = next - num_placed;
    let marks = &mut marks[..coefficients.len()];
    // Variables of their own stay in registers.
    let [mut a, mut b, mut c, mut d] = core::array::from_fn(|lane| equations[begin + lane]);
    macro_rules! step {
        ($lane:ident) => {
            if $lane.coefficients == 0 {
                break;
            }
            let (coefficients, mark) = (&mut coefficients[$lane.at], &mut marks[$lane.at]);
            if *coefficients == 0 {
                (*coefficients, *mark) = ($lane.coefficients, $lane.mark);
                placed[next - placed_before_next] = $lane.at as u32;
                $lane = equations[next];
                next += 1;
            } else {
                $lane = $lane.after(*coefficients, *mark);
            }
        };
    }
    loop {
        step!(a);
        step!(b);
        step!(c);
        step!(d);
    }
    ([a, b, c, d], next - placed_before_next)
}
