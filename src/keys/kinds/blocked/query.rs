//! Queries and batches over the probe of an instruction set's file.

use super::{LINE_LEN, Params, Round, line_at};
use crate::cpu::prefetch;
use crate::hash::{KeyHash, fast_range};
use crate::keys::kinds::seam::MAX_CACHED_LEN;

/// A query of one line, for a filter's number of salt bits. It is written once for each width of vectors.
pub(super) trait Probe: Copy {
    /// Returns whether `line` has all bits of `rounds`: of both with `TWO`, else of the first. With `WINDOW` the first
    /// probes the words of its window, else all; the second always has a window.
    fn all_hit<const WINDOW: bool, const TWO: bool>(
        self,
        line: &[u8; LINE_LEN],
        rounds: (Round, Option<Round>),
    ) -> bool;
}

/// `compiled_for! { engine!, salts }` declares the functions of an engine, which differ by its `Probe`, by its `Words`
/// and by the number of salts that its registers hold.
macro_rules! compiled_for {
    ($engine:ident!, $max_salts:literal) => {
        $engine! {
            pub(super) fn may_contain(proof, params: &Params, lines: &[u8], hash: KeyHash) -> bool {
                query::may_contain(Probe::new(proof, *params), *params, lines, hash)
            }

            pub(super) fn all_may_contain(
                proof, params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool],
            ) {
                query::all_may_contain(Probe::new(proof, params), params, lines, hashes, answers)
            }

            pub(super) fn line_contains(
                proof, params: Params, line: &[u8; LINE_LEN], number: u64, keys: &[u64],
            ) -> bool {
                lanes::line_contains::<Words>(proof, params, line, number, keys)
            }

            pub(super) fn choose_words(proof, params: Params, keys: &[u64]) -> ([u64; WORDS], bool) {
                lanes::choose_words::<Words, $max_salts>(proof, params, keys)
            }
        }
    };
}
pub(super) use compiled_for;

/// Calls `function` with the number of rounds, and whether the first has a window, as constants, so that no loop tests
/// them.
macro_rules! by_shape {
    ($params:expr, $function:ident$(::<$($generic:tt),+>)?($($argument:expr),*)) => {
        match $params.num_probes {
            8 => $function::<$($($generic,)+)? false, false>($($argument),*),
            0..8 => $function::<$($($generic,)+)? true, false>($($argument),*),
            _ => $function::<$($($generic,)+)? false, true>($($argument),*),
        }
    };
}
pub(super) use by_shape;

#[inline(always)]
fn line_may_contain<P: Probe, const WINDOW: bool, const TWO: bool>(
    probe: P,
    params: Params,
    line: &[u8; LINE_LEN],
    hash: KeyHash,
) -> bool {
    probe.all_hit::<WINDOW, TWO>(line, params.rounds(hash))
}

/// The portable `may_contain`, with vectors.
#[inline(always)]
pub(super) fn may_contain<P: Probe>(probe: P, params: Params, lines: &[u8], hash: KeyHash) -> bool {
    let line = line_at(lines, params.start_of(hash));
    by_shape!(params, line_may_contain::<P>(probe, params, line, hash))
}

/// The number of hashes that are probed between the prefetch of a line and its own probe.
const AHEAD: usize = 16;

#[inline(always)]
fn each_may_contain<P: Probe, const WINDOW: bool, const TWO: bool>(
    probe: P,
    params: Params,
    lines: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    assert!(lines.len() >= LINE_LEN, "a filter has a line");
    let lines_len = (lines.len() & !(LINE_LEN - 1)) as u64;
    // This is the start of line `fast_range(hash, num_lines)`: a fast range over `LINE_LEN · num_lines`, rounded down.
    let start_of = |hash: KeyHash| fast_range(hash.get(), lines_len) as usize & !(LINE_LEN - 1);
    let answer = |hash: KeyHash| {
        // SAFETY: `start_of(hash) + LINE_LEN <= lines_len <= lines.len()`: both terms of the sum and `lines_len`, not 0
        // by the assertion, are multiples of LINE_LEN, and a fast range is less than what it is over.
        let line = unsafe { &*lines.as_ptr().add(start_of(hash)).cast() };
        line_may_contain::<P, WINDOW, TWO>(probe, params, line, hash)
    };

    let (first, mut ahead) = hashes.split_at(AHEAD.min(hashes.len()));
    if lines.len() <= MAX_CACHED_LEN {
        ahead = &[];
    } else {
        first.iter().for_each(|&hash| prefetch(lines, start_of(hash)));
    }
    let (hashes, last_hashes) = hashes.split_at(ahead.len());
    let (answers, last_answers) = answers.split_at_mut(ahead.len());
    for ((to, &hash), &ahead) in answers.iter_mut().zip(hashes).zip(ahead) {
        prefetch(lines, start_of(ahead));
        *to = answer(hash);
    }
    last_answers.iter_mut().zip(last_hashes).for_each(|(to, &hash)| *to = answer(hash));
}

/// Answers for each hash. Both slices have the same length.
#[inline(always)]
pub(super) fn all_may_contain<P: Probe>(
    probe: P,
    params: Params,
    lines: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
) {
    by_shape!(params, each_may_contain::<P>(probe, params, lines, hashes, answers))
}
