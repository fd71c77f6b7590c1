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

struct State([u64; 4]);

impl State {
    fn new(key: [u64; 2]) -> Self {
        let mut state = INITIAL;
        state.iter_mut().zip([key[0], key[1], key[0], key[1]]).for_each(|(word, key)| *word ^= key);
        Self(state)
    }

    #[inline(always)]
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        round(&mut self.0);
        self.0[0] ^= word;
    }

    /// Ends the hash: `rest` are the bytes after the last whole word. The low byte of the entry's length is put on top.
    fn finish(mut self, rest: &[u8], len: usize) -> u64 {
        self.absorb(bytes::u64_padded(rest, 0) | (len as u64) << 56);
        self.0[2] ^= 0xff;
        (0..3).for_each(|_| round(&mut self.0));
        self.0.iter().fold(0, |hash, word| hash ^ word)
    }
}

/// Returns the 64-bit hash of `entry` under a key of two words.
// It is never inlined, so that code for XXH3 beside it needs no room on the stack.
#[inline(never)]
pub(super) fn siphash13(key: &[u64; 2], entry: &[u8]) -> u64 {
    let mut state = State::new(*key);
    let words = entry.chunks_exact(8);
    let rest = words.remainder();
    words.for_each(|word| state.absorb(bytes::u64_at(word, 0)));
    state.finish(rest, entry.len())
}

/// Returns the hash of the entry that consists of the bytes of `words`.
pub(super) fn siphash13_of_words(key: [u64; 2], words: &[u64]) -> u64 {
    let mut state = State::new(key);
    words.iter().for_each(|&word| state.absorb(word));
    state.finish(&[], words.len().wrapping_mul(8))
}

/// Returns the hash of the entry that consists of `parts`.
pub(super) fn siphash13_of_parts<'a>(key: [u64; 2], parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let (mut state, mut word, mut len) = (State::new(key), [0; 8], 0usize);
    for &byte in parts.into_iter().flatten() {
        word[len % 8] = byte;
        len += 1;
        if len % 8 == 0 {
            state.absorb(bytes::u64_at(&word, 0));
        }
    }
    state.finish(&word[..len % 8], len)
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::{siphash13, siphash13_of_parts, siphash13_of_words};

    /// Another implementation gives the same, with every number of bytes after the last word and every low byte of the
    /// length.
    #[test]
    fn agrees_with_another_implementation() {
        use core::hash::Hasher;
        let entry: std::vec::Vec<u8> = (0..300).map(|i| (157 + 151 * i) as u8).collect();
        for key in [[0, 0], [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908], [u64::MAX, 1], [1, u64::MAX]] {
            for len in 0..=entry.len() {
                let mut other = siphasher::sip::SipHasher13::new_with_keys(key[0], key[1]);
                other.write(&entry[..len]);
                assert_eq!(siphash13(&key, &entry[..len]), other.finish(), "{len} bytes under {key:?}");
                let (first, second) = entry[..len].split_at(len / 3);
                assert_eq!(siphash13_of_parts(key, [first, second]), other.finish(), "{len} bytes under {key:?}");
                if len % 8 == 0 {
                    let words: std::vec::Vec<u64> =
                        entry[..len].chunks(8).map(|word| crate::bytes::u64_at(word, 0)).collect();
                    assert_eq!(siphash13_of_words(key, &words), other.finish(), "{len} bytes under {key:?}");
                }
            }
        }
    }
}
