//! The command line of the demo.

use crate::exit::Failure;
use crate::units::{parse_bytes, parse_count};
use clap::{ValueEnum, value_parser};
use filterblock::{FilterKind, FilterPolicy};
use std::fmt;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  filterblock demo
  filterblock demo --report demo.html
  filterblock demo --workload zipfian --absent-share 10,90
  filterblock demo --workload adversary
  filterblock demo --workload elastic --filter-memory-bytes 400KiB
  filterblock demo --workload residence --kind ribbon
  filterblock demo --kind blocked --bits-per-key 12 --json
  filterblock demo --keys present.txt --absent absent.txt --dir /mnt/disk";

/// Load a small row/column store, look up present and absent keys, and show which disk reads filters avoid
///
/// Every run holds the same data and is given the same queries: rows that do not exist, columns that existing rows do
/// not have, and cells that exist. Absent keys lie between present ones, and a table's key range is checked before its
/// filters, which take no credit for what the range rules out. Data blocks are read past the page cache where the file
/// system allows it. Reads are counted by the store and, independently, by the operating system; if the two disagree,
/// or the answers of two runs do, the demo fails.
///
/// With --workload zipfian the queries are like those of YCSB's workload C instead: one cell at a time, some far more
/// often than others. In each round, --absent-share per cent of them are for absent cells.
///
/// With --workload adversary an attacker who knows the data and the filters' seed, 0, tries absent rows on a copy of
/// the filters and looks up those that pass: each costs a read. Then the store rebuilds its filters with a seed that
/// the attacker does not know, and leaves the data as it is: the same rows must cost no more than any absent rows, or
/// the demo fails; so in a store whose filters are hashed under a secret key. Those that still cost a read are looked
/// up again.
///
/// With --workload elastic, tables of several levels store more columns of their filters than memory holds. Zipfian
/// lookups are made twice with the same memory: divided among the tables by their sizes alone, and by the lookups that
/// the store's ledger counted before, as well.
///
/// With --workload residence, filters of one kind are in memory; in partitions of 4 KiB that are read when they are
/// probed; or on the disk, where a table's whole filter is read. What is read stays in a cache, which has half as many
/// bytes as the filters and is shared with data blocks. Besides rows and cells, scans look up the first bytes of rows,
/// which have filters of their own. Keys are uniform, then zipfian.
#[derive(clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Rows of the built-in web table
    #[arg(long, default_value = "200_000", value_parser = parse_count, conflicts_with = "keys")]
    pub(super) rows: u64,
    /// Queries of each class [default: 10 000, or fewer where the disk is slow]
    #[arg(long, value_parser = parse_count)]
    pub(super) lookups: Option<u64>,
    /// Size of each filter, in bits per key
    #[arg(long, default_value_t = 10.0, value_name = "BITS")]
    pub(super) bits_per_key: f64,
    /// Kinds of filter to compare with none, separated by commas [default: all]
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<FilterKind>,
    /// How queries are drawn
    #[arg(long, value_enum, default_value_t = Workload::Uniform)]
    pub(super) workload: Workload,
    /// Per cent of zipfian lookups whose cell is absent, separated by commas [default: 0,10,50,90,100]
    #[arg(long = "absent-share", value_name = "PERCENT", value_delimiter = ',')]
    #[arg(value_parser = value_parser!(u8).range(0..=100))]
    pub(super) absent_percents: Vec<u8>,
    /// Memory for the filters of --workload elastic, or the cache of --workload residence, as 400KiB [default: 40 %, or
    /// half, of the filters' bytes]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(super) filter_memory_bytes: Option<u64>,
    /// Rows to load instead of the web table, one a line
    #[arg(long, value_name = "FILE", requires = "absent")]
    pub(super) keys: Option<PathBuf>,
    /// Rows that are not in --keys, one a line
    #[arg(long, value_name = "FILE", requires = "keys")]
    pub(super) absent: Option<PathBuf>,
    /// Existing directory to make the store in; only the store is removed at the end [default: a temporary directory on
    /// a disk]
    #[arg(long)]
    pub(super) dir: Option<PathBuf>,
    /// Also write the figures, with plots, as a page for browsers; to a name that ends with .svg, the first plot alone
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Workload {
    /// Each class of query by itself, every key with the same probability
    Uniform,
    /// One cell at a time, some far more often than others
    Zipfian,
    /// Absent rows crafted against the filters
    Adversary,
    /// The same memory for filters, divided by sizes and by counted lookups
    Elastic,
    /// Filters in memory, partitioned and on the disk, with scans of prefixes as well
    Residence,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}

impl Args {
    /// No filter first: the other runs are compared with it.
    pub(super) fn policies(&self) -> Result<Vec<Option<FilterPolicy>>, Failure> {
        let kinds = if self.kinds.is_empty() { FilterKind::ALL } else { &self.kinds };
        let policy = |kind: &FilterKind| FilterPolicy::with_bits_per_key(*kind, self.bits_per_key).map(Some);
        let policies = std::iter::once(Ok(None)).chain(kinds.iter().map(policy));
        policies.collect::<Result<_, _>>().map_err(|error| Failure::usage("demo", error))
    }
}
