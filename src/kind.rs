//! The list of the kinds of block. All that a kind of the family of keys is lies in its folder, `keys/kinds/<kind>`;
//! every enum and every match over these kinds is made from this list.

use core::fmt;
use core::str::FromStr;

/// `kinds!(make arguments)` calls `make! { { arguments } list }`: for each kind its documentation, its name as a type,
/// its folder, which is also its name, and its tag on the wire.
macro_rules! kinds {
    ($make:ident $($arguments:tt)*) => {
        $make! {
            { $($arguments)* }
            /// The classic filter: one array of bits, every probe anywhere in it (Bloom 1970).
            Bloom, bloom, 1;
            /// The blocked filter: all probes within one 64-byte line, each word of it salted to set the fewest bits.
            // The default is the fastest to build and to query.
            #[default]
            Blocked, blocked, 2;
            /// The Golomb-coded set: sorted hashes, Golomb-Rice coded in buckets (Putze, Sanders, Singler 2007).
            Golomb, golomb, 3;
            /// The bumped ribbon filter: linear equations solved over bits, next to the least possible size (Dillinger,
            /// Hübschle-Schneider, Sanders, Walzer 2022).
            Ribbon, ribbon, 4;
            /// The binary fuse filter: fingerprints that are the sum of four slots, fast queries on any processor in
            /// few bits (Graf, Lemire 2022).
            Fuse, fuse, 5;
        }
    };
}
pub(crate) use kinds;

/// `inlined_kind!(make)` calls `make!` with the name as a type, and the folder, of the kind whose probe is short enough
/// to be compiled into a caller's loop. A second such kind would cost the first more than it gains: every query would
/// have to distinguish them.
macro_rules! inlined_kind {
    ($make:ident) => {
        $make! { Blocked, blocked }
    };
}
pub(crate) use inlined_kind;

macro_rules! filter_kind {
    ({} $($(#[$doc:meta])* $Kind:ident, $module:ident, $tag:literal;)*) => {
        /// The structure of a filter. The discriminant is the tag on the wire.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum FilterKind {
            $($(#[$doc])* $Kind = $tag,)*
        }

        impl FilterKind {
            /// All kinds, in the order of their tags. Later versions have more.
            pub const ALL: &'static [Self] = &[$(Self::$Kind),*];

            /// Returns the kind's name in lower case, as the command line and reports write it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Kind => stringify!($module),)*
                }
            }

            /// The tag on the wire.
            pub const fn tag(self) -> u8 {
                self as u8
            }

            /// Returns the kind with this tag, if this version knows it.
            pub(crate) const fn from_tag(tag: u8) -> Option<Self> {
                match tag {
                    $($tag => Some(Self::$Kind),)*
                    _ => None,
                }
            }
        }
    };
}
kinds!(filter_kind);

/// The structure of a block, as the header's kind tag states it: one kind for each filter of keys, and one for all
/// filters of ranges.
///
/// ```
/// use filterblock::{BlockKind, FilterKind};
/// assert_eq!(BlockKind::from_tag(2), Some(BlockKind::Keys(FilterKind::Blocked)));
/// assert_eq!(BlockKind::from_tag(6), Some(BlockKind::Ranges));
/// assert_eq!(BlockKind::from_tag(0), None);
/// assert_eq!(BlockKind::Ranges.to_string(), "range");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockKind {
    /// A filter of keys, which [`FilterBlock`](crate::FilterBlock) reads.
    Keys(FilterKind),
    /// A filter of ranges, which [`RangeFilter`](crate::range::RangeFilter) reads.
    Ranges,
}

pub(crate) const RANGES_TAG: u8 = 6;
const _: () = assert!(FilterKind::from_tag(RANGES_TAG).is_none());

impl BlockKind {
    /// The tag on the wire.
    pub const fn tag(self) -> u8 {
        match self {
            Self::Keys(kind) => kind.tag(),
            Self::Ranges => RANGES_TAG,
        }
    }

    /// Returns the kind with this tag, if this version knows it.
    pub const fn from_tag(tag: u8) -> Option<Self> {
        match (FilterKind::from_tag(tag), tag) {
            (Some(kind), _) => Some(Self::Keys(kind)),
            (None, RANGES_TAG) => Some(Self::Ranges),
            (None, _) => None,
        }
    }
}

impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys(kind) => kind.fmt(f),
            Self::Ranges => f.pad("range"),
        }
    }
}

impl fmt::Display for FilterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownKindName;

impl fmt::Display for UnknownKindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a filter kind; one of: ")?;
        for (i, kind) in FilterKind::ALL.iter().copied().enumerate() {
            write!(f, "{}{kind}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownKindName {}

impl FromStr for FilterKind {
    type Err = UnknownKindName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name).ok_or(UnknownKindName)
    }
}
