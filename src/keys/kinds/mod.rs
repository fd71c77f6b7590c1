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

mod cardinality;
pub(crate) mod combine;
#[cfg(all(test, feature = "std", target_os = "linux"))]
mod guard_pages;
mod layout;
mod seam;
#[cfg(feature = "std")]
pub(crate) mod size;
#[cfg(feature = "std")]
mod speed;
mod trailer;
#[cfg(feature = "std")]
mod writer;

pub(crate) use layout::FilterLayout;
#[cfg(feature = "std")]
pub(crate) use seam::{Built, Columns, Hashes, Mode, Planned, TooLong};
pub(crate) use trailer::Trailer;
#[cfg(feature = "std")]
pub(crate) use writer::{Plan, Settings};

use crate::error::DecodeError;
use crate::kind::{FilterKind, inlined_kind, kinds};
use layout::{Called, EMPTY_CALLED};
use seam::{KindParams, KindView, StoredParams};

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

pub(crate) use {each, each_of};

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

#[cfg(feature = "std")]
pub(crate) use {by_kind, by_kind_of};

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
