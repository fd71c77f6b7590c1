//! What lines are probed and built with: chosen once, when a filter is opened or built.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
use super::avx2::Avx2;
#[cfg(all(feature = "std", target_arch = "x86_64", avx512_intrinsics))]
use super::avx512::Avx512;
#[cfg(all(feature = "std", target_arch = "aarch64", target_endian = "little"))]
use super::neon::Neon;
use super::{Params, portable};
use crate::hash::KeyHash;

#[cfg(feature = "std")]
use super::WORDS;
#[cfg(feature = "std")]
use std::vec::Vec;

/// The portable code is the definition; the others give the same bytes and answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Engine {
    Portable,
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    Avx2(Avx2),
    #[cfg(all(feature = "std", target_arch = "x86_64", avx512_intrinsics))]
    Avx512(Avx512),
    #[cfg(all(feature = "std", target_arch = "aarch64", target_endian = "little"))]
    Neon(Neon),
}

/// Calls the function of this name that the engine has.
macro_rules! dispatch {
    ($engine:expr, $function:ident($($argument:expr),*)) => {
        match $engine {
            Engine::Portable => portable::$function($($argument),*),
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            Engine::Avx2(avx2) => avx2.$function($($argument),*),
            #[cfg(all(feature = "std", target_arch = "x86_64", avx512_intrinsics))]
            Engine::Avx512(avx512) => avx512.$function($($argument),*),
            #[cfg(all(feature = "std", target_arch = "aarch64", target_endian = "little"))]
            Engine::Neon(neon) => neon.$function($($argument),*),
        }
    };
}

impl Engine {
    /// The best this processor has.
    pub(super) fn detect() -> Self {
        Self::all().last().expect("the portable one")
    }

    /// All that this processor has, the best last.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let engines = core::iter::once(Self::Portable);
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let engines = engines.chain(Avx2::detect().map(Self::Avx2));
        #[cfg(all(feature = "std", target_arch = "x86_64", avx512_intrinsics))]
        let engines = engines.chain(Avx512::detect().map(Self::Avx512));
        #[cfg(all(feature = "std", target_arch = "aarch64", target_endian = "little"))]
        let engines = engines.chain(Neon::detect().map(Self::Neon));
        engines
    }

    #[cfg(all(feature = "std", target_arch = "x86_64", avx512_intrinsics))]
    pub(super) fn avx512(self) -> Option<Avx512> {
        if let Self::Avx512(avx512) = self { Some(avx512) } else { None }
    }

    /// Whether all bits of `hash` are set in its line.
    #[inline(never)]
    pub(super) fn may_contain(self, params: &Params, lines: &[u8], hash: KeyHash) -> bool {
        dispatch!(self, may_contain(params, lines, hash))
    }

    /// An answer for each hash, by batches.
    pub(super) fn all_may_contain(self, params: Params, lines: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
        dispatch!(self, all_may_contain(params, lines, hashes, answers));
    }

    /// The words of one line, each under the salt that sets the fewest of its bits; the least salt where several do.
    #[cfg(feature = "std")]
    pub(super) fn choose_words(self, params: Params, keys: &[u64]) -> [u64; WORDS] {
        dispatch!(self, choose_words(params, keys))
    }

    /// Sets the bits of `keys` under salt 0 in their lines, the first of which has number `first_line`, and appends to `present` those that had all of theirs set before.
    #[cfg(feature = "std")]
    pub(super) fn insert(
        self,
        params: Params,
        lines: &mut [u8],
        first_line: u64,
        keys: &[u64],
        present: &mut Vec<u64>,
    ) {
        dispatch!(self, insert(params, lines, first_line, keys, present));
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::super::{LINE_LEN, MAX_NUM_PROBES, MAX_SALT_BITS, Params, portable};
    use super::Engine;
    use crate::bytes;
    use crate::hash::{KeyHash, mix};

    /// Where there is one engine, the tests that compare engines compare it with itself: whoever reads a run must see it.
    #[test]
    fn a_run_tells_its_engines() {
        let name = |engine| format!("{engine:?}").split('(').next().unwrap_or_default().to_owned();
        let names: Vec<String> = Engine::all().map(name).collect();
        println!("counted: {} engines of blocked filters here: {}", names.len(), names.join(", "));
        assert_eq!(names[0], "Portable");
        // Every processor of that architecture has it.
        assert_eq!(names.contains(&"Neon".to_owned()), cfg!(all(target_arch = "aarch64", target_endian = "little")));
    }

    /// Every engine this machine has, over every setting and loads from none to overfull: same bytes, same answers, one
    /// by one and in batches.
    #[test]
    fn engines_agree_with_the_portable_code() {
        for engine in Engine::all() {
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
        let words = portable::choose_words(params, &keys);
        assert_eq!(words, engine.choose_words(params, &keys), "{engine:?} {params:?}, {num_keys} keys");
        let mut line = [0; LINE_LEN];
        (0..).zip(words).for_each(|(i, word)| bytes::put_u64(&mut line, i * 8, word));
        let hashes: Vec<KeyHash> =
            keys.iter().copied().chain((0..200).map(|i| mix(i + 1_000_000))).map(KeyHash::from_raw).collect();
        let mut answers = vec![false; hashes.len()];
        engine.all_may_contain(params, &line, &hashes, &mut answers);
        for (&hash, batched) in hashes.iter().zip(answers) {
            let answer = portable::may_contain(&params, &line, hash);
            assert_eq!(answer, engine.may_contain(&params, &line, hash), "{engine:?} {params:?} {hash:?}");
            assert_eq!(answer, batched, "{engine:?} {params:?} {hash:?}");
            assert!(answer || !keys.contains(&hash.get()));
        }
    }

    /// Insertion gives the line that a choice among one salt gives, whatever was in it, and tells who was in already.
    #[test]
    fn insertion_sets_the_bits_of_salt_zero() {
        for engine in Engine::all() {
            for num_probes in 1..=MAX_NUM_PROBES {
                let params = Params::new(3, num_probes, 0).expect("legal");
                let keys: Vec<u64> = (0..100).map(|i| mix(i % 90 + u64::from(num_probes))).collect();
                let (mut lines, mut expected) = ([0; 3 * LINE_LEN], [0; 3 * LINE_LEN]);
                let (mut present, mut expected_present) = (Vec::new(), Vec::new());
                engine.insert(params, &mut lines, 0, &keys, &mut present);
                portable::insert(params, &mut expected, 0, &keys, &mut expected_present);
                assert_eq!(lines, expected, "{engine:?} {params:?}");
                assert_eq!(present, expected_present, "{engine:?} {params:?}");
                assert!(keys[90..].iter().all(|key| present.contains(key)));
            }
        }
    }
}
