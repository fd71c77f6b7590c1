//! Partitioned filters, from outside: every small set of keys, damage to every part, errors of the writer's and of the
//! engine's, bounds in bytes and in memory.

mod build;
mod damage;
mod exhaustive;
mod lookups;
mod opened;
mod ranges;

use testkit::{assembled, extent, harness, material};
