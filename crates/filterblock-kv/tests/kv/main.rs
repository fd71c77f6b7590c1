//! The store, through its public interface.

mod automatic;
mod beside;
#[path = "../../../../tests/exchange/mod.rs"]
mod between_machines;
mod budget;
#[path = "../sim/changed.rs"]
mod changed;
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
#[expect(dead_code, reason = "the fuzz targets need all of it")]
#[path = "../layout/mod.rs"]
mod layout;
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
#[expect(dead_code, reason = "each test needs a part of the simulated disk")]
#[path = "../sim/disk/mod.rs"]
mod sim;
mod unreadable;
mod verdict;
