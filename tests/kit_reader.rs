//! The reader alone answers the conformance kit: `cargo test --no-default-features --test kit_reader`. With the
//! portable code only, which defines what the others do, and without a builder; so it is what mutants of the reader are
//! tested by (.cargo/mutants-kit.toml).

#[path = "kit/answers.rs"]
mod answers;
#[path = "format/assembled.rs"]
#[expect(dead_code, reason = "tests/format assembles blocks")]
mod assembled;
#[path = "kit/library.rs"]
mod library;
#[path = "format/material.rs"]
#[expect(dead_code, reason = "tests/format uses more of it")]
mod material;
#[path = "format/oracle/mod.rs"]
#[expect(dead_code, reason = "tests/format uses more of it")]
mod oracle;
#[path = "format/readers.rs"]
#[expect(dead_code, reason = "tests/battery needs more of it")]
mod readers;
#[path = "format/rules/mod.rs"]
#[expect(dead_code, reason = "tests/battery needs more of it")]
mod rules;
#[path = "kit/vectors.rs"]
mod vectors;
