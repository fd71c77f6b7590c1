//! SipHash-1-3: a keyed hash for entries that an adversary may choose. J.-P. Aumasson, D. J. Bernstein, *SipHash: a
//! fast short-input PRF* (2012), with one round per word and three at the end: the variant in the hash maps of Rust and
//! Python.

use crate::bytes;

/// The initial state: "somepseudorandomlygeneratedbytes".
const INITIAL: [u64; 4] = [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];

#[inline(always)]
fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *c = c.wrapping_add(*d);
    *b = b.rotate_left(13) ^ *a;
    *d = d.rotate_left(16) ^ *c;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*b);
    *a = a.wrapping_add(*d);
    *b = b.rotate_left(17) ^ *c;
    *d = d.rotate_left(21) ^ *a;
    *c = c.rotate_left(32);
}

/// The 64-bit hash of `entry` under a key of two words.
pub(super) fn siphash13(key: [u64; 2], entry: &[u8]) -> u64 {
    let mut state = INITIAL;
    state.iter_mut().zip([key[0], key[1], key[0], key[1]]).for_each(|(word, key)| *word ^= key);
    let mut absorb = |word: u64| {
        state[3] ^= word;
        round(&mut state);
        state[0] ^= word;
    };
    let words = entry.chunks_exact(8);
    let rest = words.remainder();
    words.for_each(|word| absorb(bytes::u64_at(word, 0)));
    // The bytes after the last whole word; the length's low byte is at the top.
    absorb(bytes::u64_padded(rest, 0) | (entry.len() as u64) << 56);
    state[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut state));
    state.iter().fold(0, |hash, word| hash ^ word)
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::siphash13;

    /// Against another implementation, with every number of bytes after the last word and every low byte of the length.
    #[test]
    fn agrees_with_another_implementation() {
        use core::hash::Hasher;
        let entry: std::vec::Vec<u8> = (0..300).map(|i| (157 + 151 * i) as u8).collect();
        for key in [[0, 0], [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908], [u64::MAX, 1], [1, u64::MAX]] {
            for len in 0..=entry.len() {
                let mut other = siphasher::sip::SipHasher13::new_with_keys(key[0], key[1]);
                other.write(&entry[..len]);
                assert_eq!(siphash13(key, &entry[..len]), other.finish(), "{len} bytes under {key:?}");
            }
        }
    }
}
