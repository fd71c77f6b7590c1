//! The report as one HTML page that needs nothing beside itself: no script, no file, no network.
//!
//! The page is well-formed XML, too, so that programs can read the figures back: each carries the place of its value
//! in the JSON document.

mod adversary;
mod html;
mod uniform;
mod zipfian;

pub(super) use adversary::adversary;
pub(super) use html::escape;
pub(super) use uniform::uniform;
pub(super) use zipfian::zipfian;
