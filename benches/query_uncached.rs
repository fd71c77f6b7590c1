//! What does a query cost if the filter is not cached? For each kind at 10 bits per key, with 16 M keys: 20 MB, larger
//! than the caches that a core has to itself, and more pages than the TLB covers. With the feature `huge-pages` it
//! covers them.

mod common;
#[path = "common/queries.rs"]
mod queries;
#[path = "common/rows.rs"]
mod rows;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    queries::queries(&mut criterion, 16_000_000);
    criterion.final_summary();
}
