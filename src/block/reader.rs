//! The reader's side: from bytes to answers.

use super::HEADER_LEN;
use super::checksums;
use super::header::Header;
use super::queries::key_queries;
use crate::error::DecodeError;
#[cfg(feature = "std")]
use crate::filter::PARAMS_LEN;
use crate::filter::{FilterLayout, Params};
use crate::hash::{self, KeyHash, KeyHasher};
use crate::kind::FilterKind;
use crate::policy::{EntryHasher, KeyTransform};
use core::fmt;

/// What the caller expects of the bytes it opens.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    context: u64,
    hasher: Option<KeyHasher>,
    transform: Option<KeyTransform>,
    trusted: bool,
}

impl OpenOptions {
    /// No context, any seed but no secret key, any transform, digest verified.
    pub const fn new() -> Self {
        Self { context: 0, hasher: None, transform: None, trusted: false }
    }

    /// The context the block was written with.
    #[must_use]
    pub const fn context(mut self, context: u64) -> Self {
        self.context = context;
        self
    }

    /// Refuses blocks that were not hashed by XXH3-64 with this seed. Required when passing precomputed hashes.
    #[must_use]
    pub const fn expect_seed(self, seed: u64) -> Self {
        self.expect_hasher(KeyHasher::new(seed))
    }

    /// Refuses blocks that were hashed by another hasher. Blocks hashed under a secret key open with it only.
    #[must_use]
    pub const fn expect_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// Refuses blocks whose entries were made by another transform. An engine's own transform is applied to keys if it
    /// was given with [code](crate::CustomTransform::applied_by).
    #[must_use]
    pub const fn expect_transform(mut self, transform: KeyTransform) -> Self {
        self.transform = Some(transform);
        self
    }

    /// Leaves out the payload's digest, for engines that verify the block's bytes themselves. The header is checked as
    /// ever, and no payload bytes can cause a panic; but if they are not what was written, answers may be wrong.
    #[must_use]
    pub const fn trusted(mut self, trusted: bool) -> Self {
        self.trusted = trusted;
        self
    }

    /// The context of [`OpenOptions::context`].
    pub const fn given_context(&self) -> u64 {
        self.context
    }

    /// The hasher of [`OpenOptions::expect_hasher`], or that of [`OpenOptions::expect_seed`].
    pub const fn expected_hasher(&self) -> Option<KeyHasher> {
        self.hasher
    }

    /// The transform of [`OpenOptions::expect_transform`].
    pub const fn expected_transform(&self) -> Option<KeyTransform> {
        self.transform
    }

    /// The setting of [`OpenOptions::trusted`].
    pub const fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Opens a block. Beyond the checksums this takes constant time; it copies and allocates nothing, and takes bytes
    /// of any alignment.
    ///
    /// ```
    /// use filterblock::{DecodeError, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?.seed(7);
    /// let mut builder = FilterBlockBuilder::new(policy);
    /// builder.add_key(b"key");
    /// let block = builder.context(42).finish()?;
    /// assert!(OpenOptions::new().context(42).expect_seed(7).open(&block).is_ok());
    /// let wrong = OpenOptions::new().context(43).open(&block).unwrap_err();
    /// assert_eq!(wrong, DecodeError::WrongContext { expected: 43, found: 42 });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A [`DecodeError`] for anything that is not an intact block of this format, context, hasher and transform. It
    /// always means *maybe*.
    pub fn open<'a>(&self, block: &'a [u8]) -> Result<FilterBlockReader<'a>, DecodeError> {
        Ok(self.check(block)?.over(block))
    }

    /// Opens a block that owns its bytes; see [`FilterBlock`].
    ///
    /// # Errors
    /// An [`OpenError`] with the bytes and what [`OpenOptions::open`] says of them.
    pub fn open_owned<B: AsRef<[u8]>>(&self, block: B) -> Result<FilterBlock<B>, OpenError<B>> {
        match self.check(block.as_ref()) {
            Ok(checked) => Ok(checked.over(block)),
            Err(error) => Err(OpenError { error, block }),
        }
    }

    fn check(&self, block: &[u8]) -> Result<Checked, DecodeError> {
        let header = Header::read(block, self.context)?;
        if !self.trusted {
            checksums::check_digest(block, self.context)?;
        }
        let entries = self.check_expected(header.hash_id, header.seed, header.transform)?;
        header.check_estimate()?;
        let payload = &block[HEADER_LEN..];
        let layout = match header.num_entries {
            0 => header.check_empty(payload.len() as u64).map(|()| FilterLayout::EMPTY)?,
            _ => {
                let params = Params::decode(header.kind, &header.stored_params(payload.len() as u64))?;
                FilterLayout::check(params, payload, HEADER_LEN as u64)?
            }
        };
        let Header { kind, num_entries, entries_estimated, .. } = header;
        Ok(Checked { layout, facts: Facts { entries, kind, num_entries, entries_estimated } })
    }

    /// Compares what a header states with what the caller expects. Returns the expected hasher, or else the one that
    /// the header names, and the transform, with the code of the expected one.
    pub(crate) fn check_expected(
        &self,
        found_id: u8,
        found: u64,
        transform: KeyTransform,
    ) -> Result<EntryHasher, DecodeError> {
        match self.hasher {
            Some(hasher) if hasher.hash_id() != found_id => {
                return Err(DecodeError::WrongHash { expected: hasher.hash_id(), found: found_id });
            }
            Some(hasher) if hasher.seed() != found => {
                let expected = hasher.seed();
                return Err(match found_id {
                    hash::XXH3_ID => DecodeError::WrongSeed { expected, found },
                    _ => DecodeError::WrongKey { expected, found },
                });
            }
            _ => {}
        }
        // That of the caller has the code.
        let stated = self.transform.unwrap_or(transform);
        if stated != transform {
            return Err(DecodeError::WrongTransform { expected: stated.to_wire(), found: transform.to_wire() });
        }
        // What the caller states comes before what it left out.
        let hasher = match self.hasher {
            Some(hasher) => hasher,
            None if found_id == hash::XXH3_ID => KeyHasher::new(found),
            None => return Err(DecodeError::KeyNeeded { key_id: found }),
        };
        Ok(EntryHasher::new(hasher, stated))
    }
}

/// A checked block without its bytes.
struct Checked {
    layout: FilterLayout,
    facts: Facts,
}

impl Checked {
    fn over<B>(self, block: B) -> FilterBlock<B> {
        FilterBlock { block, layout: self.layout, facts: self.facts }
    }
}

/// What a block's header states.
#[derive(Clone, Copy)]
struct Facts {
    entries: EntryHasher,
    kind: FilterKind,
    num_entries: u64,
    entries_estimated: bool,
}

/// A filter block that was opened once: answers whether its table may contain a key.
///
/// *No* is always true; *maybe* is wrong at the block's false-positive rate. Everything was checked when the block was
/// opened: queries cannot fail, allocate nothing and parse nothing.
///
/// An engine keeps one for each open table, behind an [`Arc`](std::sync::Arc) if threads share it, and asks it
/// directly: nothing is gained by a reader that is made once and kept. `B` owns or borrows the bytes, and must give the
/// same ones at each call, as vectors, boxes, shared slices and memory maps do. Queries are fastest if the bytes begin
/// at a cache line, as those of [`AlignedBytes`](crate::AlignedBytes) do. With `B` = `&[u8]` it is a
/// [`FilterBlockReader`].
///
/// ```
/// use filterblock::{FilterBlock, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = FilterBlockBuilder::new(FilterPolicy::with_bits_per_key(FilterKind::Golomb, 10.0)?);
/// builder.add_key(b"key");
/// let filter: FilterBlock<Vec<u8>> = OpenOptions::new().open_owned(builder.finish()?)?;
/// let shared = Arc::new(filter);
/// assert!(shared.may_contain(b"key"));
/// # Ok(())
/// # }
/// ```
// In this order and at a line's start: what a query by hash reads lies in one cache line, for a `B` of up to four
// words.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct FilterBlock<B> {
    block: B,
    layout: FilterLayout,
    facts: Facts,
}

/// A filter block over borrowed bytes.
pub type FilterBlockReader<'a> = FilterBlock<&'a [u8]>;

impl<'a> FilterBlockReader<'a> {
    /// Opens a block written without a context. See [`OpenOptions::open`].
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(block: &'a [u8]) -> Result<Self, DecodeError> {
        OpenOptions::new().open(block)
    }
}

key_queries! {
    impl<B: AsRef<[u8]>> FilterBlock<B>
}

impl<B: AsRef<[u8]>> FilterBlock<B> {
    /// As [`FilterBlock::may_contain`], by the hash of an entry under [`FilterBlock::hasher`]. A caller with a hasher
    /// of its own must have it compared at opening: [`OpenOptions::expect_hasher`].
    ///
    /// # Panics
    /// If `B` gives bytes of another length than at opening: a defect of `B`. In builds with debug assertions, if
    /// `hash` was made by another hasher: a defect of the caller.
    // Compilers that leave it out of line add a third to a query of a blocked filter.
    #[must_use]
    #[inline(always)]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        self.facts.entries.hasher().check_made(hash);
        self.layout.may_contain(self.block.as_ref(), HEADER_LEN as u32, hash)
    }

    /// Answers for many hashes at once: while some are probed, the lines of the next are on their way. Pays from a
    /// handful of hashes on, most where the block is too large for the caches; any number will do, and a thousand are
    /// better than thirty.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// let mut builder = FilterBlockBuilder::new(policy);
    /// builder.add_key(b"present");
    /// let block = builder.finish()?;
    /// let hashes = [b"present", b"missing"].map(|key| policy.hasher().hash(key));
    /// let mut answers = [false; 2];
    /// FilterBlockReader::open(&block)?.may_contain_hashes(&hashes, &mut answers);
    /// assert_eq!(answers, [true, false]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the slices' lengths differ: a defect of the caller, whatever the block's bytes. And as
    /// [`FilterBlock::may_contain_hash`].
    pub fn may_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        if cfg!(debug_assertions) {
            hashes.iter().for_each(|&hash| self.facts.entries.hasher().check_made(hash));
        }
        self.layout.may_contain_all(self.payload(), hashes, answers);
    }

    /// Prefetches what a query for `hash` reads first.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: KeyHash) {
        self.layout.prefetch(self.block.as_ref(), HEADER_LEN as u32, hash);
    }

    /// The same filter over borrowed bytes, for functions that take a [`FilterBlockReader`]. Nothing is parsed or
    /// checked again, but some hundred bytes are copied: a query is faster without it.
    pub fn reader(&self) -> FilterBlockReader<'_> {
        FilterBlock { block: self.block.as_ref(), layout: self.layout, facts: self.facts }
    }

    #[inline(always)]
    pub(super) fn payload(&self) -> &[u8] {
        &self.block.as_ref()[HEADER_LEN..]
    }

    /// What makes hashes of keys. (Not copied: it is as long as a cache line.)
    #[inline(always)]
    fn entries(&self) -> &EntryHasher {
        &self.facts.entries
    }

    #[inline(always)]
    pub(super) fn layout(&self) -> &FilterLayout {
        &self.layout
    }

    /// The header of a block of this one's entries, whose filter has `params`; none without entries.
    #[cfg(feature = "std")]
    pub(super) fn header(&self, params: Option<Params>) -> Header {
        let Facts { entries, kind, num_entries, entries_estimated } = self.facts;
        let (transform, hash_id, seed) = (entries.transform(), self.hasher().hash_id(), self.hasher().seed());
        let params = params.map_or([0; PARAMS_LEN], |params| params.encode());
        Header { kind, transform, hash_id, seed, num_entries, entries_estimated, params }
    }

    /// The block's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.block.as_ref()
    }

    /// Length of the block in bytes.
    pub fn block_len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Bits an entry, header included; `None` without entries.
    pub fn bits_per_key(&self) -> Option<f64> {
        let num_entries = self.facts.num_entries;
        (num_entries > 0).then(|| self.block_len() as f64 * 8.0 / num_entries as f64)
    }
}

impl<B> FilterBlock<B> {
    /// Gives the bytes back.
    pub fn into_inner(self) -> B {
        self.block
    }

    /// What makes hashes of keys: the block's hasher and transform.
    #[inline]
    pub fn entry_hasher(&self) -> EntryHasher {
        self.facts.entries
    }

    /// The hasher that entries must be hashed with.
    #[inline]
    pub fn hasher(&self) -> KeyHasher {
        self.facts.entries.hasher()
    }

    /// What the entries were made from.
    pub fn transform(&self) -> KeyTransform {
        self.facts.entries.transform()
    }

    /// The kind.
    pub fn kind(&self) -> FilterKind {
        self.facts.kind
    }

    /// Distinct entries (see [`FilterBlock::entries_estimated`]).
    pub fn num_entries(&self) -> u64 {
        self.facts.num_entries
    }

    /// Whether the number of entries is an estimate: the block is a union or an intersection.
    pub fn entries_estimated(&self) -> bool {
        self.facts.entries_estimated
    }
}

/// In one line, without the bytes.
impl<B: AsRef<[u8]>> fmt::Debug for FilterBlock<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { entries, kind, num_entries, .. } = self.facts;
        write!(f, "FilterBlock({kind}, {} of {num_entries} entries, ", entries.transform())?;
        write!(f, "{:?}, {} bytes)", entries.hasher(), self.block_len())
    }
}

/// Why a block was not opened, and the bytes that were to be owned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OpenError<B> {
    error: DecodeError,
    block: B,
}

impl<B> OpenError<B> {
    /// What is wrong with the bytes. It always means *maybe*.
    pub fn error(&self) -> DecodeError {
        self.error
    }

    /// Gives the bytes back.
    pub fn into_inner(self) -> B {
        self.block
    }
}

impl<B> From<OpenError<B>> for DecodeError {
    fn from(error: OpenError<B>) -> Self {
        error.error
    }
}

impl<B> fmt::Debug for OpenError<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenError").field(&self.error).finish()
    }
}

impl<B> fmt::Display for OpenError<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<B> core::error::Error for OpenError<B> {}
