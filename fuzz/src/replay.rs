//! Every checked-in input through its target, without libFuzzer.

use crate::seeds::{Seeds, corpus, file_name, inputs};
use crate::targets::{ALL, Reached};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// All of them that are there: the seeds, and what a run has added to a working copy.
#[test]
fn the_corpus_shows_no_defect() {
    let mut lines = Vec::new();
    let mut sum = 0;
    for (name, target) in ALL {
        let inputs = inputs(&corpus(name)).expect("a readable corpus");
        assert!(!inputs.is_empty(), "the target {name} has no corpus");
        let mut counts = BTreeMap::<Reached, usize>::new();
        for path in &inputs {
            let input = std::fs::read(path).expect("a readable input");
            // If it panics, this is the input.
            println!("{}", path.display());
            *counts.entry(target(&input)).or_default() += 1;
        }
        assert!(counts.contains_key(&Reached::Compared), "no input of {name} passes every check");
        sum += inputs.len();
        lines.push(format!("{name} {} {counts:?}", inputs.len()));
    }
    println!("counted: {sum} corpus files replayed, per target: {}", lines.join(", "));
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
