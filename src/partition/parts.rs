//! The difference between the builders of the two families: the open partition, and the calls that add to it.

use super::build_error::PartitionBuildError;
use super::builder::{BuildFamily, Part, PartitionedBuilder};
use super::family::{Keys, Ranges, UNHASHED};
use super::limit::PartitionLimit;
use super::order;
use crate::error::BuildError;
use crate::frame::OpenOptions;
use crate::hash::{EntryHasher, KeyHash, KeyTransform};
use crate::keys::FilterBlockBuilder;
use crate::keys::policy::FilterPolicy;
use crate::query::Query;
use crate::ranges::{RangeFilterBuilder, RangePolicy};
use std::vec::Vec;

/// A builder of partitioned filters of keys.
pub type PartitionedFilterBuilder = PartitionedBuilder<Keys>;

/// A builder of partitioned range filters.
pub type PartitionedRangeFilterBuilder = PartitionedBuilder<Ranges>;

/// The open partition of a filter of keys.
pub struct KeysPart {
    filter: FilterBlockBuilder,
    /// The two entries that were added last, the later one first. If keys alternate with a prefix that they share, these
    /// are the last key and that prefix.
    recent: [Option<KeyHash>; 2],
    /// The order key of the last pair, kept for its memory.
    order_key: Vec<u8>,
}

impl KeysPart {
    /// Adds an entry, unless it is one of the two that were added last.
    #[inline]
    fn add(&mut self, hash: KeyHash) {
        let [last, before] = self.recent;
        if last != Some(hash) {
            if before != Some(hash) {
                self.filter.add_hash(hash);
            }
            self.recent = [Some(hash), last];
        }
    }
}

impl BuildFamily for Keys {
    type Policy = FilterPolicy;
    type Part = KeysPart;
}

impl BuildFamily for Ranges {
    type Policy = RangePolicy;
    type Part = RangeFilterBuilder;
}

impl Part<Keys> for KeysPart {
    fn new(policy: &FilterPolicy, limit: PartitionLimit) -> Result<(Self, u64), BuildError> {
        let policy = limit.with_kind(policy)?;
        let filter = FilterBlockBuilder::new(&policy);
        Ok((Self { filter, recent: [None; 2], order_key: Vec::new() }, limit.max_entries(&policy)?))
    }

    fn policy(&self) -> &FilterPolicy {
        self.filter.policy()
    }

    fn entries(&self) -> &EntryHasher {
        self.policy().entry_hasher()
    }

    #[inline]
    fn add_key<E>(
        builder: &mut PartitionedBuilder<Keys>,
        key: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        let transform = builder.entries().transform();
        if matches!(transform, KeyTransform::Row | KeyTransform::RowColumn | KeyTransform::Custom(_)) {
            return builder.fail(PartitionBuildError::Transform { transform });
        }
        match transform.entry_of(key) {
            // The directories of sorted keys are not sorted. The filter drops those that repeat.
            Some(_) if matches!(transform, KeyTransform::DelimitedPrefix { .. }) => {
                builder.advance(key, store)?;
                builder.open.filter.add_key(key);
                Ok(())
            }
            Some(order_key) => builder.add(order_key, builder.entries().hash_entries(key), store),
            None => {
                builder.check()?;
                builder.num_without_entry += 1;
                Ok(())
            }
        }
    }

    #[inline]
    fn num_added(&self) -> u64 {
        self.filter.num_added()
    }

    fn close_into(&mut self, context: u64, block: &mut Vec<u8>) -> Result<u64, BuildError> {
        self.filter.set_context(context).finish_into(block)?;
        self.recent = [None; 2];
        let options = OpenOptions::new().with_context(context).expect(self.entries()).with_digest_check(false);
        Ok(options.open(block).map_or(0, |reader| reader.num_entries()))
    }
}

impl Part<Ranges> for RangeFilterBuilder {
    fn new(policy: &RangePolicy, limit: PartitionLimit) -> Result<(Self, u64), BuildError> {
        Ok((Self::new(*policy), limit.max_keys(*policy)?))
    }

    fn policy(&self) -> &RangePolicy {
        self.policy()
    }

    fn entries(&self) -> &EntryHasher {
        &UNHASHED
    }

    #[inline]
    fn add_key<E>(
        builder: &mut PartitionedBuilder<Ranges>,
        key: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        builder.advance(key, store)?;
        builder.open.add_key(key);
        Ok(())
    }

    #[inline]
    fn num_added(&self) -> u64 {
        self.num_added()
    }

    fn close_into(&mut self, context: u64, block: &mut Vec<u8>) -> Result<u64, BuildError> {
        let num_keys = self.num_added();
        self.set_context(context).finish_into(block)?;
        Ok(num_keys)
    }
}

impl PartitionedBuilder<Keys> {
    /// Adds a row, if entries are rows.
    ///
    /// # Errors
    /// The errors of [`add_key`](PartitionedBuilder::add_key).
    pub fn add_row<E>(
        &mut self,
        row: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        match self.entries().hash_query(Query::Row(row)) {
            Some(hash) => self.add(row, [hash], store),
            None => self.fail(PartitionBuildError::Transform { transform: self.entries().transform() }),
        }
    }

    /// Adds a (row, column) pair if entries are pairs, or its row if they are rows. The order is by row, then
    /// by column.
    ///
    /// ```
    /// use filterblock::partition::{PartitionBuildError, PartitionLimit, PartitionedFilterBuilder};
    /// use filterblock::{FilterKind, FilterPolicy, KeyTransform};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Golomb, 10.0)?.with_transform(KeyTransform::RowColumn);
    /// let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::default())?;
    /// let store = |_: &[u8]| Ok::<_, std::io::Error>(0); // not called before a partition is full
    /// builder.add_row_column(b"a", b"z", store)?;
    /// builder.add_row_column(b"ab", b"a", store)?;
    /// let error = builder.add_row_column(b"a", b"bb", store).unwrap_err();
    /// assert!(matches!(error, PartitionBuildError::Unordered { num_added: 2 }));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`add_key`](PartitionedBuilder::add_key).
    pub fn add_row_column<E>(
        &mut self,
        row: &[u8],
        column: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        if self.entries().transform() != KeyTransform::RowColumn {
            return self.add_row(row, store);
        }
        let mut order_key = core::mem::take(&mut self.open.order_key);
        order_key.clear();
        order_key.extend(order::pair(row, column));
        let added = self.add(&order_key, self.entries().hash_query(Query::Cell(row, column)), store);
        self.open.order_key = order_key;
        added
    }

    /// Adds an entry of an engine's own transform at an order key, which must not be below the one before. All entries
    /// of one order key are added to the same partition.
    ///
    /// ```
    /// use filterblock::partition::{PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
    /// use filterblock::{CustomTransform, FilterKind, FilterPolicy, KeyTransform, OpenOptions, Query};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Whole keys, and what precedes their first slash.
    /// let transform = KeyTransform::Custom(CustomTransform::new(130, 0)?);
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_transform(transform);
    /// let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::default())?;
    /// let mut file = Vec::new();
    /// let mut store = |block: &[u8]| {
    ///     file.extend_from_slice(block);
    ///     Ok::<_, std::io::Error>((file.len() - block.len()) as u64)
    /// };
    /// for key in ["com.example/a", "com.example/b", "org.example/"] {
    ///     let domain = key.split('/').next().unwrap_or(key);
    ///     builder.add_entry(key.as_bytes(), domain.as_bytes(), &mut store)?;
    ///     builder.add_entry(key.as_bytes(), key.as_bytes(), &mut store)?;
    /// }
    /// let filter = PartitionedFilter::open(builder.finish(&mut store)?, OpenOptions::new().expect(&policy))?;
    /// let load = |partition: PartitionHandle| {
    ///     Ok::<_, std::io::Error>(&file[partition.offset as usize..][..partition.len as usize])
    /// };
    /// let domain: &[u8] = b"com.example"; // a prefix of the keys
    /// assert!(filter.may_match(Query::Entry { order_key: domain, entry: domain }, load)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`add_key`](PartitionedBuilder::add_key).
    pub fn add_entry<E>(
        &mut self,
        order_key: &[u8],
        entry: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        match self.entries().transform() {
            KeyTransform::Custom(_) => self.add(order_key, [self.entries().hasher().hash(entry)], store),
            transform => self.fail(PartitionBuildError::Transform { transform }),
        }
    }

    /// Adds entries at an order key, all to the same partition.
    fn add<E>(
        &mut self,
        order_key: &[u8],
        hashes: impl IntoIterator<Item = KeyHash>,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        self.advance(order_key, store)?;
        hashes.into_iter().for_each(|hash| self.open.add(hash));
        Ok(())
    }

    /// Returns the number of keys added so far that have no entry under the policy's transform. If it is above 0 and
    /// [`num_added`](Self::num_added) is 0, the filter will have no entries: it is right, but the transform does not suit
    /// the table's keys.
    pub fn num_without_entry(&self) -> u64 {
        self.num_without_entry
    }

    fn entries(&self) -> &EntryHasher {
        self.open.entries()
    }
}
