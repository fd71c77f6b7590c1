//! The engines of blocked, and the functions that each of them has.

use super::{Params, portable};
use crate::hash::KeyHash;

#[cfg(simd_x86_64)]
use super::avx2;
#[cfg(simd_avx512)]
use super::avx512;
#[cfg(simd_neon)]
use super::neon;
#[cfg(feature = "std")]
use super::{LINE_LEN, WORDS};

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

    /// Returns whether all `keys` belong to the line of this number, `line`, and have all bits set there.
    #[cfg(feature = "std")]
    fn line_contains(params: Params, line: &[u8; LINE_LEN], number: u64, keys: &[u64]) -> bool;

    /// Returns the words of one line, each under the salt that sets the fewest of its bits, or the least of several
    /// such salts; and whether two keys may be equal: if not, they differ.
    #[cfg(feature = "std")]
    fn choose_words(params: Params, keys: &[u64]) -> ([u64; WORDS], bool);
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
    use super::super::{LINE_LEN, MAX_NUM_PROBES, MAX_SALT_BITS, Params, WORDS};
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
        let mut keys: Vec<u64> = (0..num_keys).map(|i| mix(i * 31 + u64::from(params.num_probes()))).collect();
        let (words, _) = PORTABLE.choose_words(params, &keys);
        assert_eq!(words, engine.choose_words(params, &keys).0, "{engine:?} {params:?}, {num_keys} keys");
        let mut line = line_of(words);
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
        // Bits of positions and of salts.
        assert!(engine.line_contains(params, &line, 0, &keys));
        for bit in (0..LINE_LEN * 8).step_by(5) {
            line[bit / 8] ^= 1 << (bit % 8);
            let all = keys.iter().all(|&key| PORTABLE.may_contain(&params, &line, KeyHash::from_raw(key)));
            assert_eq!(engine.line_contains(params, &line, 0, &keys), all, "{engine:?} {params:?}, bit {bit}");
            line[bit / 8] ^= 1 << (bit % 8);
        }
        // A repeated key is suspected wherever it is.
        for at in 0..keys.len().min(10) {
            keys.push(keys[at]);
            assert!(engine.choose_words(params, &keys).1, "{engine:?} {params:?}, {num_keys} keys");
            keys.swap_remove(at);
        }
    }

    fn line_of(words: [u64; WORDS]) -> [u8; LINE_LEN] {
        let mut line = [0; LINE_LEN];
        (0..).zip(words).for_each(|(i, word)| bytes::put_u64(&mut line, i * 8, word));
        line
    }

    /// A key in the list of another line is noticed, though it would be found there.
    #[test]
    fn a_key_of_another_line_is_noticed() {
        for engine in engines() {
            for num_probes in 1..=MAX_NUM_PROBES {
                let params = Params::new(3, num_probes, 1).expect("legal");
                let (keys, strays): (Vec<u64>, Vec<u64>) =
                    (0..60).map(mix).partition(|&key| params.line_of(KeyHash::from_raw(key)) == 1);
                let line = line_of([u64::MAX; WORDS]);
                assert!(engine.line_contains(params, &line, 1, &keys));
                for stray in strays {
                    for at in [0, 1, keys.len()] {
                        let mut keys = keys.clone();
                        keys.insert(at, stray);
                        assert!(!engine.line_contains(params, &line, 1, &keys), "{engine:?} {params:?}");
                    }
                }
            }
        }
    }

    /// On keys and a line that lie flush against pages that cannot be read.
    #[cfg(target_os = "linux")]
    #[test]
    fn no_build_accesses_what_is_out_of_bounds() {
        let (mut line_pages, mut key_pages) = (Guarded::new(LINE_LEN), Guarded::new(4096));
        for (num_probes, salt_bits) in
            (1..=MAX_NUM_PROBES).flat_map(|probes| (0..=MAX_SALT_BITS).map(move |salts| (probes, salts)))
        {
            let params = Params::new(1, num_probes, salt_bits).expect("legal");
            let num_keys = mix(u64::from(num_probes ^ salt_bits)) % 40;
            let keys: Vec<u64> = (0..num_keys).map(mix).collect();
            let chosen = PORTABLE.choose_words(params, &keys).0;
            let line = line_of(chosen);
            for engine in engines() {
                key_pages.at_both_ends(&keys, |keys| {
                    assert_eq!(engine.choose_words(params, keys).0, chosen, "{engine:?} {params:?}");
                    line_pages.at_both_ends(&line, |line| {
                        let line = line.first_chunk().expect("a line");
                        assert!(engine.line_contains(params, line, 0, keys), "{engine:?} {params:?}");
                    });
                });
            }
        }
    }
}
