//! The engines that are measured, one file each.

mod filterblock;
mod fjall;
#[cfg(feature = "engines")]
mod rocksdb;

use crate::engine::{Engine, Settings};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Filterblock,
    Fjall,
    #[cfg(feature = "engines")]
    Rocksdb,
}

impl Kind {
    pub const ALL: &[Self] = &[
        #[cfg(feature = "engines")]
        Self::Rocksdb,
        Self::Fjall,
        Self::Filterblock,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Filterblock => "filterblock",
            Self::Fjall => "fjall",
            #[cfg(feature = "engines")]
            Self::Rocksdb => "RocksDB",
        }
    }

    /// Whether it has filters of prefixes.
    pub fn filters_prefixes(self) -> bool {
        self != Self::Fjall
    }
}

/// Opens the store in `dir`, which is empty or was filled by the same engine.
pub fn open(kind: Kind, dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>> {
    match kind {
        Kind::Filterblock => filterblock::open(dir, settings),
        Kind::Fjall => fjall::open(dir, settings),
        #[cfg(feature = "engines")]
        Kind::Rocksdb => rocksdb::open(dir, settings),
    }
}

/// The engine's version; for RocksDB also how it was built, from its log in `dir`.
#[cfg_attr(not(feature = "engines"), expect(unused_variables, reason = "only RocksDB's version is read from there"))]
pub fn version(kind: Kind, dir: &Path) -> String {
    match kind {
        Kind::Filterblock => "of this tree".to_owned(),
        Kind::Fjall => fjall::VERSION.to_owned(),
        #[cfg(feature = "engines")]
        Kind::Rocksdb => rocksdb::version(dir).unwrap_or_else(|| "unknown".to_owned()),
    }
}
