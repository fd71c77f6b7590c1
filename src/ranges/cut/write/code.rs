//! The writer's byte code, for the bytes by which a table's keys differ.

use crate::ranges::cut::bits::ALL_BITS;
use crate::ranges::cut::code::{CLASSES_AT, ENTRIES_AT, MAX_CLASSES, MAX_LEN, table_len};
use crate::ranges::keys::Keys;
use std::vec;
use std::vec::Vec;

/// A byte code, as it is stored; an empty one where each byte has its own eight bits.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) table: Vec<u8>,
    pub(super) num_classes: u8,
    pub(super) num_columns: u8,
}

/// The weight of a byte that distinguishes a key from its neighbours; other bytes weigh 1.
const DISTINGUISHING: u32 = 16;
/// The number of keys whose bytes are weighed, about.
const SAMPLE: usize = 1 << 14;
/// The number of bytes, before others, which begin with a class of their own, and the keys for each.
const MAX_OWN: usize = 40;
const KEYS_PER_OWN: usize = 128;

/// The weights of symbols: the end of a key, then each byte.
type Weights = [u32; 257];

/// Bytes after which symbols have the same bits.
#[derive(Clone)]
struct Class {
    bytes: Vec<u8>,
    weights: Weights,
    /// The bits that the symbols take at least.
    entropy: f64,
}

impl Class {
    /// Returns the class of some bytes, of which `contexts` has the weights of what follows each.
    fn of(contexts: &[Weights], bytes: Vec<u8>) -> Self {
        let sum = |symbol: usize| bytes.iter().map(|&byte| contexts[usize::from(byte)][symbol]).sum();
        let weights: Weights = core::array::from_fn(sum);
        Self { bytes, entropy: entropy(weights.iter().copied()), weights }
    }

    /// Returns how many bits more symbols take at least if they have the same bits as those of another class.
    fn loss(&self, other: &Self) -> f64 {
        entropy(self.weights.iter().zip(&other.weights).map(|(a, b)| a + b)) - self.entropy - other.entropy
    }

    fn join(&mut self, other: &Self) {
        self.bytes.extend(&other.bytes);
        self.weights.iter_mut().zip(&other.weights).for_each(|(weight, other)| *weight += other);
        self.entropy = entropy(self.weights.iter().copied());
    }
}

/// Returns the code of keys after their first `prefix_len` bytes; `commons` has the bytes that each of them has in common
/// with the one before it. It takes at most a quarter of `max_len` bytes.
pub(super) fn choose(keys: &Keys, prefix_len: usize, commons: &[u32], max_len: u64) -> Chosen {
    let rest = |index: usize| &keys.get(index)[prefix_len..];
    let (mut has, mut num_bytes) = ([false; 257], 0);
    for (index, &common) in commons.iter().enumerate() {
        // What it has in common with the one before it, that has.
        let key = rest(index);
        for &byte in key[common as usize..].iter().take(ALL_BITS as usize) {
            num_bytes += usize::from(!has[1 + usize::from(byte)]);
            has[1 + usize::from(byte)] = true;
        }
        has[0] |= commons.get(index + 1).is_some_and(|&next| next as usize == key.len());
        if num_bytes > u8::MAX.into() {
            return Chosen::default();
        }
    }
    let columns: Vec<usize> = (1..=256).filter(|&symbol| has[symbol]).collect();
    let fits = |num_classes| table_len(num_classes, columns.len()) as u64 <= max_len / 4;
    // Most tables of few keys end here.
    if !fits(1) {
        return Chosen::default();
    }
    let stride = commons.len().div_ceil(SAMPLE);
    let mut contexts = vec![[0; 257]; 256];
    for index in (0..commons.len()).step_by(stride) {
        let (before, next) = (commons[index] as usize, commons.get(index + 1).map_or(0, |&next| next as usize));
        weigh(&mut contexts, rest(index), before.min(next), before.max(next));
    }
    let scale = stride as f64 / f64::from(DISTINGUISHING);
    let num_own = (commons.len() / KEYS_PER_OWN).min(MAX_OWN);
    let classes = classes(&contexts, num_own, scale, |num_classes| {
        fits(num_classes).then(|| 8 * table_len(num_classes, columns.len()) as u64)
    });
    classes.map(|classes| encode(&classes, &columns, has[0])).unwrap_or_default()
}

/// Adds the symbols of a key; bytes `from..=last` distinguish it from its neighbours.
fn weigh(contexts: &mut [Weights], key: &[u8], from: usize, last: usize) {
    let mut before = 0;
    for (at, &byte) in key.iter().enumerate().take((last + 16).min(ALL_BITS as usize)) {
        let weight = if (from..=last).contains(&at) { DISTINGUISHING } else { 1 };
        contexts[before][1 + usize::from(byte)] += weight;
        before = byte.into();
    }
    if last >= key.len() {
        contexts[before][0] += DISTINGUISHING;
    }
}

/// Returns the classes that take the fewest bits, with the table, which takes `table_bits` if it fits; `None` if the
/// bytes' own bits take hardly more. Weights are `scale` keys each.
fn classes(
    contexts: &[Weights],
    num_own: usize,
    scale: f64,
    table_bits: impl Fn(usize) -> Option<u64>,
) -> Option<Vec<Class>> {
    let weight = |weights: &Weights| weights.iter().sum::<u32>();
    let mut heaviest: Vec<u8> = (0..=255).collect();
    heaviest.sort_by_cached_key(|&byte| core::cmp::Reverse(weight(&contexts[usize::from(byte)])));
    let others = heaviest.split_off(num_own);
    let own = heaviest.into_iter().map(|byte| Class::of(contexts, Vec::from([byte])));
    let mut classes: Vec<Class> = own.chain([Class::of(contexts, others)]).collect();
    let plain: u64 = classes.iter().map(|class| 8 * u64::from(weight(&class.weights) - class.weights[0])).sum();
    let (mut best, mut least) = (None, 0.85 * scale * plain as f64);
    loop {
        // Codes take a twentieth more than the least.
        let bits = 1.05 * scale * classes.iter().map(|class| class.entropy).sum::<f64>();
        if let Some(table_bits) = table_bits(classes.len()).filter(|_| classes.len() <= MAX_CLASSES) {
            if bits + table_bits as f64 <= least {
                (best, least) = (Some(classes.clone()), bits + table_bits as f64);
            }
        }
        // The lightest class joins the one with which it loses least.
        let lightest = (0..classes.len()).min_by_key(|&at| weight(&classes[at].weights))?;
        let lightest = classes.swap_remove(lightest);
        let losses = classes.iter().map(|class| class.loss(&lightest)).zip(0..);
        let Some((_, at)) = losses.min_by(|a, b| a.0.total_cmp(&b.0)) else { return best };
        classes[at].join(&lightest);
    }
}

/// Returns the bits that symbols with these weights take at least.
fn entropy(weights: impl Iterator<Item = u32>) -> f64 {
    let times_log = |weight: u32| f64::from(weight) * log2(weight);
    let (all, parts) = weights.fold((0, 0.0), |(all, parts), weight| (all + weight, parts + times_log(weight)));
    times_log(all) - parts
}

/// Returns the logarithm of a number to a hundredth; 0 of 0. It is made of operations that are exact everywhere.
fn log2(number: u32) -> f64 {
    let Some(exponent) = number.checked_ilog2() else { return 0.0 };
    let rest = f64::from(number) / f64::from(1u32 << exponent) - 1.0;
    f64::from(exponent) + rest + 0.344 * rest * (1.0 - rest)
}

/// Returns the table of codes for these classes.
fn encode(classes: &[Class], columns: &[usize], has_end: bool) -> Chosen {
    let mut table = vec![0; table_len(classes.len(), columns.len())];
    // Not `1..`, which computes 256 after the last of 255.
    (1..=u8::MAX).zip(columns).for_each(|(column, &symbol)| table[symbol - 1] = column);
    let mut at = ENTRIES_AT;
    for (class, number) in classes.iter().zip(0..) {
        for &byte in &class.bytes {
            table[CLASSES_AT + usize::from(byte / 2)] |= number << (4 * (byte % 2));
        }
        let symbols =
            || (!has_end as usize..=columns.len()).map(|column| column.checked_sub(1).map_or(0, |at| columns[at]));
        let weights: Vec<u64> = symbols().map(|symbol| u64::from(class.weights[symbol]) * 16 + 1).collect();
        at += 2 * usize::from(!has_end);
        let mut taken = 0u32;
        for len in lengths(&weights) {
            let bits = (taken >> (MAX_LEN - len)).reverse_bits() >> (32 - len);
            crate::bytes::put_u16(&mut table, at, (bits | len << MAX_LEN) as u16);
            taken += 1 << (MAX_LEN - len);
            at += 2;
        }
    }
    Chosen { table, num_classes: classes.len() as u8, num_columns: columns.len() as u8 }
}

/// Returns the lengths of the alphabetic code that takes the fewest bits (D. Knuth, *Optimum Binary Search Trees*, 1971),
/// of weights that are raised until no length is above [`MAX_LEN`].
fn lengths(weights: &[u64]) -> Vec<u32> {
    let mut floor = weights.iter().sum::<u64>() >> (MAX_LEN - 1);
    loop {
        let raised: Vec<u64> = weights.iter().map(|&weight| weight.max(floor)).collect();
        let mut lens = vec![0; weights.len()];
        fill(&splits(&raised), weights.len(), 0, weights.len() - 1, 0, &mut lens);
        if let [only] = &mut lens[..] {
            *only = 1;
        }
        if lens.iter().all(|&len| len <= MAX_LEN) {
            return lens;
        }
        floor = 2 * floor + 1;
    }
}

/// Returns, for each run of weights from one to another, the last one below the first child of its node.
fn splits(weights: &[u64]) -> Vec<u16> {
    let num = weights.len();
    let mut before = vec![0; num + 1];
    (0..num).for_each(|at| before[at + 1] = before[at] + weights[at]);
    let (mut costs, mut splits) = (vec![0u64; num * num], vec![0u16; num * num]);
    (0..num).for_each(|at| splits[at * num + at] = at as u16);
    for len in 1..num {
        for first in 0..num - len {
            let last = first + len;
            let cost = |split: usize| costs[first * num + split] + costs[(split + 1) * num + last];
            let least = usize::from(splits[first * num + last - 1]);
            let most = usize::from(splits[(first + 1) * num + last]).min(last - 1);
            let split = (least.min(most)..=most).min_by_key(|&split| cost(split)).unwrap_or(first);
            costs[first * num + last] = cost(split) + before[last + 1] - before[first];
            splits[first * num + last] = split as u16;
        }
    }
    splits
}

/// Sets the lengths of what is below a node.
fn fill(splits: &[u16], num: usize, first: usize, last: usize, len: u32, lens: &mut [u32]) {
    if first == last {
        lens[first] = len;
        return;
    }
    let split = usize::from(splits[first * num + last]);
    fill(splits, num, first, split, len + 1, lens);
    fill(splits, num, split + 1, last, len + 1, lens);
}
