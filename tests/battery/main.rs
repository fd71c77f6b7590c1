//! The first two promises of the format, with counts. Whatever happens to a block's bytes, a reader returns a typed
//! error or the answers that the format defines for them, without panic or allocation. No stored key is ever denied,
//! and absent keys pass at the predicted rate.
//!
//! Meant for release builds: `cargo test --release --test battery -- --nocapture` takes a minute and a half on a core,
//! and prints its counts in lines that begin with `counted: `. [`extent`] chooses how much is tried. Everything follows
//! from fixed seeds.

mod allocation;
#[expect(dead_code, reason = "tests/format assembles blocks")]
#[path = "../format/assembled.rs"]
mod assembled;
mod by_bits;
mod compact;
mod errors;
#[path = "../extent/mod.rs"]
mod extent;
mod fields;
mod flips;
mod lengths;
#[expect(dead_code, reason = "tests/format needs more of it")]
#[path = "../format/material.rs"]
mod material;
#[expect(dead_code, reason = "fuzz and tests/format need more of it")]
#[path = "../format/oracle/mod.rs"]
mod oracle;
mod present;
mod rates;
#[expect(dead_code, reason = "the second reader needs more of it")]
#[path = "../format/readers.rs"]
mod readers;
mod reading;
mod report;
#[expect(dead_code, reason = "tests/kit checks indexes, too")]
#[path = "../format/rules/mod.rs"]
mod rules;
mod samples;
mod shapes;
mod statistics;
#[path = "../format/trailers.rs"]
mod trailers;

#[global_allocator]
static ALLOCATOR: allocation::Counting = allocation::Counting;
