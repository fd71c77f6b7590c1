//! Random numbers that are the same on every machine, so that a case can be made again from its seed.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[expect(clippy::should_implement_trait, reason = "the numbers have no end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// The same, of a list's length.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    pub fn one_in(&mut self, chance: u64) -> bool {
        self.below(chance) == 0
    }

    /// Random bytes.
    pub fn bytes(&mut self, len: u64) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }

    pub fn byte(&mut self) -> u8 {
        (self.next() >> 56) as u8
    }

    pub fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        *self.of(list)
    }

    /// A string of `len` bytes of `alphabet`.
    pub fn string(&mut self, alphabet: &[u8], len: usize) -> Vec<u8> {
        (0..len).map(|_| *self.of(alphabet)).collect()
    }
}
