//! Keys, and blocks built from them.

use filterblock::FilterBlockBuilder;

/// Most benchmarks of filters use keys of this length, which is common in stores.
pub type Key = [u8; 16];

/// A reproducible stream of random keys (SplitMix64). Streams of different seeds share no key in practice.
pub struct Keys {
    state: u64,
}

impl Keys {
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0xd134_2543_de82_ef95) }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn key(&mut self) -> Key {
        let (high, low) = (self.number(), self.number());
        std::array::from_fn(|i| (if i < 8 { high >> (8 * i) } else { low >> (8 * (i - 8)) }) as u8)
    }

    pub fn take(&mut self, count: usize) -> Vec<Key> {
        (0..count).map(|_| self.key()).collect()
    }
}

/// Replaces `out` by the block of `keys`. Builder and buffer are reused for one table after another, as a table writer
/// does.
pub fn build(builder: &mut FilterBlockBuilder, keys: &[Key], out: &mut Vec<u8>) {
    keys.iter().for_each(|key| builder.add_key(key));
    out.clear();
    builder.finish_into(out).expect("keys fit into the filter");
}
