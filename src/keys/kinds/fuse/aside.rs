//! The entries that were set aside: equations in the slots that nobody owns.

use super::peel::{Index, Peeling};
use super::slots::fingerprint;
use std::vec::Vec;

/// The number of bits of a [`Sum`]'s constant.
const CONSTANT_BITS: usize = u32::BITS as usize;
/// The unknowns of sums of one word and of two.
const UNKNOWNS: [usize; 2] = [128 - CONSTANT_BITS, 256 - CONSTANT_BITS];
/// The number of unknowns beyond the equations: a random system of 8 more is solvable in 255 of 256 cases.
const SPARE: usize = 8;
/// The greatest number of entries that are set aside.
pub(super) const MAX_ASIDE: usize = UNKNOWNS[1] - SPARE;

/// A slot's contents, as a sum of a constant, in the lowest bits, and of unknowns, a bit for each.
type Sum<const WORDS: usize> = [u128; WORDS];

fn add<const WORDS: usize>(a: Sum<WORDS>, b: &Sum<WORDS>) -> Sum<WORDS> {
    core::array::from_fn(|i| a[i] ^ b[i])
}

/// Returns the slots that nobody owns, in ascending order, and the contents that they have in turn, such that each
/// entry that was set aside has its fingerprint; `None` if the equations may have no solution.
pub(super) fn unknowns<I: Index>(peeling: &Peeling<I>) -> Option<(Vec<I>, Vec<u32>)> {
    let free = peeling.free_slots();
    let unknowns = match peeling.aside.len() + SPARE <= UNKNOWNS[0] {
        true => solve(equations::<I, 1>(peeling, &free)),
        false => solve(equations::<I, 2>(peeling, &free)),
    };
    unknowns.map(|unknowns| (free, unknowns))
}

/// Returns the equation of each entry that was set aside: a sum that must be zero.
fn equations<I: Index, const WORDS: usize>(peeling: &Peeling<I>, free: &[I]) -> Vec<Sum<WORDS>> {
    let mut sums = std::vec![[0; WORDS]; peeling.sums.len()];
    for (index, slot) in free.iter().enumerate() {
        let bit = CONSTANT_BITS + index % UNKNOWNS[WORDS - 1];
        sums[slot.get()][bit / 128] = 1 << (bit % 128);
    }
    let slots = peeling.slots;
    let sum_of = |sums: &[Sum<WORDS>], hash| {
        let mut sum = [0; WORDS];
        sum[0] = fingerprint(hash).into();
        slots.of(hash).into_iter().fold(sum, |sum, slot| add(sum, &sums[slot as usize]))
    };
    let (sums, hashes) = (&mut sums[..], &peeling.sums[..]);
    for own in peeling.own[peeling.num_before..].iter().rev() {
        // The own slot's sum is still zero.
        sums[own.get()] = sum_of(sums, hashes[own.get()]);
    }
    peeling.aside.iter().map(|&hash| sum_of(sums, hash)).collect()
}

/// Returns the unknowns by which all equations hold. One that the unknowns before it make superfluous is zero.
fn solve<const WORDS: usize>(mut equations: Vec<Sum<WORDS>>) -> Option<Vec<u32>> {
    let mut unknowns = std::vec![0; UNKNOWNS[WORDS - 1]];
    let mut solved = Vec::new();
    for unknown in 0..unknowns.len() {
        let bit = CONSTANT_BITS + unknown;
        let has = |sum: &Sum<WORDS>| sum[bit / 128] >> (bit % 128) & 1 == 1;
        let num_solved = solved.len();
        if num_solved == equations.len() {
            break;
        }
        if let Some(found) = equations[num_solved..].iter().position(has) {
            equations.swap(num_solved, num_solved + found);
            let pivot = equations[num_solved];
            solved.push(unknown);
            for (index, equation) in equations.iter_mut().enumerate() {
                if index != num_solved && has(equation) {
                    *equation = add(*equation, &pivot);
                }
            }
        }
    }
    let is_solved = solved.len() == equations.len();
    solved.iter().zip(&equations).for_each(|(&unknown, equation)| unknowns[unknown] = equation[0] as u32);
    is_solved.then_some(unknowns)
}
