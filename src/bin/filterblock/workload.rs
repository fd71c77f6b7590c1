//! A kind that may be left to be chosen, and the options that describe how a filter will be used, by which it is
//! chosen.

use crate::units::parse_count;
use filterblock::{BuildError, FilterKind, FilterPolicy, FilterSize, Workload};
use std::fmt;
use std::str::FromStr;

/// A kind, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KindName {
    Named(FilterKind),
    Auto,
}

const AUTO: &str = "auto";

impl FromStr for KindName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            AUTO => Ok(Self::Auto),
            _ => text.parse().map(Self::Named).map_err(|error| format!("{error}, auto")),
        }
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(kind) => kind.fmt(f),
            Self::Auto => f.pad(AUTO),
        }
    }
}

impl KindName {
    /// The policy of this size; the kind is chosen by `workload` if it is not named.
    pub(crate) fn policy(self, size: Size, workload: Workload) -> Result<FilterPolicy, BuildError> {
        match (self, size) {
            (Self::Named(kind), Size::BitsPerKey(bits)) => FilterPolicy::with_bits_per_key(kind, bits),
            (Self::Named(kind), Size::FalsePositiveRate(rate)) => FilterPolicy::with_false_positive_rate(kind, rate),
            (Self::Named(kind), Size::MaxBytes(bytes)) => FilterPolicy::with_max_bytes(kind, bytes),
            (Self::Auto, Size::BitsPerKey(bits)) => {
                // The legal range is that of every kind.
                let size = FilterPolicy::with_bits_per_key(FilterKind::DEFAULT, bits)?.size();
                FilterPolicy::auto(size, workload)
            }
            (Self::Auto, Size::FalsePositiveRate(rate)) => {
                FilterPolicy::auto(FilterSize::FalsePositiveRate(rate), workload)
            }
            (Self::Auto, Size::MaxBytes(bytes)) => FilterPolicy::auto(FilterSize::MaxBytes(bytes), workload),
        }
    }
}

/// A size as it is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Size {
    BitsPerKey(f64),
    FalsePositiveRate(f64),
    MaxBytes(u64),
}

/// How the filter will be used.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct WorkloadArgs {
    /// Level of the table, 0 where memtables are flushed to; sets what the options below do not [default: 2]
    #[arg(long, value_name = "L")]
    level: Option<u8>,
    /// Queries of absent keys over the table's life; as many as entries unless given
    #[arg(long, value_name = "N", value_parser = parse_count)]
    queries: Option<u64>,
    /// Nanoseconds that a read in vain costs
    #[arg(long, value_name = "NS", value_parser = nanoseconds)]
    read_ns: Option<u32>,
    /// Nanoseconds that a byte of filter costs, held over the table's life
    #[arg(long, value_name = "NS", value_parser = nanoseconds)]
    byte_ns: Option<u32>,
}

fn nanoseconds(text: &str) -> Result<u32, String> {
    let number = parse_count(text).ok().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| "expected a whole number below 2^32, as in 30000 or 30k".to_owned())
}

impl WorkloadArgs {
    /// Whether any of the options is given.
    pub(crate) fn is_given(&self) -> bool {
        self.level.is_some() || self.queries.is_some() || self.read_ns.is_some() || self.byte_ns.is_some()
    }

    pub(crate) fn workload(&self) -> Workload {
        let mut workload = self.level.map_or_else(Workload::default, Workload::of_level);
        if let Some(queries) = self.queries {
            workload = workload.with_queries(queries);
        }
        if let Some(read_ns) = self.read_ns {
            workload = workload.with_read_ns(read_ns);
        }
        if let Some(byte_ns) = self.byte_ns {
            workload = workload.with_byte_ns(byte_ns);
        }
        workload
    }
}
