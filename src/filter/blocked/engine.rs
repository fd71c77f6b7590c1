//! The engines of blocked, and the functions that each of them has.

use super::{Params, portable};
use crate::hash::KeyHash;

#[cfg(feature = "std")]
use super::WORDS;
#[cfg(simd_x86_64)]
use super::avx2;
#[cfg(simd_avx512)]
use super::avx512;
#[cfg(simd_neon)]
use super::neon;
#[cfg(feature = "std")]
use std::vec::Vec;

crate::cpu::engines! {
    Params: {
        Portable => portable,
        #[cfg(simd_x86_64)]
        Avx2 => avx2,
        #[cfg(simd_avx512)]
        Avx512Bitalg => avx512,
        #[cfg(simd_neon)]
        Neon => neon,
    }

    /// Returns whether all bits of `hash` are set in its line.
    #[inline]
    fn may_contain(params: &Params, lines: &[u8], hash: KeyHash) -> bool;

    /// Answers for each hash, batch by batch.
    fn all_may_contain(params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]);

    /// Returns whether all bits of all `keys` are set in their lines, the first of which has number `first_line`.
    #[cfg(feature = "std")]
    fn contain_all(params: Params, lines: &[u8], first_line: u64, keys: &[u64]) -> bool;

    /// Returns the words of one line, each under the salt that sets the fewest of its bits, or the least of several
    /// such salts.
    #[cfg(feature = "std")]
    fn choose_words(params: Params, keys: &[u64]) -> [u64; WORDS];

    /// Sets the bits of `keys` under salt 0 in their lines, the first of which has number `first_line`. Appends to
    /// `present` the keys whose bits were all set before.
    #[cfg(feature = "std")]
    fn insert(params: Params, lines: &mut [u8], first_line: u64, keys: &[u64], present: &mut Vec<u64>);
}

#[cfg(any(simd_x86_64, simd_neon))]
pub(crate) use super::inlined::Inlined;

/// The inlined probe, which no engine here has.
#[cfg(not(any(simd_x86_64, simd_neon)))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inlined;

#[cfg(not(any(simd_x86_64, simd_neon)))]
impl Inlined {
    pub(crate) const NONE: Self = Self;

    pub(super) fn new(_: Engine, _: Params) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn may_contain(&self, _: &[u8], _: u32, _: KeyHash) -> Option<bool> {
        None
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, _: &[u8], _: u32, _: KeyHash) -> Option<()> {
        None
    }

    pub(crate) fn is_shortest(&self) -> bool {
        false
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::super::{LINE_LEN, MAX_NUM_PROBES, MAX_SALT_BITS, Params};
    use super::Engine;
    use crate::bytes;
    #[cfg(target_os = "linux")]
    use crate::cpu::Guarded;
    use crate::hash::{KeyHash, mix};

    fn engines() -> impl Iterator<Item = Engine> {
        Engine::all(&Params::new(1, 1, 0).expect("legal"))
    }

    const PORTABLE: Engine = Engine::Portable(crate::cpu::Portable);

    /// Where there is only the portable engine, the tests below compare it with itself: a run prints what it compared.
    #[test]
    fn a_run_names_its_engines() {
        let name = |engine| format!("{engine:?}").split('(').next().unwrap_or_default().to_owned();
        let names: Vec<String> = engines().map(name).collect();
        println!("counted: {} engines of blocked filters here: {}", names.len(), names.join(", "));
        assert_eq!(names[0], "Portable");
        // Every processor of that architecture has it.
        assert_eq!(names.contains(&"Neon".to_owned()), cfg!(simd_neon));
    }

    /// Every engine this machine has, over every setting and loads from none to overfull: same bytes, same answers, one
    /// by one and in batches.
    #[test]
    fn engines_agree_with_the_portable_code() {
        for engine in engines() {
            for num_probes in 1..=MAX_NUM_PROBES {
                for salt_bits in 0..=MAX_SALT_BITS {
                    let params = Params::new(1, num_probes, salt_bits).expect("legal");
                    for num_keys in [0, 1, 2, 10, 51, 200] {
                        agrees_on_a_line(engine, params, num_keys);
                    }
                }
            }
        }
    }

    fn agrees_on_a_line(engine: Engine, params: Params, num_keys: u64) {
        let keys: Vec<u64> = (0..num_keys).map(|i| mix(i * 31 + u64::from(params.num_probes()))).collect();
        let words = PORTABLE.choose_words(params, &keys);
        assert_eq!(words, engine.choose_words(params, &keys), "{engine:?} {params:?}, {num_keys} keys");
        let mut line = [0; LINE_LEN];
        (0..).zip(words).for_each(|(i, word)| bytes::put_u64(&mut line, i * 8, word));
        let hashes: Vec<KeyHash> =
            keys.iter().copied().chain((0..200).map(|i| mix(i + 1_000_000))).map(KeyHash::from_raw).collect();
        let mut answers = vec![false; hashes.len()];
        engine.all_may_contain(params, &line, &hashes, &mut answers);
        for (&hash, batched) in hashes.iter().zip(answers) {
            let answer = PORTABLE.may_contain(&params, &line, hash);
            assert_eq!(answer, engine.may_contain(&params, &line, hash), "{engine:?} {params:?} {hash:?}");
            assert_eq!(answer, batched, "{engine:?} {params:?} {hash:?}");
            assert!(answer || !keys.contains(&hash.get()));
        }
    }

    /// Insertion into any line gives what a choice from one salt gives, and reports the keys that were in it already.
    #[test]
    fn insertion_sets_the_bits_of_salt_zero() {
        for engine in engines() {
            for num_probes in 1..=MAX_NUM_PROBES {
                let params = Params::new(3, num_probes, 0).expect("legal");
                let keys: Vec<u64> = (0..100).map(|i| mix(i % 90 + u64::from(num_probes))).collect();
                let (mut lines, mut expected) = ([0; 3 * LINE_LEN], [0; 3 * LINE_LEN]);
                let (mut present, mut expected_present) = (Vec::new(), Vec::new());
                engine.insert(params, &mut lines, 0, &keys, &mut present);
                PORTABLE.insert(params, &mut expected, 0, &keys, &mut expected_present);
                assert_eq!(lines, expected, "{engine:?} {params:?}");
                assert_eq!(present, expected_present, "{engine:?} {params:?}");
                assert!(keys[90..].iter().all(|key| present.contains(key)));
            }
        }
    }

    /// On lines and keys that lie flush against pages that cannot be read.
    #[cfg(target_os = "linux")]
    #[test]
    fn no_build_accesses_what_is_out_of_bounds() {
        let (mut line_pages, mut key_pages) = (Guarded::new(130 * LINE_LEN), Guarded::new(4096));
        let shapes = (1..=MAX_NUM_PROBES).flat_map(|probes| (0..=MAX_SALT_BITS).map(move |salts| (probes, salts)));
        for ((num_probes, salt_bits), num_lines) in shapes.flat_map(|shape| [1, 3, 64, 130].map(|num| (shape, num))) {
            let params = Params::new(num_lines, num_probes, salt_bits).expect("legal");
            let num_keys = mix(u64::from(num_probes ^ salt_bits)) % 40;
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
        }
    }
}
