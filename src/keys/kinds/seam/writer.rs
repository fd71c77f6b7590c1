//! The writer's half of the seam.

use super::KindParams;
use crate::build::{Built, Output, Tally, Unbuilt};
use crate::error::BuildError;
use crate::keys::kinds::size::Target;
use crate::keys::kinds::speed::Speed;
use core::fmt::Debug;

/// The part of a policy that a kind defines.
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Planned<P> {
    pub(crate) plan: P,
    pub(crate) payload_bytes: u64,
}

impl<P> Planned<P> {
    pub(crate) fn map<Q>(self, wrap: impl FnOnce(P) -> Q) -> Planned<Q> {
        Planned { plan: wrap(self.plan), payload_bytes: self.payload_bytes }
    }
}

/// An error: the payload would be longer than the format can describe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TooLong {
    pub(crate) payload_bytes: u64,
    /// The greatest length that the format can describe, of payloads of these dimensions.
    pub(crate) max_bytes: u64,
}

/// The hashes of a set.
pub(crate) struct Hashes<'a> {
    pub(crate) hashes: &'a mut [u64],
    /// Whether they were remapped, so that they are spread evenly and nobody has chosen them. If they were not, a kind
    /// that [remaps](KindParams::REMAPS) gives up early.
    pub(crate) are_remapped: bool,
    /// Their tally as they were added. A build that finds another has not checked its payload.
    pub(crate) all: Tally,
}

#[cfg(test)]
impl<'a> Hashes<'a> {
    pub(crate) fn given(hashes: &'a mut [u64]) -> Self {
        Self { all: Tally::of(hashes.iter().copied()), hashes, are_remapped: false }
    }

    pub(crate) fn remapped(hashes: &'a mut [u64]) -> Self {
        Self { are_remapped: true, ..Self::given(hashes) }
    }
}

/// The way a payload is built. The bytes do not depend on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    /// Whether all cores may be used.
    pub(crate) parallel: bool,
    /// Whether the build looks up the hashes in what it has written, while that is in a cache.
    pub(crate) checks: bool,
}

/// The dimensions of a filter that is to be built.
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
