//! The reader's side: the answers of an opened block.

use super::kinds::FilterLayout;
use super::queries::key_queries;
use crate::frame::HEADER_LEN;
use crate::hash::{EntryHasher, KeyHash};
use crate::kind::FilterKind;
use core::fmt;
#[cfg(feature = "std")]
use {
    super::kinds::{Columns, Params},
    super::thin::{self, ThinError},
    crate::frame::{Header, PARAMS_LEN},
    crate::hash::SetSeed,
    std::vec::Vec,
};

/// The statements of a block's header.
#[derive(Clone)]
pub(super) struct Facts {
    pub(super) entries: EntryHasher,
    pub(super) kind: FilterKind,
    pub(super) num_entries: u64,
    pub(super) entries_estimated: bool,
}

/// A filter block that was opened once: answers whether its table may contain a key.
///
/// *No* is always true; *maybe* is wrong at the block's false-positive rate. Everything was checked when the block was
/// opened: queries cannot fail, allocate nothing and parse nothing.
///
/// An engine keeps one for each open table, in an [`Arc`](std::sync::Arc) if threads share it, and queries it directly:
/// a reader that is made once and kept gains nothing. `B` owns or borrows the bytes, and must give the same ones at
/// each call, as vectors, boxes, shared slices and memory maps do. Queries are fastest if the bytes begin at a cache
/// line, as [`AlignedBytes`](crate::AlignedBytes) do. A filter with `B` = `&[u8]` is a [`FilterBlockReader`].
///
/// ```
/// use filterblock::{FilterBlock, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Golomb, 10.0)?;
/// let mut builder = FilterBlockBuilder::new(&policy);
/// builder.add_key(b"key");
/// let filter: FilterBlock<Vec<u8>> = OpenOptions::new().expect(&policy).open_owned(builder.finish()?)?;
/// let shared = Arc::new(filter);
/// assert!(shared.may_contain(b"key"));
/// # Ok(())
/// # }
/// ```
// The order and the alignment keep all that a query by hash reads in one cache line, for a `B` of up to four words.
// Not `Copy`: it may hold a secret.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct FilterBlock<B> {
    block: B,
    layout: FilterLayout,
    facts: Facts,
}

/// A filter block over borrowed bytes.
pub type FilterBlockReader<'a> = FilterBlock<&'a [u8]>;

key_queries! {
    impl<B: AsRef<[u8]>> FilterBlock<B>
}

impl<B: AsRef<[u8]>> FilterBlock<B> {
    /// Answers like [`FilterBlock::may_contain`] for the hash of an entry under [`FilterBlock::entry_hasher`]. A caller with
    /// a hasher of its own must have it compared at opening: [`OpenOptions::expect`](crate::OpenOptions::expect).
    ///
    /// # Panics
    /// If `B` gives bytes of another length than at opening: a defect of `B`. In builds with debug assertions, if
    /// `hash` was made by another hasher or transform: a defect of the caller.
    // Compilers that leave it out of line add a third to a query of a blocked filter.
    #[must_use]
    #[inline(always)]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        self.facts.entries.check_made(hash);
        self.layout.may_contain(self.block.as_ref(), HEADER_LEN as u32, hash)
    }

    /// Answers for many hashes at once: while some are probed, the lines of the next are fetched. It pays from a
    /// handful of hashes on, most if the block is too large for the caches; any number is allowed, and a thousand are
    /// better than thirty.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// builder.add_key(b"present");
    /// let block = builder.finish()?;
    /// let filter = OpenOptions::new().expect(&policy).open(&block)?;
    /// // A key without an entry has no hash: it is *maybe*, and not among these.
    /// let hashes: Vec<_> = [b"present", b"missing"].iter().filter_map(|key| policy.entry_hasher().hash_key(*key)).collect();
    /// let mut answers = [false; 2];
    /// filter.may_contain_hashes(&hashes, &mut answers);
    /// assert_eq!(answers, [true, false]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the slices' lengths differ, which is a defect of the caller, never of the block's bytes; and where
    /// [`FilterBlock::may_contain_hash`] panics.
    pub fn may_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        if cfg!(debug_assertions) {
            hashes.iter().for_each(|&hash| self.facts.entries.check_made(hash));
        }
        self.layout.may_contain_all(self.payload(), hashes, answers);
    }

    /// Prefetches the bytes that a query for `hash` reads first.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: KeyHash) {
        self.layout.prefetch(self.block.as_ref(), HEADER_LEN as u32, hash);
    }

    /// Returns the same filter over borrowed bytes, for functions that take a [`FilterBlockReader`]. Nothing is parsed
    /// or checked again, but some hundred bytes are copied: a query is faster without it.
    pub fn reader(&self) -> FilterBlockReader<'_> {
        FilterBlock { block: self.block.as_ref(), layout: self.layout, facts: self.facts.clone() }
    }

    #[inline(always)]
    pub(super) fn payload(&self) -> &[u8] {
        &self.block.as_ref()[HEADER_LEN..]
    }

    /// Returns the hasher and transform of keys. (They are not copied: they are as long as a cache line.)
    #[inline(always)]
    fn entries(&self) -> &EntryHasher {
        &self.facts.entries
    }

    #[inline(always)]
    pub(super) fn layout(&self) -> &FilterLayout {
        &self.layout
    }

    /// Returns the header of a block of this one's entries whose filter has `params`; `None` without entries.
    #[cfg(feature = "std")]
    pub(super) fn header(&self, params: Option<Params>) -> Header {
        let Facts { ref entries, kind, num_entries, entries_estimated } = self.facts;
        let (transform, hasher) = (entries.transform(), entries.hasher());
        let (hash_id, seed) = (hasher.hash_id(), hasher.seed());
        let params = params.map_or([0; PARAMS_LEN], |params| params.encode());
        let is_remapped = self.layout.set_seed().is_some();
        Header { kind, transform, hash_id, seed, num_entries, entries_estimated, is_remapped, params }
    }

    /// Returns a block, bound to `context`, of the first `columns` columns and the same entries. It takes less memory,
    /// and passes twice the absent keys for each column left out. It is copied without the keys, in a fraction of the
    /// time of a build, and states what it was [thinned from](Self::thinned_from).
    ///
    /// So a table can store many columns, and memory hold only those that the table's queries deserve. A block without
    /// entries has no columns, and is copied.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_false_positive_rate(FilterKind::Ribbon, 1.0 / 65_536.0)?;
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// (0..10_000u32).for_each(|i| builder.add_key(&i.to_le_bytes()));
    /// let block = builder.finish()?;
    /// let options = OpenOptions::new().expect(&policy);
    /// let stored = options.open(&block)?;
    /// assert_eq!(stored.num_compared_columns(), Some(16));
    ///
    /// let thinned = stored.thin(4, 0)?;
    /// assert!(thinned.len() < block.len() / 3);
    /// let held = options.open(&thinned)?;
    /// assert_eq!((held.num_compared_columns(), held.thinned_from()), (Some(4), Some(16)));
    /// assert!((0..10_000u32).all(|i| held.may_contain(&i.to_le_bytes())));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ThinError`] for kinds that have no columns, and for a number that is 0 or not below that of the columns
    /// stored.
    #[cfg(feature = "std")]
    pub fn thin(&self, columns: u32, context: u64) -> Result<Vec<u8>, ThinError> {
        thin::check(self.layout(), columns, 1)?;
        let mut block = std::vec![0; HEADER_LEN];
        let params = self.layout().thin(self.payload(), columns, &mut block);
        self.header(params).write(&mut block, context);
        Ok(block)
    }

    /// Returns the length in bytes of the result of [`FilterBlock::thin`]; `None` where it has none.
    #[cfg(feature = "std")]
    pub fn thinned_len(&self, columns: u32) -> Option<u64> {
        thin::check(self.layout(), columns, 1).ok()?;
        let of_columns = |kind: Columns| u64::from(columns) * kind.column_bytes + kind.other_bytes;
        let seed_len = if self.layout.set_seed().is_some() { SetSeed::LEN as u64 } else { 0 };
        Some(HEADER_LEN as u64 + self.layout().columns().map_or(0, of_columns) + seed_len)
    }

    /// Returns the block's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.block.as_ref()
    }

    /// Returns the bits an entry, header included; `None` without entries.
    pub fn bits_per_key(&self) -> Option<f64> {
        let num_entries = self.facts.num_entries;
        (num_entries > 0).then(|| self.as_bytes().len() as f64 * 8.0 / num_entries as f64)
    }
}

impl<B> FilterBlock<B> {
    /// Returns a block whose bytes were checked.
    pub(super) fn new(block: B, layout: FilterLayout, facts: Facts) -> Self {
        Self { block, layout, facts }
    }

    /// Gives the bytes back.
    pub fn into_inner(self) -> B {
        self.block
    }

    /// The block's hasher and transform, which make hashes of keys.
    #[inline]
    pub fn entry_hasher(&self) -> &EntryHasher {
        &self.facts.entries
    }

    /// The kind.
    pub fn kind(&self) -> FilterKind {
        self.facts.kind
    }

    /// Returns the number of distinct entries (see [`FilterBlock::entries_estimated`]).
    pub fn num_entries(&self) -> u64 {
        self.facts.num_entries
    }

    /// Returns whether the number of entries is an estimate: the block is a union or an intersection.
    pub fn entries_estimated(&self) -> bool {
        self.facts.entries_estimated
    }
}

/// The output is one line, without the bytes.
impl<B: AsRef<[u8]>> fmt::Debug for FilterBlock<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { ref entries, kind, num_entries, .. } = self.facts;
        write!(f, "FilterBlock({kind}, {} of {num_entries} entries, ", entries.transform())?;
        write!(f, "{:?}, {} bytes)", entries.hasher(), self.as_bytes().len())
    }
}
