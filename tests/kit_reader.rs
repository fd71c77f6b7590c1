//! The reader alone answers the conformance kit: `cargo test --no-default-features --test kit_reader`. With the
//! portable code only, which defines what the others do, and without a builder; so it is what mutants of the reader are
//! tested by (.cargo/mutants-kit.toml).

#[path = "kit/answers.rs"]
mod answers;
#[path = "kit/library.rs"]
#[expect(dead_code, reason = "tests/kit makes requests, too")]
mod library;
#[path = "format/material.rs"]
#[expect(dead_code, reason = "tests/format uses more of it")]
mod material;
#[path = "format/readers.rs"]
#[expect(dead_code, reason = "tests/battery needs more of it")]
mod readers;
#[path = "format/rows.rs"]
mod rows;

/// Of tests/format/oracle, what rows need.
mod oracle {
    pub fn int(bytes: &[u8]) -> u64 {
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }
}
