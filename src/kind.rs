//! The names and wire tags of the kinds of filter.

use core::fmt;
use core::str::FromStr;

/// The structure behind a filter block. The discriminant is the tag on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum FilterKind {
    /// The classic filter: one array of bits, every probe anywhere in it (Bloom 1970).
    Bloom = 1,
    /// All probes within one 64-byte line, each word of it salted to set the fewest bits.
    Blocked = 2,
    /// Sorted hashes, Golomb-Rice coded in buckets (Putze, Sanders, Singler 2007).
    Golomb = 3,
}

impl FilterKind {
    /// Every kind, in the order of their tags.
    pub const ALL: [Self; 3] = [Self::Bloom, Self::Blocked, Self::Golomb];

    /// The kind's name in lower case, as the command line and reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bloom => "bloom",
            Self::Blocked => "blocked",
            Self::Golomb => "golomb",
        }
    }

    /// The tag on the wire.
    pub const fn tag(self) -> u8 {
        self as u8
    }

    /// The kind with this tag, if this version knows it.
    ///
    /// ```
    /// use filterblock::FilterKind;
    /// assert_eq!(FilterKind::from_tag(2), Some(FilterKind::Blocked));
    /// assert_eq!(FilterKind::from_tag(0), None);
    /// ```
    pub const fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            1 => Some(Self::Bloom),
            2 => Some(Self::Blocked),
            3 => Some(Self::Golomb),
            _ => None,
        }
    }
}

impl fmt::Display for FilterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no kind's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKindName;

impl fmt::Display for UnknownKindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a filter kind; one of: bloom, blocked, golomb")
    }
}

impl core::error::Error for UnknownKindName {}

impl FromStr for FilterKind {
    type Err = UnknownKindName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownKindName)
    }
}
