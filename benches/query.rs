//! What does a query cost if the filter is cached? For each kind at 10 bits per key, with a filter in the first-level
//! caches (10 k keys, 12.5 kB) and one in or near the second level (1 M keys, 1.25 MB); hashing the key is part of the
//! query.

mod common;
#[path = "common/queries.rs"]
mod queries;
#[path = "common/rows.rs"]
mod rows;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    [10_000, 1_000_000].into_iter().for_each(|num_members| queries::queries(&mut criterion, num_members));
    criterion.final_summary();
}
