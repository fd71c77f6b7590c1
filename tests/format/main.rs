//! The format, from outside: bytes, answers, rates and damage, against an oracle that shares no code with the library.

mod accepted;
mod adversary;
mod agreement;
mod aligned;
mod appendix;
mod assembled;
mod batches;
#[path = "../exchange/mod.rs"]
mod between_machines;
mod choice;
mod choices;
mod control;
mod exchange;
#[path = "../extent/mod.rs"]
mod extent;
mod facts;
mod fuse;
mod golden;
#[path = "../partition/harness.rs"]
#[expect(dead_code, reason = "tests/partition needs more of it")]
mod harness;
mod hostile;
#[expect(
    clippy::big_endian_bytes,
    clippy::little_endian_bytes,
    reason = "keys have the order of numbers; the number of a block is hashed as the document says"
)]
mod integer_oracle;
mod keyed;
mod level_1;
mod material;
mod misuse;
mod nothing;
mod oracle;
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
mod range_oracle;
#[expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]
mod range_vectors;
#[expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]
mod ranges;
mod rates;
#[expect(dead_code, reason = "tests/battery needs more of it")]
mod readers;
mod releases;
mod ribbon;
mod safe_keys;
mod sequences;
mod spec;
mod specification;
mod tables;
mod thin;
mod trailers;
mod union;
mod writer;
