//! Runs every checked-in input through its target, without libFuzzer.

use crate::blocks::names_a_key;
use crate::case::Case;
use crate::memory::{Used, watched};
use crate::seeds::{Seeds, corpus, file_name, inputs};
use crate::targets::{ALL, Reached};
use arbitrary::{Arbitrary, Unstructured};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use testkit::random::Random;

/// All inputs present: the seeds, and what a run has added to a working copy.
#[test]
fn the_corpus_shows_no_defect() {
    let (mut lines, mut sum, mut worst) = (Vec::new(), 0, Used::default());
    for (name, target) in ALL {
        let inputs = inputs(&corpus(name)).expect("a readable corpus");
        assert!(!inputs.is_empty(), "the target {name} has no corpus");
        let mut counts = BTreeMap::<Reached, usize>::new();
        for path in &inputs {
            let input = std::fs::read(path).expect("a readable input");
            // Shows the input if the target panics.
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

/// A keyed block's filter is reached only with its key; this crate has the golden files' key.
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

/// Part of what a fuzzer would try, for machines without one: bytes and bits are changed, parts are removed, repeated
/// and inserted from other seeds, as determined by a fixed sequence of numbers.
#[test]
fn mutated_seeds_show_no_defect() {
    let mut random = Random::new(1);
    let (mut lines, mut sum, mut worst) = (Vec::new(), 0, Used::default());
    for (name, target) in ALL {
        let read = |path: &PathBuf| std::fs::read(path).expect("a readable input");
        let seeds: Vec<Vec<u8>> = inputs(&corpus(name)).expect("a readable corpus").iter().map(read).collect();
        let mut counts = BTreeMap::<Reached, usize>::new();
        for i in 0..MUTANTS {
            let mut input = seeds[i % seeds.len()].clone();
            for _ in 0..=random.below(4) {
                mutate(&mut random, &mut input, &seeds);
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

/// Number of mutants for each target.
const MUTANTS: usize = 2_000;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn mutate(random: &mut Random, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let at = random.index(input.len());
    let end = at + random.index((input.len() - at).min(32));
    let other = random.of(seeds);
    let from = random.index(other.len());
    let part = &other[from..(from + random.index(32)).min(other.len())];
    match random.index(7) {
        0 if !input.is_empty() => input[at] ^= 1 << random.index(8),
        1 if !input.is_empty() => input[at] = [0, 1, 0x7f, 0x80, 0xff][random.index(5)],
        2 if !input.is_empty() => input[at] = random.byte(),
        3 => drop(input.drain(at..end)),
        4 => drop(input.splice(at..end, part.iter().copied())),
        5 => drop(input.splice(at..at, part.iter().copied())),
        _ => input.extend_from_within(at..end),
    }
}
/// A corpus without a target would never be replayed, nor would a target that is missing from the list.
#[test]
fn targets_programs_and_corpora_have_the_same_names() {
    let targets: BTreeSet<String> = ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    let names = |dir: &str| -> BTreeSet<String> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
        let paths = inputs(&dir).expect("a readable directory");
        paths.iter().map(|path| file_name(path).trim_end_matches(".rs").to_owned()).collect()
    };
    assert_eq!(names("corpus"), targets);
    assert_eq!(names("fuzz_targets"), targets);
}

/// The seeds that this process generates equal the checked-in ones.
#[test]
fn the_seeds_are_reproducible() {
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
