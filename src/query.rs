//! The question that every filter takes.

use core::ops::{Bound, RangeBounds};

/// A question to a filter, or to a partitioned one: may the table have such a key?
///
/// A filter answers the queries of its family and its transform; every other query is *maybe*:
///
/// | query | filter of keys | filter of ranges |
/// |---|---|---|
/// | `Key` | by the key's entry, if it has one | as the range of this key alone |
/// | `Prefix` | if prefixes are entries, by the leading bytes that the transform makes of it; *maybe* if there are fewer | for a prefix of any length |
/// | `Row` | if rows are entries | *maybe* |
/// | `Cell` | if rows with columns are entries; if rows are, by the row | *maybe* |
/// | `Entry` | if the engine's own transform made it | *maybe* |
/// | `Range` | *maybe* | for bounds [in order](crate::range::are_ordered) |
///
/// ```
/// use filterblock::range::{RangeFilterBuilder, RangePolicy};
/// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
/// let mut keys = FilterBlockBuilder::new(&policy);
/// let mut ranges = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(20.0)?);
/// for key in (0..200).map(|page| format!("{}.example/{page}", if page < 100 { "com" } else { "org" })) {
///     keys.add_key(key.as_bytes());
///     ranges.add_key(key.as_bytes());
/// }
/// let keys = OpenOptions::new().expect(&policy).open_owned(keys.finish()?)?;
/// let ranges = OpenOptions::new().open_ranges(ranges.finish()?)?;
///
/// let net = Query::Prefix(b"net.");
/// assert!(keys.may_match(net)); // its entries are whole keys
/// assert!(!ranges.may_match(net));
/// let key = Query::Key(b"net.example/c");
/// assert!(!keys.may_match(key) && !ranges.may_match(key));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Query<'a> {
    /// A key that is one byte string, as the engine's user looks it up.
    Key(&'a [u8]),
    /// The keys that begin with these bytes.
    Prefix(&'a [u8]),
    /// The cells of a row.
    Row(&'a [u8]),
    /// The cell of a row and a column.
    Cell(&'a [u8], &'a [u8]),
    /// An entry that an engine's own transform made of a key.
    Entry {
        /// The order key at which a partitioned filter has it. A filter that is one block does not use it.
        order_key: &'a [u8],
        /// The entry.
        entry: &'a [u8],
    },
    /// The keys between two bounds, which are whole keys, compared as byte strings.
    Range(Bound<&'a [u8]>, Bound<&'a [u8]>),
}

impl<'a> Query<'a> {
    /// Returns the query of a range of the standard library.
    ///
    /// ```
    /// use filterblock::Query;
    /// use std::ops::Bound::{Excluded, Included};
    /// let (lower, upper): (&[u8], &[u8]) = (b"a", b"b");
    /// assert_eq!(Query::range(lower..upper), Query::Range(Included(lower), Excluded(upper)));
    /// assert_eq!(Query::range((Excluded(lower), Included(upper))), Query::Range(Excluded(lower), Included(upper)));
    /// ```
    #[must_use]
    pub fn range(bounds: impl RangeBounds<&'a [u8]>) -> Self {
        Self::Range(bounds.start_bound().cloned(), bounds.end_bound().cloned())
    }
}
