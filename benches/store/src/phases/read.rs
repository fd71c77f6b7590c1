//! A loaded store is opened, queried for present cells and for absent ones, and scanned.

use super::{Figures, Task, figures, get_absent, get_present, peak_mib};
use crate::cells::{Cells, ROW_LEN, Random};
use crate::engine::Engine;
use crate::latencies::Latencies;
use crate::process;
use anyhow::{Result, ensure};
use serde_json::json;
use std::time::Instant;

pub fn run(task: &Task, cells: &Cells) -> Result<Figures> {
    let mut random = Random::new(task.seed);
    let mut draw = || (0..task.num_gets).map(|_| random.below(task.num_cells)).collect::<Vec<_>>();
    let (present, absent) = (draw(), draw());
    let baseline = process::resident_bytes()?;
    let start = Instant::now();
    let engine = task.open()?;
    let open_ms = start.elapsed().as_secs_f64() * 1e3;
    let engine = engine.as_ref();

    let present = Answers::to(&present, |cell| get_present(engine, cells, cell))?;
    let absent = Answers::to(&absent, |index| get_absent(engine, &cells.absent_key(index)))?;
    let scan_ns = scan(engine, cells, task)?;
    Ok(figures(json!({
        "open_ms": open_ms,
        "present_ns": present.mean_ns,
        "present_cpu_ns": present.cpu_ns,
        "present_p50_ns": present.latencies.quantile_ns(0.5),
        "present_p99_ns": present.latencies.quantile_ns(0.99),
        "absent_ns": absent.mean_ns,
        "absent_cpu_ns": absent.cpu_ns,
        "absent_p50_ns": absent.latencies.quantile_ns(0.5),
        "absent_p99_ns": absent.latencies.quantile_ns(0.99),
        "scan_ns": scan_ns,
        "peak_mib": peak_mib(baseline)?,
    })))
}

struct Answers {
    /// Of a pass that reads the clock at its start and end only.
    mean_ns: f64,
    /// The processor time of that pass.
    cpu_ns: f64,
    /// Of a pass that reads the clock around each query, which adds about 20 ns to each.
    latencies: Latencies,
}

impl Answers {
    /// Makes all queries three times; the first pass warms the cache and is not timed.
    fn to(cells: &[u64], query: impl Fn(u64) -> Result<()>) -> Result<Self> {
        cells.iter().try_for_each(|&cell| query(cell))?;
        let (start, cpu) = (Instant::now(), process::thread_processor_ns());
        cells.iter().try_for_each(|&cell| query(cell))?;
        let cpu_ns = (process::thread_processor_ns() - cpu) as f64 / cells.len() as f64;
        let mean_ns = start.elapsed().as_nanos() as f64 / cells.len() as f64;
        let mut latencies = Latencies::new();
        for &cell in cells {
            let start = Instant::now();
            query(cell)?;
            latencies.add(start.elapsed().as_nanos() as u64);
        }
        Ok(Self { mean_ns, cpu_ns, latencies })
    }
}

/// Nanoseconds per cell of a scan over everything. Rows must increase, and be as many as were written.
fn scan(engine: &dyn Engine, cells: &Cells, task: &Task) -> Result<f64> {
    let (mut num_rows, mut is_rising, mut last) = (0, true, [0; ROW_LEN]);
    let start = Instant::now();
    engine.scan(&mut |row, value| {
        is_rising &= row > &last[..] && value.len() == cells.value(0).len();
        last.copy_from_slice(row);
        num_rows += 1;
    })?;
    let ns = start.elapsed().as_nanos() as f64 / task.num_cells as f64;
    ensure!(is_rising, "a scan is out of order");
    ensure!(num_rows == task.num_cells, "a scan has {num_rows} of {} cells", task.num_cells);
    Ok(ns)
}
