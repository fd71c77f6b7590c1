//! Filter blocks inside rusty-leveldb, a LevelDB in Rust: a compact frame for every 2 KiB of a table's data, and four
//! bytes that state whether it is intact, and one of this policy: rusty-leveldb verifies neither.

use filterblock::{CompactFrameReader, FilterBlockBuilder, FilterPolicy, KeyHasher, KeyTransform, ParsePolicyError};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stored where no filter could be built, as no bytes at all are not legal: of a version that will never be, so that
/// readers answer *maybe*.
const NO_FILTER: [u8; 1] = [0xff];

const CHECK_LEN: usize = 4;

/// A filter policy of rusty-leveldb, from the text of a policy, such as `golomb:9.2,seed=7`.
#[derive(Debug)]
pub struct CompactFilters {
    policy: FilterPolicy,
    /// The hash of the transform's text, under the seed or the secret key: how entries are made.
    entries: u64,
    name: &'static str,
    unfinished: AtomicU64,
    negatives: AtomicU64,
    unreadable: AtomicU64,
}

/// Why a policy cannot be rusty-leveldb's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The text is not a policy.
    Parse(ParsePolicyError),
    /// The store's keys, which are byte strings, have no entries under this transform.
    Transform {
        /// The transform.
        found: KeyTransform,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse(error) => error.fmt(f),
            Self::Transform { found } => write!(f, "byte strings have no entries under the transform {found}"),
        }
    }
}

impl std::error::Error for PolicyError {}

impl CompactFilters {
    /// Filters of `policy`. Their name, some thirty bytes, is never freed.
    ///
    /// # Errors
    /// [`PolicyError::Transform`] for transforms of rows and columns.
    pub fn new(policy: FilterPolicy) -> Result<Self, PolicyError> {
        let found = policy.transform();
        if matches!(found, KeyTransform::Row | KeyTransform::RowColumn) {
            return Err(PolicyError::Transform { found });
        }
        // A frame does not store how its entries were made: the name does, for LevelDB, which reads filters of its name
        // only. rusty-leveldb takes those of the next name, too, if there are none of this one: the name sorts before
        // those of a checksum of two bytes, `filterblock.`, whose readers would take one filter in 65 536 for their own.
        let entries = policy.hasher().hash(found.to_string().as_bytes()).get();
        let name = Box::leak(format!("filterblock-bound.{entries:016x}").into_boxed_str());
        Ok(Self { policy, entries, name, unfinished: 0.into(), negatives: 0.into(), unreadable: 0.into() })
    }

    /// Filters that could not be built: what is stored in their place matches every key.
    pub fn unfinished(&self) -> u64 {
        self.unfinished.load(Ordering::Relaxed)
    }

    /// The number of queries answered *no*, each of which saves a data block's read.
    pub fn negatives(&self) -> u64 {
        self.negatives.load(Ordering::Relaxed)
    }

    /// Queries of bytes that are damaged, of another policy, or no filter, answered *maybe*.
    pub fn unreadable(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }

    /// All policies hash frames alike, so that the checks of two policies differ for every frame; of one pair in 2^32,
    /// for none.
    fn check_of(&self, frame: &[u8]) -> [u8; CHECK_LEN] {
        let check = KeyHasher::new(0).hash(frame).get() ^ self.entries;
        (check as u32).to_be_bytes()
    }

    /// The filter of stored bytes, unless they are damaged, or their entries were made in another way.
    fn open<'a>(&'a self, stored: &'a [u8]) -> Option<CompactFrameReader<'a>> {
        let (frame, check) = stored.split_last_chunk()?;
        if *check != self.check_of(frame) {
            return None;
        }
        CompactFrameReader::open(frame, &self.policy).ok()
    }
}

impl FromStr for CompactFilters {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Self::new(text.parse().map_err(PolicyError::Parse)?)
    }
}

impl rusty_leveldb::FilterPolicy for CompactFilters {
    fn name(&self) -> &'static str {
        self.name
    }

    fn create_filter(&self, keys: &[u8], key_offsets: &[usize]) -> Vec<u8> {
        let mut builder = FilterBlockBuilder::new(&self.policy);
        let ends = key_offsets.iter().skip(1).copied().chain([keys.len()]);
        for (&start, end) in key_offsets.iter().zip(ends) {
            builder.add_key(&keys[start..end]);
        }
        let mut frame = Vec::new();
        if builder.finish_compact_into(&mut frame).is_err() {
            self.unfinished.fetch_add(1, Ordering::Relaxed);
            return NO_FILTER.to_vec();
        }
        frame.extend(self.check_of(&frame));
        frame
    }

    fn key_may_match(&self, key: &[u8], filter: &[u8]) -> bool {
        match self.open(filter) {
            Some(reader) => {
                let answer = reader.may_contain(key);
                self.negatives.fetch_add(u64::from(!answer), Ordering::Relaxed);
                answer
            }
            None => {
                self.unreadable.fetch_add(1, Ordering::Relaxed);
                true
            }
        }
    }
}
