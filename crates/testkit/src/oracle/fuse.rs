//! Binary fuse filters: format/fuse.md.

use super::{bit, field, mix, range, set_field};
use std::collections::{BTreeMap, BTreeSet};

/// The hashes that are taken away, each with its own slot, and those that are set aside.
pub type Taken = (Vec<(u64, u64)>, Vec<u64>);

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

    /// Under the seed, the hashes that are taken away, each with its own slot, and those that are set aside; `None` if
    /// a slot has more than 254.
    pub fn taken(&self, hashes: &BTreeSet<u64>) -> Option<Taken> {
        let mut remaining: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let mut xs: BTreeSet<u64> = hashes.iter().map(|&hash| self.seeded(hash)).collect();
        for &x in &xs {
            self.slots(x).0.iter().for_each(|&slot| assert!(remaining.entry(slot).or_default().insert(x)));
        }
        if remaining.values().any(|having| having.len() > 254) {
            return None;
        }
        let (mut taken, mut aside, len) = (Vec::new(), Vec::new(), 1 << self.log2_segment_len);
        let mut lists = (0..self.num_segments + 3).map(|segment| segment * len..(segment + 1) * len);
        loop {
            let mut list = Vec::new();
            if let Some(segment) = lists.next() {
                let alone = remaining.range(segment).filter(|(_, having)| having.len() == 1);
                list.extend(alone.map(|(&slot, _)| slot));
            } else if let Some(x) = xs.pop_first() {
                aside.push(x);
                self.leave(&mut remaining, x, &mut list);
            } else {
                return Some((taken, aside));
            }
            let mut at = 0;
            while let Some(&own) = list.get(at) {
                at += 1;
                let Some(&x) = remaining[&own].first().filter(|_| remaining[&own].len() == 1) else { continue };
                taken.push((x, own));
                xs.remove(&x);
                self.leave(&mut remaining, x, &mut list);
            }
        }
    }

    /// Takes `x` from its slots, and lists those that are alone then.
    fn leave(&self, remaining: &mut BTreeMap<u64, BTreeSet<u64>>, x: u64, list: &mut Vec<u64>) {
        for slot in self.slots(x).0 {
            let having = remaining.get_mut(&slot).expect("an entry's slot");
            having.remove(&x);
            if having.len() == 1 {
                list.push(slot);
            }
        }
    }

    /// The contents of all slots; `None` if there is no payload.
    fn solved(&self, hashes: &BTreeSet<u64>) -> Option<Vec<u64>> {
        let (taken, aside) = self.taken(hashes)?;
        let num_unknowns = if aside.len() <= 88 { 96 } else { 224 };
        // Each slot's contents, and which unknowns are added to them.
        let mut slots = vec![(0, [false; 224]); self.num_slots() as usize];
        let owned: BTreeSet<u64> = taken.iter().map(|&(_, own)| own).collect();
        let free: Vec<usize> = (0..self.num_slots()).filter(|i| !owned.contains(i)).map(|i| i as usize).collect();
        if aside.len() > 216 {
            return None;
        }
        if !aside.is_empty() {
            free.iter().enumerate().for_each(|(i, &slot)| slots[slot].1[i % num_unknowns] = true);
        }
        let sum = |slots: &[(u64, [bool; 224])], x| {
            let mut sum = (self.fingerprint(x), [false; 224]);
            for slot in self.slots(x).0 {
                let (constant, unknowns) = slots[slot as usize];
                sum.0 ^= constant;
                sum.1.iter_mut().zip(unknowns).for_each(|(sum, unknown)| *sum ^= unknown);
            }
            sum
        };
        for &(x, own) in taken.iter().rev() {
            assert_eq!(slots[own as usize], (0, [false; 224]));
            slots[own as usize] = sum(&slots, x);
        }
        // From the last unknown, each equation is left with its first unknown and none that is another's first.
        let mut equations: Vec<_> = aside.iter().map(|&x| sum(&slots, x)).collect();
        let mut values = [0; 224];
        let mut solved: Vec<(usize, (u64, [bool; 224]))> = Vec::new();
        for unknown in 0..num_unknowns {
            let Some(at) = equations.iter().position(|equation| equation.1[unknown]) else { continue };
            let pivot = equations.remove(at);
            for equation in equations.iter_mut().filter(|equation| equation.1[unknown]) {
                equation.0 ^= pivot.0;
                equation.1.iter_mut().zip(pivot.1).for_each(|(sum, other)| *sum ^= other);
            }
            solved.push((unknown, pivot));
        }
        if !equations.is_empty() {
            return None;
        }
        let value = |values: &[u64; 224], (constant, unknowns): &(u64, [bool; 224])| {
            values.iter().zip(unknowns).filter(|(_, has)| **has).fold(*constant, |sum, (value, _)| sum ^ value)
        };
        // The unknown itself is still zero, as are all that come before an equation's first.
        solved.iter().rev().for_each(|(unknown, equation)| values[*unknown] = value(&values, equation));
        Some(slots.iter().map(|slot| value(&values, slot)).collect())
    }

    /// With the first seed that does not fail.
    pub fn with_least_seed(mut self, hashes: &BTreeSet<u64>) -> Self {
        self.seed = 0;
        while self.fails(hashes) {
            self.seed += 1;
            assert!(self.seed < 64, "a filter that can be written");
        }
        self
    }

    /// Returns whether the library's writer leaves these hashes as they are.
    pub fn suits(&self, hashes: &BTreeSet<u64>) -> bool {
        !Self { seed: 0, ..self.clone() }.fails(hashes)
    }

    /// Returns whether there is no payload under the seed.
    pub fn fails(&self, hashes: &BTreeSet<u64>) -> bool {
        self.solved(hashes).is_none()
    }

    pub(super) fn rebuild(&self, hashes: &BTreeSet<u64>) -> Vec<u8> {
        let width = self.fingerprint_bits;
        let mut payload = vec![0; ((self.num_slots() - 1) * width / 8 + 8) as usize];
        for (slot, contents) in (0..).zip(self.solved(hashes).expect("a filter that can be written")) {
            set_field(&mut payload, slot * width, width, contents);
        }
        assert!((self.num_slots() * width..8 * payload.len() as u64).all(|unused| bit(&payload, unused) == 0));
        payload
    }
}
