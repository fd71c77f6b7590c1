//! The definition, in plain code: every other engine gives the same.

use super::{LINE_LEN, Params, WORDS, line_at};
use crate::bytes;
use crate::cpu::{Portable, prefetch};
use crate::hash::KeyHash;

#[cfg(feature = "std")]
use super::{MAX_SALT_BITS, line_at_mut};
#[cfg(feature = "std")]
use std::vec::Vec;

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
pub(super) fn contain_all(_: Portable, params: Params, lines: &[u8], first_line: u64, keys: &[u64]) -> bool {
    keys.iter().all(|&key| {
        let hash = KeyHash::from_raw(key);
        line_may_contain(params, line_at(lines, params.start_in_part(hash, first_line)), hash)
    })
}

#[cfg(feature = "std")]
pub(super) fn choose_words(_: Portable, params: Params, keys: &[u64]) -> [u64; WORDS] {
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
    core::array::from_fn(|index| {
        let best = (0..).zip(&tries[..num_salts]).min_by_key(|(_, words)| words[index].count_ones());
        best.map_or(0, |(salt, words)| words[index] | params.place_salt(salt))
    })
}

#[cfg(feature = "std")]
pub(super) fn insert(
    _: Portable,
    params: Params,
    lines: &mut [u8],
    first_line: u64,
    keys: &[u64],
    present: &mut Vec<u64>,
) {
    for &key in keys {
        let hash = KeyHash::from_raw(key);
        let (rounds, line) = (params.rounds(hash), line_at_mut(lines, params.start_in_part(hash, first_line)));
        let mut missing = 0;
        for index in 0..WORDS {
            let (word, bits) = (bytes::u64_at(line, index * 8), params.word_mask(&rounds, index, 0));
            missing |= bits & !word;
            bytes::put_u64(line, index * 8, word | bits);
        }
        if missing == 0 {
            present.push(key);
        }
    }
}
