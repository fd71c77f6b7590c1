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
struct Class {
    bytes: Vec<u8>,
    weights: Weights,
    /// The bits that the symbols take at least.
    entropy: f64,
}

impl Class {
    fn new(bytes: Vec<u8>, weights: Weights) -> Self {
        Self { bytes, entropy: entropy(|symbol| weights[symbol]), weights }
    }
}

/// Returns the code of keys after their first `prefix_len` bytes; `commons` has the bytes that each of them has in common
/// with the one before it. It takes at most a quarter of `max_len` bytes.
pub(super) fn choose(keys: &Keys, prefix_len: usize, commons: &[u32], max_len: u64) -> Chosen {
    let rest = |index: usize| &keys.get(index)[prefix_len..];
    let mut has = [false; 257];
    for (index, &common) in commons.iter().enumerate() {
        // What it has in common with the one before it, that has.
        let key = rest(index);
        key[common as usize..].iter().take(ALL_BITS as usize).for_each(|&byte| has[1 + usize::from(byte)] = true);
        has[0] |= commons.get(index + 1).is_some_and(|&next| next as usize == key.len());
    }
    let columns: Vec<usize> = (1..=256).filter(|&symbol| has[symbol]).collect();
    let stride = commons.len().div_ceil(SAMPLE);
    let mut contexts = vec![[0; 257]; 256];
    for index in (0..commons.len()).step_by(stride) {
        let (before, next) = (commons[index] as usize, commons.get(index + 1).map_or(0, |&next| next as usize));
        weigh(&mut contexts, rest(index), before.min(next), before.max(next));
    }
    let fits = |num_classes| table_len(num_classes, columns.len()) as u64 <= max_len / 4;
    let Some(classes) = classes(&contexts, columns.len(), commons.len(), stride, fits) else {
        return Chosen::default();
    };
    encode(&classes, &columns, has[0])
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

/// Returns the classes that take the fewest bits, with the table; `None` if the bytes' own bits take hardly more.
fn classes(
    contexts: &[Weights],
    num_columns: usize,
    num_keys: usize,
    stride: usize,
    fits: impl Fn(usize) -> bool,
) -> Option<Vec<Class>> {
    if num_columns > usize::from(u8::MAX) || !fits(1) {
        return None;
    }
    let weight = |weights: &Weights| weights.iter().map(|&weight| u64::from(weight)).sum::<u64>();
    let mut heaviest: Vec<u8> = (0..=255).filter(|&byte| weight(&contexts[usize::from(byte)]) > 0).collect();
    heaviest.sort_by_key(|&byte| core::cmp::Reverse(weight(&contexts[usize::from(byte)])));
    let num_own = (num_keys / KEYS_PER_OWN).min(MAX_OWN).min(heaviest.len());
    let sum = |bytes: &[u8]| {
        let mut sum = [0; 257];
        for &byte in bytes {
            sum.iter_mut().zip(&contexts[usize::from(byte)]).for_each(|(sum, weight)| *sum += weight);
        }
        sum
    };
    let mut classes: Vec<Class> =
        heaviest[..num_own].iter().map(|&byte| Class::new(Vec::from([byte]), contexts[usize::from(byte)])).collect();
    let others = &heaviest[num_own..];
    if !others.is_empty() {
        classes.push(Class::new(others.to_vec(), sum(others)));
    }
    let plain = 8 * classes.iter().map(|class| weight(&class.weights) - u64::from(class.weights[0])).sum::<u64>();
    let scale = stride as f64 / f64::from(DISTINGUISHING);
    let total = |classes: &[Class]| {
        let entropy: f64 = classes.iter().map(|class| class.entropy).sum();
        // Codes take a twentieth more.
        1.05 * scale * entropy + 8.0 * table_len(classes.len(), num_columns) as f64
    };
    let worth = 0.85 * scale * plain as f64;
    let loss = |a: &Class, b: &Class| entropy(|at| a.weights[at] + b.weights[at]) - a.entropy - b.entropy;
    // What is lost if a class and a later one become one.
    let mut losses: Vec<Vec<f64>> = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        losses.push(classes[index + 1..].iter().map(|other| loss(class, other)).collect());
    }
    let (mut best, mut least): (Option<Vec<Class>>, f64) = (None, worth);
    loop {
        let bits = total(&classes);
        if classes.len() <= MAX_CLASSES && bits <= least && fits(classes.len()) {
            let copy = |class: &Class| Class { bytes: class.bytes.clone(), ..*class };
            (best, least) = (Some(classes.iter().map(copy).collect()), bits);
        }
        let pairs =
            losses.iter().enumerate().flat_map(|(a, row)| row.iter().zip(a + 1..).map(move |(&loss, b)| (loss, a, b)));
        let Some((_, a, b)) = pairs.min_by(|x, y| x.0.total_cmp(&y.0)) else { return best };
        let merged = classes.remove(b);
        losses.remove(b);
        for (row, losses) in losses[..b].iter_mut().enumerate() {
            losses.remove(b - row - 1);
        }
        let mut bytes = core::mem::take(&mut classes[a].bytes);
        bytes.extend(merged.bytes);
        let weights = core::array::from_fn(|at| classes[a].weights[at] + merged.weights[at]);
        classes[a] = Class::new(bytes, weights);
        for other in (0..classes.len()).filter(|&other| other != a) {
            losses[a.min(other)][a.max(other) - a.min(other) - 1] = loss(&classes[a], &classes[other]);
        }
    }
}

/// Returns the bits that symbols with these weights take at least.
fn entropy(weight: impl Fn(usize) -> u32) -> f64 {
    let times_log = |weight: u32| f64::from(weight) * log2(weight);
    let (all, parts) = (0..257).fold((0, 0.0), |(all, parts), at| (all + weight(at), parts + times_log(weight(at))));
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
    (1..).zip(columns).for_each(|(column, &symbol)| table[symbol - 1] = column);
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
