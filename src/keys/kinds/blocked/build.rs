//! The builder: from hashes in any order to lines.

use super::engine::Engine;
use super::{LINE_LEN, Params, line_at};
use crate::build::{Groups, MAX_PARTS, Output, Partitions, Repeated, Tally, check_group, fault};
use crate::bytes;
use crate::hash::KeyHash;
use crate::keys::kinds::seam::{Hashes, Mode, Unbuilt};

/// The least number of lines of a part: its keys stay in a level-2 cache, and a filter of one part is not partitioned.
const MIN_PART_LINES: u64 = 256;

/// Appends the lines of `hashes` to `out`. Returns whether all were found there, part by part.
///
/// # Errors
/// [`Unbuilt`]; then `out` may have grown. Hashes are reordered, none is lost.
pub(super) fn build(params: &Params, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<bool, Unbuilt> {
    let Hashes { hashes, all, .. } = hashes;
    let (params, engine) = (*params, Engine::best(params));
    let lines = out.append_zeros(params.payload_len() as usize)?;
    let part_lines = params.num_lines.div_ceil(MAX_PARTS as u64).next_power_of_two().max(MIN_PART_LINES);
    let num_parts = params.num_lines.div_ceil(part_lines) as usize;
    let shift = part_lines.trailing_zeros();
    let line_of = move |hash| params.line_of(KeyHash::from_raw(hash));
    let partitions = Partitions::new(hashes, num_parts, move |hash| (line_of(hash) >> shift) as usize);

    let build_part = |groups: &mut Groups, (part, lines): (usize, &mut [u8])| -> Result<Tally, Repeated> {
        let first_line = (part as u64) << shift;
        let index_of = move |hash| (line_of(hash) - first_line) as usize;
        groups.group(|| partitions.pieces(part), lines.len() / LINE_LEN, index_of);
        #[cfg(test)]
        groups.strike();
        for (index, line) in lines.chunks_exact_mut(LINE_LEN).enumerate() {
            let keys = groups.get_mut(index);
            let (words, may_repeat) = engine.choose_words(params, keys);
            if may_repeat {
                check_group(keys)?;
            }
            words.into_iter().enumerate().for_each(|(word, value)| bytes::put_u64(line, word * 8, value));
        }
        fault::inject(lines);
        let mut tally = Tally::default();
        for ((number, keys), index) in (first_line..).zip(groups.iter()).zip(0..) {
            if mode.checks && engine.line_contains(params, line_at(lines, index * LINE_LEN), number, keys) {
                tally = tally + Tally::of(keys.iter().copied());
            }
        }
        Ok(tally)
    };
    let part_len = part_lines as usize * LINE_LEN;
    #[cfg(feature = "rayon")]
    if mode.parallel {
        use rayon::prelude::*;
        let parts = lines.par_chunks_mut(part_len).enumerate().map_init(Groups::default, build_part);
        return Ok(all == parts.try_reduce(Tally::default, |a, b| Ok(a + b))? && mode.checks);
    }
    let mut groups = Groups::default();
    let mut parts = lines.chunks_mut(part_len).enumerate().map(|part| build_part(&mut groups, part));
    Ok(all == parts.try_fold(Tally::default(), |sum, part| Ok::<_, Repeated>(sum + part?))? && mode.checks)
}
