//! One writer fills the store while readers query what is already written; then everything is compacted.

use super::{Figures, Task, figures, get_present, peak_mib};
use crate::cells::{CELL_LEN, Cells, Random};
use crate::engine::Engine;
use crate::latencies::Latencies;
use crate::process;
use anyhow::{Result, anyhow};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Shared by writer and readers.
#[derive(Default)]
struct Progress {
    num_written: AtomicU64,
    ended: AtomicBool,
}

pub fn run(task: &Task, cells: &Cells) -> Result<Figures> {
    let (baseline, written) = (process::resident_bytes()?, process::written_bytes()?);
    let engine = task.open()?;
    let start = Instant::now();
    let ((puts, puts_cpu_ns), gets) = write_and_read(task, cells, engine.as_ref())?;
    let load_seconds = start.elapsed().as_secs_f64();
    let load_cpu_seconds = process::processor_seconds()?;
    let start = Instant::now();
    engine.flush()?;
    engine.compact()?;
    let compact_seconds = start.elapsed().as_secs_f64();

    let peak_mib = peak_mib(baseline)?;
    let configured_mib = (task.settings.cache_bytes + task.settings.filter_bytes) as f64 / f64::from(1 << 20);
    drop(engine);
    let user_bytes = task.num_cells * CELL_LEN as u64;
    let written = process::written_bytes()? - written;
    Ok(figures(json!({
        "cells_per_s": task.num_cells as f64 / load_seconds,
        "put_cpu_us": puts_cpu_ns as f64 / task.num_cells as f64 / 1e3,
        "put_p50_us": puts.quantile_ns(0.5) as f64 / 1e3,
        "put_p99.9_us": puts.quantile_ns(0.999) as f64 / 1e3,
        "put_max_ms": puts.max_ns() as f64 / 1e6,
        "gets_per_s": gets.total() as f64 / load_seconds,
        "get_p99.9_us": gets.quantile_ns(0.999) as f64 / 1e3,
        "get_max_ms": gets.max_ns() as f64 / 1e6,
        "load_cpu_s": load_cpu_seconds,
        "compact_s": compact_seconds,
        "write_amplification": written as f64 / user_bytes as f64,
        "disk_mib": process::disk_bytes(&task.dir)? as f64 / f64::from(1 << 20),
        "peak_mib": peak_mib,
        "other_mib": peak_mib - configured_mib,
    })))
}

fn write_and_read(task: &Task, cells: &Cells, engine: &dyn Engine) -> Result<((Latencies, u64), Latencies)> {
    let progress = Progress::default();
    thread::scope(|scope| {
        let reader = |index| {
            let (progress, seed) = (&progress, task.seed + 1 + index as u64);
            scope.spawn(move || read(cells, engine, progress, seed))
        };
        let readers: Vec<_> = (0..task.num_readers).map(reader).collect();
        let puts = write(task, cells, engine, &progress);
        progress.ended.store(true, Ordering::Relaxed);
        let mut gets = Latencies::new();
        for reader in readers {
            gets.merge(&reader.join().map_err(|_| anyhow!("a reader has panicked"))??);
        }
        Ok((puts?, gets))
    })
}

/// Latencies of the puts, and the thread's processor time for all of them.
fn write(task: &Task, cells: &Cells, engine: &dyn Engine, progress: &Progress) -> Result<(Latencies, u64)> {
    let (mut latencies, cpu_ns) = (Latencies::new(), process::thread_processor_ns());
    let mut last = Instant::now();
    for cell in 0..task.num_cells {
        engine.put(&cells.key(cell), &cells.value(cell))?;
        progress.num_written.store(cell + 1, Ordering::Release);
        // One clock reading per cell: making the next cell counts as part of the put, for every engine alike.
        let now = Instant::now();
        latencies.add(now.duration_since(last).as_nanos() as u64);
        last = now;
    }
    Ok((latencies, process::thread_processor_ns() - cpu_ns))
}

fn read(cells: &Cells, engine: &dyn Engine, progress: &Progress, seed: u64) -> Result<Latencies> {
    let (mut latencies, mut random) = (Latencies::new(), Random::new(seed));
    while !progress.ended.load(Ordering::Relaxed) {
        let num_written = progress.num_written.load(Ordering::Acquire);
        if num_written == 0 {
            thread::yield_now();
            continue;
        }
        let cell = random.below(num_written);
        let start = Instant::now();
        get_present(engine, cells, cell)?;
        latencies.add(start.elapsed().as_nanos() as u64);
    }
    Ok(latencies)
}
