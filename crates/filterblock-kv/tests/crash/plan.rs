//! How much is tried, and the counts that must be reached.

use crate::extent::by_extent;
use std::io::Write as _;

/// The first seed: 0, or the value of `FILTERBLOCK_CRASH_SEED`.
pub(crate) fn first_seed() -> u64 {
    std::env::var("FILTERBLOCK_CRASH_SEED").map_or(0, |seed| seed.parse().expect("a number"))
}

/// Prints the counts of a test that passed. Not through the macros, whose output the harness captures.
pub(crate) fn report(counts: &str) {
    let line = format!("\ncounted: {counts}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("standard error");
}

/// Crashes after every operation.
#[derive(Debug)]
pub(crate) struct CrashPlan {
    pub(crate) num_workloads: usize,
    pub(crate) num_steps: usize,
    /// The most images after each operation.
    pub(crate) images_per_operation: usize,
    /// One image in this many has its filters probed for every cell, which takes longer than the rest.
    pub(crate) images_per_verification: u64,
    /// One image in this many is crashed again at each operation of its recovery.
    pub(crate) images_per_second_crash: u64,
    pub(crate) images_per_recovery_operation: usize,
    pub(crate) num_images_min: u64,
    pub(crate) num_second_crashes_min: u64,
    pub(crate) deepest_level_min: usize,
}

/// Faults at every operation.
#[derive(Debug)]
pub(crate) struct FaultPlan {
    pub(crate) num_workloads: usize,
    /// Steps that fill the store before the workload with faults.
    pub(crate) num_steps_before: usize,
    pub(crate) num_trials_min: u64,
}

const SMALL_CRASHES: CrashPlan = CrashPlan {
    num_workloads: 1,
    num_steps: 40,
    images_per_operation: 12,
    images_per_verification: 16,
    images_per_second_crash: 150,
    images_per_recovery_operation: 5,
    num_images_min: 1000,
    num_second_crashes_min: 100,
    deepest_level_min: 2,
};

const FULL_CRASHES: CrashPlan = CrashPlan {
    num_workloads: 10,
    num_steps: 70,
    num_images_min: 20_000,
    num_second_crashes_min: 8000,
    ..SMALL_CRASHES
};

const SMALL_FAULTS: FaultPlan = FaultPlan { num_workloads: 1, num_steps_before: 40, num_trials_min: 800 };
const FULL_FAULTS: FaultPlan = FaultPlan { num_workloads: 6, num_steps_before: 40, num_trials_min: 10_000 };

// Of the full plans, both ways to sync together.
const _: () = assert!(2 * FULL_CRASHES.num_images_min >= 30_000 && 2 * FULL_FAULTS.num_trials_min >= 20_000);

/// For each way to sync.
pub(crate) fn crashes() -> CrashPlan {
    by_extent(SMALL_CRASHES, FULL_CRASHES, FULL_CRASHES)
}

/// For each way to sync.
pub(crate) fn faults() -> FaultPlan {
    by_extent(SMALL_FAULTS, FULL_FAULTS, FULL_FAULTS)
}
