//! The first two promises of the format, with counts. Whatever happens to a block's bytes, a reader returns a typed
//! error or the answers that the format defines for them, without panic or allocation. No stored key is ever denied,
//! and absent keys pass at the predicted rate.
//!
//! Meant for release builds: `cargo test --release --test battery -- --nocapture` takes a minute and a half on a core,
//! and prints its counts in lines that begin with `counted: `. [`extent`] chooses how much is tried. Everything follows
//! from fixed seeds.

mod allocation;
mod by_bits;
mod compact;
mod errors;
mod fields;
mod flips;
mod lengths;
mod present;
mod rates;
mod reading;
mod report;
mod samples;
mod shapes;
mod statistics;

use testkit::{assembled, extent, material, oracle, readers, rules, trailers};

#[global_allocator]
static ALLOCATOR: allocation::Counting = allocation::Counting;
