//! The writer's byte code, for the bytes by which a table's keys differ.

use crate::ranges::cut::bits::MAX_DEPTH;
use crate::ranges::cut::code::{ByteCode, MAX_LEN, TABLE_LEN};
use core::ops::Range;
use std::vec::Vec;

/// The weights of the end of a key, and of each byte.
pub(crate) struct Weights(pub(crate) [u64; 257]);

/// The weight of a byte that distinguishes a key from its neighbours; other bytes weigh 1.
pub(crate) const DISTINGUISHING: u64 = 16;

impl Weights {
    /// Adds the bytes of a key, of which those at `distinguishing` distinguish it from its neighbours.
    pub(crate) fn add(&mut self, key: &[u8], distinguishing: Range<usize>) {
        if distinguishing.end > key.len() {
            self.0[0] += DISTINGUISHING;
        }
        let key = &key[..key.len().min(MAX_DEPTH as usize)];
        key.iter().for_each(|&byte| self.0[1 + usize::from(byte)] += 1);
        let [start, end] = [distinguishing.start, distinguishing.end].map(|at| at.min(key.len()));
        key[start..end].iter().for_each(|&byte| self.0[1 + usize::from(byte)] += DISTINGUISHING - 1);
    }
}

/// Returns the table of a code in which bytes that weigh more have fewer bits, and which keeps their order: bisection of
/// the weights, within two bits of their entropy (Gilbert, Moore 1959); and the length of the code of the end of a key,
/// 0 if that weighs nothing. `None` for fewer than two symbols.
pub(crate) fn table(weights: &Weights) -> Option<([u8; TABLE_LEN], u8)> {
    let symbols: Vec<usize> = (0..=256).filter(|&symbol| weights.0[symbol] > 0).collect();
    if symbols.len() < 2 {
        return None;
    }
    // The sums of the weights before each of these symbols.
    let mut before = std::vec![0; symbols.len() + 1];
    symbols.iter().enumerate().for_each(|(i, &symbol)| before[i + 1] = before[i] + weights.0[symbol]);
    let mut lens = [0; 257];
    bisect(&symbols, &before, 0, &mut lens);
    let mut table = [0; TABLE_LEN];
    lens[1..].iter().enumerate().for_each(|(byte, &len)| table[byte / 2] |= len << (4 * (byte % 2)));
    Some((table, lens[0]))
}

/// Sets the lengths of the codes of `symbols`, which all begin with the same `len` bits; `before` has the sums of the
/// weights before each of them, and before what follows.
fn bisect(symbols: &[usize], before: &[u64], len: u32, lens: &mut [u8; 257]) {
    if let [symbol] = symbols {
        lens[*symbol] = len as u8;
        return;
    }
    // The most symbols below a node one bit longer.
    let most = 1usize << (MAX_LEN - len - 1);
    let middle = before[0] + before[symbols.len()];
    let splits = symbols.len().saturating_sub(most).max(1)..=most.min(symbols.len() - 1);
    let split = splits.min_by_key(|&split| (2 * before[split]).abs_diff(middle)).expect("not empty");
    bisect(&symbols[..split], &before[..=split], len + 1, lens);
    bisect(&symbols[split..], &before[split..], len + 1, lens);
}

/// Returns the number of bits that the code takes of bytes with these weights.
pub(crate) fn cost(code: &ByteCode, weights: &Weights) -> u64 {
    (0..=255u8).map(|byte| weights.0[1 + usize::from(byte)] * u64::from(code.of(byte).1)).sum()
}
