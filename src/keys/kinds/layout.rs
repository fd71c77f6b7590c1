//! A filter that was checked once: the layout of its kind, and the code that answers queries.

use super::combine::BitArray;
use super::seam::{self, Columns, KindView};
use super::{Inlined, KindLayout, Params, each, each_of};
use crate::error::DecodeError;
use crate::hash::{KeyHash, SetSeed};
use crate::kind::{FilterKind, kinds};

#[cfg(feature = "std")]
use std::vec::Vec;

/// A function that returns whether the payload at an offset of a frame may contain a hash, for filters of one kind, or
/// for those that are remapped.
pub(super) type Called = fn(&FilterLayout, &[u8], u32, KeyHash) -> bool;

/// The function for remapped filters: there are few of them, and the others' queries do not distinguish them. It calls the
/// kind's own function, as a second copy of a kind's probe in the same place kept the compiler from inlining the first:
/// golomb's queries took 1.02 to 1.07 of the time.
pub(super) const REMAPPED_CALLED: Called =
    |filter, frame, start, hash| filter.of_kind.called()(filter, filter.own(frame), start, filter.remapped(hash));

/// The function for filters without entries. Their payload is empty: bytes of another length are a defect of the caller,
/// and no such bytes are denied.
pub(super) const EMPTY_CALLED: Called = |_, frame, start, _| {
    assert!(frame.len() == start as usize, "the bytes of a filter changed their length");
    false
};

/// A checked filter without its payload. The owner of the payload keeps both, and passes the payload to each query.
// The order of fields matters: the inlined probe reads nothing after itself.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct FilterLayout {
    /// The inlined probe: the one short enough for a caller's loop, if kind, parameters and engine have it. It is
    /// outside the enum because comparing the tag would take a tenth of the probe's time.
    pub(super) inlined: Inlined,
    /// The kind's own probe, for all other queries.
    pub(super) called: Called,
    pub(super) of_kind: KindLayout,
    /// The seed of a remapped filter. It follows the kind's payload.
    set_seed: Option<SetSeed>,
}

impl FilterLayout {
    /// Zero entries: every key is absent.
    pub(crate) const EMPTY: Self =
        Self { inlined: Inlined::NONE, called: EMPTY_CALLED, of_kind: KindLayout::Empty, set_seed: None };

    /// Checks `payload`, a kind's own, against `params` once and for all. `base` is the payload's offset in the frame.
    /// In a frame whose filter is remapped the seed follows the payload.
    pub(crate) fn check(
        params: Params,
        payload: &[u8],
        base: u64,
        set_seed: Option<SetSeed>,
    ) -> Result<Self, DecodeError> {
        let of_kind =
            each!(Params, params, params in View => View::check(params, payload, base).map(KindLayout::from))?;
        Ok(match set_seed {
            None => Self::of(of_kind),
            Some(_) => Self { inlined: Inlined::NONE, called: REMAPPED_CALLED, of_kind, set_seed },
        })
    }

    /// Chooses the code that answers queries.
    fn of(of_kind: KindLayout) -> Self {
        Self { inlined: of_kind.inlined(), called: of_kind.called(), of_kind, set_seed: None }
    }

    /// Returns this filter with each engine of the processor, the portable one first.
    #[cfg(all(test, feature = "std"))]
    pub(crate) fn with_each_engine(&self) -> Vec<Self> {
        let layouts: Vec<KindLayout> = each!(KindLayout, &self.of_kind, layout in View => {
            View::with_each_engine(layout).into_iter().map(KindLayout::from).collect()
        }, Empty => Vec::from([self.of_kind]));
        layouts.into_iter().map(Self::of).collect()
    }

    /// `None` without entries.
    pub(crate) fn kind(&self) -> Option<FilterKind> {
        self.of_kind.kind()
    }

    /// Answers for the payload that begins at `start` of `frame`. The shortest probe is inlined into a loop of queries,
    /// and a call of all others.
    #[inline(always)]
    pub(crate) fn may_contain(&self, frame: &[u8], start: u32, hash: KeyHash) -> bool {
        match self.inlined.may_contain(frame, start, hash) {
            Some(answer) => answer,
            None => (self.called)(self, frame, start, hash),
        }
    }

    /// Returns the bytes up to the end of the kind's own payload: in a remapped filter, those before the seed.
    #[inline(always)]
    pub(crate) fn own<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        match self.set_seed {
            None => payload,
            Some(_) => &payload[..payload.len().saturating_sub(SetSeed::LEN)],
        }
    }

    /// Returns the seed of a remapped filter.
    pub(crate) fn set_seed(&self) -> Option<SetSeed> {
        self.set_seed
    }

    /// Answers for each hash; the kind is matched once.
    pub(crate) fn may_contain_all(&self, payload: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
        if self.set_seed.is_some() {
            return self.may_contain_all_remapped(payload, hashes, answers);
        }
        self.may_contain_all_own(payload, hashes, answers);
    }

    #[inline(always)]
    fn may_contain_all_own(&self, payload: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
        each!(KindLayout, &self.of_kind, layout in View => View::new(layout, payload).may_contain_all(hashes, answers),
        Empty => {
            assert!(payload.is_empty(), "the bytes of a filter changed their length");
            answers.fill(false);
        });
    }

    #[cold]
    #[inline(never)]
    fn may_contain_all_remapped(&self, payload: &[u8], hashes: &[KeyHash], answers: &mut [bool]) {
        let mut remapped = [KeyHash::from_raw(0); seam::BATCH];
        for (hashes, answers) in hashes.chunks(seam::BATCH).zip(answers.chunks_mut(seam::BATCH)) {
            remapped.iter_mut().zip(hashes).for_each(|(remapped, &hash)| *remapped = self.remapped(hash));
            self.may_contain_all_own(self.own(payload), &remapped[..hashes.len()], answers);
        }
    }

    /// Returns the hash by which a query finds `hash`.
    pub(super) fn remapped(&self, hash: KeyHash) -> KeyHash {
        self.set_seed.map_or(hash, |seed| KeyHash::from_raw(seed.remap(hash.get())))
    }

    /// Returns whether it pays to prefetch the lines of several filters before the first of them is probed. It does not
    /// if the probe is so short that a processor requests the lines of the next ten filters by itself: measured with
    /// ten tables of 10⁴ to 10⁷ keys.
    #[inline]
    pub(crate) fn gains_by_prefetch(&self) -> bool {
        !self.inlined.is_shortest()
    }

    /// Prefetches the lines that the probe of `hash` reads first, of the payload that begins at `start` of `frame`.
    #[inline(always)]
    pub(crate) fn prefetch(&self, frame: &[u8], start: u32, hash: KeyHash) {
        if self.inlined.prefetch(frame, start, hash).is_none() {
            self.prefetch_called(frame, start, hash);
        }
    }

    #[inline(never)]
    fn prefetch_called(&self, frame: &[u8], start: u32, hash: KeyHash) {
        let (payload, hash) = (self.own(&frame[start as usize..]), self.remapped(hash));
        each!(KindLayout, &self.of_kind, layout in View => View::new(layout, payload).prefetch(hash), Empty => ());
    }

    /// The rate at which absent keys pass, computed from the payload.
    pub(crate) fn predicted_fpr(&self, payload: &[u8]) -> f64 {
        let payload = self.own(payload);
        each!(KindLayout, &self.of_kind, layout in View => View::new(layout, payload).predicted_fpr(), Empty => 0.0)
    }

    /// The share of the usable bits that are set; for kinds that store hashes, the share of their range that is taken.
    pub(crate) fn fill(&self, payload: &[u8]) -> f64 {
        let payload = self.own(payload);
        each!(KindLayout, &self.of_kind, layout in View => View::new(layout, payload).fill(), Empty => 0.0)
    }

    /// Probes of a query, for the kinds that probe bits.
    pub(crate) fn num_probes(&self, payload: &[u8]) -> Option<u32> {
        let payload = self.own(payload);
        each!(KindLayout, &self.of_kind, layout in View => View::new(layout, payload).num_probes(), Empty => None)
    }

    /// The columns, for the kinds that have columns.
    pub(crate) fn columns(&self) -> Option<Columns> {
        each!(KindLayout, &self.of_kind, layout in View => View::columns(layout), Empty => None)
    }

    /// See [`KindView::limit_columns`].
    pub(crate) fn limit_columns(&mut self, columns: u32) {
        each!(KindLayout, &mut self.of_kind, layout in View => View::limit_columns(layout, columns), Empty => ());
    }

    /// See [`KindView::thin`]. The seed of a remapped filter is copied.
    #[cfg(feature = "std")]
    pub(crate) fn thin(&self, payload: &[u8], columns: u32, out: &mut Vec<u8>) -> Option<Params> {
        let payload = self.own(payload);
        let params = each!(KindLayout, &self.of_kind, layout in View => {
            View::new(layout, payload).thin(columns, out).map(Params::from)
        }, Empty => None);
        out.extend(self.set_seed.into_iter().flat_map(SetSeed::to_bytes));
        params
    }

    /// Returns the stored dimensions; `None` without entries.
    pub(crate) fn params(&self, payload: &[u8]) -> Option<Params> {
        let payload = self.own(payload);
        each!(KindLayout, &self.of_kind, layout in View => Some((*View::new(layout, payload).params()).into()), Empty => None)
    }

    /// Returns the bits to combine, for the kinds that combine.
    pub(crate) fn bit_array<'a>(&'a self, payload: &'a [u8]) -> Option<BitArray<'a>> {
        let payload = self.own(payload);
        each!(KindLayout, &self.of_kind, layout in View => View::new(layout, payload).bit_array(), Empty => None)
    }
}
