//! The reader alone answers the conformance kit: `cargo test -p filterblock --no-default-features --test
//! kit_reader`. It has only the portable code, which defines what the others do, and no builder; so mutants of the
//! reader are tested by it (.cargo/mutants-kit.toml).

#[path = "kit/answers.rs"]
mod answers;

use testkit::kit::{library, vectors};
