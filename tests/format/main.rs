//! The format, from outside: bytes, answers, rates and damage, against an oracle that shares no code with the library.

mod accepted;
mod adversary;
mod agreement;
mod aligned;
mod appendix;
mod batches;
mod choice;
mod choices;
mod control;
mod exchange;
mod facts;
mod fuse;
mod golden;
mod hostile;
mod keyed;
mod level_1;
mod misuse;
mod nothing;
mod order;
mod partitioned;
mod policy;
#[expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]
mod range_bounds;
#[expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]
mod range_integers;
#[expect(
    clippy::big_endian_bytes,
    clippy::little_endian_bytes,
    reason = "the bytes of keys have the order of numbers, or, by mistake, not"
)]
mod range_misuse;
#[expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]
mod range_vectors;
#[expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]
mod ranges;
mod rates;
mod releases;
mod ribbon;
mod safe_keys;
mod sequences;
mod spec;
mod tables;
mod thin;
mod union;
mod writer;

use testkit::{
    assembled, exchange as between_machines, extent, harness, integer_oracle, material, oracle, range_oracle, readers,
    specification, trailers,
};
