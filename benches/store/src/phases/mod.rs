//! The phases of a child process with one engine.

mod fill;
mod load;
mod queries;
mod read;

pub use fill::num_entries;
pub use queries::Popularity;

use crate::cells::{Cells, Key, Order};
use crate::engine::{Engine, Settings};
use crate::engines::{self, Kind};
use crate::filters::Filters;
use crate::process;
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The measurement of one process.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Cells are written while readers query them, then everything is compacted
    Load,
    /// The loaded store is opened again and queried, with a cache for all of its data
    ReadCached,
    /// The same with a cache for a sixteenth of its data; the rest is in the operating system's page cache
    ReadSmall,
    /// A store with some filters is written, for the phases below.
    #[value(skip)]
    Fill,
    /// Gets of absent keys
    Absent,
    /// Gets of present keys
    Present,
    /// Scans of prefixes that no row has
    PrefixAbsent,
    /// Scans of prefixes that eight rows have
    PrefixPresent,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::ReadCached => "read, all cached",
            Self::ReadSmall => "read, small cache",
            Self::Fill => "stores with filters",
            Self::Absent => "gets of absent keys",
            Self::Present => "gets of present keys",
            Self::PrefixAbsent => "scans of absent prefixes",
            Self::PrefixPresent => "scans of present prefixes",
        }
    }

    /// Whether it compares stores; the others compare filters.
    pub fn compares_stores(self) -> bool {
        matches!(self, Self::Load | Self::ReadCached | Self::ReadSmall)
    }
}

/// The measured subject: a line of a table.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    pub phase: Phase,
    pub kind: Kind,
    pub order: Order,
    pub filters: Filters,
    /// Of the queried keys; `None` in phases without that choice.
    pub popularity: Option<Popularity>,
}

impl Subject {
    /// The title of its table.
    pub fn title(&self) -> String {
        match self.popularity {
            None if self.phase.compares_stores() => format!("{} order: {}", self.order.name(), self.phase.name()),
            None => self.phase.name().to_owned(),
            Some(Popularity::Uniform) => format!("{}, uniform", self.phase.name()),
            Some(Popularity::Zipfian) => format!("{}, Zipfian", self.phase.name()),
        }
    }

    /// The label of its line.
    pub fn label(&self) -> String {
        let engine = self.kind.name();
        if self.phase.compares_stores() { engine.to_owned() } else { format!("{engine}: {}", self.filters.label()) }
    }
}

/// Everything that a child process needs to know.
#[derive(Clone, Serialize, Deserialize)]
pub struct Task {
    pub subject: Subject,
    pub dir: PathBuf,
    pub settings: Settings,
    /// Bytes for block cache and filters together. If set, the page cache is emptied again and again.
    pub memory_bytes: Option<u64>,
    pub num_cells: u64,
    pub num_readers: usize,
    pub num_gets: u64,
    pub seed: u64,
}

/// Figures by name; the names end in their units.
pub type Figures = Map<String, Value>;

/// The members of a JSON object.
fn figures(object: Value) -> Figures {
    match object {
        Value::Object(figures) => figures,
        _ => Figures::new(),
    }
}

impl Task {
    /// # Errors
    /// If the engine fails, or gives a wrong answer: then none of its figures means anything.
    pub fn run(&self) -> Result<Figures> {
        let cells = Cells::new(self.subject.order, self.num_cells);
        match self.subject.phase {
            Phase::Load => load::run(self, &cells),
            Phase::ReadCached | Phase::ReadSmall => read::run(self, &cells),
            Phase::Fill => fill::run(self, &cells),
            Phase::Absent | Phase::Present | Phase::PrefixAbsent | Phase::PrefixPresent => queries::run(self, &cells),
        }
    }

    fn open(&self) -> Result<Box<dyn Engine>> {
        engines::open(self.subject.kind, &self.dir, &self.settings)
    }
}

/// Gets a cell that the store holds, and checks its value.
fn get_present(engine: &dyn Engine, cells: &Cells, cell: u64) -> Result<()> {
    let mut is_right = false;
    engine.get(&cells.key(cell), &mut |value| is_right = value.is_some_and(|value| cells.is_value(cell, value)))?;
    ensure!(is_right, "a wrong answer for cell {cell}");
    Ok(())
}

/// Gets a key that the store does not hold.
fn get_absent(engine: &dyn Engine, key: &Key) -> Result<()> {
    let mut is_right = false;
    engine.get(key, &mut |value| is_right = value.is_none())?;
    ensure!(is_right, "a value for the absent key {}", String::from_utf8_lossy(key.joined()));
    Ok(())
}

/// The most memory resident at any time, less what was resident before the store was opened.
fn peak_mib(baseline_bytes: u64) -> Result<f64> {
    Ok(process::peak_resident_bytes()?.saturating_sub(baseline_bytes) as f64 / f64::from(1 << 20))
}
