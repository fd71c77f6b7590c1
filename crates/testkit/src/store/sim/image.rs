//! What a power loss leaves.

use super::directory::{Directory, NameSurvival, Node};
use super::inode::Survival;
use super::{SimStorage, lock};
use crate::random::Random;
use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files by name.
pub type Files = BTreeMap<String, Arc<Vec<u8>>>;

/// Which of the unsynced changes survive a crash.
///
/// In every case, synced bytes of a file whose name is durable survive, and each name is as it was at some time since
/// the directory was synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CrashKind {
    /// None: what was synced and no more.
    NothingUnsynced,
    /// All, as if only the process had died.
    Everything,
    /// All but the last one.
    AllButLast,
    /// Creations, renames and removals, but no bytes: files have their synced length.
    NamesWithoutData,
    /// Creations, renames, removals and files' lengths, with zeros in place of the bytes.
    NamesWithLengths,
    /// Bytes, but no creation, rename or removal.
    DataWithoutNames,
    /// Some, chosen by the seed: each name independently, and in each file a prefix that may end inside a write, or any
    /// sectors of 512 bytes, with zeros or garbage in place of others, at any length.
    Random {
        /// The seed.
        seed: u64,
    },
}

impl CrashKind {
    /// All but random ones.
    pub const FIXED: [Self; 6] = [
        Self::NothingUnsynced,
        Self::Everything,
        Self::AllButLast,
        Self::NamesWithoutData,
        Self::NamesWithLengths,
        Self::DataWithoutNames,
    ];
}

impl fmt::Display for CrashKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingUnsynced => "nothing unsynced",
            Self::Everything => "everything",
            Self::AllButLast => "all but the last operation",
            Self::NamesWithoutData => "names without data",
            Self::NamesWithLengths => "names with lengths, data zero",
            Self::DataWithoutNames => "data without names",
            Self::Random { seed } => return write!(f, "random, seed {seed:#x}"),
        })
    }
}

/// A storage that a crash may leave: everything in it is durable, nothing is locked, and it has no faults.
#[derive(Debug)]
pub struct CrashImage {
    /// What survived.
    pub kind: CrashKind,
    /// The storage.
    pub storage: SimStorage,
}

/// The files that a crash of this kind leaves.
pub(super) fn files_after(directory: &Directory, kind: CrashKind) -> Files {
    let last = || {
        let written = directory.visible().values().filter_map(|node| lock(node).last_unsynced());
        // No operation has number 0.
        written.chain(directory.last_pending()).max().unwrap_or(0)
    };
    let (names, data, seed) = match kind {
        CrashKind::NothingUnsynced => (NameSurvival::Nothing, Survival::Nothing, 0),
        CrashKind::Everything => (NameSurvival::Everything, Survival::Everything, 0),
        CrashKind::AllButLast => (NameSurvival::AllBut(last()), Survival::AllBut(last()), 0),
        CrashKind::NamesWithoutData => (NameSurvival::Everything, Survival::Nothing, 0),
        CrashKind::NamesWithLengths => (NameSurvival::Everything, Survival::Length, 0),
        CrashKind::DataWithoutNames => (NameSurvival::Nothing, Survival::Everything, 0),
        CrashKind::Random { seed } => (NameSurvival::Random, Survival::Random, seed),
    };
    let mut random = Random::new(seed);
    let names = directory.after_crash(names, &mut random);
    let mut file = |node: &Node| lock(node).after_crash(data, &mut random);
    names.iter().map(|(name, node)| (name.clone(), file(node))).collect()
}

/// Distinct outcomes of a crash: the fixed kinds, then random ones until there are `wanted` or no more are found.
pub(super) fn distinct(directory: &Directory, seed: u64, wanted: usize) -> Vec<(CrashKind, Files)> {
    // An outcome that one try in eight finds is missed by this many tries once in 200 times.
    const FRUITLESS_MAX: u32 = 40;
    let mut outcomes: Vec<(CrashKind, Files)> = Vec::new();
    let mut add = |kind| {
        let files = files_after(directory, kind);
        let new = outcomes.iter().all(|(_, known)| *known != files);
        if new {
            outcomes.push((kind, files));
        }
        (new, outcomes.len())
    };
    let (mut found, mut fruitless) = (0, 0);
    for kind in CrashKind::FIXED {
        (_, found) = add(kind);
    }
    let mut seeds = Random::new(seed);
    // One outcome so far: everything is durable.
    while found > 1 && found < wanted && fruitless < FRUITLESS_MAX {
        let (new, total) = add(CrashKind::Random { seed: seeds.next() });
        (found, fruitless) = (total, if new { 0 } else { fruitless + 1 });
    }
    outcomes
}
