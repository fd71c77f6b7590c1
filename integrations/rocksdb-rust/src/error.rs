//! What is refused, and what makes filters useless.

use filterblock::ParsePolicyError;
use std::fmt;

/// Something that makes filters useless, or unsafe to use, without any answer of RocksDB's showing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// The table format is not the block-based one, which alone has filter policies.
    NotBlockBased,
    /// There is no filter policy: a table factory was set after the policy, or the options are those of another column family.
    NoPolicy,
    /// The filter policy is another one: a table factory was set after the policy.
    OtherPolicy,
    /// The comparator may hold keys of different bytes to be equal, which filters distinguish: stored keys would be denied.
    EqualKeys,
    /// Filters have neither whole keys nor prefixes.
    NoEntries,
    /// `optimize_filters_for_hits`: the bottommost level, which has most of the keys, has no filters.
    NoneAtBottom,
    /// The range filters are not among the options' collectors of table properties.
    NoCollector,
    /// The comparator is not the bytewise one: every table is read.
    NotBytewise,
    /// `min_tombstones_for_range_conversion` is not 0: RocksDB refuses iterators that leave tables out.
    RangeConversion,
    /// The comparator may hold keys of different bytes to be equal, and RocksDB itself hashes their bytes: in filters of
    /// memtables (`memtable_prefix_bloom_ratio`), the index `HashSearch`, or memtables of hashes. Stored keys would be denied,
    /// also with a normal form.
    HashedBytes,
    /// Range filters that are not verified, in tables without checksums (`ChecksumType::NoChecksum`): damage would deny rows.
    NoChecksums,
}

/// In the order of the bits of `bridge.cc`.
const FINDINGS: [Finding; 11] = [
    Finding::NotBlockBased,
    Finding::NoPolicy,
    Finding::OtherPolicy,
    Finding::EqualKeys,
    Finding::NoEntries,
    Finding::NoneAtBottom,
    Finding::NoCollector,
    Finding::NotBytewise,
    Finding::RangeConversion,
    Finding::HashedBytes,
    Finding::NoChecksums,
];

impl Finding {
    pub(crate) fn of_bits(bits: u32) -> Vec<Self> {
        (0..).zip(FINDINGS).filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, finding)| finding).collect()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotBlockBased => "the table format has no filters: set a block-based table factory",
            Self::NoPolicy => "no filter policy is set: call set_filter_policy after the last table factory",
            Self::OtherPolicy => "another filter policy is set: call set_filter_policy after the last table factory",
            Self::EqualKeys => {
                "the comparator may hold keys of different bytes to be equal, and filters would deny them: state that it \
                 does not (Policies::distinct_keys), or give what they have in common (set_filter_policy_of_equal_keys)"
            }
            Self::NoEntries => {
                "filters have no keys, as whole_key_filtering is off, and no prefixes, as there is no prefix extractor"
            }
            Self::NoneAtBottom => "optimize_filters_for_hits leaves the bottommost level without filters",
            Self::NoCollector => "no range filters are written: call set_range_filters with these options",
            Self::NotBytewise => "the comparator is not the bytewise one: range filters leave no table out",
            Self::RangeConversion => {
                "min_tombstones_for_range_conversion is not 0: RocksDB refuses scans that leave tables out"
            }
            Self::HashedBytes => "RocksDB would deny equal keys: no memtable_prefix_bloom_ratio, hash index or memtable",
            Self::NoChecksums => "nothing verifies range filters: write checksums, or call set_verified_range_filters",
        })
    }
}

/// The reason why a policy was not set, a check failed, or a scan ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A text is not a policy, or not one of the library's grammar.
    Policy {
        /// The text.
        text: String,
        /// What is wrong with it.
        error: ParsePolicyError,
    },
    /// A text is not `POLICY`, `UPPER/BOTTOMMOST` or `UPPER/BOTTOMMOST/trusted`.
    Parts {
        /// The text.
        text: String,
    },
    /// The adapter refuses a policy, or the version of RocksDB.
    Refused {
        /// Its reason.
        message: String,
    },
    /// The headers that this package was compiled with are not those of the RocksDB that is linked.
    Layout,
    /// Options with which filters would be useless.
    Useless(Vec<Finding>),
    /// The options have no statistics: `Options::enable_statistics`.
    NoStatistics,
    /// RocksDB reports that a scan failed.
    Scan {
        /// Its message.
        message: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy { text, error } => write!(f, "no policy: {text}: {error}"),
            Self::Parts { text } => {
                write!(f, "no policies: {text}: give one, or UPPER/BOTTOMMOST, or UPPER/BOTTOMMOST/trusted")
            }
            Self::Refused { message } | Self::Scan { message } => f.write_str(message),
            Self::Layout => f.write_str(
                "the RocksDB that is linked has other structures than the headers that filterblock-rocksdb was compiled \
                 with: compile both with the same sources and flags",
            ),
            Self::Useless(findings) => {
                let texts: Vec<String> = findings.iter().map(Finding::to_string).collect();
                f.write_str(&texts.join("; "))
            }
            Self::NoStatistics => f.write_str("the options have no statistics: call Options::enable_statistics"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Policy { error, .. } => Some(error),
            _ => None,
        }
    }
}
