//! The kinds of filter, and the dispatch over them.
//!
//! Each kind is a file (or folder) of its own and knows none of the others. A kind offers `Params`, what is stored for
//! it; a builder from distinct hashes to payload bytes; and a view over payload bytes that answers. The portable code is
//! the definition of a kind's probes; engines that compute them in their own way are tested to give the same. What
//! dimensions a kind gets for a size is planned in `block`, beside the header that the size includes.

pub(crate) mod blocked;
pub(crate) mod bloom;
#[cfg(feature = "std")]
pub(crate) mod combine;
pub(crate) mod golomb;

use crate::error::DecodeError;
use crate::hash::KeyHash;
#[cfg(feature = "std")]
use crate::hashes::Repeated;
use crate::kind::FilterKind;
use core::ops::Range;

/// Bytes of a header set aside for a kind's parameters.
pub(crate) const PARAMS_LEN: usize = 12;

/// A kind's dimensions, fixed before the first bit is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Params {
    Bloom(bloom::Params),
    Blocked(blocked::Params),
    Golomb(golomb::Params),
}

impl Params {
    pub(crate) const fn kind(&self) -> FilterKind {
        match self {
            Self::Bloom(_) => FilterKind::Bloom,
            Self::Blocked(_) => FilterKind::Blocked,
            Self::Golomb(_) => FilterKind::Golomb,
        }
    }

    /// As the header stores them.
    #[cfg(feature = "std")]
    pub(crate) fn encode(&self) -> [u8; PARAMS_LEN] {
        match self {
            Self::Bloom(p) => p.encode(),
            Self::Blocked(p) => p.encode(),
            Self::Golomb(p) => p.encode(),
        }
    }

    /// Reads what the header stores.
    pub(crate) fn decode(stored: &StoredParams<'_>) -> Result<Self, DecodeError> {
        let StoredParams { kind, params, base, num_entries, payload_len } = *stored;
        Ok(match kind {
            FilterKind::Bloom => Self::Bloom(bloom::Params::decode(params, base)?),
            FilterKind::Blocked => Self::Blocked(blocked::Params::decode(params, base, payload_len)?),
            FilterKind::Golomb => Self::Golomb(golomb::Params::decode(params, base, num_entries)?),
        })
    }

    /// Appends the payload that stores `hashes`: at least one, and if [`needs_order`], sorted and distinct. A kind that
    /// learns a parameter only while building (a directory's width) records it in `self`.
    ///
    /// # Errors
    /// [`Repeated`] if a hash occurs twice; then `out` may have grown. Hashes may be reordered, but none is lost.
    #[cfg(feature = "std")]
    pub(crate) fn build(&mut self, hashes: &mut [u64], out: &mut std::vec::Vec<u8>) -> Result<(), Repeated> {
        match self {
            Self::Bloom(p) => bloom::build(p, hashes, out)?,
            Self::Blocked(p) => blocked::build(p, hashes, out)?,
            Self::Golomb(p) => golomb::build(p, hashes, out),
        }
        Ok(())
    }
}

/// Whether a kind stores hashes in their order.
#[cfg(feature = "std")]
pub(crate) fn needs_order(kind: FilterKind) -> bool {
    matches!(kind, FilterKind::Golomb)
}

/// Refuses parameter bytes in `range` that are not zero.
fn check_reserved(params: &[u8; PARAMS_LEN], range: Range<usize>, base: u64) -> Result<(), DecodeError> {
    match range.into_iter().find(|&i| params[i] != 0) {
        Some(i) => Err(DecodeError::Reserved { offset_bytes: base + i as u64, found: params[i] }),
        None => Ok(()),
    }
}

/// What a frame says of its filter, before it is believed.
pub(crate) struct StoredParams<'a> {
    pub(crate) kind: FilterKind,
    pub(crate) params: &'a [u8; PARAMS_LEN],
    /// Offset of the parameters in the frame, for messages.
    pub(crate) base: u64,
    pub(crate) num_entries: u64,
    pub(crate) payload_len: u64,
}

/// What is left of a view when its bytes are put aside: everything that was checked and derived.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FilterLayout {
    Empty,
    Bloom(bloom::Layout),
    Blocked(blocked::Layout),
    Golomb(golomb::Layout),
}

impl FilterLayout {
    /// The view again, over the same bytes.
    #[inline]
    pub(crate) fn view(self, payload: &[u8]) -> FilterView<'_> {
        match self {
            Self::Empty => FilterView::Empty,
            Self::Bloom(layout) => FilterView::Bloom(bloom::View::with_layout(layout, payload)),
            Self::Blocked(layout) => FilterView::Blocked(blocked::View::with_layout(layout, payload)),
            Self::Golomb(layout) => FilterView::Golomb(golomb::View::with_layout(layout, payload)),
        }
    }
}

/// Hashes whose lines are asked for before the first of them is probed.
const BATCH: usize = 32;
/// Payloads of up to this many bytes stay in a level-2 cache, where asking ahead takes longer than it saves.
const MAX_CACHED_LEN: usize = 1 << 20;

/// Probes batch by batch, each prefetched as a whole if `payload` is too long for a cache.
#[inline(always)]
fn in_batches(
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

/// A validated view over payload bytes: answers without failing, allocating or re-parsing.
// With a tag of its own: hidden in a field of golomb's it would take four instructions to tell, for each question.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum FilterView<'a> {
    /// Zero entries: every key is absent.
    Empty,
    Bloom(bloom::View<'a>),
    Blocked(blocked::View<'a>),
    Golomb(golomb::View<'a>),
}

impl<'a> FilterView<'a> {
    /// Checks `payload` against `params` once and for all. `base` is the payload's offset in the frame.
    pub(crate) fn new(params: Params, payload: &'a [u8], base: u64) -> Result<Self, DecodeError> {
        Ok(match params {
            Params::Bloom(p) => Self::Bloom(bloom::View::new(p, payload, base)?),
            Params::Blocked(p) => Self::Blocked(blocked::View::new(p, payload)?),
            Params::Golomb(p) => Self::Golomb(golomb::View::new(p, payload, base)?),
        })
    }

    /// All of the view but the bytes.
    pub(crate) fn layout(&self) -> FilterLayout {
        match self {
            Self::Empty => FilterLayout::Empty,
            Self::Bloom(f) => FilterLayout::Bloom(f.layout()),
            Self::Blocked(f) => FilterLayout::Blocked(f.layout()),
            Self::Golomb(f) => FilterLayout::Golomb(f.layout()),
        }
    }

    /// What stands in the caller's loop is no more than the shortest probe and a call for all others: so short that
    /// compilers do inline it.
    #[inline(always)]
    pub(crate) fn may_contain(&self, hash: KeyHash) -> bool {
        if let Self::Blocked(f) = self {
            if let Some(answer) = f.may_contain_inlined(hash) {
                return answer;
            }
        }
        self.may_contain_called(hash)
    }

    #[inline(never)]
    fn may_contain_called(&self, hash: KeyHash) -> bool {
        match self {
            Self::Empty => false,
            Self::Bloom(f) => f.may_contain(hash),
            Self::Blocked(f) => f.may_contain(hash),
            Self::Golomb(f) => f.may_contain(hash),
        }
    }

    /// Probes every hash; the kind is looked up once, and lines are on their way before the first is read.
    pub(crate) fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        match self {
            Self::Empty => answers.fill(false),
            Self::Bloom(f) => f.may_contain_all(hashes, answers),
            Self::Blocked(f) => f.may_contain_all(hashes, answers),
            Self::Golomb(f) => in_batches(f.payload(), hashes, answers, |h| f.prefetch(h), |h| f.may_contain(h)),
        }
    }

    /// Whether asking for lines ahead gains anything across filters.
    #[inline]
    pub(crate) fn gains_by_prefetch(&self) -> bool {
        match self {
            Self::Blocked(f) => f.gains_by_prefetch(),
            Self::Bloom(f) => f.gains_by_prefetch(),
            Self::Empty | Self::Golomb(_) => true,
        }
    }

    /// Asks for the lines that the probe of `hash` reads first.
    pub(crate) fn prefetch(&self, hash: KeyHash) {
        match self {
            Self::Empty => {}
            Self::Bloom(f) => f.prefetch(hash),
            Self::Blocked(f) => f.prefetch(hash),
            Self::Golomb(f) => f.prefetch(hash),
        }
    }

    /// The rate at which absent keys pass, computed from the bits that are set.
    pub(crate) fn predicted_fpr(&self) -> f64 {
        match self {
            Self::Empty => 0.0,
            Self::Bloom(f) => f.predicted_fpr(),
            Self::Blocked(f) => f.predicted_fpr(),
            Self::Golomb(f) => f.predicted_fpr(),
        }
    }

    /// Share of the usable bits that are set; for golomb, the share of the hash range that is occupied.
    pub(crate) fn fill(&self) -> f64 {
        match self {
            Self::Empty => 0.0,
            Self::Bloom(f) => f.fill(),
            Self::Blocked(f) => f.fill(),
            Self::Golomb(f) => f.predicted_fpr(),
        }
    }

    /// Probes made for a key, for the kinds that probe.
    pub(crate) fn num_probes(&self) -> Option<u32> {
        match self {
            Self::Bloom(f) => Some(f.params().num_probes()),
            Self::Blocked(f) => Some(f.params().num_probes()),
            Self::Empty | Self::Golomb(_) => None,
        }
    }
}
