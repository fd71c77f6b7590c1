//! The reader's side: the answers of an opened range filter.

use super::cut::{self, Bounds, Groups};
use super::form::RangeForm;
use super::header::{self, Map};
use super::integers::Search;
use super::query::Span;
use crate::cpu::prefetch;
use crate::error::DecodeError;
use crate::frame::{HEADER_LEN, OpenOptions};
use crate::query::Query;
use core::fmt;
use core::ops::Bound;

/// A range filter that was opened once: answers whether its table may have a key in a range.
///
/// *No* is always true. Queries cannot fail and allocate nothing. Beside the length of the bounds, their time is limited
/// whatever the bytes: one of cut keys searches two groups of at most 512 bytes; one of integers at most 33 blocks of
/// numbers, usually one, and as many bits as eight of the longest buckets have. `B` owns or borrows the bytes, and must
/// give the same ones at each call, as vectors, boxes, shared slices and memory maps do.
#[derive(Clone)]
pub struct RangeFilter<B> {
    block: B,
    /// `None` without keys.
    map: Option<Map>,
    num_keys: u64,
}

/// The state of a search of one of many tables.
pub(super) enum Probe<'a> {
    Known(bool),
    /// The group to be searched next.
    Group {
        group: usize,
        bounds: Bounds<'a>,
    },
    /// The codes of integers, which are near once the directory has been read.
    Codes {
        search: Search,
        are_near: bool,
    },
}

impl OpenOptions {
    /// Opens a range filter's block, of bytes owned or borrowed. Of the options, context and digest check apply. Beyond
    /// the checksum this takes constant time.
    ///
    /// # Errors
    /// A [`DecodeError`] for anything that is not an intact range filter of this format and context. It always means
    /// *maybe*.
    pub fn open_ranges<B: AsRef<[u8]>>(&self, block: B) -> Result<RangeFilter<B>, DecodeError> {
        let (map, num_keys) = header::check(block.as_ref(), self)?;
        Ok(RangeFilter { block, map, num_keys })
    }
}

impl<B: AsRef<[u8]>> RangeFilter<B> {
    /// Returns whether the table may have a key between the bounds; `false` is certain. Bounds are whole keys, compared as
    /// byte strings. Bounds that are not [in order](super::are_ordered), such as swapped ones, are *maybe*, whatever the
    /// filter has.
    ///
    /// ```
    /// use filterblock::OpenOptions;
    /// use filterblock::range::{RangeFilterBuilder, RangePolicy};
    /// use std::ops::Bound::{Excluded, Included, Unbounded};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(20.0)?);
    /// (0..1000u64).for_each(|i| builder.add_key(&(i * 1_000_000).to_be_bytes()));
    /// let filter = OpenOptions::new().open_ranges(builder.finish()?)?;
    /// let key = |number: u64| number.to_be_bytes();
    /// assert!(filter.may_contain_range(Included(&key(1_000_000)), Included(&key(1_000_000))));
    /// assert!(!filter.may_contain_range(Included(&key(1_400_000)), Excluded(&key(1_500_000))));
    /// assert!(!filter.may_contain_range(Excluded(&key(u64::MAX)), Unbounded));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn may_contain_range(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
        self.may_have(Span::Range(lower, upper))
    }

    /// Returns whether the table may have a key that begins with `prefix`, of any length.
    #[must_use]
    #[inline]
    pub fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
        self.may_have(Span::Prefix(prefix))
    }

    /// Returns whether the table may have `key`.
    #[must_use]
    #[inline]
    pub fn may_contain(&self, key: &[u8]) -> bool {
        self.may_contain_range(Bound::Included(key), Bound::Included(key))
    }

    /// Returns whether the table may have what `query` names. Rows, cells and entries are *maybe*.
    ///
    /// ```
    /// use filterblock::range::{RangeFilterBuilder, RangePolicy};
    /// use filterblock::{OpenOptions, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(20.0)?);
    /// (0..1000u32).for_each(|i| builder.add_key(format!("user{i:03}").as_bytes()));
    /// let filter = OpenOptions::new().open_ranges(builder.finish()?)?;
    /// assert!(!filter.may_match(Query::Prefix(b"visitor")));
    /// let (lower, upper): (&[u8], &[u8]) = (b"user5", b"user6");
    /// assert!(filter.may_match(Query::range(lower..upper)));
    /// assert!(filter.may_match(Query::Row(b"visitor"))); // not answered
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn may_match(&self, query: Query<'_>) -> bool {
        Span::of(query).is_none_or(|span| self.may_have(span))
    }

    /// Returns whether the table may have a key of `span`.
    #[inline]
    pub(super) fn may_have(&self, span: Span<'_>) -> bool {
        match &self.map {
            Some(Map::Integers(integers)) => integers.may_have(self.payload(), span),
            _ if !span.is_ordered() => true,
            Some(Map::Cut(params)) => {
                let groups = Groups::of(params, self.payload());
                cut::of_span(params, self.payload(), span).is_some_and(|bounds| groups.finish(&bounds, None))
            }
            None => false,
        }
    }

    /// Begins a search of many tables, each of which is then [advanced](RangeFilter::advance) in turn.
    #[inline]
    pub(super) fn start<'a>(&'a self, span: Span<'a>) -> Probe<'a> {
        let payload = self.payload();
        if !span.is_ordered() {
            return Probe::Known(true);
        }
        match &self.map {
            None => Probe::Known(false),
            Some(Map::Integers(integers)) => match integers.start(payload, span) {
                Ok(search) => Probe::Codes { search, are_near: false },
                Err(answer) => Probe::Known(answer),
            },
            Some(Map::Cut(params)) => {
                let groups = Groups::of(params, payload);
                cut::of_span(params, payload, span).map_or(Probe::Known(false), |bounds| {
                    let group = groups.start(&bounds);
                    groups.prefetch(group);
                    Probe::Group { group, bounds }
                })
            }
        }
    }

    /// Does one step of a search, and prefetches what the next one reads.
    #[inline]
    pub(super) fn advance<'a>(&'a self, probe: &mut Probe<'a>) {
        let payload = self.payload();
        *probe = match (&mut *probe, &self.map) {
            (Probe::Codes { search, are_near: false }, Some(Map::Integers(integers))) => {
                integers.prefetch(payload, search);
                Probe::Codes { search: *search, are_near: true }
            }
            (Probe::Codes { search, .. }, Some(Map::Integers(integers))) => {
                Probe::Known(integers.finish(payload, search))
            }
            (Probe::Group { group, bounds }, Some(Map::Cut(params))) => {
                Probe::Known(Groups::of(params, payload).finish(bounds, Some(*group)))
            }
            (Probe::Known(_), _) => return,
            // Not a search of this map.
            _ => Probe::Known(true),
        }
    }

    /// Prefetches what the first step of a search reads.
    #[inline]
    pub(super) fn prefetch_start(&self) {
        let payload = self.payload();
        prefetch(payload, 0);
        if let Some(Map::Cut(params)) = &self.map {
            Groups::of(params, payload).prefetch_marks();
        }
    }

    #[inline(always)]
    fn payload(&self) -> &[u8] {
        &self.block.as_ref()[HEADER_LEN..]
    }

    /// Returns the block's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.block.as_ref()
    }

    /// Returns the number of leaves: keys and groups of keys that are distinguished. It reads the head of each group.
    pub fn num_leaves(&self) -> u64 {
        match &self.map {
            None => 0,
            Some(Map::Cut(params)) => Groups::of(params, self.payload()).num_leaves(),
            Some(Map::Integers(_)) => self.num_keys,
        }
    }

    /// Returns the bytes that all keys begin with; none without keys.
    pub fn common_prefix(&self) -> &[u8] {
        match &self.map {
            None => &[],
            Some(Map::Cut(params)) => params.prefix(self.payload()),
            Some(Map::Integers(integers)) => integers.prefix(self.payload()),
        }
    }

    /// Returns the bits a key, header included; `None` without keys.
    pub fn bits_per_key(&self) -> Option<f64> {
        (self.num_keys > 0).then(|| self.as_bytes().len() as f64 * 8.0 / self.num_keys as f64)
    }
}

impl<B> RangeFilter<B> {
    /// Returns the number of distinct keys.
    pub fn num_entries(&self) -> u64 {
        self.num_keys
    }

    /// Returns the form in which the filter has its keys; `None` without keys.
    pub fn form(&self) -> Option<RangeForm> {
        match &self.map {
            None => None,
            Some(Map::Cut(_)) => Some(RangeForm::Cut),
            Some(Map::Integers(_)) => Some(RangeForm::Integers),
        }
    }

    /// Returns the rate at which empty ranges of `len` integers pass, which follows from what the header stores. It is the
    /// expectation over the hash of numbers, whatever the keys and ranges are: many tables have it on average, and in one
    /// of few keys, where ranges meet the same few blocks again and again, several times as many may pass, or none. It is
    /// 1 for ranges of more than a query searches. It is 0 for ranges of any length, of cut keys too, if nothing of the keys
    /// is cut off, as of dense integers. `None` of other filters: then no rate holds for all ranges.
    pub fn false_positive_rate(&self, len: u64) -> Option<f64> {
        match &self.map {
            Some(Map::Integers(integers)) => Some(integers.false_positive_rate(self.num_keys, len)),
            Some(Map::Cut(params)) => params.is_exact().then_some(0.0),
            None => None,
        }
    }

    /// Returns the parameters that the header stores besides, for display, under their names in
    /// `format/ranges.md`; none without keys.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let (cut, integers) = match &self.map {
            None => (None, None),
            Some(Map::Cut(params)) => (Some(params.named()), None),
            Some(Map::Integers(integers)) => (None, Some(integers.params.named())),
        };
        cut.into_iter().flatten().chain(integers.into_iter().flatten())
    }

    /// Gives the bytes back.
    pub fn into_inner(self) -> B {
        self.block
    }

    /// Returns this filter with each engine of the processor, the portable one first.
    #[cfg(all(test, feature = "std"))]
    pub(super) fn with_each_engine(&self) -> impl Iterator<Item = Self>
    where
        B: Clone,
    {
        let maps: std::vec::Vec<_> = match self.map {
            Some(Map::Integers(integers)) => integers.with_each_engine().map(|map| Some(Map::Integers(map))).collect(),
            map => std::vec![map],
        };
        maps.into_iter().map(|map| Self { map, ..self.clone() })
    }
}

/// The output is one line, without the bytes.
impl<B: AsRef<[u8]>> fmt::Debug for RangeFilter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RangeFilter({} of {} keys, {} bytes)", self.num_leaves(), self.num_keys, self.as_bytes().len())
    }
}
