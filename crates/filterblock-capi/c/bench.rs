//! The time of a probe in Rust, beside `bench.c`: the same keys, the same filter, the same loop.

use filterblock::{AlignedBytes, FilterBlockBuilder, FilterPolicy, OpenOptions};
use std::hint::black_box;
use std::time::Instant;

const NUM_QUERIES: usize = 1 << 16;
const NUM_ROUNDS: usize = 60;

fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[expect(clippy::host_endian_bytes, reason = "as bench.c copies its integers")]
fn key_of(number: u64) -> Vec<u8> {
    [mixed(number).to_ne_bytes(), number.to_ne_bytes()].concat()
}

/// Absent keys but for one in 64. Prints the least time of all rounds.
fn bench(policy_text: &str, num_keys: u64) -> Result<(), Box<dyn std::error::Error>> {
    let policy: FilterPolicy = policy_text.parse()?;
    let mut builder = FilterBlockBuilder::new(&policy);
    (0..num_keys).for_each(|i| builder.add_key(&key_of(i)));
    let filter = OpenOptions::new().open_owned(AlignedBytes::copy_of(&builder.finish()?))?;
    let number = |i: u64| if i % 64 == 0 { i % num_keys } else { num_keys + i };
    let data: Vec<u8> = (0..NUM_QUERIES as u64).flat_map(|i| key_of(number(i))).collect();
    // Of a length that the compiler does not know.
    let keys: Vec<&[u8]> = data.chunks(black_box(16)).collect();
    let (mut least, mut num_maybe) = (f64::INFINITY, 0);
    for _ in 0..NUM_ROUNDS {
        let begun = Instant::now();
        num_maybe = keys.iter().filter(|key| filter.may_contain(key)).count();
        least = least.min(begun.elapsed().as_nanos() as f64 / NUM_QUERIES as f64);
    }
    println!("Rust {policy_text} {num_keys} keys: {least:.2} ns a probe ({num_maybe} maybe)");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for policy in ["blocked:10", "ribbon:10"] {
        bench(policy, 10_000)?;
        bench(policy, 1_000_000)?;
    }
    Ok(())
}
