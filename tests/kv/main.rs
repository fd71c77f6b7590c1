//! The store, through its public interface.

#[cfg(feature = "cli")]
mod adversary;
mod automatic;
mod beside;
mod budget;
#[path = "../sim/changed.rs"]
mod changed;
mod columns;
mod concurrent;
mod damage;
#[cfg(feature = "cli")]
mod demo;
mod descriptors;
mod directory;
mod durability;
#[cfg(feature = "cli")]
mod elastic;
mod files;
mod full_disk;
mod keyed;
mod ledger;
mod levels;
mod model;
mod odd;
mod panics;
mod partitioned;
mod predicted;
mod prefix;
mod renderings;
mod repair;
#[cfg(feature = "cli")]
mod report;
#[cfg(feature = "cli")]
mod residence;
mod rows;
#[expect(dead_code, reason = "each test needs a part of the simulated disk")]
#[path = "../sim/disk/mod.rs"]
mod sim;
mod unreadable;
#[cfg(feature = "cli")]
mod zipfian;
