//! How much is tried, and what it must come to.

use std::io::Write as _;

/// The first seed: 0, or what the environment variable says, to try others.
pub(crate) fn first_seed() -> u64 {
    std::env::var("FILTERBLOCK_CRASH_SEED").map_or(0, |seed| seed.parse().expect("a number"))
}

/// Prints what was tried, when all is well: not through the macros, so that it is seen.
pub(crate) fn report(counts: &str) {
    let line = format!("\ncounted: {counts}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("standard error");
}

/// Crashes after every operation.
#[derive(Debug)]
pub(crate) struct CrashPlan {
    pub(crate) num_workloads: usize,
    pub(crate) num_steps: usize,
    /// Images after each operation, if it leaves so many different ones.
    pub(crate) images_per_operation: usize,
    /// Of so many images the filters of one are asked for all they hold, which takes longer than the rest.
    pub(crate) images_per_verification: u64,
    /// Of so many images one is crashed again at each operation of its recovery.
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
    /// Steps that fill the store before the workload that meets the faults.
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

// What the whole is to come to: both ways to sync together.
const _: () = assert!(IS_SMALL || (2 * CRASHES.num_images_min >= 30_000 && 2 * FAULTS.num_trials_min >= 20_000));
