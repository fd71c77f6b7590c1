//! A store of five sorted runs, the same for every engine, so that a query of an absent key meets five filters.

use super::{Figures, Task, figures};
use crate::cells::{Cells, num_groups};
use crate::engine::Engine;
use crate::engines::Kind;
use crate::process;
use anyhow::Result;
use serde_json::json;
use std::ops::Range;
use std::time::Instant;

/// The cells are written in sixteenths: twelve are compacted into one run; the others follow in tables of one each, all
/// of which span the whole range of keys.
const NUM_PARTS: u64 = 16;
const NUM_SETTLED: u64 = 12;

pub fn run(task: &Task, cells: &Cells) -> Result<Figures> {
    let engine = task.open()?;
    let start = Instant::now();
    for part in 0..NUM_PARTS {
        write(engine.as_ref(), cells, boundary(part, task.num_cells)..boundary(part + 1, task.num_cells))?;
        // A memtable takes no more than three parts, however an engine counts its bytes.
        if part >= NUM_SETTLED || part % 3 == 2 {
            engine.flush()?;
        }
        if part + 1 == NUM_SETTLED {
            engine.compact()?;
        }
    }
    let fill_s = start.elapsed().as_secs_f64();
    let filter_bytes = engine.filter_bytes()?;
    drop(engine);
    Ok(figures(json!({
        "fill_s": fill_s,
        "filter_mib": filter_bytes as f64 / f64::from(1 << 20),
        "bits_per_entry": filter_bytes as f64 * 8.0 / num_entries(task.subject.kind, task.num_cells) as f64,
        "disk_mib": process::disk_bytes(&task.dir)? as f64 / f64::from(1 << 20),
    })))
}

fn boundary(part: u64, num_cells: u64) -> u64 {
    num_cells * part / NUM_PARTS
}

fn write(engine: &dyn Engine, cells: &Cells, range: Range<u64>) -> Result<()> {
    range.into_iter().try_for_each(|cell| engine.put(&cells.key(cell), &cells.value(cell)))
}

/// Entries of all filters: the cells, and the prefixes in each run where an engine has filters of them.
pub fn num_entries(kind: Kind, num_cells: u64) -> u64 {
    if !kind.filters_prefixes() {
        return num_cells;
    }
    let settled = boundary(NUM_SETTLED, num_cells);
    // Cells of one group are so far apart that no table of level 0 has two.
    num_cells + num_groups(num_cells).min(settled) + (num_cells - settled)
}

#[cfg(test)]
mod tests {
    use super::{NUM_PARTS, NUM_SETTLED, boundary, num_entries};
    use crate::cells::{Cells, Order};
    use crate::engines::Kind;
    use std::collections::HashSet;

    #[test]
    fn entries_are_those_of_each_run() {
        for num_cells in [1, 15, 16, 1000, 20_000] {
            let cells = Cells::new(Order::Grouped, num_cells);
            let later = (NUM_SETTLED..NUM_PARTS).map(|part| boundary(part, num_cells)..boundary(part + 1, num_cells));
            let runs = std::iter::once(0..boundary(NUM_SETTLED, num_cells)).chain(later);
            let prefixes = |run: std::ops::Range<u64>| {
                run.map(|cell| cells.key(cell).prefix().to_vec()).collect::<HashSet<_>>().len() as u64
            };
            let num_prefixes: u64 = runs.map(prefixes).sum();
            assert_eq!(num_entries(Kind::Filterblock, num_cells), num_cells + num_prefixes);
            assert_eq!(num_entries(Kind::Fjall, num_cells), num_cells);
        }
    }
}
