//! The writer: keys in order, partitions out, an index at the end.

use super::build_error::PartitionBuildError;
use super::family::Family;
use super::index::{self, Facts, Record};
use super::limit::PartitionLimit;
use super::order;
use crate::bytes;
use crate::error::BuildError;
use crate::frame::{HEADER_LEN, OpenOptions};
use crate::hash::EntryHasher;
use core::cmp::Ordering;
use core::fmt;
use std::vec::Vec;

/// A [`Family`] whose partitions this crate builds: both are. It cannot be implemented by other crates.
pub trait BuildFamily: Family {
    /// The policy by which partitions are built.
    type Policy: fmt::Debug;

    #[doc(hidden)]
    type Part: Part<Self>;
}

/// The open partition of a builder. One value serves for all partitions in turn.
pub trait Part<F: BuildFamily>: Sized {
    /// Returns an empty partition, and the number of entries at which each partition is full.
    fn new(policy: &F::Policy, limit: PartitionLimit) -> Result<(Self, u64), BuildError>;

    /// Returns the policy by which partitions are built.
    fn policy(&self) -> &F::Policy;

    /// Returns the hasher and the transform that the index states.
    fn entries(&self) -> &EntryHasher;

    /// Adds the entries of a key to the open partition of `builder`, which first closes a full one.
    fn add_key<E>(
        builder: &mut PartitionedBuilder<F>,
        key: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>>;

    /// Returns the number of entries added to the open partition.
    fn num_added(&self) -> u64;

    /// Writes the block of the open partition, bound to `context`, to `block`, which must be empty, and begins the next
    /// partition. Returns the number of distinct entries of the block.
    fn close_into(&mut self, context: u64, block: &mut Vec<u8>) -> Result<u64, BuildError>;
}

/// Turns the keys of one table, in order, into the partitions of a filter of the family `F`, and an index.
///
/// It keeps one partition in memory (its keys, or 8 bytes an entry, and its block), and 16 bytes and a separator for
/// each of the others.
///
/// The calls that add take a function that stores a finished partition and returns its offset, which the index keeps
/// for the reader; offsets must ascend. It is called for at most one partition a call. After an error the filter is
/// incomplete, and every call fails.
///
/// The same entries in the same order, policy, limit and context give the same partitions and, stored at the same
/// offsets, the same index.
pub struct PartitionedBuilder<F: BuildFamily> {
    pub(super) open: F::Part,
    max_entries: u64,
    context: u64,
    /// The context that was given after a partition had been closed under this one.
    has_late_context: bool,
    /// The last order key; before the first one the empty one, which is above none.
    last: Vec<u8>,
    /// The number of order keys.
    num_keys: u64,
    pub(super) num_without_entry: u64,
    allows_empty: bool,
    /// A block, kept for its memory.
    block: Vec<u8>,
    /// The index of the closed partitions.
    records: Vec<u8>,
    separators: Vec<u8>,
    num_entries: u64,
    end_offset: u64,
    has_failed: bool,
}

impl<F: BuildFamily> PartitionedBuilder<F> {
    /// Returns an empty builder. Each partition gets the size that `policy` gives to a filter of its number of entries.
    /// An [automatic](crate::FilterPolicy::auto) policy chooses one kind for all partitions, that of a full one: its
    /// number of queries is that of one partition, unless it equals the number of entries.
    ///
    /// # Errors
    /// [`BuildError::CappedPartitions`] for a policy with a byte cap or a fixed shape, [`BuildError::Setting`] for a limit
    /// out of its range.
    pub fn new(policy: &F::Policy, limit: PartitionLimit) -> Result<Self, BuildError> {
        let (open, max_entries) = F::Part::new(policy, limit)?;
        Ok(Self {
            open,
            max_entries,
            context: 0,
            has_late_context: false,
            last: Vec::new(),
            num_keys: 0,
            num_without_entry: 0,
            allows_empty: false,
            block: Vec::new(),
            records: Vec::new(),
            separators: Vec::new(),
            num_entries: 0,
            end_offset: 0,
            has_failed: false,
        })
    }

    /// Binds index and partitions to `context`, say the number of a file: a reader must name the same one. It is 0
    /// unless set.
    ///
    /// It must be set before the first partition is closed. Another context after that is an error of every later call,
    /// [`LateContext`](PartitionBuildError::LateContext).
    pub fn set_context(&mut self, context: u64) -> &mut Self {
        if self.num_partitions() == 0 {
            self.context = context;
        } else if context != self.context {
            self.has_late_context = true;
        }
        self
    }

    /// Permits a filter without entries, for a table without keys. Without this call a builder that received nothing
    /// refuses to finish, because such a filter denies every key.
    pub fn allow_empty(&mut self) -> &mut Self {
        self.allows_empty = true;
        self
    }

    /// Adds a key that is one byte string. A key without an entry is counted and not added: it needs none, as the
    /// answer for it is *maybe*. A key equal to the one before is ignored.
    ///
    /// # Errors
    /// [`PartitionBuildError`]; [`Unordered`](PartitionBuildError::Unordered) if the key's entry is below the one
    /// before, [`Transform`](PartitionBuildError::Transform) if entries are made of pairs or by the engine.
    #[inline]
    pub fn add_key<E>(
        &mut self,
        key: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        F::Part::add_key(self, key, store)
    }

    /// Moves on to an order key, whose entries are then to be added to the open partition: a full one is closed first.
    #[inline]
    pub(super) fn advance<E>(
        &mut self,
        order_key: &[u8],
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        self.check()?;
        // First, as memory may not suffice.
        self.last.reserve(order_key.len());
        match bytes::compare(&self.last, order_key) {
            Ordering::Less if self.open.num_added() >= self.max_entries => self.close(Some(order_key), store)?,
            Ordering::Less | Ordering::Equal => {}
            Ordering::Greater => return self.fail(PartitionBuildError::Unordered { num_added: self.num_keys }),
        }
        self.num_keys += 1;
        self.last.clear();
        self.last.extend_from_slice(order_key);
        Ok(())
    }

    /// Closes the open partition, which has entries; `next` is the order key after its last.
    fn close<E>(
        &mut self,
        next: Option<&[u8]>,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        // This also holds if `store` panics: the partition is then lost.
        self.has_failed = true;
        let closed = self.try_close(next, store);
        self.has_failed = closed.is_err();
        closed
    }

    /// Does the work of [`close`](Self::close), which marks the builder as failed while it runs.
    fn try_close<E>(
        &mut self,
        next: Option<&[u8]>,
        store: impl FnOnce(&[u8]) -> Result<u64, E>,
    ) -> Result<(), PartitionBuildError<E>> {
        let partition = self.num_partitions();
        let too_large = PartitionBuildError::TooLarge { num_partitions: partition };
        if partition == u32::MAX {
            return Err(too_large);
        }
        let context = index::partition_context(self.context, partition);
        self.block.clear();
        let built = self.open.close_into(context, &mut self.block);
        let num_entries = built.map_err(|error| PartitionBuildError::Build { partition, error })?;

        let offset = store(&self.block).map_err(|error| PartitionBuildError::Store { partition, error })?;
        let Ok(len) = u32::try_from(self.block.len()) else { return Err(too_large) };
        let (min, end) = (self.end_offset, offset.checked_add(len.into()));
        self.end_offset =
            end.filter(|_| offset >= min).ok_or(PartitionBuildError::Offset { partition, offset, min })?;
        match next {
            Some(next) => order::push_separator(&self.last, next, &mut self.separators),
            None => self.separators.extend_from_slice(&self.last),
        }
        let Ok(separator_end) = u32::try_from(self.separators.len()) else { return Err(too_large) };
        self.records.extend_from_slice(&Record { offset, len, separator_end }.encode());
        self.num_entries += num_entries;
        Ok(())
    }

    /// Stores the last partition and returns the index, to be stored by the caller. The index of a table without keys
    /// ([`allow_empty`](PartitionedBuilder::allow_empty)), or of keys none of which has an entry, has no partitions, and
    /// answers *no* to every query that could have one.
    ///
    /// # Errors
    /// [`PartitionBuildError::Empty`] if nothing was added, and the errors of the calls that add.
    pub fn finish<E>(mut self, store: impl FnOnce(&[u8]) -> Result<u64, E>) -> Result<Vec<u8>, PartitionBuildError<E>> {
        self.check()?;
        if self.num_keys == 0 && self.num_without_entry == 0 && !self.allows_empty {
            return Err(PartitionBuildError::Empty);
        }
        if self.open.num_added() > 0 {
            self.close(None, store)?;
        }
        let (entries, num_entries) = (self.open.entries().clone(), self.num_entries);
        let facts = Facts { entries, num_entries, num_partitions: self.num_partitions() };
        let mut index = std::vec![0; HEADER_LEN];
        index.extend_from_slice(&self.records);
        index.extend_from_slice(&self.separators);
        index::write_header(&mut index, F::TAG, &facts, self.context);
        let options = OpenOptions::new().with_context(self.context).expect(&facts.entries);
        debug_assert!(index::check(&index, F::TAG, &options).is_ok(), "a builder's index is sound");
        Ok(index)
    }

    /// Returns the number of partitions closed so far.
    pub fn num_partitions(&self) -> u32 {
        (self.records.len() / index::RECORD_LEN) as u32
    }

    /// Returns the number of entries added so far. Equal neighbours count once, and in closed partitions all equal
    /// entries do.
    pub fn num_added(&self) -> u64 {
        self.num_entries + self.open.num_added()
    }

    /// Returns the policy by which partitions are built.
    pub fn policy(&self) -> &F::Policy {
        self.open.policy()
    }

    /// Returns the error of every call after one that failed, or after a late change of context.
    #[inline]
    pub(super) fn check<E>(&self) -> Result<(), PartitionBuildError<E>> {
        match self.has_failed {
            true => Err(PartitionBuildError::Failed),
            false if self.has_late_context => {
                Err(PartitionBuildError::LateContext { num_partitions: self.num_partitions() })
            }
            false => Ok(()),
        }
    }

    /// Returns `error`, and makes every later call fail.
    pub(super) fn fail<T, E>(&mut self, error: PartitionBuildError<E>) -> Result<T, PartitionBuildError<E>> {
        self.has_failed = true;
        Err(error)
    }
}

/// The output is one line, without the keys.
impl<F: BuildFamily> fmt::Debug for PartitionedBuilder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedBuilder")
            .field("policy", self.policy())
            .field("num_partitions", &self.num_partitions())
            .field("num_added", &self.num_added())
            .finish_non_exhaustive()
    }
}
