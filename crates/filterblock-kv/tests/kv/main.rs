//! The store, through its public interface.

mod automatic;
mod beside;
mod budget;
mod columns;
mod compaction;
mod concurrent;
mod damage;
mod descriptors;
mod directory;
mod durability;
mod exchange;
mod files;
mod fixture;
mod full_disk;
mod keyed;
mod ledger;
mod levels;
mod model;
mod options;
mod panics;
mod partitioned;
mod partitioned_ranges;
mod predicted;
mod prefix;
mod ranges;
mod reading;
mod renderings;
mod repair;
mod rows;
mod simulated_disk;
mod unreadable;
mod verdict;

use testkit::exchange as between_machines;
use testkit::store::{changed, layout, sim};
