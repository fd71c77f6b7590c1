//! The format, from outside: bytes, answers, rates and damage, against an oracle that shares no code with the library.

#[expect(clippy::big_endian_bytes, reason = "the bytes of keys have the order of numbers")]
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
mod range_plans;
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

use crate::assembled::{Header, Shape, put, repair};
use crate::extent::by_extent;
use crate::harness::Writer;
use crate::material::{
    block_of, builder_of, builder_of_hashes, capped, decimals, frame_of, hashes, hex, keys, numbers, rate_limits,
    rated, sized, unhex,
};
use crate::oracle::{Fuse, Oracle, Ribbon, int, mix, range, remapped};
use crate::range_oracle::are_ordered;
use crate::readers::Reading;
use filterblock::partition::{
    Lookup, PartitionBuildError, PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder,
    PartitionedRangeFilter, PartitionedRangeFilterBuilder,
};
use filterblock::range::{RangeFilter, RangeFilterBuilder, RangePolicy};
use filterblock::{
    AlignedBytes, BuildError, CombineError, CompactFrameReader, CustomTransform, DecodeError, EntryHasher, FilterBlock,
    FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, FilterSize, KeyHash, KeyHasher, KeyTransform,
    OpenOptions, ParsePolicyError, Query, TransformId, probe_tables,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use testkit::{
    assembled, exchange as between_machines, extent, harness, integer_oracle, material, oracle, range_oracle, readers,
    specification, trailers,
};
