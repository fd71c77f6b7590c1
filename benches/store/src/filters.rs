//! The filters of a store, and the places where they are kept.

use crate::engines::Kind;
use crate::phases::Phase;
use serde::{Deserialize, Serialize};

/// The kind of the filters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// None: the baseline
    None,
    /// The engine's own Bloom filter; RocksDB's has all probes of a key in one cache line
    Bloom,
    Blocked,
    Ribbon,
    Fuse,
}

/// The place of filters while the store is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Residence {
    /// All in memory
    Memory,
    /// Half of their columns in memory
    Half,
    /// In partitions of 4 KiB, which come through the block cache
    Partitioned,
    /// On the disk: each table's filter comes through the block cache as a whole
    Disk,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Filters {
    pub filter: Filter,
    pub residence: Residence,
}

impl Filters {
    /// Returns the settings that the comparison of stores gives an engine.
    pub fn usual(kind: Kind) -> Self {
        let filter = if kind == Kind::Filterblock { Filter::Blocked } else { Filter::Bloom };
        Self { filter, residence: Residence::Memory }
    }

    pub fn is_offered_by(self, kind: Kind) -> bool {
        let has_filter = match self.filter {
            Filter::None => return self.residence == Residence::Memory,
            Filter::Bloom => true,
            Filter::Ribbon => kind != Kind::Fjall,
            Filter::Blocked | Filter::Fuse => kind == Kind::Filterblock,
        };
        // Only ribbon filters have columns.
        let has_residence =
            self.residence != Residence::Half || (kind == Kind::Filterblock && self.filter == Filter::Ribbon);
        has_filter && has_residence
    }

    /// Whether queries of this phase may probe these filters, or are the baseline without any.
    pub fn matter_to(self, kind: Kind, phase: Phase) -> bool {
        let scans = matches!(phase, Phase::PrefixAbsent | Phase::PrefixPresent);
        !scans || kind.filters_prefixes() || self.filter == Filter::None
    }

    /// The filters as the store is filled with them. Where they are kept is decided whenever it is opened, except that
    /// partitions are written as such.
    pub fn as_written(self) -> Self {
        match self.residence {
            Residence::Partitioned => self,
            _ => Self { residence: Residence::Memory, ..self },
        }
    }

    /// The share of their bytes that is in memory outside the block cache.
    pub fn held_percent(self) -> u64 {
        match self {
            Self { filter: Filter::None, .. } => 0,
            Self { residence: Residence::Memory, .. } => 100,
            Self { residence: Residence::Half, .. } => 50,
            Self { residence: Residence::Partitioned | Residence::Disk, .. } => 0,
        }
    }

    pub fn label(self) -> String {
        let filter = match self.filter {
            Filter::None => return "no filter".to_owned(),
            Filter::Bloom => "bloom",
            Filter::Blocked => "blocked",
            Filter::Ribbon => "ribbon",
            Filter::Fuse => "fuse",
        };
        let residence = match self.residence {
            Residence::Memory => "in memory",
            Residence::Half => "half in memory",
            Residence::Partitioned => "partitioned",
            Residence::Disk => "on disk",
        };
        format!("{filter}, {residence}")
    }
}
