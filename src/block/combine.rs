//! Union and intersection of whole blocks, and the check whether two blocks can be combined.

use super::HEADER_LEN;
use super::header::Header;
use super::reader::FilterBlockReader;
use crate::filter::combine::{self, Operation};
use crate::filter::{FilterView, PARAMS_LEN, Params, bloom};
use crate::kind::FilterKind;
use crate::policy::KeyTransform;
use core::fmt;
use std::vec::Vec;

/// Why two blocks cannot be combined: the first property in which they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CombineError {
    /// Only Bloom filters can be combined without their keys.
    Kind {
        /// The kind of the block that is not a bloom block.
        found: FilterKind,
    },
    /// Different hash functions: equal keys have unequal hashes.
    Hash {
        /// Hash id of the first block.
        a: u8,
        /// Hash id of the second block.
        b: u8,
    },
    /// Different hash seeds, or secret keys: equal keys have unequal hashes.
    Seed {
        /// Seed of the first block.
        a: u64,
        /// Seed of the second block.
        b: u64,
    },
    /// Entries made by different transforms.
    Transform {
        /// Transform of the first block.
        a: KeyTransform,
        /// Transform of the second block.
        b: KeyTransform,
    },
    /// Different numbers of bits.
    NumBits {
        /// Bits of the first filter.
        a: u64,
        /// Bits of the second filter.
        b: u64,
    },
    /// Different numbers of probes.
    NumProbes {
        /// Probes of the first filter.
        a: u32,
        /// Probes of the second filter.
        b: u32,
    },
}

impl fmt::Display for CombineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Kind { found } => write!(f, "only bloom blocks can be combined, not {found}"),
            Self::Hash { a, b } => write!(f, "hash ids differ: {a} and {b}"),
            Self::Seed { a, b } => write!(f, "hash seeds differ: {a:#018x} and {b:#018x}"),
            Self::Transform { a, b } => write!(f, "key transforms differ: {a} and {b}"),
            Self::NumBits { a, b } => write!(f, "numbers of bits differ: {a} and {b}"),
            Self::NumProbes { a, b } => write!(f, "numbers of probes differ: {a} and {b}"),
        }
    }
}

impl core::error::Error for CombineError {}

/// Two Bloom filters of equal shape, or one or none where a block has no entries.
enum Pair<'a, 'b> {
    Both(bloom::View<'b>, bloom::View<'b>),
    One(&'a FilterBlockReader<'b>),
    Neither,
}

/// The Bloom filter of a block; `None` for a block without entries, which fits every shape.
fn bloom_of<'b>(reader: &FilterBlockReader<'b>) -> Result<Option<bloom::View<'b>>, CombineError> {
    match (reader.filter(), reader.kind()) {
        (FilterView::Bloom(view), _) => Ok(Some(*view)),
        (FilterView::Empty, _) | (_, None) => Ok(None),
        (_, Some(found)) => Err(CombineError::Kind { found }),
    }
}

fn pair<'a, 'b>(a: &'a FilterBlockReader<'b>, b: &'a FilterBlockReader<'b>) -> Result<Pair<'a, 'b>, CombineError> {
    let (x, y) = (a.hasher(), b.hasher());
    if x.hash_id() != y.hash_id() {
        return Err(CombineError::Hash { a: x.hash_id(), b: y.hash_id() });
    }
    if x.seed() != y.seed() {
        return Err(CombineError::Seed { a: x.seed(), b: y.seed() });
    }
    if a.transform() != b.transform() {
        return Err(CombineError::Transform { a: a.transform(), b: b.transform() });
    }
    match (bloom_of(a)?, bloom_of(b)?) {
        (None, None) => Ok(Pair::Neither),
        (Some(_), None) => Ok(Pair::One(a)),
        (None, Some(_)) => Ok(Pair::One(b)),
        (Some(x), Some(y)) => {
            let (shape_x, shape_y) = (x.params(), y.params());
            if shape_x.num_bits() != shape_y.num_bits() {
                return Err(CombineError::NumBits { a: shape_x.num_bits(), b: shape_y.num_bits() });
            }
            if shape_x.num_probes() != shape_y.num_probes() {
                return Err(CombineError::NumProbes { a: shape_x.num_probes(), b: shape_y.num_probes() });
            }
            Ok(Pair::Both(x, y))
        }
    }
}

impl FilterBlockReader<'_> {
    /// Number of entries, estimated from the number of set bits, for bloom blocks; infinite if every bit is set.
    ///
    /// # Errors
    /// [`CombineError::Kind`] for other kinds.
    pub fn estimate_entries(&self) -> Result<f64, CombineError> {
        Ok(bloom_of(self)?.map_or(0.0, |view| combine::estimate_entries(&view)))
    }

    /// Estimated number of entries in either of two bloom blocks.
    ///
    /// # Errors
    /// [`CombineError`] if the blocks cannot be combined: the first property in which they differ.
    pub fn estimate_union(&self, other: &Self) -> Result<f64, CombineError> {
        match pair(self, other)? {
            Pair::Both(a, b) => Ok(combine::estimate(Operation::Union, &a, &b)),
            Pair::One(block) => block.estimate_entries(),
            Pair::Neither => Ok(0.0),
        }
    }

    /// Estimated number of entries in both of two bloom blocks, never below zero.
    ///
    /// # Errors
    /// [`CombineError`] if the blocks cannot be combined: the first property in which they differ.
    pub fn estimate_intersection(&self, other: &Self) -> Result<f64, CombineError> {
        match pair(self, other)? {
            Pair::Both(a, b) => Ok(combine::estimate(Operation::Intersection, &a, &b)),
            Pair::One(_) | Pair::Neither => Ok(0.0),
        }
    }

    /// A block, bound to `context`, that passes every key which either of two bloom blocks passes. Its number of
    /// entries is an estimate, and is flagged as one.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_max_bytes(FilterKind::Bloom, 1024)?;
    /// let block = |keys: [&[u8]; 2]| {
    ///     let mut builder = FilterBlockBuilder::new(policy);
    ///     keys.iter().for_each(|key| builder.add_key(key));
    ///     builder.finish()
    /// };
    /// let (a, b) = (block([b"one", b"two"])?, block([b"two", b"three"])?);
    /// let (a, b) = (FilterBlockReader::open(&a)?, FilterBlockReader::open(&b)?);
    /// let union = a.union(&b, 0)?;
    /// let union = FilterBlockReader::open(&union)?;
    /// assert!(union.may_contain(b"one") && union.may_contain(b"three"));
    /// assert_eq!(union.num_entries(), Some(3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CombineError`] if the blocks cannot be combined: the first property in which they differ.
    pub fn union(&self, other: &Self, context: u64) -> Result<Vec<u8>, CombineError> {
        self.combined(other, context, Operation::Union)
    }

    /// A block, bound to `context`, that passes every key which both of two bloom blocks pass: every key of the
    /// intersection, and more absent keys than a block built from the intersection would pass.
    ///
    /// # Errors
    /// [`CombineError`] if the blocks cannot be combined: the first property in which they differ.
    pub fn intersection(&self, other: &Self, context: u64) -> Result<Vec<u8>, CombineError> {
        self.combined(other, context, Operation::Intersection)
    }

    fn combined(&self, other: &Self, context: u64, operation: Operation) -> Result<Vec<u8>, CombineError> {
        let (params, payload, estimate) = match (pair(self, other)?, operation) {
            (Pair::Both(a, b), _) => {
                (Some(*a.params()), combine::combine(operation, &a, &b), combine::estimate(operation, &a, &b))
            }
            (Pair::One(block), Operation::Union) => match bloom_of(block)? {
                Some(view) => (Some(*view.params()), view.payload().to_vec(), block.estimate_entries()?),
                None => (None, Vec::new(), 0.0),
            },
            (Pair::One(_), Operation::Intersection) | (Pair::Neither, _) => (None, Vec::new(), 0.0),
        };
        // Zero entries is a state of its own, without parameters, so an estimate is at least one. The conversion
        // saturates.
        let num_entries = if params.is_some() { ((estimate + 0.5) as u64).max(1) } else { 0 };
        let header = Header {
            kind: FilterKind::Bloom,
            transform: self.transform(),
            hash_id: self.hasher().hash_id(),
            seed: self.hasher().seed(),
            num_entries,
            entries_estimated: params.is_some(),
            params: params.map_or([0; PARAMS_LEN], |params| Params::Bloom(params).encode()),
        };
        let mut block = std::vec![0; HEADER_LEN];
        block.extend(payload);
        header.write(&mut block, context);
        Ok(block)
    }
}
