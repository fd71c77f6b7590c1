//! The writer's side of the dispatch: the settings of a policy, and plans.

use super::seam::{Built, Hashes, KindParams, KindPlan, KindSettings, Mode, PARAMS_LEN, Planned, TooLong, Unbuilt};
use super::size::{FilterSize, PROBES, Target};
use super::speed::Speed;
use super::{Params, by_kind, by_kind_of, each, each_of};
use crate::build::Output;
use crate::error::BuildError;
use crate::kind::{FilterKind, kinds};
use std::vec::Vec;

macro_rules! enums {
    ({} $($(#[$doc:meta])* $Kind:ident, $module:ident, $tag:literal;)*) => {
        impl Params {
            pub(crate) fn kind(&self) -> FilterKind {
                match self {
                    $(Self::$Kind(_) => FilterKind::$Kind,)*
                }
            }
        }

        /// The part of a policy that its kind defines.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum Settings {
            $($Kind(crate::keys::kinds::$module::Settings),)*
        }
        $(impl From<crate::keys::kinds::$module::Settings> for Settings {
            #[inline(always)]
            fn from(of_kind: crate::keys::kinds::$module::Settings) -> Self {
                Self::$Kind(of_kind)
            }
        })*

        impl Settings {
            pub(crate) fn kind(&self) -> FilterKind {
                match self {
                    $(Self::$Kind(_) => FilterKind::$Kind,)*
                }
            }
        }

        /// The dimensions of a filter that is to be built.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum Plan {
            $($Kind(crate::keys::kinds::$module::Plan),)*
        }
        $(impl From<crate::keys::kinds::$module::Plan> for Plan {
            #[inline(always)]
            fn from(of_kind: crate::keys::kinds::$module::Plan) -> Self {
                Self::$Kind(of_kind)
            }
        })*
    };
}
kinds!(enums);

impl Params {
    pub(crate) fn encode(&self) -> [u8; PARAMS_LEN] {
        each!(Self, self, params => params.encode())
    }

    pub(crate) fn encode_trailer(&self, out: &mut Vec<u8>) {
        each!(Self, self, params => params.encode_trailer(out));
    }
}

impl Settings {
    /// Returns the kind's default settings.
    pub(crate) fn new(kind: FilterKind) -> Self {
        by_kind!(kind, Settings => {
            let defaults: Settings = Default::default();
            defaults.into()
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<u64> {
        each!(Self, self, settings => settings.get(name))
    }

    pub(crate) fn set(self, name: &'static str, value: u64) -> Result<Self, BuildError> {
        each!(Self, self, settings => settings.set(name, value).map(Self::from))
    }

    /// Returns the least and the greatest legal false-positive rate.
    pub(crate) fn rate_limits(&self) -> (f64, f64) {
        each!(Self, self, settings => settings.rate_limits())
    }

    /// Returns the settings, prepared for plans of `size`.
    pub(crate) fn solved(self, size: FilterSize) -> Self {
        match size {
            FilterSize::FalsePositiveRate(rate) => each!(Self, self, settings => settings.solved(rate).into()),
            // The number was checked with the size.
            FilterSize::FixedShape { num_probes, .. } => self.set(PROBES, num_probes.into()).unwrap_or(self),
            FilterSize::MillibitsPerKey(_) | FilterSize::MaxBytes(_) => self,
        }
    }

    /// Returns the plan that meets `target` for `num_entries` (at least 1) distinct entries.
    pub(crate) fn plan(&self, target: Target, num_entries: u64) -> Result<Planned<Plan>, TooLong> {
        each!(Self, self, settings => settings.plan(target, num_entries).map(|planned| planned.map(Plan::from)))
    }

    /// See [`KindSettings::SPEED`].
    pub(crate) fn speed(&self) -> Speed {
        by_kind!(self.kind(), Settings => Settings::SPEED)
    }

    /// Returns whether the length of a payload depends on the hashes, and not on their number alone.
    pub(crate) fn len_depends_on_keys(&self) -> bool {
        by_kind!(self.kind(), Settings => Settings::LEN_DEPENDS_ON_KEYS)
    }

    /// See [`KindSettings::RATE_HAS_STEPS`].
    pub(crate) fn rate_has_steps(&self) -> bool {
        by_kind!(self.kind(), Settings => Settings::RATE_HAS_STEPS)
    }

    /// See [`KindSettings::min_payload_len`].
    pub(crate) fn min_payload_len(&self, num_entries: u64) -> u64 {
        by_kind!(self.kind(), Settings => Settings::min_payload_len(num_entries))
    }

    /// See [`KindSettings::max_overhead`].
    pub(crate) fn max_overhead(&self, num_entries: u64, num_blocks: u64) -> u64 {
        by_kind!(self.kind(), Settings => Settings::max_overhead(num_entries, num_blocks))
    }
}

impl Plan {
    /// See [`KindPlan::build`].
    pub(crate) fn build(&self, hashes: Hashes<'_>, out: &mut Output<'_>, mode: Mode) -> Result<Built<Params>, Unbuilt> {
        each!(Self, self, plan => plan.build(hashes, out, mode).map(|built| built.map(Params::from)))
    }

    /// See [`KindPlan::in_compact_frame`].
    pub(crate) fn in_compact_frame(self) -> Self {
        each!(Self, self, plan => plan.in_compact_frame().into())
    }

    pub(crate) fn expected_fpr(&self, num_entries: u64) -> f64 {
        each!(Self, self, plan => plan.expected_fpr(num_entries))
    }
}
