//! Binary fuse filters: format-spec.md, section 9.

use super::{bit, field, mix, range, set_field};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub struct Fuse {
    pub fingerprint_bits: u64,
    pub log2_segment_len: u64,
    pub seed: u64,
    pub num_segments: u64,
}

impl Fuse {
    /// The hash under the seed.
    pub fn seeded(&self, hash: u64) -> u64 {
        match self.seed {
            0 => hash,
            seed => mix(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        }
    }

    /// The slots of `x` and the whole of its fingerprint.
    pub fn slots(&self, x: u64) -> ([u64; 4], u64) {
        let len = 1 << self.log2_segment_len;
        let product = u128::from(x) * 0xd134_2543_de82_ef95;
        let offsets = (product >> 64) as u64 ^ product as u64;
        let start = range(x, self.num_segments * len);
        let slot = |k: u64| if k == 0 { start } else { (start + k * len) ^ (offsets >> (18 * (k - 1)) & (len - 1)) };
        ([0, 1, 2, 3].map(slot), x.wrapping_mul(0xa24b_aed4_963e_e407) >> 32)
    }

    pub fn fingerprint(&self, x: u64) -> u64 {
        self.slots(x).1 & ((1 << self.fingerprint_bits) - 1)
    }

    fn num_slots(&self) -> u64 {
        (self.num_segments + 3) << self.log2_segment_len
    }

    pub fn content(&self, payload: &[u8], slot: u64) -> u64 {
        field(payload, slot * self.fingerprint_bits, self.fingerprint_bits)
    }

    pub(super) fn may_contain(&self, payload: &[u8], hash: u64) -> bool {
        let x = self.seeded(hash);
        let sum = self.slots(x).0.iter().fold(0, |sum, &slot| sum ^ self.content(payload, slot));
        sum == self.fingerprint(x)
    }

    /// Under the seed, the hashes that are taken away, each with its own slot; `None` if one remains.
    pub fn taken(&self, hashes: &BTreeSet<u64>) -> Option<Vec<(u64, u64)>> {
        let mut remaining: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for x in hashes.iter().map(|&hash| self.seeded(hash)) {
            self.slots(x).0.iter().for_each(|&slot| assert!(remaining.entry(slot).or_default().insert(x)));
        }
        let (mut taken, len) = (Vec::new(), 1 << self.log2_segment_len);
        for segment in 0..self.num_segments + 3 {
            let in_segment = remaining.range(segment * len..(segment + 1) * len);
            let mut list: Vec<u64> =
                in_segment.filter(|(_, having)| having.len() == 1).map(|(&slot, _)| slot).collect();
            let mut at = 0;
            while let Some(&own) = list.get(at) {
                at += 1;
                let Some(&x) = remaining[&own].first().filter(|_| remaining[&own].len() == 1) else { continue };
                taken.push((x, own));
                for slot in self.slots(x).0 {
                    let having = remaining.get_mut(&slot).expect("an entry's slot");
                    having.remove(&x);
                    if having.len() == 1 {
                        list.push(slot);
                    }
                }
            }
        }
        (taken.len() == hashes.len()).then_some(taken)
    }

    /// With the first seed under which no hash remains.
    pub fn with_least_seed(mut self, hashes: &BTreeSet<u64>) -> Self {
        self.seed = 0;
        while self.taken(hashes).is_none() {
            self.seed += 1;
            assert!(self.seed < 64, "a filter that can be written");
        }
        self
    }

    /// Whether the library's writer leaves these hashes as they are.
    pub fn suits(&self, hashes: &BTreeSet<u64>) -> bool {
        Self { seed: 0, ..self.clone() }.taken(hashes).is_some()
    }

    pub(super) fn rebuild(&self, hashes: &BTreeSet<u64>) -> Vec<u8> {
        let width = self.fingerprint_bits;
        let mut payload = vec![0; ((self.num_slots() - 1) * width / 8 + 8) as usize];
        for (x, own) in self.taken(hashes).expect("a filter that can be written").into_iter().rev() {
            assert_eq!(self.content(&payload, own), 0);
            let sum = self.slots(x).0.iter().fold(self.fingerprint(x), |sum, &slot| sum ^ self.content(&payload, slot));
            set_field(&mut payload, own * width, width, sum);
        }
        assert!((self.num_slots() * width..8 * payload.len() as u64).all(|unused| bit(&payload, unused) == 0));
        payload
    }
}
