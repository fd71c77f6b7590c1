//! Partitioned filters, from outside: every small set of keys, damage to every part, errors of the writer's and of the
//! engine's, bounds in bytes and in memory.

#[expect(dead_code, reason = "tests/format needs more of it")]
#[path = "../format/assembled.rs"]
mod assembled;
mod build;
mod damage;
mod exhaustive;
#[path = "../extent/mod.rs"]
mod extent;
mod harness;
mod lookups;
#[expect(dead_code, reason = "tests/format needs more of it")]
#[path = "../format/material.rs"]
mod material;
mod opened;
#[expect(dead_code, reason = "fuzz and tests/format need more of it")]
#[path = "../format/oracle/mod.rs"]
mod oracle;
mod ranges;
