//! The builder: from hashes to solution, thresholds and numbers of blocks.

use super::band::{Band, Cursor};
use super::engine::Engine;
use super::groups::Groups;
use super::layer::Layer;
use super::row::{Row, WIDTH, rehashed};
use super::search::Part;
use super::sizing::{self, MAX_COLUMNS, MAX_SEEDS, MIN_KNOWN_SEEDS, SEEDS_OF_A_SIZE, STRETCH};
use super::stretch::{Stretch, Whole, Workspace};
use super::{BUCKET, MAX_LAYERS, NUM_BLOCKS_LEN, Params, Plan, View, WORD_LEN};
use crate::build::{Output, Tally, check_sorted, check_suspects, fault};
use crate::bytes;
use crate::hash::{KeyHash, fast_range};
use crate::keys::kinds::seam::{Built, Hashes, KindView, Mode, Unbuilt};
use core::ops::Range;
use std::vec::Vec;

/// Appends the payload of `hashes`, in any order. Meanwhile it keeps the bumped hashes, the thresholds, and 24 bytes
/// for each slot of the stretch that is filled, or of as many as there are cores.
pub(super) fn build(
    plan: &Plan,
    hashes: Hashes<'_>,
    out: &mut Output<'_>,
    mode: Mode,
) -> Result<Built<Params>, Unbuilt> {
    let Hashes { hashes, are_remapped, all: given } = hashes;
    let (start, mut is_checked) = (out.len(), mode.checks);
    let (mut params, num_entries) = (plan.params(), hashes.len() as u64);
    let (mut thresholds, mut num_blocks) = (Vec::new(), Vec::new());
    let mut bumped = Vec::new();
    let mut bumped_first = Vec::new();
    loop {
        let index = num_blocks.len();
        let entering = if index == 0 { &mut *hashes } else { &mut bumped[..] };
        if index + 1 == MAX_LAYERS || entering.len() as u64 <= sizing::MAX_ENTRIES_OF_LAST {
            let seeds = 0..if are_remapped { MAX_SEEDS } else { num_known_seeds(entering.len() as u64, num_entries) };
            let (num, is_found) = append_last(&mut params, index, entering, plan.millislots, seeds, out)?;
            num_blocks.push(num);
            is_checked &= is_found && (index > 0 || Tally::of(hashes.iter().copied()) == given);
            break;
        }
        if index > 0 {
            entering.iter_mut().for_each(|hash| *hash = rehashed(*hash, 1));
        }
        let num = sizing::num_blocks(entering.len() as u64, plan.millislots);
        let layer = Layer::first(&params, num, 0);
        num_blocks.push(num);
        let solution = out.append_zeros(layer.num_words(&params) as usize * WORD_LEN)?;
        let mut of_layer = std::vec![0; layer.thresholds_len() as usize];
        let num_entering = entering.len();
        let max_bumped = if are_remapped { usize::MAX } else { num_entering / LEAST_KEPT };
        let whole = Whole { params, layer, num_entering, max_bumped, checks: is_checked };
        let all = if index == 0 { given } else { Tally::of(entering.iter().copied()) };
        let found;
        (bumped, found) = build_layer(whole, entering, solution, &mut of_layer, mode.parallel)?;
        is_checked &= found + Tally::of(bumped.iter().copied()) == all;
        if index == 0 && is_checked {
            bumped_first.clone_from(&bumped);
        }
        if bumped.is_empty() {
            // No layer follows, so this one is the last and has no thresholds.
            break;
        }
        thresholds.extend(of_layer);
    }
    params.num_layers = num_blocks.len() as u8;
    let solution_end = out.len();
    out.append(&thresholds)?;
    let directory = out.append_zeros(params.directory_len())?;
    for (index, &num) in num_blocks.iter().enumerate() {
        bytes::put_u32(directory, index * NUM_BLOCKS_LEN, num as u32);
    }
    // In each layer the hashes that it keeps were looked up. What is left is the way of the bumped ones through all
    // layers, and the copy of the thresholds.
    fault::inject(out.written_mut(solution_end));
    let payload = out.written(start);
    is_checked = is_checked
        && out.written(solution_end).starts_with(&thresholds)
        && View::check(params, payload, 0).is_ok_and(|layout| {
            let view = View::new(&layout, payload);
            bumped_first.iter().all(|&hash| view.may_contain(KeyHash::from_raw(hash)))
        });
    Ok(Built { params, is_checked })
}

/// A layer bumps at most this part of the hashes that enter it, unless they were remapped: twice as many as the fewest
/// slots an entry cause. More are bumped where hashes are crowded, and each of them would take slots in two layers.
const LEAST_KEPT: usize = 8;

/// Returns the number of seeds that are tried for the last layer of hashes that were not remapped. As anybody knows
/// these seeds, hashes could be chosen such that all of them fail; together the attempts take no longer than a build.
fn num_known_seeds(of_last: u64, num_entries: u64) -> u32 {
    let affordable = num_entries / of_last;
    affordable.clamp(MIN_KNOWN_SEEDS.into(), SEEDS_OF_A_SIZE.into()) as u32
}

/// Returns the hashes, rehashed by `steps`, in the order of their starts; `None` if so many start in neighbouring slots
/// that there is no solution.
///
/// The rows that start in *k* slots have coefficients in *k* + 63. Each row more depends on the others, and contradicts
/// them unless its fingerprint is theirs by luck: all of them with probability 2⁻⁶⁴ at most where this function gives
/// up. So crowded hashes cost a tenth of an attempt under a seed.
fn in_order(hashes: &[u64], steps: u8, num_starts: u64, columns: u32) -> Option<Vec<u64>> {
    let start_of = |hash| fast_range(hash, num_starts) as usize;
    let mut places = std::vec![0; num_starts as usize];
    hashes.iter().for_each(|&hash| places[start_of(rehashed(hash, steps))] += 1);
    let (mut end, mut surplus, mut most) = (0, 0usize, 0);
    for place in &mut places {
        surplus = (surplus + *place).saturating_sub(1);
        most = most.max(surplus);
        (*place, end) = (end, end + *place);
    }
    if most as u64 >= WIDTH - 1 + u64::from(u64::BITS.div_ceil(columns)) {
        return None;
    }
    let mut ordered = std::vec![0; hashes.len()];
    for &hash in hashes {
        let hash = rehashed(hash, steps);
        let place = &mut places[start_of(hash)];
        ordered[*place] = hash;
        *place += 1;
    }
    Some(ordered)
}

/// Appends layer `index`, which bumps nothing, under the first of `seeds` that solves all its equations. Returns its
/// number of blocks, and whether all hashes were found in it.
fn append_last(
    params: &mut Params,
    index: usize,
    hashes: &mut [u64],
    millislots: u32,
    seeds: Range<u32>,
    out: &mut Output<'_>,
) -> Result<(u64, bool), Unbuilt> {
    let mut band = Band::default();
    let num_seeds = seeds.end;
    for seed in seeds {
        let num_blocks = sizing::num_blocks_of_last(hashes.len() as u64, millislots, seed);
        let layer = Layer::first(params, num_blocks, 0);
        let steps = u8::from(index > 0) + seed as u8;
        let Some(ordered) = in_order(hashes, steps, layer.num_starts, params.most_columns()) else { continue };
        band.clear((num_blocks * WIDTH) as usize);
        let (mask, mut suspects) = (params.fingerprint_mask(), Vec::new());
        let is_solved = ordered.iter().all(|&hash| {
            let mut cursor = Cursor::new(&Row::new(hash, layer.num_starts), mask, 0);
            let is_inserted = band.insert(&mut cursor);
            suspects.extend((!is_inserted).then_some(hash));
            is_inserted || cursor.is_zero()
        });
        if is_solved {
            check_suspects(&ordered, &mut suspects)?;
            params.last_seed = seed as u8;
            let solution = out.append_zeros(layer.num_words(params) as usize * WORD_LEN)?;
            solve(params, &layer, 0, &band, solution);
            fault::inject(solution);
            let part = Part { params, layer, solution, thresholds: None };
            let found = Engine::best(params).tally_found(&part, &ordered);
            return Ok((num_blocks, found == Tally::of(ordered)));
        }
    }
    check_sorted(hashes)?;
    Err(Unbuilt::Unsolved { num_seeds, num_entries: hashes.len() as u64 })
}

/// Writes the solution of the blocks from `first_block` on, whose rows `band` holds.
pub(super) fn solve(params: &Params, layer: &Layer, first_block: u64, band: &Band, solution: &mut [u8]) {
    let engine = Engine::best(params);
    let start = layer.word_of(params, first_block);
    let mut words = [0; MAX_COLUMNS as usize];
    let words = &mut words[..params.most_columns() as usize];
    for (index, rows) in band.blocks_backwards() {
        engine.solve(rows, words);
        let block = first_block + index as u64;
        let at = (layer.word_of(params, block) - start) as usize * WORD_LEN;
        let stored = solution[at..].chunks_exact_mut(WORD_LEN);
        for (place, &word) in stored.zip(&words[..layer.columns_of(params, block)]) {
            bytes::put_u64(place, 0, word);
        }
    }
}

/// Fills `solution` and `thresholds` of a layer that bumps from `hashes`, which may be reordered. Returns those that
/// are bumped, and the tally of those that were found in it.
fn build_layer(
    whole: Whole,
    hashes: &mut [u64],
    solution: &mut [u8],
    thresholds: &mut [u8],
    parallel: bool,
) -> Result<(Vec<u64>, Tally), Unbuilt> {
    let groups = Groups::new(&whole.layer, hashes);
    let mut stretches = split(&whole, solution, thresholds);
    let num_together = groups.num_stretches();
    let build = |workspace: &mut Workspace, (index, some): (usize, &mut [Stretch<'_>])| {
        groups.gather(index, &mut workspace.group);
        whole.build(some, workspace)
    };
    #[cfg(feature = "rayon")]
    if parallel {
        use rayon::prelude::*;
        stretches.par_chunks_mut(num_together).enumerate().try_for_each_init(Workspace::default, build)?;
    }
    if !(parallel && cfg!(feature = "rayon")) {
        let mut workspace = Workspace::default();
        stretches.chunks_mut(num_together).enumerate().try_for_each(|some| build(&mut workspace, some))?;
    }
    let num_bumped: usize = stretches.iter().map(|stretch| stretch.bumped.len()).sum();
    if num_bumped > whole.max_bumped {
        return Err(whole.crowded());
    }
    let found = stretches.iter().fold(Tally::default(), |sum, stretch| sum + stretch.found);
    Ok((stretches.into_iter().flat_map(|stretch| stretch.bumped).collect(), found))
}

fn split<'a>(whole: &Whole, mut solution: &'a mut [u8], thresholds: &'a mut [u8]) -> Vec<Stretch<'a>> {
    let Whole { params, layer, .. } = whole;
    let mut stretches = Vec::new();
    let thresholds = thresholds.chunks_mut((STRETCH / BUCKET / 4) as usize);
    for (first_slot, thresholds) in (0..).step_by(STRETCH as usize).zip(thresholds) {
        let end = first_slot + STRETCH;
        let num_words = if end < layer.num_starts {
            let word = |slot| layer.word_of(params, slot / WIDTH);
            word(end) - word(first_slot)
        } else {
            (solution.len() / WORD_LEN) as u64
        };
        let (words, later_words) = solution.split_at_mut(num_words as usize * WORD_LEN);
        stretches.push(Stretch {
            first_slot,
            solution: words,
            thresholds,
            bumped: Vec::new(),
            found: Tally::default(),
        });
        solution = later_words;
    }
    stretches
}
