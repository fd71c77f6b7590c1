//! Deliberate mistakes that show only on other machines. Where words have 64 bits and the least significant byte comes
//! first, all of these tests pass; where either differs, one of them must fail, or the machine is not what it was taken
//! for.

use crate::golden;
use crate::*;

fn golden_block(name: &str) -> (Vec<Vec<u8>>, Vec<u8>) {
    let case = golden::cases().into_iter().find(|case| case.name == name).expect("a golden block");
    let keys = case.keys();
    let block = case.build(&keys);
    (keys, block)
}

/// Fails where the most significant byte comes first.
#[test]
#[ignore = "a deliberate mistake: the header's fields in the machine's own byte order"]
fn control_byte_order() {
    #[expect(clippy::host_endian_bytes, reason = "the mistake")]
    let field = |block: &[u8], at: usize| u64::from_ne_bytes(block[at..at + 8].try_into().expect("eight bytes"));
    let (keys, block) = golden_block("blocked-thousand-10bits");
    assert_eq!(field(&block, 24), keys.len() as u64, "num_entries");
    assert_eq!(field(&block, 32), block.len() as u64 - 64, "payload_len");
}

/// Fails where a `usize` has 32 bits.
#[test]
#[ignore = "a deliberate mistake: hashes in machine words"]
fn control_word_size() {
    const MULTIPLIER: usize = 0xf135_7aea_2e62_a9c5_u64 as usize;
    let (keys, block) = golden_block("bloom-thousand-10bits");
    let hasher = OpenOptions::new().open(&block).expect("an intact block").entry_hasher().hasher().clone();
    let (num_probes, num_bits, bits) = (block[40], int(&block[44..52]), &block[64..]);
    for key in keys {
        let mut x = hasher.hash(&key).get() as usize;
        for _ in 0..num_probes {
            let bit = ((x as u128 * u128::from(num_bits)) >> usize::BITS) as usize;
            assert!(bits[bit / 8] >> (bit % 8) & 1 == 1, "a false negative");
            x = x.wrapping_mul(MULTIPLIER);
        }
    }
}
