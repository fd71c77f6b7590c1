//! The classes of lookups.

/// A class of lookups that count together. Its kind of query decides which identities hold for the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookupClass {
    purpose: &'static str,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Point,
    Group,
    Range,
}

impl LookupClass {
    /// One key, answered by a filter of such keys. At most one data block holds it. `purpose` names the filter in
    /// reports.
    pub const fn point(purpose: &'static str) -> Self {
        Self { purpose, shape: Shape::Point }
    }

    /// Keys that share an entry of the filter, or some of them, as a row's cells in a filter of rows: in any number of
    /// data blocks.
    pub const fn group(purpose: &'static str) -> Self {
        Self { purpose, shape: Shape::Group }
    }

    /// A range of keys that share an entry of the filter, as a prefix. Deleted keys count as keys: no lookup ends in a
    /// [tombstone](super::Outcome::Tombstone).
    pub const fn range(purpose: &'static str) -> Self {
        Self { purpose, shape: Shape::Range }
    }

    /// The filter's name in reports.
    pub const fn purpose(&self) -> &'static str {
        self.purpose
    }

    pub(super) const fn shape(&self) -> Shape {
        self.shape
    }
}
