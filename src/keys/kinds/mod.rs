//! The kinds of filter, and the dispatch over them.
//!
//! Each kind is a folder and knows none of the others; what it offers is described in [`seam`]. The enums below are
//! made from the [list](crate::kind), one variant a kind, and each of their methods is one match. A query makes none
//! over kinds: the code that answers is chosen once, when a filter is opened. A query reaches it in up to three steps,
//! each of which exists for a measured gain:
//!
//! 1. [`FilterLayout::may_contain`] compares the payload's length with that of the *inlined* probe, if there is one: a
//!    line of blocked, as short as the call that it saves. That the probe lies outside the enum of layouts, and that
//!    one comparison finds both whether there is one and whether the payload is whole, took 13 % off a query with AVX2
//!    and 5 % with AVX-512. One kind has such a probe: with a second, every query would have to distinguish them.
//! 2. All other queries are *called* by a pointer to the function of their kind. A match that jumped by a table took
//!    12 % longer for fuse, 4 % for bloom, 2 % for ribbon.
//! 3. Kinds with engines match theirs ([`crate::cpu`]). The branch goes the same way for each query of a process. A
//!    pointer for each engine would not save it: an engine's proof of the processor's features is in the layout, and
//!    only a match extracts it.
//!
//! Batches, prefetches and all that is not a query match the kind: they are rare, or the match is shared by many
//! hashes.

pub(crate) mod blocked;
pub(crate) mod bloom;
pub(crate) mod fuse;
pub(crate) mod golomb;
pub(crate) mod ribbon;

#[cfg(feature = "std")]
pub(crate) mod combine;
#[cfg(all(test, feature = "std", target_os = "linux"))]
mod guard_pages;
mod seam;
#[cfg(feature = "std")]
pub(crate) mod size;
#[cfg(feature = "std")]
mod speed;
mod trailer;

#[cfg(feature = "std")]
pub(crate) use seam::Columns;
#[cfg(feature = "std")]
pub(crate) use seam::{Built, Hashes, Mode, Planned, TooLong, Unbuilt};
pub(crate) use trailer::Trailer;

use crate::error::DecodeError;
use crate::kind::{FilterKind, inlined_kind, kinds};
use seam::{KindParams, KindView, StoredParams};

#[cfg(feature = "std")]
use crate::build::Output;
#[cfg(feature = "std")]
use crate::error::BuildError;
#[cfg(feature = "std")]
use seam::{KindPlan, KindSettings, PARAMS_LEN};
#[cfg(feature = "std")]
use size::{FilterSize, PROBES, Target};
#[cfg(feature = "std")]
use speed::Speed;
#[cfg(feature = "std")]
use std::vec::Vec;

macro_rules! enums {
    ({} $($(#[$doc:meta])* $Kind:ident, $module:ident, $tag:literal;)*) => {
        /// The dimensions of a filter that is built, as they are stored.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum Params {
            $($Kind($module::Params),)*
        }
        $(impl From<$module::Params> for Params {
            #[inline(always)]
            fn from(of_kind: $module::Params) -> Self {
                Self::$Kind(of_kind)
            }
        })*

        #[cfg(feature = "std")]
        impl Params {
            pub(crate) fn kind(&self) -> FilterKind {
                match self {
                    $(Self::$Kind(_) => FilterKind::$Kind,)*
                }
            }
        }

        /// The part of a policy that its kind defines.
        #[cfg(feature = "std")]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum Settings {
            $($Kind($module::Settings),)*
        }
        $(#[cfg(feature = "std")] impl From<$module::Settings> for Settings {
            #[inline(always)]
            fn from(of_kind: $module::Settings) -> Self {
                Self::$Kind(of_kind)
            }
        })*

        #[cfg(feature = "std")]
        impl Settings {
            pub(crate) fn kind(&self) -> FilterKind {
                match self {
                    $(Self::$Kind(_) => FilterKind::$Kind,)*
                }
            }
        }

        /// The dimensions of a filter that is to be built.
        #[cfg(feature = "std")]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum Plan {
            $($Kind($module::Plan),)*
        }
        $(#[cfg(feature = "std")] impl From<$module::Plan> for Plan {
            #[inline(always)]
            fn from(of_kind: $module::Plan) -> Self {
                Self::$Kind(of_kind)
            }
        })*

        /// The layout of a filter of its kind.
        // The enum has a tag of its own: hidden in a field of a layout, it would take each query four instructions to
        // read.
        #[derive(Clone, Copy, Debug)]
        #[repr(u8)]
        enum KindLayout {
            /// Zero entries: every key is absent.
            Empty,
            $($Kind($module::Layout),)*
        }

        impl KindLayout {
            /// `None` without entries.
            fn kind(&self) -> Option<FilterKind> {
                match self {
                    Self::Empty => None,
                    $(Self::$Kind(_) => Some(FilterKind::$Kind),)*
                }
            }

            /// The probe of this layout's kind: chosen once, so that a query is spared the match.
            fn called(&self) -> Called {
                match self {
                    Self::Empty => EMPTY_CALLED,
                    $(Self::$Kind(_) => |filter, frame, start, hash| match &filter.of_kind {
                        Self::$Kind(layout) => {
                            $module::View::new(layout, &frame[start as usize..]).may_contain(hash)
                        }
                        _ => unreachable!("a layout keeps its kind"),
                    },)*
                }
            }
        }
        $(impl From<$module::Layout> for KindLayout {
            #[inline(always)]
            fn from(of_kind: $module::Layout) -> Self {
                Self::$Kind(of_kind)
            }
        })*
    };
}
kinds!(enums);

macro_rules! inlined {
    ($Kind:ident, $module:ident) => {
        use $module::Inlined;

        impl KindLayout {
            fn inlined(&self) -> Inlined {
                match self {
                    Self::$Kind(layout) => layout.inlined(),
                    _ => Inlined::NONE,
                }
            }
        }
    };
}
inlined_kind!(inlined);

/// `each!(Enum, value, name => result)`: one match over an enum of the list, with the kind's own value as `name`. An
/// arm for no kind may follow: `each!(Enum, value, name => result, Empty => result)`. `name in Type` makes `Type` the
/// kind's own.
macro_rules! each {
    ($Enum:ident, $value:expr, $name:ident $(in $Type:ident)? => $result:expr $(, Empty => $empty:expr)?) => {
        kinds!(each_of $Enum, $value, [$(Empty => $empty)?], $name [$($Type)?] => $result)
    };
}
macro_rules! each_of {
    (
        { $Enum:ident, $value:expr, [$(Empty => $empty:expr)?], $name:ident [] => $result:expr }
        $($(#[$doc:meta])* $Kind:ident, $module:ident, $tag:literal;)*
    ) => {
        match $value {
            $($Enum::Empty => $empty,)?
            $($Enum::$Kind($name) => $result,)*
        }
    };
    (
        { $Enum:ident, $value:expr, [$(Empty => $empty:expr)?], $name:ident [$Type:ident] => $result:expr }
        $($(#[$doc:meta])* $Kind:ident, $module:ident, $tag:literal;)*
    ) => {
        match $value {
            $($Enum::Empty => $empty,)?
            $($Enum::$Kind($name) => {
                use crate::keys::kinds::$module::$Type;
                $result
            })*
        }
    };
}

/// `by_kind!(kind, Type => result)`: one match over [`FilterKind`], in which `Type` is the kind's own.
macro_rules! by_kind {
    ($kind:expr, $Type:ident => $result:expr) => {
        kinds!(by_kind_of $kind, $Type => $result)
    };
}
macro_rules! by_kind_of {
    ({ $kind:expr, $Type:ident => $result:expr } $($(#[$doc:meta])* $Kind:ident, $module:ident, $tag:literal;)*) => {
        match $kind {
            $(FilterKind::$Kind => {
                use crate::keys::kinds::$module::$Type;
                $result
            })*
        }
    };
}

/// Returns whether filters of `kind` may be remapped.
pub(crate) fn remaps(kind: FilterKind) -> bool {
    by_kind!(kind, Params => Params::REMAPS)
}

/// Returns whether filters of `kind` can be combined without their keys. The number of entries is then an estimate.
pub(crate) fn combines(kind: FilterKind) -> bool {
    by_kind!(kind, Params => Params::COMBINES)
}

impl Params {
    /// Reads the parameters that a header stores.
    pub(crate) fn decode(kind: FilterKind, stored: &StoredParams<'_>) -> Result<Self, DecodeError> {
        by_kind!(kind, Params => Params::decode(stored).map(Self::from))
    }

    /// Takes the parameters that a compact frame stores.
    pub(crate) fn decode_trailer(kind: FilterKind, trailer: &mut Trailer<'_>) -> Result<Self, DecodeError> {
        by_kind!(kind, Params => Params::decode_trailer(trailer).map(Self::from))
    }
}

#[cfg(feature = "std")]
impl Params {
    pub(crate) fn encode(&self) -> [u8; PARAMS_LEN] {
        each!(Self, self, params => params.encode())
    }

    pub(crate) fn encode_trailer(&self, out: &mut Vec<u8>) {
        each!(Self, self, params => params.encode_trailer(out));
    }
}

#[cfg(feature = "std")]
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

    /// Whether the length of a payload depends on the hashes, and not on their number alone.
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

#[cfg(feature = "std")]
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

mod layout;

pub(crate) use layout::FilterLayout;
use layout::{Called, EMPTY_CALLED};
