//! How much is tried, and the least counts that must result.

use std::io::Write as _;

/// The first seed: 0, or the value of the environment variable.
pub(crate) fn first_seed() -> u64 {
    std::env::var("FILTERBLOCK_CRASH_SEED").map_or(0, |seed| seed.parse().expect("a number"))
}

/// Prints the counts of a successful run, not through the macros, so that they are not captured.
pub(crate) fn report(counts: &str) {
    let line = format!("\ncounted: {counts}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("standard error");
}

/// Crashes after every operation.
#[derive(Debug)]
pub(crate) struct CrashPlan {
    pub(crate) num_workloads: usize,
    pub(crate) num_steps: usize,
    /// The most distinct images after each operation.
    pub(crate) images_per_operation: usize,
    /// One image in this many has its filters verified, which takes longer than the rest.
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

const IS_SMALL: bool = cfg!(debug_assertions);

/// For each way to sync.
pub(crate) const CRASHES: CrashPlan = CrashPlan {
    num_workloads: if IS_SMALL { 1 } else { 10 },
    num_steps: if IS_SMALL { 40 } else { 70 },
    images_per_operation: 12,
    images_per_verification: 16,
    images_per_second_crash: 150,
    images_per_recovery_operation: 5,
    num_images_min: if IS_SMALL { 1000 } else { 20_000 },
    deepest_level_min: 2,
    num_second_crashes_min: if IS_SMALL { 100 } else { 8000 },
};

/// For each way to sync.
pub(crate) const FAULTS: FaultPlan = FaultPlan {
    num_workloads: if IS_SMALL { 1 } else { 6 },
    num_steps_before: 40,
    num_trials_min: if IS_SMALL { 800 } else { 10_000 },
};

// The least totals, of both settings of durability together.
const _: () = assert!(IS_SMALL || (2 * CRASHES.num_images_min >= 30_000 && 2 * FAULTS.num_trials_min >= 20_000));
