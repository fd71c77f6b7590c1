//! Every checked-in input through its target, without libFuzzer.

use crate::blocks::names_a_key;
use crate::case::Case;
use crate::memory::{Used, watched};
use crate::oracle::mix;
use crate::seeds::{Seeds, corpus, file_name, inputs};
use crate::targets::{ALL, Reached};
use arbitrary::{Arbitrary, Unstructured};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// All of them that are there: the seeds, and what a run has added to a working copy.
#[test]
fn the_corpus_shows_no_defect() {
    let (mut lines, mut sum, mut worst) = (Vec::new(), 0, Used::default());
    for (name, target) in ALL {
        let inputs = inputs(&corpus(name)).expect("a readable corpus");
        assert!(!inputs.is_empty(), "the target {name} has no corpus");
        let mut counts = BTreeMap::<Reached, usize>::new();
        for path in &inputs {
            let input = std::fs::read(path).expect("a readable input");
            // If it panics, this is the input.
            println!("{}", path.display());
            let (reached, used) = watched(|| target(&input));
            used.assert_within_limits();
            worst = worst.max(used);
            *counts.entry(reached).or_default() += 1;
        }
        assert!(counts.contains_key(&Reached::Compared), "no input of {name} passes every check");
        sum += inputs.len();
        lines.push(format!("{name} {} {counts:?}", inputs.len()));
    }
    println!("counted: {sum} corpus files replayed, {worst}, per target: {}", lines.join(", "));
}

/// Only its key leads to a keyed block's filter: that which this crate has is the golden files'.
#[test]
fn keyed_seeds_pass_every_check() {
    type IsKeyed = fn(&[u8]) -> bool;
    let keyed: [(&str, IsKeyed); 3] = [
        ("built", |input| Case::arbitrary(&mut Unstructured::new(input)).is_ok_and(|case| case.key().is_some())),
        ("open", names_a_key),
        ("repaired", |input| names_a_key(&input[1..])),
    ];
    let mut lines = Vec::new();
    for (name, is_keyed) in keyed {
        let (_, target) = ALL.iter().find(|(target, _)| *target == name).expect("a target");
        let seeds = Seeds::read().expect("a readable corpus");
        let seeds: Vec<_> = seeds.iter().filter(|(target, _, input)| *target == name && is_keyed(input)).collect();
        assert!(seeds.len() >= 9, "{name} has {} keyed seeds", seeds.len());
        for (_, seed, input) in &seeds {
            // The golden files have a context, which `open` does not know.
            let expected = match (name, seed.contains("-40-")) {
                ("open", false) => Reached::Refused,
                _ => Reached::Compared,
            };
            assert_eq!(target(input), expected, "{name}/{seed}");
        }
        lines.push(format!("{name} {}", seeds.len()));
    }
    println!("counted: seeds under a secret key, per target: {}", lines.join(", "));
}

/// Some of what a fuzzer would try, for machines without one: bytes and bits changed, parts removed, repeated and put
/// in from other seeds, as a fixed sequence of numbers says.
#[test]
fn mutated_seeds_show_no_defect() {
    let mut random = Random(1);
    let (mut lines, mut sum, mut worst) = (Vec::new(), 0, Used::default());
    for (name, target) in ALL {
        let read = |path: &PathBuf| std::fs::read(path).expect("a readable input");
        let seeds: Vec<Vec<u8>> = inputs(&corpus(name)).expect("a readable corpus").iter().map(read).collect();
        let mut counts = BTreeMap::<Reached, usize>::new();
        for i in 0..MUTANTS {
            let mut input = seeds[i % seeds.len()].clone();
            for _ in 0..=random.below(4) {
                random.mutate(&mut input, &seeds);
            }
            let reached = std::panic::catch_unwind(|| {
                let (reached, used) = watched(|| target(&input));
                used.assert_within_limits();
                (reached, used)
            });
            let (reached, used) = reached.unwrap_or_else(|_| panic!("{name} fails with {}", hex(&input)));
            worst = worst.max(used);
            *counts.entry(reached).or_default() += 1;
        }
        sum += MUTANTS;
        lines.push(format!("{name} {counts:?}"));
    }
    println!("counted: {sum} mutated seeds tried, {worst}, per target: {}", lines.join(", "));
}

/// For each target.
const MUTANTS: usize = 2_000;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) % end.max(1) as u64) as usize
    }

    fn mutate(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(input.len());
        let end = at + self.below((input.len() - at).min(32));
        let other = &seeds[self.below(seeds.len())];
        let from = self.below(other.len());
        let part = &other[from..(from + self.below(32)).min(other.len())];
        match self.below(7) {
            0 if !input.is_empty() => input[at] ^= 1 << self.below(8),
            1 if !input.is_empty() => input[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
            2 if !input.is_empty() => input[at] = self.below(256) as u8,
            3 => drop(input.drain(at..end)),
            4 => drop(input.splice(at..end, part.iter().copied())),
            5 => drop(input.splice(at..at, part.iter().copied())),
            _ => input.extend_from_within(at..end),
        }
    }
}

/// A corpus without a target is replayed by nobody, as is a target that no list names.
#[test]
fn targets_programs_and_corpora_are_the_same() {
    let targets: BTreeSet<String> = ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    let names = |dir: &str| -> BTreeSet<String> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
        let paths = inputs(&dir).expect("a readable directory");
        paths.iter().map(|path| file_name(path).trim_end_matches(".rs").to_owned()).collect()
    };
    assert_eq!(names("corpus"), targets);
    assert_eq!(names("fuzz_targets"), targets);
}

/// Made in this process as they were in the one that wrote them.
#[test]
fn the_seeds_are_those_that_the_library_makes() {
    let (made, read) = (Seeds::make().expect("seeds"), Seeds::read().expect("a readable corpus"));
    let names = |seeds: &Seeds| seeds.iter().map(|(target, name, _)| format!("{target}/{name}")).collect::<Vec<_>>();
    assert_eq!(names(&made), names(&read), "run `cargo run --manifest-path fuzz/Cargo.toml --example seeds`");
    for ((target, name, made), (_, _, read)) in made.iter().zip(read.iter()) {
        assert!(made == read, "{target}/{name}: run `cargo run --manifest-path fuzz/Cargo.toml --example seeds`");
    }
    let bytes: usize = read.iter().map(|(_, _, input)| input.len()).sum();
    assert!(bytes < 3 << 19, "{bytes} bytes are more than a repository should carry");
    println!("counted: {} seeds of {bytes} bytes made again, byte for byte", names(&read).len());
}
