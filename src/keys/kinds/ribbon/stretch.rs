//! A stretch: a part of a layer that is filled and solved apart from the others. The [parent](super) explains the order
//! of insertion and thresholds.

use super::band::{Band, Cursor};
use super::build::solve;
use super::engine::Engine;
use super::groups::Group;
use super::lanes::{ENDS, Queue};
use super::layer::Layer;
use super::row::{Row, WIDTH};
use super::search::Part;
use super::sizing::STRETCH;
use super::{BUCKET, LIMITS, Params};
use crate::bits;
use crate::build::{Tally, check_suspects, fault};
use crate::keys::kinds::seam::Unbuilt;
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

/// The memory in which a thread builds stretches: 16 bytes for each slot of one, and the hashes of a group.
#[derive(Default)]
pub(super) struct Workspace {
    pub(super) group: Group,
    band: Band,
    queue: Vec<Cursor>,
    placed: Vec<u32>,
}

impl Whole {
    /// Fills and solves the stretches of the group.
    pub(super) fn build(&self, stretches: &mut [Stretch<'_>], workspace: &mut Workspace) -> Result<(), Unbuilt> {
        let Workspace { group, band, queue, placed } = workspace;
        let Whole { params, layer, .. } = self;
        let engine = Engine::best(params);
        let mut entering = Entering { hashes: &group.hashes, per_bucket: &group.per_bucket };
        for stretch in stretches {
            let of_stretch = entering.split_off((STRETCH / BUCKET) as usize);
            Filling::new(self, of_stretch, stretch, band, queue, placed).fill(engine)?;
            solve(params, layer, stretch.first_slot / WIDTH, band, stretch.solution);
            fault::inject(stretch.solution);
            fault::inject(stretch.thresholds);
            if self.checks {
                let layer = layer.seen_from(params, stretch.first_slot);
                let part = Part { params, layer, solution: &*stretch.solution, thresholds: Some(&*stretch.thresholds) };
                stretch.found = engine.tally_found(&part, of_stretch.hashes);
            }
        }
        Ok(())
    }

    /// Returns the error for hashes of which too many are bumped.
    pub(super) fn crowded(&self) -> Unbuilt {
        Unbuilt::Unsolved { num_seeds: 1, num_entries: self.num_entering as u64 }
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
    later: Entering<'a>,
    /// The current bucket, counted from the stretch's first, and its hashes.
    bucket: u64,
    of_bucket: &'a [u64],
    /// The equations of these hashes, and some without coefficients.
    queue: &'a mut Vec<Cursor>,
    /// The first `num_placed` are the slots of the bucket's rows, in the order in which these became rows.
    placed: &'a mut Vec<u32>,
    num_placed: usize,
    /// The hashes that may have an equal one in the bucket.
    suspects: Vec<u64>,
}

impl<'a, 's> Filling<'a, 's> {
    fn new(
        whole: &'a Whole,
        later: Entering<'a>,
        stretch: &'a mut Stretch<'s>,
        band: &'a mut Band,
        queue: &'a mut Vec<Cursor>,
        placed: &'a mut Vec<u32>,
    ) -> Self {
        let layer = &whole.layer;
        // The last stretch also has the layer's last block, in which no row starts.
        let is_last = stretch.first_slot + STRETCH >= layer.num_starts;
        let end = if is_last { layer.num_blocks * WIDTH } else { stretch.first_slot + STRETCH };
        band.clear((end - stretch.first_slot) as usize);
        let suspects = Vec::new();
        Self { whole, stretch, band, later, bucket: 0, of_bucket: &[], queue, placed, num_placed: 0, suspects }
    }

    fn fill(mut self, engine: Engine) -> Result<(), Unbuilt> {
        let (whole, first_slot, mask) = (self.whole, self.stretch.first_slot, self.whole.params.fingerprint_mask());
        let row = |&hash: &u64| {
            let row = Row::new(hash, whole.layer.num_starts);
            Row { start: row.start - first_slot, ..row }
        };
        while !self.later.per_bucket.is_empty() {
            self.of_bucket = self.later.split_off(1).hashes;
            // Known before memory is taken for their rows.
            let min_bumped = self.stretch.bumped.len() + self.of_bucket.len().saturating_sub(MAX_KEPT);
            if min_bumped > whole.max_bumped {
                return Err(whole.crowded());
            }
            self.queue.clear();
            let rows = self.of_bucket.iter().map(row).enumerate();
            self.queue.extend(rows.map(|(index, row)| Cursor::new(&row, mask, index)));
            self.queue.extend([Cursor::end(self.of_bucket.len()); ENDS]);
            self.placed.resize(self.placed.len().max(self.queue.len()), 0);
            self.num_placed = 0;
            self.insert_bucket(engine);
            check_suspects(self.of_bucket, &mut self.suspects)?;
            self.suspects.clear();
            self.bucket += 1;
        }
        Ok(())
    }

    /// Inserts the equations of the bucket up to the first that is refused.
    fn insert_bucket(&mut self, engine: Engine) {
        let mut next = 0;
        let queue = &self.queue[..self.of_bucket.len()];
        if let Some(index) = queue.iter().position(|equation| !self.band.has_room(equation.at)) {
            return self.refuse(index);
        }
        while next < self.of_bucket.len() {
            let Err(without_coefficients) = self.insert_in_lanes(engine, next) else { return };
            next = without_coefficients.index();
            if !without_coefficients.is_zero() {
                return self.refuse(next);
            }
            // The equation follows from those before it, as that of an equal hash does.
            self.suspects.push(self.of_bucket[next]);
            next += 1;
        }
    }

    /// Inserts the equations from `next` on, up to one that those before it leave without coefficients. The result is
    /// that of one at a time: an equation that has no coefficients left beside a later one is inserted again without it.
    fn insert_in_lanes(&mut self, engine: Engine, mut next: usize) -> Result<(), Cursor> {
        'restart: loop {
            let Self { band, queue, placed, num_placed, .. } = self;
            let (rows, num_placed) = (band.rows(), *num_placed);
            let mut lanes;
            (lanes, self.num_placed) = engine.take_lanes(Queue { rows, equations: queue, next, placed, num_placed });
            lanes.sort_unstable_by_key(Cursor::index);
            for mut lane in lanes {
                if self.insert_alone(&mut lane) {
                    continue;
                }
                let index = lane.index();
                if index == self.of_bucket.len() {
                    return Ok(());
                }
                if !self.take_back(index + 1) {
                    return Err(lane);
                }
                let mut again = self.queue[index];
                if !self.insert_alone(&mut again) {
                    return Err(again);
                }
                next = index + 1;
                continue 'restart;
            }
            unreachable!("a lane had no coefficients left");
        }
    }

    /// Inserts the equation, unless it has no coefficients left, and returns whether it is inserted.
    fn insert_alone(&mut self, cursor: &mut Cursor) -> bool {
        let is_inserted = self.band.insert(cursor);
        self.placed[self.num_placed] = cursor.at as u32;
        self.num_placed += usize::from(is_inserted);
        is_inserted
    }

    /// Takes back the equations from `end` on, and inserts those before it again that may depend on them. Returns whether
    /// there were any in place.
    fn take_back(&mut self, end: usize) -> bool {
        let placed = &self.placed[..self.num_placed];
        let Some(begin) = placed.iter().position(|&slot| self.band.index(slot) >= end) else { return false };
        let taken: Vec<(u32, usize)> = placed[begin..].iter().map(|&slot| (slot, self.band.index(slot))).collect();
        self.num_placed = begin;
        taken.iter().for_each(|&(slot, _)| self.band.remove(slot));
        for (_, index) in taken.into_iter().filter(|&(_, index)| index < end) {
            let is_inserted = self.insert_alone(&mut self.queue[index].clone());
            debug_assert!(is_inserted, "it was before");
        }
        true
    }

    /// Sets the least threshold that bumps the equation, up to which all are inserted, and takes back those in place
    /// that it bumps.
    fn refuse(&mut self, index: usize) {
        let refused = distance(&self.queue[index]);
        let class = LIMITS.iter().position(|&limit| limit <= refused).expect("the last limit is 0");
        let end = self.queue[..index].partition_point(|row| distance(row) < LIMITS[class]);
        self.take_back(end);
        self.stretch.bumped.extend(&self.of_bucket[end..]);
        bits::write(self.stretch.thresholds, self.bucket * 2, 2, class as u64);
    }
}

/// Returns the distance from the start of an equation to its bucket's last slot.
fn distance(start: &Cursor) -> u64 {
    !(start.at as u64) % BUCKET
}
