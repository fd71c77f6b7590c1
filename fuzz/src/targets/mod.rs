//! The targets.

mod built;
mod compact;
mod filters;
mod log;
mod manifest;
mod open;
mod repaired;
mod table;

pub use built::built;
pub use compact::compact;
pub use filters::filters;
pub use log::{NUMBER as LOG_NUMBER, log};
pub use manifest::manifest;
pub use open::open;
pub use repaired::repaired;
pub use table::table;

/// A target's name and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets, by name.
pub const ALL: [Target; 8] = [
    ("built", built),
    ("compact", compact),
    ("filters", filters),
    ("log", log),
    ("manifest", manifest),
    ("open", open),
    ("repaired", repaired),
    ("table", table),
];
