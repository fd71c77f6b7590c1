//! The definition, in plain code: every other engine gives the same.

use super::{LINE_LEN, Params, WORDS, line_at};
use crate::bytes;
use crate::cpu::{Portable, prefetch};
use crate::hash::KeyHash;

#[cfg(feature = "std")]
use super::MAX_SALT_BITS;

#[inline(never)]
pub(super) fn may_contain(_: Portable, params: &Params, lines: &[u8], hash: KeyHash) -> bool {
    line_may_contain(*params, line_at(lines, params.start_of(hash)), hash)
}

/// Compares the line in two halves: one absent key in sixteen needs the second, and the branch between them is the only
/// one that depends on data.
#[inline(always)]
fn line_may_contain(params: Params, line: &[u8; LINE_LEN], hash: KeyHash) -> bool {
    let rounds = params.rounds(hash);
    let half = |words: core::ops::Range<usize>| {
        words.fold(0, |missing, index| {
            let word = bytes::u64_at(line, index * 8);
            missing | (params.word_mask(&rounds, index, params.salt_of(word)) & !word)
        }) == 0
    };
    let middle = WORDS / 2;
    half(0..middle) && half(middle..WORDS)
}

/// The number of hashes whose lines are prefetched before the first of them is probed.
const BATCH: usize = 32;

pub(super) fn all_may_contain(_: Portable, params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
    for (hashes, answers) in hashes.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        hashes.iter().for_each(|&hash| prefetch(lines, params.start_of(hash)));
        for (answer, &hash) in answers.iter_mut().zip(hashes) {
            *answer = line_may_contain(params, line_at(lines, params.start_of(hash)), hash);
        }
    }
}

#[cfg(feature = "std")]
pub(super) fn line_contains(_: Portable, params: Params, line: &[u8; LINE_LEN], number: u64, keys: &[u64]) -> bool {
    keys.iter()
        .map(|&key| KeyHash::from_raw(key))
        .all(|hash| params.line_of(hash) == number && line_may_contain(params, line, hash))
}

#[cfg(feature = "std")]
pub(super) fn choose_words(_: Portable, params: Params, keys: &[u64]) -> ([u64; WORDS], bool) {
    let num_salts = 1 << params.salt_bits;
    let mut tries = [[0u64; WORDS]; 1 << MAX_SALT_BITS];
    for &key in keys {
        let rounds = params.rounds(KeyHash::from_raw(key));
        for (salt, words) in tries[..num_salts].iter_mut().enumerate() {
            for (index, word) in words.iter_mut().enumerate() {
                *word |= params.word_mask(&rounds, index, salt as u32);
            }
        }
    }
    let words = core::array::from_fn(|index| {
        let best = (0..).zip(&tries[..num_salts]).min_by_key(|(_, words)| words[index].count_ones());
        best.map_or(0, |(salt, words)| words[index] | params.place_salt(salt))
    });
    (words, true)
}
