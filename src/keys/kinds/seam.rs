//! The interface between a kind and the rest of the library.
//!
//! A folder `kinds/<kind>` has the types `Params`, `Settings`, `Plan`, `Layout` and `View`, with the traits below, and
//! a module `sizing`, its mathematics. On the writer's side a policy holds [`KindSettings`]; for a number of entries
//! they give a [`KindPlan`], which builds a payload and returns the [`KindParams`] to be stored with it. On the
//! reader's side stored [`KindParams`] and a payload give a [`KindView`], which answers queries.
//!
//! The portable code of a kind is the definition of its answers; engines that compute them in another way are tested to
//! give the same.

use super::trailer::Trailer;
use crate::error::DecodeError;
use crate::hash::KeyHash;
use core::fmt::Debug;

pub(crate) use crate::frame::{PARAMS_LEN, StoredParams};

#[cfg(feature = "std")]
pub(crate) use crate::build::{Built, Unbuilt};
#[cfg(feature = "std")]
use {
    super::combine::BitArray,
    super::size::Target,
    super::speed::Speed,
    crate::build::{Output, Tally},
    crate::error::BuildError,
    std::vec::Vec,
};

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
    #[cfg(feature = "std")]
    fn encode(&self) -> [u8; PARAMS_LEN];

    /// Appends the bytes that [`KindParams::decode_trailer`] takes.
    #[cfg(feature = "std")]
    fn encode_trailer(&self, out: &mut Vec<u8>);
}

/// The part of a policy that a kind defines.
#[cfg(feature = "std")]
pub(crate) trait KindSettings: Copy + Debug + Default + PartialEq {
    type Plan: KindPlan;

    /// The speed with default settings, by which kinds are compared.
    const SPEED: Speed;

    /// Whether the length of a payload depends on the hashes, and not on their number alone.
    const LEN_DEPENDS_ON_KEYS: bool = false;

    /// Whether the rate falls by steps as blocks get more bits, at sizes that depend on the number of entries.
    const RATE_HAS_STEPS: bool = false;

    /// Returns the kind's own setting of this name, or `None` if it has none.
    fn get(&self, _name: &str) -> Option<u64> {
        None
    }

    /// Changes the kind's own setting of this name. Kinds that have none ignore it.
    ///
    /// # Errors
    /// [`BuildError::Setting`] outside the legal range.
    fn set(self, _name: &'static str, _value: u64) -> Result<Self, BuildError> {
        Ok(self)
    }

    /// Returns the least and the greatest legal false-positive rate.
    fn rate_limits(&self) -> (f64, f64);

    /// Prepares for plans that meet `rate`, once for all filters of a policy.
    #[must_use]
    fn solved(self, _rate: f64) -> Self {
        self
    }

    /// Returns the fewest bytes of payload that a cap may leave for `num_entries` entries (at least 1), or 0 if only a
    /// build shows whether they fit.
    fn min_payload_len(num_entries: u64) -> u64;

    /// Returns the greatest number of bytes that `num_blocks` payloads of `num_entries` entries in all take beyond
    /// their bits per key.
    fn max_overhead(num_entries: u64, num_blocks: u64) -> u64;

    /// Returns the plan that meets `target` for `num_entries` (at least 1) distinct entries.
    fn plan(&self, target: Target, num_entries: u64) -> Result<Planned<Self::Plan>, TooLong>;
}

/// A plan, and the expected length of its payload.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Planned<P> {
    pub(crate) plan: P,
    pub(crate) payload_bytes: u64,
}

#[cfg(feature = "std")]
impl<P> Planned<P> {
    pub(super) fn map<Q>(self, wrap: impl FnOnce(P) -> Q) -> Planned<Q> {
        Planned { plan: wrap(self.plan), payload_bytes: self.payload_bytes }
    }
}

/// An error: the payload would be longer than the format can describe.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TooLong {
    pub(crate) payload_bytes: u64,
    /// The greatest length that the format can describe, of payloads of these dimensions.
    pub(crate) max_bytes: u64,
}

/// The hashes of a set.
#[cfg(feature = "std")]
pub(crate) struct Hashes<'a> {
    pub(crate) hashes: &'a mut [u64],
    /// Whether they were remapped, so that they are spread evenly and nobody has chosen them. If they were not, a kind
    /// that [remaps](KindParams::REMAPS) gives up early.
    pub(crate) are_remapped: bool,
    /// Their tally as they were added. A build that finds another has not checked its payload.
    pub(crate) all: Tally,
}

#[cfg(all(test, feature = "std"))]
impl<'a> Hashes<'a> {
    pub(crate) fn given(hashes: &'a mut [u64]) -> Self {
        Self { all: Tally::of(hashes.iter().copied()), hashes, are_remapped: false }
    }

    pub(crate) fn remapped(hashes: &'a mut [u64]) -> Self {
        Self { are_remapped: true, ..Self::given(hashes) }
    }
}

/// How a payload is built. The bytes do not depend on it.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    /// Whether all cores may be used.
    pub(crate) parallel: bool,
    /// Whether the build looks up the hashes in what it has written, while that is in a cache.
    pub(crate) checks: bool,
}

/// The dimensions of a filter that is to be built.
#[cfg(feature = "std")]
pub(crate) trait KindPlan: Copy + Debug + PartialEq {
    type Params: KindParams;

    /// Appends the payload that stores `hashes`: at least one, in any order.
    ///
    /// # Errors
    /// [`Unbuilt`]; then `out` may have grown. Hashes may be reordered, but none is lost.
    fn build(&self, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<Built<Self::Params>, Unbuilt>;

    /// Returns a plan that is at least as good, and whose parameters take fewer bytes of a compact frame.
    #[must_use]
    fn in_compact_frame(self) -> Self {
        self
    }

    /// Returns the rate at which absent hashes pass, on average over all sets of `num_entries` distinct hashes.
    fn expected_fpr(&self, num_entries: u64) -> f64;
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
    #[cfg(feature = "std")]
    fn bit_array(&self) -> Option<BitArray<'a>> {
        None
    }
}

/// The number of hashes whose lines are prefetched before the first of them is probed.
pub(super) const BATCH: usize = 32;
/// The greatest length of payloads that are assumed to stay in a cache, where prefetching takes longer than it saves. A
/// level-2 cache holds some such filters; of larger ones an engine has too many for it, though one alone would fit.
pub(super) const MAX_CACHED_LEN: usize = 1 << 17;

/// Probes batch by batch, each prefetched as a whole if `payload` is too long for a cache.
#[inline(always)]
pub(super) fn in_batches(
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
