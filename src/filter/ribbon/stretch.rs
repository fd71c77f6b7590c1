//! A part of a layer that is solved apart from the others, so that it stays in a cache and all cores can take part: a row
//! whose window would cross its end is bumped.

use super::band::Band;
use super::build::solve;
use super::engine::Engine;
use super::layer::Layer;
use super::row::{Row, WIDTH};
use super::sizing::STRETCH;
use super::turns::{IN_TURNS, Place, Turn};
use super::{BUCKET, LIMITS, Params};
use crate::bits;
use std::vec::Vec;

/// The layer that stretches belong to.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    pub(super) params: Params,
    pub(super) layer: Layer,
}

pub(super) struct Stretch<'a> {
    pub(super) first_slot: u64,
    /// Sorted.
    pub(super) hashes: &'a [u64],
    pub(super) solution: &'a mut [u8],
    /// Zeros.
    pub(super) thresholds: &'a mut [u8],
    /// Those of `hashes` that are bumped.
    pub(super) bumped: Vec<u64>,
}

/// What a thread needs to build stretches: 16 bytes for each slot of [`IN_TURNS`] stretches.
pub(super) type Bands = [Band; IN_TURNS];

impl Whole {
    /// Fills and solves up to [`IN_TURNS`] stretches.
    pub(super) fn build(&self, stretches: &mut [Stretch<'_>], bands: &mut Bands) {
        let engine = Engine::best(&self.params);
        let mut all: Vec<Filling<'_, '_>> =
            stretches.iter_mut().zip(&mut *bands).map(|(stretch, band)| Filling::new(self, stretch, band)).collect();
        let mut filling: Vec<&mut Filling<'_, '_>> = all.iter_mut().collect();
        filling.retain_mut(|one| one.next_bucket());
        while !filling.is_empty() {
            let lane = match &mut filling[..] {
                [first, second] => {
                    let (lane, places) = engine.take_turns([first.turn(), second.turn()]);
                    [first.place, second.place] = places;
                    lane
                }
                [first, ..] => {
                    first.place = engine.take_all_turns(first.turn());
                    0
                }
                [] => break,
            };
            if !filling[lane].go_on() {
                filling.remove(lane);
            }
        }
        for (stretch, band) in stretches.iter_mut().zip(bands) {
            solve(&self.params, &self.layer, stretch.first_slot / WIDTH, band, stretch.solution);
        }
    }

    /// The row of `hash`, which starts in a stretch that begins at `first_slot`.
    #[inline(always)]
    fn row(&self, hash: u64, first_slot: u64, mask: u32) -> Row {
        let row = Row::new(hash, self.layer.num_starts);
        Row { start: row.start - first_slot, fingerprint: row.fingerprint & mask, ..row }
    }
}

/// A stretch that is filled bucket by bucket.
struct Filling<'a, 'h> {
    whole: &'a Whole,
    stretch: &'a mut Stretch<'h>,
    band: &'a mut Band,
    mask: u32,
    /// The hashes of the buckets to come.
    later: &'h [u64],
    /// The bucket, counted from the stretch's first, and its hashes.
    bucket: u64,
    of_bucket: &'h [u64],
    /// Its rows, the last first, and one without coefficients.
    queue: Vec<Row>,
    slots: Vec<u32>,
    place: Place,
}

impl<'a, 'h> Filling<'a, 'h> {
    fn new(whole: &'a Whole, stretch: &'a mut Stretch<'h>, band: &'a mut Band) -> Self {
        let Whole { params, layer } = whole;
        // The last stretch has the layer's last block, too, in which no row starts.
        let is_last = stretch.first_slot + STRETCH >= layer.num_starts;
        let end = if is_last { layer.num_blocks * WIDTH } else { stretch.first_slot + STRETCH };
        band.clear((end - stretch.first_slot) as usize);
        let queue = std::vec![Row::NONE];
        let (later, mask) = (stretch.hashes, params.fingerprint_mask());
        let place = Place::at(&queue, 0);
        Self { whole, stretch, band, mask, later, bucket: 0, of_bucket: &[], queue, slots: Vec::new(), place }
    }

    fn turn(&mut self) -> Turn<'_> {
        Turn { cells: self.band.cells(), queue: &self.queue, slots: &mut self.slots, place: self.place }
    }

    /// Goes on to the next bucket whose rows there is room for. `false` if there is none.
    fn next_bucket(&mut self) -> bool {
        let (whole, first_slot, mask) = (self.whole, self.stretch.first_slot, self.mask);
        while let Some(&first) = self.later.first() {
            self.bucket = whole.row(first, first_slot, mask).start / BUCKET;
            self.queue.clear();
            let rows = self.later.iter().map(|&hash| whole.row(hash, first_slot, mask));
            self.queue.extend(rows.take_while(|row| row.start / BUCKET == self.bucket));
            (self.of_bucket, self.later) = self.later.split_at(self.queue.len());
            self.queue.reverse();
            self.queue.push(Row::NONE);
            self.slots.resize(self.slots.len().max(self.queue.len()), 0);
            self.place = Place::at(&self.queue, 0);
            if self.band.has_room(&self.queue[0]) {
                return true;
            }
            self.refuse();
        }
        false
    }

    /// Goes on where an equation, or the queue, has no coefficients left. `false` at the end of the last bucket.
    fn go_on(&mut self) -> bool {
        let Place { next, cursor } = self.place;
        let num_rows = self.of_bucket.len();
        if next < num_rows && cursor.fingerprint == 0 {
            // It follows from those before it.
            self.slots[next] = u32::MAX;
            self.place = Place::at(&self.queue, next + 1);
            if next + 1 < num_rows {
                return true;
            }
        } else if next < num_rows {
            self.refuse();
        }
        self.next_bucket()
    }

    /// Sets the threshold that bumps the equation at hand and the fewest others, and takes those back that it bumps.
    fn refuse(&mut self) {
        let next = self.place.next;
        let refused = distance(&self.queue[next]);
        let class = LIMITS.iter().position(|&limit| limit <= refused).expect("the last limit is 0");
        let is_bumped = |row: &Row| distance(row) >= LIMITS[class];
        for (row, &slot) in self.queue[..next].iter().zip(&self.slots) {
            if is_bumped(row) && slot != u32::MAX {
                self.band.remove(slot as usize);
            }
        }
        let rows = self.queue[..self.of_bucket.len()].iter().rev().zip(self.of_bucket);
        self.stretch.bumped.extend(rows.filter(|(row, _)| is_bumped(row)).map(|(_, &hash)| hash));
        bits::write(self.stretch.thresholds, self.bucket * 2, 2, class as u64);
    }
}

/// From the start of `row` to its bucket's last slot.
fn distance(row: &Row) -> u64 {
    !row.start % BUCKET
}
