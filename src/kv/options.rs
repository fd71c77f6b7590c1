//! How a store is set up.

use crate::{FilterKind, FilterPolicy, KeyTransform};
use core::fmt;

/// What a table's filter is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// May the table have a cell of this row?
    Row,
    /// May the table have this cell?
    RowColumn,
}

impl Purpose {
    /// Both, in the order of their ids.
    pub const ALL: [Self; 2] = [Self::Row, Self::RowColumn];

    /// The id in a table's footer.
    pub const fn id(self) -> u8 {
        match self {
            Self::Row => 1,
            Self::RowColumn => 2,
        }
    }

    /// The purpose with this id, if this version knows it.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.id() == id)
    }

    /// What the filter's entries are made from.
    pub const fn transform(self) -> KeyTransform {
        match self {
            Self::Row => KeyTransform::Row,
            Self::RowColumn => KeyTransform::RowColumn,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Row => "row",
            Self::RowColumn => "row+column",
        })
    }
}

/// How a store is set up. Filters concern tables written from now on; older tables keep theirs.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    policies: [Option<FilterPolicy>; 2],
    seed: Option<u64>,
    memtable_bytes_max: usize,
}

impl StoreOptions {
    /// No filters.
    pub const fn without_filters() -> Self {
        Self { policies: [None; 2], seed: None, memtable_bytes_max: 8 << 20 }
    }

    /// Writes a filter for `purpose` into every table, or none. The store sets the policy's seed and transform.
    #[must_use]
    pub fn filter(mut self, purpose: Purpose, policy: impl Into<Option<FilterPolicy>>) -> Self {
        self.policies[purpose.index()] = policy.into();
        self
    }

    /// The store-wide seed of the hash, used while the store has no table; afterwards the tables' seed stands.
    /// Unless set it is random, as it should be wherever strangers choose keys.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The memtable is flushed when it holds about this many bytes. 8 MiB unless set.
    #[must_use]
    pub const fn memtable_bytes_max(mut self, bytes: usize) -> Self {
        self.memtable_bytes_max = bytes;
        self
    }

    pub(crate) fn policy(&self, purpose: Purpose) -> Option<FilterPolicy> {
        self.policies[purpose.index()]
    }

    pub(crate) fn seed_if_set(&self) -> Option<u64> {
        self.seed
    }

    pub(crate) fn memtable_limit(&self) -> usize {
        self.memtable_bytes_max
    }
}

impl Default for StoreOptions {
    /// Blocked filters of 10 bits per key for both purposes.
    fn default() -> Self {
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0).ok();
        Self::without_filters().filter(Purpose::Row, policy).filter(Purpose::RowColumn, policy)
    }
}
