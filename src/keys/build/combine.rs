//! Union and intersection of whole blocks, and the check whether two blocks can be combined.

use crate::error::DecodeError;
use crate::frame::{HEADER_LEN, Header, OpenOptions};
use crate::keys::kinds::Params;
use crate::keys::kinds::combine::{BitArray, Operation};
use crate::keys::{FilterBlock, FilterBlockReader};
use crate::kind::FilterKind;
use core::fmt;
use std::vec::Vec;

/// The reason why two blocks cannot be combined: the first property in which they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CombineError {
    /// Filters of this kind, or of these two kinds, cannot be combined without their keys.
    Kind {
        /// The kind of the second block, or of the one that does not combine.
        found: FilterKind,
    },
    /// The second block has another hasher or transform than the first, which is the expected one: equal keys have
    /// unequal hashes, or other entries.
    Entries(DecodeError),
    /// The numbers of bits differ. Parts of unequal size need a policy of
    /// [`FilterPolicy::with_fixed_shape`](crate::FilterPolicy::with_fixed_shape).
    NumBits {
        /// The number of bits of the first filter.
        a: u64,
        /// The number of bits of the second filter.
        b: u64,
    },
    /// The numbers of probes differ. Parts of unequal size need a policy of
    /// [`FilterPolicy::with_fixed_shape`](crate::FilterPolicy::with_fixed_shape).
    NumProbes {
        /// The number of probes of the first filter.
        a: u32,
        /// The number of probes of the second filter.
        b: u32,
    },
}

/// The remedy for parts of unequal numbers of keys.
const REMEDY: &str = "build all parts under one policy of a fixed shape, bloom:bytes=";

impl fmt::Display for CombineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Kind { found } => write!(f, "{found} blocks cannot be combined"),
            Self::Entries(error) => error.fmt(f),
            Self::NumBits { a, b } => {
                let len = HEADER_LEN as u64 + a.max(b).div_ceil(8);
                write!(f, "numbers of bits differ: {a} and {b}; {REMEDY}{len},probes=7")
            }
            Self::NumProbes { a, b } => {
                write!(f, "numbers of probes differ: {a} and {b}; {REMEDY}…,probes={}", a.min(b))
            }
        }
    }
}

impl core::error::Error for CombineError {}

/// Two bit arrays of equal shape, or one or none if a block has no entries.
enum Pair<'a> {
    Both(BitArray<'a>, BitArray<'a>),
    One(&'a FilterBlockReader<'a>, BitArray<'a>),
    Neither,
}

/// Returns the bits of a block; `None` for a block without entries, which fits every shape.
fn bits_of<'a>(reader: &'a FilterBlockReader<'_>) -> Result<Option<BitArray<'a>>, CombineError> {
    match reader.num_entries() {
        0 => Ok(None),
        _ => {
            let bits = reader.layout().bit_array(reader.payload());
            bits.map(Some).ok_or(CombineError::Kind { found: reader.kind() })
        }
    }
}

fn pair<'a>(a: &'a FilterBlockReader<'_>, b: &'a FilterBlockReader<'_>) -> Result<Pair<'a>, CombineError> {
    let (found, expected) = (b.entry_hasher(), OpenOptions::new().expect(a.entry_hasher()));
    let (id, seed) = (found.hasher().hash_id(), found.hasher().seed());
    expected.check_expected(id, seed, found.transform()).map_err(CombineError::Entries)?;
    match (bits_of(a)?, bits_of(b)?) {
        (None, None) => Ok(Pair::Neither),
        (Some(x), None) => Ok(Pair::One(a, x)),
        (None, Some(y)) => Ok(Pair::One(b, y)),
        (Some(x), Some(y)) => {
            if a.kind() != b.kind() {
                return Err(CombineError::Kind { found: b.kind() });
            }
            if x.num_bits != y.num_bits {
                return Err(CombineError::NumBits { a: x.num_bits, b: y.num_bits });
            }
            if x.num_probes != y.num_probes {
                return Err(CombineError::NumProbes { a: x.num_probes, b: y.num_probes });
            }
            Ok(Pair::Both(x, y))
        }
    }
}

impl<B: AsRef<[u8]>> FilterBlock<B> {
    /// Returns the number of entries of a bloom block, estimated from the number of set bits; infinite if every bit is
    /// set.
    ///
    /// # Errors
    /// [`CombineError::Kind`] for other kinds.
    pub fn estimate_entries(&self) -> Result<f64, CombineError> {
        Ok(bits_of(&self.reader())?.map_or(0.0, |bits| bits.estimate_entries()))
    }

    /// Returns a block, bound to `context`, that passes every key which either of two bloom blocks passes. Its number
    /// of entries is an estimate, and is flagged as one.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_fixed_shape(FilterKind::Bloom, 1024, 7)?; // for any number of keys
    /// let options = OpenOptions::new().expect(&policy);
    /// let block = |keys: &[&[u8]]| {
    ///     let mut builder = FilterBlockBuilder::new(&policy);
    ///     keys.iter().for_each(|key| builder.add_key(key));
    ///     builder.finish()
    /// };
    /// let (a, b) = (block(&[b"one", b"two"])?, block(&[b"two", b"three", b"four"])?);
    /// let (a, b) = (options.open(&a)?, options.open(&b)?);
    /// let union = a.union(&b, 0)?;
    /// let union = options.open(&union)?;
    /// assert!(union.may_contain(b"one") && union.may_contain(b"three"));
    /// assert_eq!(union.num_entries(), 4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CombineError`] if the blocks cannot be combined: the first property in which they differ.
    pub fn union(&self, other: &FilterBlock<impl AsRef<[u8]>>, context: u64) -> Result<Vec<u8>, CombineError> {
        combined(&self.reader(), &other.reader(), context, Operation::Union)
    }

    /// Returns a block, bound to `context`, that passes every key which both of two bloom blocks pass: every key of the
    /// intersection, and more absent keys than a block built from the intersection would pass.
    ///
    /// # Errors
    /// [`CombineError`] if the blocks cannot be combined: the first property in which they differ.
    pub fn intersection(&self, other: &FilterBlock<impl AsRef<[u8]>>, context: u64) -> Result<Vec<u8>, CombineError> {
        combined(&self.reader(), &other.reader(), context, Operation::Intersection)
    }
}

fn combined(
    a: &FilterBlockReader<'_>,
    b: &FilterBlockReader<'_>,
    context: u64,
    operation: Operation,
) -> Result<Vec<u8>, CombineError> {
    let (source, payload, estimate) = match (pair(a, b)?, operation) {
        (Pair::Both(x, y), _) => (a, x.combined(&y, operation).collect(), x.estimate(&y, operation)),
        (Pair::One(block, bits), Operation::Union) => (block, bits.bytes.to_vec(), bits.estimate_entries()),
        (Pair::One(block, _), Operation::Intersection) => return Ok(empty_block(block, context)),
        (Pair::Neither, _) => return Ok(empty_block(a, context)),
    };
    // Zero entries is a state of its own, without parameters, so an estimate is at least one. The conversion
    // saturates.
    let num_entries = ((estimate + 0.5) as u64).max(1);
    Ok(block_like(source, source.layout().params(source.payload()), num_entries, &payload, context))
}

/// Returns a block of the kind, hasher and transform of `source`, bound to `context`.
fn block_like(
    source: &FilterBlockReader<'_>,
    params: Option<Params>,
    num_entries: u64,
    payload: &[u8],
    context: u64,
) -> Vec<u8> {
    let entries_estimated = params.is_some();
    let mut block = std::vec![0; HEADER_LEN];
    block.extend(payload);
    Header { num_entries, entries_estimated, ..source.header(params) }.write(&mut block, context);
    block
}

fn empty_block(source: &FilterBlockReader<'_>, context: u64) -> Vec<u8> {
    block_like(source, None, 0, &[], context)
}
