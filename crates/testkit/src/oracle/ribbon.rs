//! Ribbon filters: format/ribbon.md.

use super::{bit, int, mix, range, set_bit, set_field};
use std::collections::{BTreeMap, BTreeSet};

/// By a bucket's threshold: the least distance from the bucket's last slot at which equations are bumped.
const LIMITS: [u64; 4] = [128, 116, 96, 0];
/// A multiple of this many slots is a cut.
const CUT: u64 = 1 << 17;
/// Of the writer: the most entries of a last layer, unless it is the eighth.
const MOST_OF_LAST: usize = 4096;

#[derive(Clone, Debug)]
pub struct Ribbon {
    pub columns: u64,
    pub last_seed: u64,
    /// 0 unless the filter is thinned.
    pub thinned_from: u64,
    pub wide_share: u64,
    /// Of each layer.
    pub num_blocks: Vec<u64>,
}

/// The equation of a hash in a layer.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub start: u64,
    pub coefficients: u64,
    pub fingerprint: u64,
}

/// Where a layer's parts are in the payload.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    pub num_blocks: u64,
    pub num_wide: u64,
    pub first_word: u64,
    pub thresholds_at: u64,
}

/// The numbers of blocks at the end of a payload.
pub fn num_blocks(payload: &[u8], num_layers: u64) -> Vec<u64> {
    payload[payload.len() - 4 * num_layers as usize..].chunks(4).map(int).collect()
}

impl Layer {
    pub fn num_starts(&self) -> u64 {
        64 * (self.num_blocks - 1)
    }

    /// Blocks that store a column more.
    fn num_stored(&self) -> u64 {
        if self.num_wide == 0 { 0 } else { self.num_wide + 1 }
    }

    fn num_words(&self, columns: u64) -> u64 {
        self.num_blocks * columns + self.num_stored()
    }

    fn num_buckets(&self) -> u64 {
        self.num_starts().div_ceil(128)
    }

    /// The bit of the payload that is the bit of `slot` in `column`.
    fn bit_of(&self, columns: u64, slot: u64, column: u64) -> u64 {
        let block = slot / 64;
        let word = self.first_word + block * columns + block.min(self.num_stored());
        64 * (word + column) + slot % 64
    }
}

fn distance(start: u64) -> u64 {
    127 - start % 128
}

impl Row {
    pub fn new(x: u64, num_starts: u64) -> Self {
        let product = u128::from(x) * 0xd134_2543_de82_ef95;
        Self {
            start: range(x, num_starts),
            coefficients: (product >> 64) as u64 ^ product as u64 | 1,
            fingerprint: x.wrapping_mul(0xa24b_aed4_963e_e407) >> 32,
        }
    }

    fn crosses_a_cut(&self, num_starts: u64) -> bool {
        (1..).map(|i| i * CUT).take_while(|q| *q < num_starts).any(|q| self.start < q && q < self.start + 64)
    }
}

/// Kept equations, by their first slots, which differ: coefficients from there on, and fingerprints.
#[derive(Default)]
struct Kept {
    rows: BTreeMap<u64, (u64, u64)>,
}

impl Kept {
    /// Adds `rows` if they are consistent with what is kept; else changes nothing.
    fn keep(&mut self, rows: impl Iterator<Item = Row>) -> bool {
        let mut added = Vec::new();
        for row in rows {
            let Row { mut start, mut coefficients, mut fingerprint } = row;
            while coefficients != 0 {
                (start, coefficients) =
                    (start + u64::from(coefficients.trailing_zeros()), coefficients >> coefficients.trailing_zeros());
                let Some((others, other)) = self.rows.get(&start) else {
                    self.rows.insert(start, (coefficients, fingerprint));
                    added.push(start);
                    break;
                };
                (coefficients, fingerprint) = (coefficients ^ others, fingerprint ^ other);
            }
            if coefficients == 0 && fingerprint != 0 {
                // No other row was reduced by these: they are the last that were added.
                self.rows.retain(|start, _| !added.contains(start));
                return false;
            }
        }
        true
    }

    /// The bits of each slot.
    fn solution(&self, num_slots: u64) -> Vec<u64> {
        let mut bits = vec![0; num_slots as usize];
        for (&start, (coefficients, fingerprint)) in self.rows.iter().rev() {
            let others = (1..64).filter(|j| coefficients >> j & 1 == 1);
            bits[start as usize] = others.fold(*fingerprint, |sum, j| sum ^ bits[start as usize + j]);
        }
        bits
    }
}

impl Ribbon {
    /// The filter that the library's writer makes of remapped `hashes`, of which there is at least one, with
    /// `millislots` thousandths of a slot per entry.
    pub fn of_writer(columns: u64, wide_share: u64, millislots: u64, hashes: &BTreeSet<u64>) -> Self {
        Self::of_limits(columns, wide_share, millislots, hashes, false).expect("a filter that can be written")
    }

    /// Returns whether the library's writer leaves these hashes as they are.
    pub fn suits(columns: u64, wide_share: u64, millislots: u64, hashes: &BTreeSet<u64>) -> bool {
        Self::of_limits(columns, wide_share, millislots, hashes, true).is_some()
    }

    /// With the limits for hashes that are not remapped, or without.
    fn of_limits(
        columns: u64,
        wide_share: u64,
        millislots: u64,
        hashes: &BTreeSet<u64>,
        is_limited: bool,
    ) -> Option<Self> {
        let mut ribbon = Self { columns, last_seed: 0, thinned_from: 0, wide_share, num_blocks: Vec::new() };
        let mut entering: Vec<u64> = hashes.iter().copied().collect();
        loop {
            let (index, count) = (ribbon.num_blocks.len(), entering.len());
            if count <= MOST_OF_LAST || index == 7 {
                let least = (count as u64 * millislots.max(1024)).div_ceil(64_000).max(2);
                let mut is_solved = |seed: u64| {
                    ribbon.last_seed = seed;
                    ribbon.num_blocks.truncate(index);
                    ribbon.num_blocks.push(least + (least * (seed + 1).saturating_sub(16)).div_ceil(8));
                    ribbon.build_layer(index, &entering).is_some()
                };
                let num_seeds = if is_limited { (hashes.len() / count).clamp(3, 16) as u64 } else { 32 };
                return (0..num_seeds).any(&mut is_solved).then_some(ribbon);
            }
            // With a layer after it, of any length, so that it is not the last.
            ribbon.num_blocks.extend([(count as u64 * millislots / 1000).div_ceil(64), 2]);
            entering = ribbon.build_bumping(index, &entering).2;
            ribbon.num_blocks.pop();
            if is_limited && entering.len() > count / 8 {
                return None;
            }
            if entering.is_empty() {
                return Some(ribbon);
            }
        }
    }

    fn num_layers(&self) -> usize {
        self.num_blocks.len()
    }

    /// Bits of a fingerprint that equations count with: those of the widest blocks before any were left out.
    fn most_columns(&self) -> u64 {
        match self.thinned_from {
            0 => self.columns + u64::from(self.wide_share > 0),
            from => from,
        }
    }

    pub fn layers(&self) -> Vec<Layer> {
        let num_wide = |num_blocks: u64| ((num_blocks - 1) * self.wide_share).div_ceil(1 << 32);
        let new =
            |num_blocks: u64| Layer { num_blocks, num_wide: num_wide(num_blocks), first_word: 0, thresholds_at: 0 };
        let mut layers: Vec<Layer> = self.num_blocks.iter().map(|&num| new(num)).collect();
        let num_words: u64 = layers.iter().map(|layer| layer.num_words(self.columns)).sum();
        let (mut word, mut byte) = (0, 8 * num_words);
        for layer in &mut layers {
            (layer.first_word, layer.thresholds_at) = (word, byte);
            word += layer.num_words(self.columns);
            byte += layer.num_buckets().div_ceil(4);
        }
        layers
    }

    /// The distance from which on equations of bucket `bucket` are bumped from a layer with thresholds.
    pub fn limit(payload: &[u8], layer: &Layer, bucket: u64) -> u64 {
        let at = 8 * layer.thresholds_at + 2 * bucket;
        LIMITS[(bit(payload, at) + 2 * bit(payload, at + 1)) as usize]
    }

    /// What `x` becomes on entering layer `index`.
    pub fn entered(&self, index: usize, x: u64) -> u64 {
        let seed = if index + 1 == self.num_layers() { self.last_seed } else { 0 };
        match u64::from(index > 0) + seed {
            0 => x,
            steps => mix(x ^ steps.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        }
    }

    /// The equation of `hash` in the layer whose number is returned, in which its entry is.
    pub fn locate(&self, payload: &[u8], hash: u64) -> (usize, Row) {
        let mut x = hash;
        for (index, layer) in self.layers().iter().enumerate() {
            x = self.entered(index, x);
            let row = Row::new(x, layer.num_starts());
            let is_last = index + 1 == self.num_layers();
            if is_last || distance(row.start) < Self::limit(payload, layer, row.start / 128) {
                return (index, row);
            }
        }
        unreachable!("the last layer bumps nothing")
    }

    pub(super) fn may_contain(&self, payload: &[u8], hash: u64) -> bool {
        let (index, row) = self.locate(payload, hash);
        let layer = self.layers()[index];
        let checked = self.columns + u64::from(row.start / 64 < layer.num_wide);
        (0..checked).all(|column| {
            let slots = (0..64).filter(|j| row.coefficients >> j & 1 == 1).map(|j| row.start + j);
            let sum: u64 = slots.map(|slot| bit(payload, layer.bit_of(self.columns, slot, column))).sum();
            sum % 2 == row.fingerprint >> column & 1
        })
    }

    /// The equations of hashes that layer `index` is given.
    fn rows(&self, index: usize, hashes: &[u64]) -> Vec<(u64, Row)> {
        let num_starts = self.layers()[index].num_starts();
        let row = |&hash: &u64| {
            let x = self.entered(index, hash);
            let row = Row::new(x, num_starts);
            (x, Row { fingerprint: row.fingerprint & ((1 << self.most_columns()) - 1), ..row })
        };
        hashes.iter().map(row).collect()
    }

    /// The equations of a layer that bumps nothing; `None` if they are inconsistent.
    fn build_layer(&self, index: usize, hashes: &[u64]) -> Option<Kept> {
        let mut kept = Kept::default();
        kept.keep(self.rows(index, hashes).into_iter().map(|(_, row)| row)).then_some(kept)
    }

    /// The equations of a layer, its thresholds, and the bumped hashes.
    fn build_bumping(&self, index: usize, hashes: &[u64]) -> (Kept, Vec<u64>, Vec<u64>) {
        let layer = self.layers()[index];
        let mut buckets = vec![Vec::new(); layer.num_buckets() as usize];
        for (x, row) in self.rows(index, hashes) {
            buckets[(row.start / 128) as usize].push((x, row));
        }
        let (mut kept, mut thresholds, mut bumped) = (Kept::default(), Vec::new(), Vec::new());
        for bucket in &buckets {
            let within = |limit: u64| bucket.iter().map(|(_, row)| *row).filter(move |row| distance(row.start) < limit);
            let fits = |limit: u64| {
                let crosses = within(limit).any(|row| row.crosses_a_cut(layer.num_starts()));
                !crosses && kept.keep(within(limit))
            };
            let threshold = LIMITS.into_iter().position(fits).expect("a limit of 0 keeps nothing");
            thresholds.push(threshold as u64);
            let is_bumped = |row: &Row| distance(row.start) >= LIMITS[threshold];
            bumped.extend(bucket.iter().filter(|(_, row)| is_bumped(row)).map(|(x, _)| *x));
        }
        (kept, thresholds, bumped)
    }

    pub(super) fn rebuild(&self, hashes: &BTreeSet<u64>) -> Vec<u8> {
        let layers = self.layers();
        let last = layers[layers.len() - 1];
        let mut payload = vec![0u8; last.thresholds_at as usize];
        let mut entering: Vec<u64> = hashes.iter().copied().collect();
        for (index, layer) in layers.iter().enumerate() {
            let kept = if index + 1 == layers.len() {
                self.build_layer(index, &entering).expect("a filter that can be written")
            } else {
                let (kept, thresholds, bumped) = self.build_bumping(index, &entering);
                for (bucket, threshold) in (0..).zip(thresholds) {
                    set_field(&mut payload[layer.thresholds_at as usize..], 2 * bucket, 2, threshold);
                }
                entering = bumped;
                kept
            };
            let num_slots = 64 * layer.num_blocks;
            for (slot, bits) in (0..).zip(kept.solution(num_slots)) {
                let stored = self.columns + u64::from(slot / 64 < layer.num_stored());
                for column in (0..stored).filter(|column| bits >> column & 1 == 1) {
                    set_bit(&mut payload, layer.bit_of(self.columns, slot, column));
                }
            }
        }
        for &num in &self.num_blocks {
            payload.extend([0; 4]);
            let at = payload.len() - 4;
            set_field(&mut payload[at..], 0, 32, num);
        }
        payload
    }
}
