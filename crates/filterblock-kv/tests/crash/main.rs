//! The store on a storage that crashes and fails at every operation.
//!
//! Everything follows from seeds and nothing from time: a message names the seed, the step, the operation and the image
//! or the fault, and the same test meets them again. `FILTERBLOCK_CRASH_SEED=1000` begins with that seed instead of 0,
//! to try others. [`plan`] has the sizes; the counts are printed.

mod crashes;
mod faults;
mod model;
mod plan;
mod workload;

use filterblock_kv::Durability;
use testkit::extent;
use testkit::store::sim;

#[test]
fn crashes_lose_nothing_acknowledged() {
    crashes::run(&plan::crashes(), Durability::Always);
}

#[test]
fn crashes_without_syncs_leave_a_prefix_of_history() {
    crashes::run(&plan::crashes(), Durability::Never);
}

#[test]
fn faults_lose_nothing_acknowledged() {
    faults::run(&plan::faults(), Durability::Always);
}

#[test]
fn faults_without_syncs_leave_a_prefix_of_history() {
    faults::run(&plan::faults(), Durability::Never);
}

#[test]
fn seeds_decide_everything() {
    crashes::check_that_seeds_decide(Durability::Always);
    crashes::check_that_seeds_decide(Durability::Never);
}
