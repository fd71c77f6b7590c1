//! What does a question cost where the filter is far? For each kind at 10 bits per key, with 16 M keys: 20 MB, out of the
//! caches that a core has to itself, and more pages than its translations reach. With the feature `huge-pages` they reach.

mod common;
#[path = "common/questions.rs"]
mod questions;
#[path = "common/rows.rs"]
mod rows;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    questions::questions(&mut criterion, 16_000_000);
    criterion.final_summary();
}
