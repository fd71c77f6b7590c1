//! Every engine on lines, keys, hashes and answers that lie flush against pages that cannot be read.

use super::engine::{Engine, Inlined};
use super::{LINE_LEN, MAX_NUM_PROBES, MAX_SALT_BITS, Params};
use crate::cpu::Guarded;
use crate::hash::{KeyHash, mix};
use std::vec::Vec;

const PORTABLE: Engine = Engine::Portable(crate::cpu::Portable);

/// All settings, with few lines and with pages of them.
fn each_params(mut test: impl FnMut(Params)) {
    for num_probes in 1..=MAX_NUM_PROBES {
        for salt_bits in 0..=MAX_SALT_BITS {
            for num_lines in [1, 2, 3, 64, 65, 130] {
                test(Params::new(num_lines, num_probes, salt_bits).expect("legal"));
            }
        }
    }
}

#[test]
fn no_probe_reads_out_of_bounds() {
    let (mut line_pages, mut hash_pages, mut answer_pages) =
        (Guarded::new(130 * LINE_LEN), Guarded::new(4096), Guarded::new(4096));
    let ends = [0, 1, 1 << 32, u64::MAX - 1, u64::MAX];
    let hashes: Vec<KeyHash> = ends.into_iter().chain((0..60).map(mix)).map(KeyHash::from_raw).collect();
    let (mut num_answers, mut num_inlined) = (0, 0);
    each_params(|params| {
        let ordinary: Vec<u8> = (0..params.payload_len()).map(|i| (mix(i) | mix(!i)) as u8).collect();
        let expected: Vec<bool> = hashes.iter().map(|&hash| PORTABLE.may_contain(&params, &ordinary, hash)).collect();
        let num_batched = mix(params.payload_len() ^ u64::from(params.num_probes())) as usize % hashes.len();
        line_pages.at_both_ends(&ordinary, |lines| {
            for engine in Engine::all(&params) {
                for (&hash, &expected) in hashes.iter().zip(&expected) {
                    assert_eq!(engine.may_contain(&params, lines, hash), expected, "{engine:?} {params:?}");
                    let inlined = Inlined::new(engine, params).may_contain(lines, 0, hash);
                    assert!(inlined.is_none_or(|answer| answer == expected), "{engine:?} {params:?}");
                    num_inlined += usize::from(inlined.is_some());
                    num_answers += 1;
                }
                hash_pages.at_both_ends(&hashes[..num_batched], |hashes| {
                    answer_pages.at_both_ends(&vec![false; num_batched], |answers| {
                        engine.all_may_contain(params, lines, hashes, answers);
                        assert_eq!(answers, &expected[..num_batched], "{engine:?} {params:?}");
                        num_answers += num_batched;
                    });
                });
            }
        });
    });
    println!("counted: {num_answers} probes of blocked filters beside pages that cannot be read");
    let best = Engine::best(&Params::new(1, 8, 3).expect("legal"));
    let has_inlined = cfg!(any(simd_x86_64, simd_neon)) && !matches!(best, Engine::Portable(_));
    assert_eq!(num_inlined > 0, has_inlined);
}

#[test]
fn no_build_accesses_what_is_out_of_bounds() {
    let (mut line_pages, mut key_pages) = (Guarded::new(130 * LINE_LEN), Guarded::new(4096));
    each_params(|params| {
        let num_keys = mix(u64::from(params.num_probes() ^ u32::from(params.salt_bits))) % 40;
        let keys: Vec<u64> = (0..num_keys).map(mix).collect();
        let chosen = PORTABLE.choose_words(params, &keys);
        let (mut inserted, mut present) = (vec![0; params.payload_len() as usize], Vec::new());
        PORTABLE.insert(params, &mut inserted, 0, &keys, &mut present);
        let empty = vec![0; inserted.len()];
        for engine in Engine::all(&params) {
            key_pages.at_both_ends(&keys, |keys| {
                assert_eq!(engine.choose_words(params, keys), chosen, "{engine:?} {params:?}");
                line_pages.at_both_ends(&empty, |lines| {
                    engine.insert(params, lines, 0, keys, &mut present);
                    assert!(lines == inserted, "{engine:?} {params:?}");
                });
            });
        }
    });
}
