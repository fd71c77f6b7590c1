//! What does a question cost where the filter is near? For each kind at 10 bits per key, with a filter in the first caches
//! (10 k keys, 12.5 kB) and one in or near the second (1 M keys, 1.25 MB); hashing the key is part of the question.

mod common;
#[path = "common/questions.rs"]
mod questions;
#[path = "common/rows.rs"]
mod rows;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    [10_000, 1_000_000].into_iter().for_each(|num_members| questions::questions(&mut criterion, num_members));
    criterion.final_summary();
}
