//! Insertion in turns: a step of an equation waits for the step before it, but not for the steps of another stretch, and
//! seldom for those of another equation.

use super::band::{Cell, Cursor};
use super::row::Row;

/// The number of stretches that are filled in turns. Each needs some registers; a third one gains a few hundredths.
pub(super) const IN_TURNS: usize = 2;

/// A stretch that is being filled.
pub(super) struct Turn<'a> {
    pub(super) cells: &'a mut [Cell],
    /// The equations of a bucket in the order of their insertion, and two without coefficients.
    pub(super) queue: &'a [Row],
    /// The slot of each inserted equation.
    pub(super) slots: &'a mut [u32],
    pub(super) place: Place,
}

/// A stretch's place in its queue.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The equation that is being inserted.
    pub(super) next: usize,
    pub(super) cursor: Cursor,
}

impl Place {
    /// Returns the place at the beginning of equation `next`.
    #[inline(always)]
    pub(super) fn at(queue: &[Row], next: usize) -> Self {
        Self { next, cursor: Cursor::new(&queue[next]) }
    }

    /// Takes a step. Returns `false` if no coefficients are left, at the end of an equation or of the queue.
    #[inline(always)]
    fn step(&mut self, turn: &mut Turn<'_>) -> bool {
        if self.cursor.step(turn.cells) {
            turn.slots[self.next] = self.cursor.at as u32;
            *self = Self::at(turn.queue, self.next + 1);
        }
        self.cursor.coefficients != 0
    }
}

/// Takes steps until one of the stretches has no coefficients left. Returns its number and the places of all.
#[inline(always)]
pub(super) fn take<const N: usize>(mut turns: [Turn<'_>; N]) -> (usize, [Place; N]) {
    // They are kept apart from `turns` so that they stay in registers.
    let mut places: [Place; N] = core::array::from_fn(|lane| turns[lane].place);
    loop {
        for lane in 0..N {
            if !places[lane].step(&mut turns[lane]) {
                return (lane, places);
            }
        }
    }
}

/// Equations of one bucket that are inserted two at a time.
pub(super) struct Pair<'a> {
    pub(super) cells: &'a mut [Cell],
    /// The equations of the bucket, and two without coefficients.
    pub(super) queue: &'a [Row],
    /// The slot of each inserted equation.
    pub(super) slots: &'a mut [u32],
    /// The equations in the order in which they found their slots.
    pub(super) placed: &'a mut Vec<u32>,
    /// The first equation that is not inserted.
    pub(super) place: Place,
}

/// Takes steps until one of two equations has no coefficients left. Returns the places of both.
#[inline(always)]
pub(super) fn take_pair(pair: Pair<'_>) -> [Place; 2] {
    let Pair { cells, queue, slots, placed, place } = pair;
    let mut next = place.next + 1;
    let mut lanes = [place, Place::at(queue, next)];
    loop {
        for lane in &mut lanes {
            if lane.cursor.coefficients == 0 {
                return lanes;
            }
            if lane.cursor.step(cells) {
                slots[lane.next] = lane.cursor.at as u32;
                placed.push(lane.next as u32);
                next += 1;
                *lane = Place::at(queue, next);
            }
        }
    }
}
