//! The interface between a kind and the rest of the library.
//!
//! A folder `kinds/<kind>` has the types `Params`, `Settings`, `Plan`, `Layout` and `View`, with the traits below, and
//! a module `sizing`, its mathematics. On the writer's side a policy holds [`KindSettings`]; for a number of entries
//! they give a [`KindPlan`], which builds a payload and returns the [`KindParams`] to be stored with it. On the
//! reader's side stored [`KindParams`] and a payload give a [`KindView`], which answers queries.
//!
//! The portable code of a kind is the definition of its answers; engines that compute them in another way are tested to
//! give the same.

#[cfg(feature = "std")]
mod writer;

use super::combine::BitArray;
use super::trailer::Trailer;
use crate::error::DecodeError;
use crate::hash::KeyHash;
use core::fmt::Debug;

#[cfg(feature = "std")]
pub(crate) use crate::build::{Built, Unbuilt};
pub(crate) use crate::frame::{PARAMS_LEN, StoredParams};
#[cfg(feature = "std")]
use std::vec::Vec;
#[cfg(feature = "std")]
pub(crate) use writer::{Hashes, KindPlan, KindSettings, Mode, Planned, TooLong};

/// The dimensions of a filter that is built, as they are stored.
pub(crate) trait KindParams: Copy + Debug + PartialEq {
    /// Whether filters of this kind can be combined without their keys. The number of entries is then an estimate.
    const COMBINES: bool = false;

    /// Whether hashes that are not spread evenly may keep this kind from being built, or make it large or slow. Its
    /// filters may then be remapped ([`SetSeed`](crate::hash::SetSeed)).
    const REMAPS: bool = false;

    /// Reads the parameters that a header stores.
    fn decode(stored: &StoredParams<'_>) -> Result<Self, DecodeError>;

    /// Takes the parameters off the end of a compact frame, and leaves the payload.
    fn decode_trailer(trailer: &mut Trailer<'_>) -> Result<Self, DecodeError>;

    /// Returns the bytes that [`KindParams::decode`] reads.
    fn encode(&self) -> [u8; PARAMS_LEN];

    /// Appends the bytes that [`KindParams::decode_trailer`] takes.
    fn encode_trailer(&self, out: &mut impl Extend<u8>);
}

/// The columns of a filter whose columns are filters of their own: without some of them it answers *maybe* more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// The greatest number of columns that are stored for an entry.
    pub(crate) stored: u32,
    /// The greatest number of columns that queries compare.
    pub(crate) compared: u32,
    /// The greatest number of columns for an entry in the filter from which this one was thinned, if it was.
    pub(crate) thinned_from: Option<u32>,
    /// The number of bytes of a payload for each whole column.
    pub(crate) column_bytes: u64,
    /// The number of bytes of a payload besides the columns.
    pub(crate) other_bytes: u64,
}

/// A filter that answers without failing, allocating or parsing again: a layout and the payload that it was made from.
pub(crate) trait KindView<'a>: Copy + Debug {
    type Params: KindParams;
    /// All that is known about a filter without its payload.
    type Layout: Copy + Debug;

    /// Checks `payload` against `params` once and for all. `base` is the payload's offset in the frame.
    fn check(params: Self::Params, payload: &[u8], base: u64) -> Result<Self::Layout, DecodeError>;

    /// Returns the view over the payload from which `layout` was made. A view is made for each query, so it copies
    /// nothing.
    ///
    /// # Panics
    /// If the payload's length has changed: probes without bounds checks rely on it.
    fn new(layout: &'a Self::Layout, payload: &'a [u8]) -> Self;

    /// Returns `layout` with each engine of the processor, the portable one first; unchanged if the kind has no engines.
    #[cfg(all(test, feature = "std"))]
    fn with_each_engine(layout: &Self::Layout) -> Vec<Self::Layout> {
        Vec::from([*layout])
    }

    fn params(&self) -> &Self::Params;

    /// Returns whether `hash` may be stored; *no* is certain.
    fn may_contain(&self, hash: KeyHash) -> bool;

    /// Answers for each hash. Both slices have the same length.
    fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]);

    /// Prefetches the lines that the probe of `hash` reads first.
    fn prefetch(&self, hash: KeyHash);

    /// Returns the rate at which absent hashes pass, computed from the payload.
    fn predicted_fpr(&self) -> f64;

    /// Returns the share of the usable bits that are set, or of another resource that limits the kind.
    fn fill(&self) -> f64;

    /// Returns the number of probes of a query, for the kinds that probe bits.
    fn num_probes(&self) -> Option<u32> {
        None
    }

    /// Returns the columns, for the kinds that have columns.
    fn columns(_layout: &Self::Layout) -> Option<Columns> {
        None
    }

    /// Makes queries compare no more than the first `columns` columns, which are at most the stored ones.
    fn limit_columns(_layout: &mut Self::Layout, _columns: u32) {}

    /// Appends a payload of the first `columns` columns, at least one and fewer than are stored, for the kinds that
    /// have columns.
    #[cfg(feature = "std")]
    fn thin(&self, _columns: u32, _out: &mut Vec<u8>) -> Option<Self::Params> {
        None
    }

    /// Returns the bits to combine, for the kinds that [combine](KindParams::COMBINES).
    fn bit_array(&self) -> Option<BitArray<'a>> {
        None
    }
}

/// The number of hashes whose lines are prefetched before the first of them is probed.
pub(crate) const BATCH: usize = 32;
/// The greatest length of payloads that are assumed to stay in a cache, where prefetching takes longer than it saves. A
/// level-2 cache holds some such filters; of larger ones an engine has too many for it, though one alone would fit.
pub(crate) const MAX_CACHED_LEN: usize = 1 << 17;

/// Probes batch by batch, each prefetched as a whole if `payload` is too long for a cache.
#[inline(always)]
pub(crate) fn in_batches(
    payload: &[u8],
    hashes: &[KeyHash],
    answers: &mut [bool],
    prefetch: impl Fn(KeyHash),
    probe: impl Fn(KeyHash) -> bool,
) {
    for (hashes, answers) in hashes.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        if payload.len() > MAX_CACHED_LEN {
            hashes.iter().for_each(|&hash| prefetch(hash));
        }
        answers.iter_mut().zip(hashes).for_each(|(answer, &hash)| *answer = probe(hash));
    }
}
