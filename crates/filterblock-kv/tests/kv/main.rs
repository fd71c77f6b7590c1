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

use crate::changed::{Change, Changed};
use crate::fixture::{by_level, change, inline, leveled, open, policy, replace, table_file, tables, with_both};
use crate::layout::Parts;
use crate::rows::{has, put, put_until_refused, scattered};
use crate::sim::{CrashKind, Fault, FaultKind, OperationKind, SimStorage};
use filterblock::partition::{Keys, Ranges};
use filterblock::range::RangePolicy;
use filterblock::{FilterKind, FilterPolicy, KeyTransform, MAGIC};
use filterblock_engine::ledger::{Ledger, LedgerReport, Outcome, Tally};
use filterblock_kv::{
    Cell, Durability, Error, FileStorage, FilterProblem, FilterResidence, MAX_VALUE_LEN, Maintenance, PAGE_LEN,
    Purpose, RebuildOptions, RepairOptions, Snapshot, Stats, Storage, Store, StoreOptions, TableFile, WritableFile,
    WriteBatch,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::{Bound, Range, RangeBounds};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use testkit::exchange as between_machines;
use testkit::random::Random;
use testkit::store::{changed, layout, sim};
