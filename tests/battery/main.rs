//! The first two promises of the format, with counts: whatever happens to a block's bytes, a reader ends with a typed
//! error or with the answers that the format defines for them, without panic and without allocation; no stored key is
//! ever denied, and absent ones pass at the rate that was predicted.
//!
//! Meant for release builds: `cargo test --release --test battery -- --nocapture` takes a minute on a core, and
//! prints what it tried in lines that begin with `counted: `. In debug builds the plans are small, with
//! `FILTERBLOCK_LONG=1` they are long ([`plan`]). Everything follows from fixed seeds.

mod allocation;
mod by_bits;
mod compact;
mod errors;
mod fields;
mod flips;
mod lengths;
#[expect(dead_code, reason = "tests/format needs more of it")]
#[path = "../format/material.rs"]
mod material;
#[expect(dead_code, reason = "fuzz and tests/format need more of it")]
#[path = "../format/oracle.rs"]
mod oracle;
mod plan;
mod present;
mod rates;
#[expect(dead_code, reason = "the second reader needs more of it")]
#[path = "../format/readers.rs"]
mod readers;
mod reading;
mod rules;
mod samples;
mod shapes;
mod statistics;

#[global_allocator]
static ALLOCATOR: allocation::Counting = allocation::Counting;
