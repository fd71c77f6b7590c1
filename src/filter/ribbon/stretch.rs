//! A stretch: a part of a layer that is filled and solved apart from the others. The [parent](super) explains the order
//! of insertion and thresholds.

use super::band::Band;
use super::build::solve;
use super::engine::Engine;
use super::groups::Group;
use super::layer::Layer;
use super::row::{Row, WIDTH};
use super::search::Part;
use super::sizing::STRETCH;
use super::turns::{IN_TURNS, Pair, Place, Turn};
use super::{BUCKET, LIMITS, Params};
use crate::bits;
use crate::filter::fault;
use crate::filter::seam::Unbuilt;
use crate::hash_set::{Tally, check_suspects};
use std::vec::Vec;

/// The layer that stretches belong to.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    pub(super) params: Params,
    pub(super) layer: Layer,
    /// The most hashes that the layer may bump.
    pub(super) max_bumped: usize,
    pub(super) num_entering: usize,
    /// Whether the hashes are looked up in each stretch once it is solved.
    pub(super) checks: bool,
}

/// The most equations of a bucket that can be kept: one for each slot of their windows.
const MAX_KEPT: usize = (BUCKET + WIDTH) as usize;

pub(super) struct Stretch<'a> {
    pub(super) first_slot: u64,
    pub(super) solution: &'a mut [u8],
    /// The stretch's part of the thresholds, zeros at first.
    pub(super) thresholds: &'a mut [u8],
    /// The stretch's hashes that are bumped.
    pub(super) bumped: Vec<u64>,
    /// The tally of the hashes that were found in the stretch.
    pub(super) found: Tally,
}

/// The memory in which a thread builds stretches: 16 bytes for each slot of [`IN_TURNS`] stretches, and the hashes of a
/// group.
#[derive(Default)]
pub(super) struct Workspace {
    pub(super) group: Group,
    bands: [Band; IN_TURNS],
}

impl Whole {
    /// Fills and solves the stretches of the group.
    pub(super) fn build(&self, stretches: &mut [Stretch<'_>], workspace: &mut Workspace) -> Result<(), Unbuilt> {
        let Workspace { group, bands } = workspace;
        let mut entering = Entering { hashes: &group.hashes, per_bucket: &group.per_bucket };
        let mut solved = entering;
        for some in stretches.chunks_mut(IN_TURNS) {
            self.fill(some, &mut entering, bands)?;
            for (stretch, band) in some.iter_mut().zip(&*bands) {
                solve(&self.params, &self.layer, stretch.first_slot / WIDTH, band, stretch.solution);
                fault::inject(stretch.solution);
                fault::inject(stretch.thresholds);
                if self.checks {
                    let Whole { params, layer, .. } = self;
                    let layer = layer.seen_from(params, stretch.first_slot);
                    let (solution, thresholds) = (&*stretch.solution, Some(&*stretch.thresholds));
                    let part = Part { params, layer, solution, thresholds };
                    let hashes = solved.split_off((STRETCH / BUCKET) as usize).hashes;
                    stretch.found = Engine::best(params).tally_found(&part, hashes);
                }
            }
        }
        Ok(())
    }

    /// Fills up to [`IN_TURNS`] stretches.
    fn fill(
        &self,
        stretches: &mut [Stretch<'_>],
        entering: &mut Entering<'_>,
        bands: &mut [Band; IN_TURNS],
    ) -> Result<(), Unbuilt> {
        let engine = Engine::best(&self.params);
        let mut all: Vec<Filling<'_, '_>> = Vec::with_capacity(IN_TURNS);
        for (stretch, band) in stretches.iter_mut().zip(bands) {
            all.push(Filling::new(self, entering.split_off((STRETCH / BUCKET) as usize), stretch, band));
        }
        let mut filling: Vec<&mut Filling<'_, '_>> = all.iter_mut().collect();
        for one in &mut filling {
            one.next_bucket()?;
        }
        filling.retain(|one| !one.is_full());
        while !filling.is_empty() {
            let lane = match &mut filling[..] {
                [first, second] => {
                    let (lane, places) = engine.take_turns([first.turn(), second.turn()]);
                    [first.place, second.place] = places;
                    lane
                }
                [first, ..] => {
                    first.insert_in_pairs(engine);
                    0
                }
                [] => break,
            };
            filling[lane].go_on()?;
            if filling[lane].is_full() {
                filling.remove(lane);
            }
        }
        Ok(())
    }

    /// Returns the error for hashes of which too many are bumped.
    pub(super) fn crowded(&self) -> Unbuilt {
        Unbuilt::Unsolved { num_seeds: 1, num_entries: self.num_entering as u64 }
    }

    /// Returns the row of `hash`, which starts in the stretch that begins at `first_slot`.
    #[inline(always)]
    fn row(&self, hash: u64, first_slot: u64, mask: u32) -> Row {
        let row = Row::new(hash, self.layer.num_starts);
        Row { start: row.start - first_slot, fingerprint: row.fingerprint & mask, ..row }
    }
}

/// The hashes of some buckets, in the order of their insertion.
#[derive(Clone, Copy)]
struct Entering<'a> {
    hashes: &'a [u64],
    per_bucket: &'a [usize],
}

impl<'a> Entering<'a> {
    /// Takes the hashes of the first `num_buckets` buckets, or of all.
    fn split_off(&mut self, num_buckets: usize) -> Self {
        let (per_bucket, later) = self.per_bucket.split_at(num_buckets.min(self.per_bucket.len()));
        let (hashes, later_hashes) = self.hashes.split_at(per_bucket.iter().sum());
        *self = Self { hashes: later_hashes, per_bucket: later };
        Self { hashes, per_bucket }
    }
}

/// A stretch that is filled bucket by bucket.
struct Filling<'a, 's> {
    whole: &'a Whole,
    stretch: &'a mut Stretch<'s>,
    band: &'a mut Band,
    mask: u32,
    later: Entering<'a>,
    /// The current bucket, counted from the stretch's first, and its hashes.
    bucket: u64,
    of_bucket: &'a [u64],
    /// The rows of these hashes, and one without coefficients.
    queue: Vec<Row>,
    slots: Vec<u32>,
    /// The equations of the bucket that were inserted in pairs, in the order in which they found their slots.
    placed: Vec<u32>,
    place: Place,
    /// The hashes that may have an equal one in the bucket.
    suspects: Vec<u64>,
}

impl<'a, 's> Filling<'a, 's> {
    fn new(whole: &'a Whole, later: Entering<'a>, stretch: &'a mut Stretch<'s>, band: &'a mut Band) -> Self {
        let Whole { params, layer, .. } = whole;
        // The last stretch also has the layer's last block, in which no row starts.
        let is_last = stretch.first_slot + STRETCH >= layer.num_starts;
        let end = if is_last { layer.num_blocks * WIDTH } else { stretch.first_slot + STRETCH };
        band.clear((end - stretch.first_slot) as usize);
        let queue = std::vec![Row::NONE; 2];
        let mask = params.fingerprint_mask();
        let place = Place::at(&queue, 0);
        // The number before that of the first bucket.
        let bucket = u64::MAX;
        let (slots, placed, suspects) = (Vec::new(), Vec::new(), Vec::new());
        Self { whole, stretch, band, mask, later, bucket, of_bucket: &[], queue, slots, placed, place, suspects }
    }

    /// Returns whether no bucket is left.
    fn is_full(&self) -> bool {
        self.of_bucket.is_empty()
    }

    fn turn(&mut self) -> Turn<'_> {
        Turn { cells: self.band.cells(), queue: &self.queue, slots: &mut self.slots, place: self.place }
    }

    /// Goes on to the next bucket that has rows and room for them.
    fn next_bucket(&mut self) -> Result<(), Unbuilt> {
        check_suspects(self.of_bucket, &mut self.suspects)?;
        self.suspects.clear();
        self.of_bucket = &[];
        while !self.later.per_bucket.is_empty() {
            self.bucket = self.bucket.wrapping_add(1);
            self.of_bucket = self.later.split_off(1).hashes;
            if self.of_bucket.is_empty() {
                continue;
            }
            // Known before memory is taken for their rows.
            let min_bumped = self.stretch.bumped.len() + self.of_bucket.len().saturating_sub(MAX_KEPT);
            if min_bumped > self.whole.max_bumped {
                return Err(self.whole.crowded());
            }
            let (whole, first_slot, mask) = (self.whole, self.stretch.first_slot, self.mask);
            self.queue.clear();
            self.queue.extend(self.of_bucket.iter().map(|&hash| whole.row(hash, first_slot, mask)));
            self.queue.extend([Row::NONE; 2]);
            self.placed.clear();
            self.slots.resize(self.slots.len().max(self.queue.len()), 0);
            self.place = Place::at(&self.queue, 0);
            if self.band.has_room(&self.queue[0]) {
                break;
            }
            self.refuse();
            self.of_bucket = &[];
        }
        Ok(())
    }

    /// Inserts equations two at a time, until one of them, or the queue, has no coefficients left and all before it are
    /// inserted. The result is that of one at a time, which overlaps nothing: an equation that has no coefficients left
    /// beside a later one is inserted again without it.
    fn insert_in_pairs(&mut self, engine: Engine) {
        loop {
            let Self { queue, slots, placed, place, .. } = self;
            let pair = Pair { cells: self.band.cells(), queue, slots, placed, place: *place };
            let [first, second] = engine.take_pair(pair);
            let earlier = if first.next < second.next { first } else { second };
            let is_alone = !self.take_back(earlier.next + 1);
            self.place = if is_alone { earlier } else { Place::at(&self.queue, earlier.next) };
            if !self.insert_alone() {
                return;
            }
        }
    }

    /// Inserts the current equation and goes on to the next. Returns `false` if it has no coefficients left.
    fn insert_alone(&mut self) -> bool {
        let Place { next, mut cursor } = self.place;
        while cursor.coefficients != 0 {
            if cursor.step(self.band.cells()) {
                self.slots[next] = cursor.at as u32;
                self.placed.push(next as u32);
                self.place = Place::at(&self.queue, next + 1);
                return true;
            }
        }
        self.place.cursor = cursor;
        false
    }

    /// Takes back the equations from `end` on, and inserts those before it again that may depend on them. Returns whether
    /// there were any in place.
    fn take_back(&mut self, end: usize) -> bool {
        let Some(begin) = self.placed.iter().position(|&index| index as usize >= end) else { return false };
        let taken = self.placed.split_off(begin);
        taken.iter().for_each(|&index| self.band.remove(self.slots[index as usize] as usize));
        for index in taken.into_iter().map(|index| index as usize).filter(|&index| index < end) {
            self.place = Place::at(&self.queue, index);
            let is_inserted = self.insert_alone();
            debug_assert!(is_inserted, "it was before");
        }
        true
    }

    /// Goes on after an equation, or the queue, has no coefficients left.
    fn go_on(&mut self) -> Result<(), Unbuilt> {
        let Place { next, cursor } = self.place;
        if let Some(&hash) = self.of_bucket.get(next) {
            if cursor.fingerprint == 0 {
                // The equation follows from those before it, as that of an equal hash does.
                self.suspects.push(hash);
                self.slots[next] = u32::MAX;
                self.place = Place::at(&self.queue, next + 1);
                if next + 1 < self.of_bucket.len() {
                    return Ok(());
                }
            } else {
                self.refuse();
            }
        }
        self.next_bucket()
    }

    /// Sets the least threshold that bumps the current equation, and takes back the rows in place that it bumps.
    fn refuse(&mut self) {
        let next = self.place.next;
        let refused = distance(&self.queue[next]);
        let class = LIMITS.iter().position(|&limit| limit <= refused).expect("the last limit is 0");
        let is_bumped = |row: &Row| distance(row) >= LIMITS[class];
        let end = self.queue[..next].partition_point(|row| !is_bumped(row));
        for &slot in self.slots[end..next].iter().filter(|&&slot| slot != u32::MAX) {
            self.band.remove(slot as usize);
        }
        self.take_back(end);
        let rows = self.queue.iter().zip(self.of_bucket);
        self.stretch.bumped.extend(rows.filter(|(row, _)| is_bumped(row)).map(|(_, &hash)| hash));
        bits::write(self.stretch.thresholds, self.bucket * 2, 2, class as u64);
    }
}

/// Returns the distance from the start of `row` to its bucket's last slot.
fn distance(row: &Row) -> u64 {
    !row.start % BUCKET
}
