//! Writes the seed corpora: `cargo run --manifest-path fuzz/Cargo.toml --example seeds`.

use filterblock_fuzz::seeds::Seeds;
use std::collections::BTreeMap;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let seeds = Seeds::make()?;
    seeds.write()?;
    let mut sums = BTreeMap::<&str, (usize, usize)>::new();
    for (target, _, input) in seeds.iter() {
        let sum = sums.entry(target).or_default();
        *sum = (sum.0 + 1, sum.1 + input.len());
    }
    for (target, (files, bytes)) in &sums {
        println!("{target}: {files} seeds of {bytes} bytes");
    }
    println!("counted: {} seeds of {} bytes", seeds.iter().count(), sums.values().map(|sum| sum.1).sum::<usize>());
    Ok(())
}
