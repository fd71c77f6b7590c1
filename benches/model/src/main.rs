//! `filterblock-model POLICY absent|present kept|anew|batch`: a filter of 1 000 keys, and 200 queries in a function
//! that `model.py` looks for. They begin with a hash. *Kept*: the caller has the reader in registers. *Anew*: each
//! query finds a reader through a pointer, as an engine does.

use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterPolicy, KeyHash, OpenOptions};
use std::hint::black_box;

const NUM_KEYS: u64 = 1000;
const NUM_QUERIES: u64 = 200;

#[inline(never)]
fn modelled_kept(reader: &FilterBlockReader<'_>, hashes: &[KeyHash]) -> usize {
    hashes.iter().filter(|&&hash| reader.may_contain_hash(hash)).count()
}

#[inline(never)]
fn modelled_anew(readers: &[&FilterBlockReader<'_>], hashes: &[KeyHash]) -> usize {
    readers.iter().zip(hashes).filter(|&(reader, &hash)| reader.may_contain_hash(hash)).count()
}

#[inline(never)]
fn modelled_batch(reader: &FilterBlockReader<'_>, hashes: &[KeyHash], answers: &mut [bool]) {
    reader.may_contain_hashes(hashes, answers);
    // This is not the last call, which would be a jump.
    black_box(answers);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [policy, keys, calls] = arguments.as_slice() else { panic!("POLICY absent|present kept|anew|batch") };
    let policy: FilterPolicy = policy.parse().expect("a policy");
    let hasher = policy.hasher();
    let mut builder = FilterBlockBuilder::new(&policy);
    (0..NUM_KEYS).for_each(|key| builder.add_key(&key.to_le_bytes()));
    let block = builder.finish().expect("it fits");
    let reader = OpenOptions::new().open(&block).expect("intact");
    let first = if keys == "absent" { NUM_KEYS } else { 0 };
    let hashes: Vec<KeyHash> = (first..first + NUM_QUERIES).map(|key| hasher.hash(&key.to_le_bytes())).collect();
    match calls.as_str() {
        "kept" => _ = black_box(modelled_kept(black_box(&reader), &hashes)),
        "anew" => _ = black_box(modelled_anew(&black_box(vec![&reader; hashes.len()]), &hashes)),
        _ => modelled_batch(black_box(&reader), &hashes, &mut vec![false; hashes.len()]),
    }
}
