//! Keys as tables have them: 16 bytes, eight of them an increasing number, so that absent keys lie between present
//! ones.

pub const KEY_LEN: usize = 16;
pub type Key = [u8; KEY_LEN];

/// A reproducible stream of random keys (SplitMix64).
pub struct Keys {
    state: u64,
}

impl Keys {
    /// Streams of different seeds share no key in practice.
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0xd134_2543_de82_ef95) }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.number()) * limit as u128) >> 64) as usize
    }

    /// The key of a table's entry `index`: a big-endian number that increases with `index` in random steps, and 64
    /// random bits.
    fn entry(&mut self, index: usize) -> Key {
        let random = self.number();
        let id = 3 * index as u64 + random % 3;
        let mut key = [0; KEY_LEN];
        key[..8].copy_from_slice(&id.to_be_bytes());
        key[8..].copy_from_slice(&random.to_le_bytes());
        key
    }

    /// The keys of a table, in order.
    pub fn table(&mut self, num_keys: usize) -> Vec<Key> {
        (0..num_keys).map(|index| self.entry(index)).collect()
    }

    /// A key that no table of `num_keys` keys of another stream holds, within their range.
    pub fn absent(&mut self, num_keys: usize) -> Key {
        let index = self.below(num_keys);
        self.entry(index)
    }
}
