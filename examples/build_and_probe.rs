//! Builds a filter block from the keys of a table, opens its bytes, and looks up keys that are there and keys that are
//! not.
//!
//! ```sh
//! cargo run --example build_and_probe
//! ```

use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};

/// What the block is bound to: the number of its table.
const TABLE: u64 = 7;
const NUM_KEYS: u32 = 100_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_seed(0x5eed);
    let mut builder = FilterBlockBuilder::new(&policy);
    for i in 0..NUM_KEYS {
        builder.add_key(format!("user{i}").as_bytes());
    }
    let mut block = builder.set_context(TABLE).finish()?;
    println!("{NUM_KEYS} keys in a block of {} bytes", block.len());

    let options = OpenOptions::new().with_context(TABLE).expect(&policy);
    let filter = options.open(&block)?;
    let passes = |prefix: &str| (0..NUM_KEYS).filter(|i| filter.may_contain(format!("{prefix}{i}").as_bytes())).count();
    let (found, passed) = (passes("user"), passes("nobody"));
    println!("keys of the table: {found} of {NUM_KEYS} are maybe there");
    println!(
        "other keys: {passed} of {NUM_KEYS} are maybe there, {:.0} to be expected",
        filter.false_positive_rate() * f64::from(NUM_KEYS)
    );
    assert_eq!(found, NUM_KEYS as usize, "no stored key is denied");

    // What an engine meets one day. Each means *maybe*: read the table.
    println!("of another table: {}", options.clone().with_context(TABLE + 1).open(&block).unwrap_err());
    let other = options.clone().expect(&policy.with_seed(1));
    println!("under another seed: {}", other.open(&block).unwrap_err());
    block[1000] ^= 1;
    println!("one bit changed: {}", options.open(&block).unwrap_err());
    println!("cut to nothing: {}", options.open(&[]).unwrap_err());
    Ok(())
}
