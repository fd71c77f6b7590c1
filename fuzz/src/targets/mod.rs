//! The targets.

mod built;
mod compact;
mod filters;
mod log;
mod manifest;
mod open;
mod partitioned;
mod range;
mod repaired;
mod set;
mod table;

pub use built::built;
pub use compact::compact;
pub use filters::filters;
pub use log::{NUMBER as LOG_NUMBER, log};
pub use manifest::manifest;
pub use open::open;
pub use partitioned::partitioned;
pub use range::range;
pub use repaired::repaired;
pub use set::set;
pub use table::table;

/// How far an input got. A defect is a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// The input does not describe anything to try.
    Nothing,
    /// It was refused with an error.
    Refused,
    /// What it describes opened; some of it may have been refused later.
    Opened,
    /// Every check passed and every answer was compared.
    Compared,
}

/// A target's name and its function.
pub type Target = (&'static str, fn(&[u8]) -> Reached);

/// All targets, by name.
pub const ALL: [Target; 11] = [
    ("built", built),
    ("compact", compact),
    ("filters", filters),
    ("log", log),
    ("manifest", manifest),
    ("open", open),
    ("partitioned", partitioned),
    ("range", range),
    ("repaired", repaired),
    ("set", set),
    ("table", table),
];
