//! The first two promises of the format, with counts. Whatever happens to a block's bytes, a reader returns a typed
//! error or the answers that the format defines for them, without panic or allocation. No stored key is ever denied,
//! and absent keys pass at the predicted rate.
//!
//! Meant for release builds: `cargo test --release --test battery -- --nocapture` takes a minute and a half on a core,
//! and prints its counts in lines that begin with `counted: `. [`extent`] chooses how much is tried. Everything follows
//! from fixed seeds.

mod allocation;
mod by_bits;
mod compact;
mod errors;
mod fields;
mod flips;
mod lengths;
mod present;
mod rates;
mod reading;
mod report;
mod samples;
mod shapes;
mod statistics;

use crate::allocation::{Allocated, measured};
use crate::assembled::repair;
use crate::errors::assert_complete_message;
use crate::extent::by_extent;
use crate::material::{capped, frame_of, numbers, rated, sized};
use crate::oracle::{Oracle, int};
use crate::readers::Reading;
use crate::report::{Case, Tally, counted};
use crate::rules::{CRC_AT, Caller, HEADER_LEN};
use crate::samples::{Answers, CONTEXT, Denied, SEED, Sample, TRANSFORM, blocks, describe, open_compact, options};
use crate::trailers::compact_of;
use filterblock::{
    AlignedBytes, CompactFrameReader, DecodeError, DecodeErrorClass, FilterBlockBuilder, FilterBlockReader, FilterKind,
    FilterPolicy, KeyHash, KeyHasher, OpenOptions, probe_tables,
};
use std::cell::Cell;
use testkit::{assembled, extent, material, oracle, readers, rules, trailers};

#[global_allocator]
static ALLOCATOR: allocation::Counting = allocation::Counting;
