//! The reader alone answers the conformance kit: `cargo test -p filterblock --no-default-features --test
//! kit_reader`. It has only the portable code, which defines what the others do, and no builder; so mutants of the
//! reader are tested by it (.cargo/mutants-kit.toml).

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
