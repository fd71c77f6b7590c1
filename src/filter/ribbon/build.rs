//! From sorted hashes to solution, thresholds and numbers of blocks.

use super::band::{Band, Inserted};
use super::engine::Engine;
use super::layer::Layer;
use super::row::{Row, WIDTH, rehashed};
use super::sizing::{self, MAX_COLUMNS, MAX_SEEDS, STRETCH};
use super::{BUCKET, LIMITS, MAX_LAYERS, NUM_BLOCKS_LEN, Params, Plan, WORD_LEN};
use crate::filter::output::Output;
use crate::filter::seam::Unbuilt;
use crate::{bits, bytes};
use std::vec::Vec;

/// Appends the payload of `hashes` (sorted, distinct). Keeps the hashes that are bumped meanwhile, the thresholds, and 12
/// bytes for each slot of a stretch.
pub(super) fn build(plan: &Plan, hashes: &[u64], out: &mut Output<'_>, parallel: bool) -> Result<Params, Unbuilt> {
    let mut params = plan.params();
    let (mut thresholds, mut num_blocks) = (Vec::new(), Vec::new());
    let mut bumped = Vec::new();
    loop {
        let index = num_blocks.len();
        let entering = if index == 0 { hashes } else { &bumped };
        if index + 1 == MAX_LAYERS || entering.len() as u64 <= sizing::MAX_ENTRIES_OF_LAST {
            num_blocks.push(append_last(&mut params, index, entering, plan.millislots, out)?);
            break;
        }
        let entered;
        let entering = match index {
            0 => hashes,
            _ => {
                entered = sorted(entering, 1);
                &entered[..]
            }
        };
        let num = sizing::num_blocks(entering.len() as u64, plan.millislots);
        let layer = Layer::first(&params, num, 0);
        num_blocks.push(num);
        let solution = out.append_zeros(layer.num_words(&params) as usize * WORD_LEN)?;
        let mut of_layer = std::vec![0; layer.thresholds_len() as usize];
        bumped = Stretches { params, layer }.build(entering, solution, &mut of_layer, parallel);
        if bumped.is_empty() {
            // With none to bump to, this layer is the last, and has no thresholds.
            break;
        }
        thresholds.extend(of_layer);
    }
    params.num_layers = num_blocks.len() as u8;
    out.append(&thresholds)?;
    let directory = out.append_zeros(params.directory_len())?;
    for (index, &num) in num_blocks.iter().enumerate() {
        bytes::put_u32(directory, index * NUM_BLOCKS_LEN, num as u32);
    }
    Ok(params)
}

/// The hashes after `steps` changes, in order.
fn sorted(hashes: &[u64], steps: u8) -> Vec<u64> {
    let mut hashes: Vec<u64> = hashes.iter().map(|&hash| rehashed(hash, steps)).collect();
    hashes.sort_unstable();
    hashes
}

/// Appends layer `index`, which bumps nothing, under the first seed that solves all its equations; returns its number of
/// blocks.
fn append_last(
    params: &mut Params,
    index: usize,
    hashes: &[u64],
    millislots: u32,
    out: &mut Output<'_>,
) -> Result<u64, Unbuilt> {
    let mut band = Band::default();
    for seed in 0..MAX_SEEDS {
        let num_blocks = sizing::num_blocks_of_last(hashes.len() as u64, millislots, seed);
        let layer = Layer::first(params, num_blocks, 0);
        band.clear((num_blocks * WIDTH) as usize);
        let mask = params.fingerprint_mask();
        let rows = sorted(hashes, u8::from(index > 0) + seed as u8);
        let is_solved = rows.iter().all(|&hash| {
            let row = Row::new(hash, layer.num_starts);
            band.insert(Row { fingerprint: row.fingerprint & mask, ..row }) != Inserted::Refused
        });
        if is_solved {
            params.last_seed = seed as u8;
            let solution = out.append_zeros(layer.num_words(params) as usize * WORD_LEN)?;
            solve(params, &layer, 0, &band, solution);
            return Ok(num_blocks);
        }
    }
    Err(Unbuilt::Unsolved { num_seeds: MAX_SEEDS, num_entries: hashes.len() as u64 })
}

/// Writes the solution of the blocks from `first_block` on, whose rows `band` holds.
fn solve(params: &Params, layer: &Layer, first_block: u64, band: &Band, solution: &mut [u8]) {
    let engine = Engine::best(params);
    let start = layer.word_of(params, first_block);
    let mut words = [0; MAX_COLUMNS as usize];
    let words = &mut words[..params.most_columns() as usize];
    for (index, coefficients, fingerprints) in band.blocks_backwards() {
        engine.solve(coefficients, fingerprints, words);
        let block = first_block + index as u64;
        let at = (layer.word_of(params, block) - start) as usize * WORD_LEN;
        let stored = solution[at..].chunks_exact_mut(WORD_LEN);
        for (place, &word) in stored.zip(&words[..layer.columns_of(params, block)]) {
            bytes::put_u64(place, 0, word);
        }
    }
}

/// A layer that bumps. Its slots are cut into stretches that are solved apart from each other, so that each stays in a
/// cache and all cores can take part: a row whose window would cross a cut is bumped.
struct Stretches {
    params: Params,
    layer: Layer,
}

/// A stretch's part of the layer.
struct Stretch<'a> {
    first_slot: u64,
    hashes: &'a [u64],
    solution: &'a mut [u8],
    thresholds: &'a mut [u8],
}

impl Stretches {
    /// Fills `solution` and `thresholds` from `hashes`, which are sorted. Returns those that are bumped.
    fn build(&self, hashes: &[u64], solution: &mut [u8], thresholds: &mut [u8], parallel: bool) -> Vec<u64> {
        let build = |band: &mut Band, stretch: Stretch<'_>| self.build_stretch(stretch, band);
        let stretches = self.split(hashes, solution, thresholds);
        #[cfg(feature = "rayon")]
        if parallel {
            use rayon::prelude::*;
            let bumped: Vec<Vec<u64>> = stretches.into_par_iter().map_init(Band::default, build).collect();
            return bumped.concat();
        }
        let _ = parallel;
        let mut band = Band::default();
        stretches.into_iter().flat_map(|stretch| build(&mut band, stretch)).collect()
    }

    fn split<'a>(
        &self,
        mut hashes: &'a [u64],
        mut solution: &'a mut [u8],
        thresholds: &'a mut [u8],
    ) -> Vec<Stretch<'a>> {
        let Self { params, layer } = self;
        let num_starts = layer.num_starts;
        let mut stretches = Vec::new();
        let thresholds = thresholds.chunks_mut((STRETCH / BUCKET / 4) as usize);
        for (first_slot, thresholds) in (0..).step_by(STRETCH as usize).zip(thresholds) {
            let end = first_slot + STRETCH;
            let (num_hashes, num_words) = if end < num_starts {
                let num_hashes = hashes.partition_point(|&hash| Row::new(hash, num_starts).start < end);
                let word = |slot| layer.word_of(params, slot / WIDTH);
                (num_hashes, word(end) - word(first_slot))
            } else {
                (hashes.len(), (solution.len() / WORD_LEN) as u64)
            };
            let (of_stretch, later) = hashes.split_at(num_hashes);
            let (words, later_words) = solution.split_at_mut(num_words as usize * WORD_LEN);
            stretches.push(Stretch { first_slot, hashes: of_stretch, solution: words, thresholds });
            (hashes, solution) = (later, later_words);
        }
        stretches
    }

    fn build_stretch(&self, stretch: Stretch<'_>, band: &mut Band) -> Vec<u64> {
        let Stretch { first_slot, hashes, solution, thresholds } = stretch;
        let (layer, num_starts) = (&self.layer, self.layer.num_starts);
        // The last stretch has the layer's last block, too, in which no row starts.
        let is_last = first_slot + STRETCH >= num_starts;
        let end = if is_last { layer.num_blocks * WIDTH } else { first_slot + STRETCH };
        band.clear((end - first_slot) as usize);
        let mask = self.params.fingerprint_mask();
        let (mut rows, mut bumped) = (Vec::new(), Vec::new());
        let mut rest = hashes;
        while let Some(&first) = rest.first() {
            let bucket = Row::new(first, num_starts).start / BUCKET;
            rows.clear();
            let rows_of_all = rest.iter().map(|&hash| Row::new(hash, num_starts));
            rows.extend(rows_of_all.take_while(|row| row.start / BUCKET == bucket));
            let (of_bucket, later) = rest.split_at(rows.len());
            rest = later;
            for row in &mut rows {
                row.start -= first_slot;
                row.fingerprint &= mask;
            }
            let class = insert_bucket(&rows, band);
            let is_bumped = |row: &Row| distance(row.start) >= LIMITS[class];
            bumped.extend(rows.iter().zip(of_bucket).filter(|(row, _)| is_bumped(row)).map(|(_, hash)| hash));
            bits::write(thresholds, (bucket - first_slot / BUCKET) * 2, 2, class as u64);
        }
        solve(&self.params, layer, first_slot / WIDTH, band, solution);
        bumped
    }
}

/// Inserts the rows of a bucket, ordered by their start: the last first. Returns the threshold that bumps the first that is
/// refused and the fewest others; those that it bumps are taken back.
fn insert_bucket(rows: &[Row], band: &mut Band) -> usize {
    let mut placed = Vec::new();
    for row in rows.iter().rev() {
        match band.insert(*row) {
            Inserted::At(slot) => placed.push((distance(row.start), slot)),
            Inserted::Redundant => {}
            Inserted::Refused => {
                let refused = distance(row.start);
                let class = LIMITS.iter().position(|&limit| limit <= refused).expect("the last limit is 0");
                let is_bumped = |&&(distance, _): &&(u64, usize)| distance >= LIMITS[class];
                placed.iter().filter(is_bumped).for_each(|&(_, slot)| band.remove(slot));
                return class;
            }
        }
    }
    0
}

/// From `start` to its bucket's last slot.
fn distance(start: u64) -> u64 {
    !start % BUCKET
}
