//! The builder: from hashes in any order to lines.

use super::engine::Engine;
use super::{LINE_LEN, Params};
use crate::bytes;
use crate::filter::fault;
use crate::filter::output::Output;
use crate::filter::seam::{Hashes, Mode, Unbuilt};
use crate::hash::KeyHash;
use crate::hash_set::{MAX_PARTS, Partitions, Repeated, Tally, check_group, check_suspects};
use std::vec::Vec;

/// The least number of lines of a part: partitioning into smaller ones costs more than it saves.
const MIN_PART_LINES: u64 = 32;

/// The greatest length of lines that are set in the order of the hashes if there is no choice of salts: they stay in a
/// level-2 cache, and partitioning costs more than it saves.
const MAX_UNPARTED_LEN: usize = 2 << 20;

/// Appends the lines of `hashes` to `out`. Returns whether all were found there, part by part.
///
/// # Errors
/// [`Unbuilt`]; then `out` may have grown. Hashes are reordered, none is lost.
pub(super) fn build(params: &Params, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<bool, Unbuilt> {
    let Hashes { hashes, all, .. } = hashes;
    let (params, engine) = (*params, Engine::best(params));
    let lines = out.append_zeros(params.payload_len() as usize)?;
    let is_found = |first_line, keys: &[u64], lines: &mut [u8]| {
        fault::inject(lines);
        !mode.checks || engine.contain_all(params, lines, first_line, keys)
    };
    if params.salt_bits == 0 && lines.len() <= MAX_UNPARTED_LEN {
        insert(params, engine, 0, hashes, lines)?;
        return Ok(mode.checks && is_found(0, hashes, lines));
    }
    let part_lines = params.num_lines.div_ceil(MAX_PARTS as u64).next_power_of_two().max(MIN_PART_LINES);
    let num_parts = params.num_lines.div_ceil(part_lines) as usize;
    let shift = part_lines.trailing_zeros();
    let line_of = |hash| params.line_of(KeyHash::from_raw(hash));
    let partitions = Partitions::new(hashes, num_parts, |hash| (line_of(hash) >> shift) as usize);

    let build_part = |scratch: &mut Scratch, (part, lines): (usize, &mut [u8])| -> Result<Tally, Repeated> {
        let first_line = (part as u64) << shift;
        partitions.gather(part, &mut scratch.keys);
        let keys = match params.salt_bits {
            0 => {
                insert(params, engine, first_line, &scratch.keys, lines)?;
                &scratch.keys
            }
            _ => {
                choose(params, engine, first_line, &scratch.keys, lines, &mut scratch.grouped)?;
                &scratch.grouped.keys
            }
        };
        Ok(if is_found(first_line, keys, lines) { Tally::of(keys.iter().copied()) } else { Tally::default() })
    };
    let part_len = part_lines as usize * LINE_LEN;
    #[cfg(feature = "rayon")]
    if mode.parallel {
        use rayon::prelude::*;
        let parts = lines.par_chunks_mut(part_len).enumerate().map_init(Scratch::default, build_part);
        return Ok(all == parts.try_reduce(Tally::default, |a, b| Ok(a + b))? && mode.checks);
    }
    let mut scratch = Scratch::default();
    let mut parts = lines.chunks_mut(part_len).enumerate().map(|part| build_part(&mut scratch, part));
    Ok(all == parts.try_fold(Tally::default(), |sum, part| Ok::<_, Repeated>(sum + part?))? && mode.checks)
}

/// The memory in which parts are built, kept from part to part.
#[derive(Default)]
struct Scratch {
    keys: Vec<u64>,
    grouped: Grouped,
}

/// Sets the bits of `keys` in `lines`, the first of which has number `first_line`. The keys need not be grouped by
/// line, as there is nothing to choose.
fn insert(params: Params, engine: Engine, first_line: u64, keys: &[u64], lines: &mut [u8]) -> Result<(), Repeated> {
    // A duplicate finds all its bits already set.
    let mut suspects = Vec::new();
    engine.insert(params, lines, first_line, keys, &mut suspects);
    check_suspects(keys, &mut suspects)
}

/// Builds `lines`, the first of which has number `first_line`, choosing the salts of each from all its keys.
fn choose(
    params: Params,
    engine: Engine,
    first_line: u64,
    keys: &[u64],
    lines: &mut [u8],
    grouped: &mut Grouped,
) -> Result<(), Repeated> {
    let index_of = |key| (params.line_of(KeyHash::from_raw(key)) - first_line) as usize;
    grouped.group(keys, lines.len() / LINE_LEN, index_of);
    let mut start = 0;
    for (line, &end) in lines.chunks_exact_mut(LINE_LEN).zip(&grouped.line_ends) {
        let keys = &mut grouped.keys[start..end];
        check_group(keys)?;
        for (word, value) in engine.choose_words(params, keys).into_iter().enumerate() {
            bytes::put_u64(line, word * 8, value);
        }
        start = end;
    }
    Ok(())
}

/// The keys, grouped by line.
#[derive(Default)]
struct Grouped {
    keys: Vec<u64>,
    /// The end of each line's keys.
    line_ends: Vec<usize>,
}

impl Grouped {
    /// Groups the keys by line with a counting sort.
    fn group(&mut self, keys: &[u64], num_lines: usize, index_of: impl Fn(u64) -> usize) {
        self.line_ends.clear();
        self.line_ends.resize(num_lines, 0);
        keys.iter().for_each(|&key| self.line_ends[index_of(key)] += 1);
        let mut sum = 0;
        for end in &mut self.line_ends {
            sum += core::mem::replace(end, sum);
        }
        self.keys.resize(keys.len(), 0);
        for &key in keys {
            // It starts at the line's first key and ends behind its last.
            let at = &mut self.line_ends[index_of(key)];
            self.keys[*at] = key;
            *at += 1;
        }
    }
}
