//! What a child process does with one engine.

mod load;
mod read;

use crate::cells::{Cells, Order};
use crate::engine::{Engine, Settings};
use crate::engines::{self, Kind};
use crate::process;
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// What is measured in one process: filling a store, or querying a full one.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Cells are written while readers query them, then everything is compacted.
    Load,
    /// The store is opened again and queried, with a cache for all of its data.
    ReadCached,
    /// The same with a cache for a sixteenth of its data. The rest is in the operating system's page cache.
    ReadSmall,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Load, Self::ReadCached, Self::ReadSmall];

    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::ReadCached => "read, all cached",
            Self::ReadSmall => "read, small cache",
        }
    }
}

/// Everything that a child process needs to know.
#[derive(Clone, Serialize, Deserialize)]
pub struct Task {
    pub phase: Phase,
    pub kind: Kind,
    pub order: Order,
    pub dir: PathBuf,
    pub settings: Settings,
    pub num_cells: u64,
    pub num_readers: usize,
    pub num_gets: u64,
    pub seed: u64,
}

/// Figures by name; the names end in their units.
pub type Figures = Map<String, Value>;

impl Task {
    /// # Errors
    /// If the engine fails, or gives a wrong answer: then none of its figures means anything.
    pub fn run(&self) -> Result<Figures> {
        let cells = Cells::new(self.order);
        match self.phase {
            Phase::Load => load::run(self, &cells),
            Phase::ReadCached | Phase::ReadSmall => read::run(self, &cells),
        }
    }

    fn open(&self) -> Result<Box<dyn Engine>> {
        engines::open(self.kind, &self.dir, &self.settings)
    }
}

/// Gets a cell that the store holds, and checks its value.
fn get_present(engine: &dyn Engine, cells: &Cells, cell: u64) -> Result<()> {
    let mut is_right = false;
    engine.get(&cells.key(cell), &mut |value| is_right = value.is_some_and(|value| cells.is_value(cell, value)))?;
    ensure!(is_right, "a wrong answer for cell {cell}");
    Ok(())
}

/// The most memory resident at any time, less what was resident before the store was opened.
fn peak_mib(baseline_bytes: u64) -> Result<f64> {
    Ok(process::peak_resident_bytes()?.saturating_sub(baseline_bytes) as f64 / f64::from(1 << 20))
}
