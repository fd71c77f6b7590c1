//! The two families of filters: what differs between their partitions, and nothing else.

use super::lookup::{Index, Lookup};
use super::order::{self, OrderKey};
use crate::error::DecodeError;
use crate::frame::OpenOptions;
use crate::hash::{EntryHasher, KeyHasher, KeyTransform};
use crate::keys::FilterBlock;
use crate::kind::RANGES_TAG;
use crate::query::Query;
use crate::ranges::{RangeFilter, are_ordered};
use core::ops::Bound;

/// Filters of keys: a partition is a [`FilterBlock`].
#[derive(Clone, Copy, Debug)]
pub enum Keys {}

/// Filters of ranges: a partition is a [`RangeFilter`].
#[derive(Clone, Copy, Debug)]
pub enum Ranges {}

/// A family of filters: [`Keys`] or [`Ranges`]. It cannot be implemented by other crates.
pub trait Family: Sealed + Sized + 'static {
    /// The opened filter of a partition.
    type Filter<B: AsRef<[u8]>>: Filter<Family = Self>;

    /// The byte that states the family in an index.
    #[doc(hidden)]
    const TAG: u8;

    /// Returns the options by which an index of the family is opened: `options` as they are for keys; for ranges, with
    /// the placeholders that every index of ranges records as its hasher and transform.
    #[doc(hidden)]
    fn expect(options: OpenOptions) -> OpenOptions;

    /// Opens a block of the family. Of ranges, only the context and the digest check of `options` apply.
    ///
    /// ```
    /// use filterblock::partition::{Family, Filter, Keys, Ranges};
    /// use filterblock::{FilterBlockBuilder, FilterPolicy, OpenOptions, Query};
    ///
    /// fn denies<F: Family>(block: &[u8], query: Query<'_>) -> bool {
    ///     F::open(&OpenOptions::new(), block).is_ok_and(|filter| !filter.may_match(query))
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy: FilterPolicy = "blocked:10".parse()?;
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// builder.add_key(b"present");
    /// let block = builder.finish()?;
    /// assert!(denies::<Keys>(&block, Query::Key(b"absent")));
    /// assert!(!denies::<Ranges>(&block, Query::Key(b"absent"))); // an error: not a block of this family
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A [`DecodeError`], which always means *maybe*.
    fn open<B: AsRef<[u8]>>(options: &OpenOptions, block: B) -> Result<Self::Filter<B>, DecodeError>;

    /// Returns an index's answer for `query`.
    #[doc(hidden)]
    fn find<B: AsRef<[u8]>>(index: &Index<B>, query: Query<'_>) -> Lookup;
}

/// The supertrait by which other crates cannot implement [`Family`] and [`Filter`].
pub trait Sealed {}

impl<B> Sealed for FilterBlock<B> {}
impl<B> Sealed for RangeFilter<B> {}
impl Sealed for Keys {}
impl Sealed for Ranges {}

/// An opened filter of either family: a [`FilterBlock`] or a [`RangeFilter`]. It cannot be implemented by other crates.
pub trait Filter: Sealed {
    /// The family to which it belongs.
    type Family: Family;

    /// Answers as the type's own method of this name.
    fn may_match(&self, query: Query<'_>) -> bool;

    /// Returns the number of distinct entries; of ranges, of keys.
    fn num_entries(&self) -> u64;

    /// Returns the block's bytes.
    fn as_bytes(&self) -> &[u8];
}

impl<B: AsRef<[u8]>> Filter for FilterBlock<B> {
    type Family = Keys;

    #[inline]
    fn may_match(&self, query: Query<'_>) -> bool {
        self.may_match(query)
    }

    fn num_entries(&self) -> u64 {
        self.num_entries()
    }

    fn as_bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<B: AsRef<[u8]>> Filter for RangeFilter<B> {
    type Family = Ranges;

    #[inline]
    fn may_match(&self, query: Query<'_>) -> bool {
        self.may_match(query)
    }

    fn num_entries(&self) -> u64 {
        self.num_entries()
    }

    fn as_bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Family for Keys {
    type Filter<B: AsRef<[u8]>> = FilterBlock<B>;

    const TAG: u8 = 0;

    fn expect(options: OpenOptions) -> OpenOptions {
        options
    }

    fn open<B: AsRef<[u8]>>(options: &OpenOptions, block: B) -> Result<FilterBlock<B>, DecodeError> {
        options.open_owned(block)
    }

    /// Returns the only partition that can have the query's entry.
    #[inline]
    fn find<B: AsRef<[u8]>>(index: &Index<B>, query: Query<'_>) -> Lookup {
        let found = match order::of_query(index.facts.entries.transform(), query) {
            None => return Lookup::NoEntry,
            Some(OrderKey::Bytes(order_key)) => index.find(order_key),
            Some(OrderKey::Pair(row, column)) => index.find_pair(row, column),
        };
        found.map_or(Lookup::Absent, |partition| Lookup::Partitions(partition, None))
    }
}

/// The hasher and transform that a range index records. They are placeholders: range keys are not hashed.
pub(super) static UNHASHED: EntryHasher = EntryHasher::new(KeyHasher::new(0), KeyTransform::WholeKey);

impl Family for Ranges {
    type Filter<B: AsRef<[u8]>> = RangeFilter<B>;

    const TAG: u8 = RANGES_TAG;

    fn expect(options: OpenOptions) -> OpenOptions {
        options.expect(&UNHASHED)
    }

    fn open<B: AsRef<[u8]>>(options: &OpenOptions, block: B) -> Result<RangeFilter<B>, DecodeError> {
        options.open_ranges(block)
    }

    fn find<B: AsRef<[u8]>>(index: &Index<B>, query: Query<'_>) -> Lookup {
        match query {
            Query::Key(key) => between(index, Bound::Included(key), Bound::Included(key)),
            Query::Range(lower, upper) => between(index, lower, upper),
            // The first partition whose separator is at least the prefix has the least key that begins with it, if any
            // does (section 15.1 of the format): the partitions before end below the prefix, and where this one ends
            // below that key, its separator is below every prefix of the next key that is above its own last key, so
            // below this one.
            Query::Prefix(prefix) => {
                index.find(prefix).map_or(Lookup::Absent, |partition| Lookup::Partitions(partition, None))
            }
            Query::Row(_) | Query::Cell(..) | Query::Entry { .. } => Lookup::NoEntry,
        }
    }
}

/// Returns an index's answer for the keys between two bounds. A range that encloses a whole partition has its keys, so
/// that no partition need be loaded.
fn between<B: AsRef<[u8]>>(index: &Index<B>, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Lookup {
    if !are_ordered(lower, upper) {
        return Lookup::Present;
    }
    let of = |bound| match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    };
    let first = of(lower).map_or_else(|| index.partitions().next(), |key| index.find(key));
    let last = of(upper).and_then(|key| index.find(key)).or_else(|| index.partitions().next_back());
    let Some((first, last)) = first.zip(last) else { return Lookup::Absent };
    match last.number.saturating_sub(first.number) {
        0 => Lookup::Partitions(first, None),
        1 => Lookup::Partitions(first, Some(last)),
        _ => Lookup::Present,
    }
}
