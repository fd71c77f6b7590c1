//! Every engine on bits, hashes and answers that lie flush against pages that cannot be read.

use super::engine::Engine;
use super::{KindView, Layout, MAX_NUM_PROBES, Params, View};
use crate::cpu::Guarded;
use crate::hash::{KeyHash, mix};
use std::vec::Vec;

#[test]
fn no_probe_reads_out_of_bounds() {
    let (mut bits_pages, mut hash_pages, mut answer_pages) =
        (Guarded::new(3 * 4096), Guarded::new(4096), Guarded::new(4096));
    let random: Vec<u8> = (0..2 * 4096 + 5).map(|i| mix(i) as u8).collect();
    let ends = [0, 1, 1 << 32, u64::MAX - 1, u64::MAX];
    let hashes: Vec<KeyHash> = ends.into_iter().chain((0..60).map(mix)).map(KeyHash::from_raw).collect();
    let mut num_answers = 0u64;
    for len in (1..140).chain([4095, 4096, 4097, 2 * 4096 + 5]) {
        for num_probes in [1, 3, 4, 7, 8, 9, 17, MAX_NUM_PROBES] {
            // In a filter of ones no probe is the last.
            for bytes in [&random[..len], &vec![u8::MAX; len]] {
                let params = Params::new(len as u64 * 8 - mix(len as u64) % 8, num_probes).expect("legal");
                bits_pages.at_both_ends(bytes, |bits| {
                    num_answers +=
                        answers_are_the_same(params, bytes, bits, &hashes, &mut hash_pages, &mut answer_pages);
                });
            }
        }
    }
    println!("counted: {num_answers} probes of bloom filters beside pages that cannot be read");
}

/// Of `bits`, a copy of `bytes`: one by one and in batches.
fn answers_are_the_same(
    params: Params,
    bytes: &[u8],
    bits: &[u8],
    hashes: &[KeyHash],
    hash_pages: &mut Guarded,
    answer_pages: &mut Guarded,
) -> u64 {
    let portable = Layout { params, engine: Engine::Portable(crate::cpu::Portable) };
    let ordinary = View { layout: &portable, bits: bytes };
    let expected: Vec<bool> = hashes.iter().map(|&hash| ordinary.may_contain(hash)).collect();
    let mut num_answers = 0;
    for engine in Engine::all(&params) {
        let view = View { layout: &Layout { params, engine }, bits };
        let alone: Vec<bool> = hashes.iter().map(|&hash| view.may_contain(hash)).collect();
        assert_eq!(alone, expected, "{engine:?} {params:?}");
        let num_batched = mix(bits.len() as u64) as usize % hashes.len();
        hash_pages.at_both_ends(&hashes[..num_batched], |hashes| {
            answer_pages.at_both_ends(&vec![false; num_batched], |answers| {
                view.may_contain_all(hashes, answers);
                assert_eq!(answers, &expected[..num_batched], "{engine:?} {params:?}");
                num_answers += num_batched as u64;
            });
        });
        num_answers += alone.len() as u64;
    }
    num_answers
}
