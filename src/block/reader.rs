//! The reader's side: from bytes to answers.

use super::HEADER_LEN;
use super::checksums;
use super::header::Header;
use crate::error::DecodeError;
use crate::filter::{FilterLayout, FilterView, Params};
use crate::hash::{self, KeyHash, KeyHasher};
use crate::kind::FilterKind;
use crate::policy::KeyTransform;

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

    /// Refuses blocks whose entries were made by another transform.
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

    /// Opens a block. Beyond the checksums this takes constant time; it copies and allocates nothing, and takes bytes of
    /// any alignment.
    ///
    /// ```
    /// use filterblock::{DecodeError, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?.seed(7);
    /// let mut builder = FilterBlockBuilder::new(policy).context(42);
    /// builder.add_key(b"key");
    /// let block = builder.finish()?;
    /// assert!(OpenOptions::new().context(42).expect_seed(7).open(&block).is_ok());
    /// let wrong = OpenOptions::new().context(43).open(&block).unwrap_err();
    /// assert_eq!(wrong, DecodeError::WrongContext { expected: 43, found: 42 });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A [`DecodeError`] for anything that is not an intact block of this format, context, hasher and transform. It always
    /// means *maybe*.
    pub fn open<'a>(&self, block: &'a [u8]) -> Result<FilterBlockReader<'a>, DecodeError> {
        let header = Header::read(block, self.context)?;
        if !self.trusted {
            checksums::check_digest(block, self.context)?;
        }
        let hasher = self.check_expected(header.hash_id, header.seed, header.transform)?;
        header.check_estimate()?;
        let payload = &block[HEADER_LEN..];
        let filter = match header.num_entries {
            0 => header.check_empty(payload.len() as u64).map(|()| FilterView::Empty)?,
            _ => {
                let params = Params::decode(header.kind, &header.stored_params(payload.len() as u64))?;
                FilterView::new(params, payload, HEADER_LEN as u64)?
            }
        };
        let facts = Facts {
            hasher,
            kind: header.kind,
            transform: header.transform,
            num_entries: header.num_entries,
            entries_estimated: header.entries_estimated,
            block_len: block.len(),
        };
        Ok(FilterBlockReader { filter, facts })
    }

    /// Compares what a header states with what the caller expects. Returns the hasher: the expected one, or else the
    /// one that the header names.
    pub(crate) fn check_expected(
        &self,
        found_id: u8,
        found: u64,
        transform: KeyTransform,
    ) -> Result<KeyHasher, DecodeError> {
        let hasher = match self.hasher {
            Some(hasher) if hasher.hash_id() != found_id => {
                return Err(DecodeError::WrongHash { expected: hasher.hash_id(), found: found_id });
            }
            Some(hasher) if hasher.seed() != found => {
                return Err(DecodeError::WrongSeed { expected: hasher.seed(), found });
            }
            Some(hasher) => hasher,
            None if found_id == hash::XXH3_ID => KeyHasher::new(found),
            None => return Err(DecodeError::KeyNeeded { key_id: found }),
        };
        let found = transform.to_wire();
        match self.transform.map(KeyTransform::to_wire).filter(|&expected| expected != found) {
            Some(expected) => Err(DecodeError::WrongTransform { expected, found }),
            None => Ok(hasher),
        }
    }

    pub(crate) fn given_context(&self) -> u64 {
        self.context
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Opens a block that keeps its bytes; see [`FilterBlock`].
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open_owned<B: AsRef<[u8]>>(&self, block: B) -> Result<FilterBlock<B>, DecodeError> {
        let FilterBlockReader { filter, facts } = self.open(block.as_ref())?;
        Ok(FilterBlock { layout: filter.layout(), facts, block })
    }
}

/// A filter block opened once and kept with its bytes, for engines that hold a table's filter in memory. `B` must give
/// the same bytes at each call, as vectors, boxes, shared slices and memory maps do.
///
/// ```
/// use filterblock::{FilterBlock, FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = FilterBlockBuilder::new(FilterPolicy::with_bits_per_key(FilterKind::Golomb, 10.0)?);
/// builder.add_key(b"key");
/// let filter: FilterBlock<Vec<u8>> = OpenOptions::new().open_owned(builder.finish()?)?;
/// assert!(filter.reader().may_contain(b"key"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FilterBlock<B> {
    layout: FilterLayout,
    facts: Facts,
    block: B,
}

impl<B: AsRef<[u8]>> FilterBlock<B> {
    /// A reader over the kept bytes. Nothing is parsed or checked again but their length: this costs a copy of some words.
    ///
    /// # Panics
    /// If `B` gives bytes of another length than at opening, where the block has entries: a defect of `B`.
    #[inline]
    pub fn reader(&self) -> FilterBlockReader<'_> {
        let payload = &self.block.as_ref()[HEADER_LEN..];
        FilterBlockReader { filter: self.layout.view(payload), facts: self.facts }
    }

    /// The block's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.block.as_ref()
    }

    /// Gives the bytes back.
    pub fn into_inner(self) -> B {
        self.block
    }
}

/// What a block's header states.
#[derive(Clone, Copy, Debug)]
struct Facts {
    hasher: KeyHasher,
    kind: FilterKind,
    transform: KeyTransform,
    num_entries: u64,
    entries_estimated: bool,
    block_len: usize,
}

/// Answers from the bytes of a filter block whether its table may contain a key.
///
/// *No* is always true; *maybe* is wrong at the block's false-positive rate. Everything was checked when the block
/// was opened: queries cannot fail.
#[derive(Clone, Copy, Debug)]
pub struct FilterBlockReader<'a> {
    filter: FilterView<'a>,
    facts: Facts,
}

impl<'a> FilterBlockReader<'a> {
    /// Opens a block written without a context. See [`OpenOptions::open`].
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(block: &'a [u8]) -> Result<Self, DecodeError> {
        OpenOptions::new().open(block)
    }

    /// Whether the table may contain `entry`; `false` is certain. The block's transform is not applied: `entry` is what it
    /// makes of a key.
    #[inline]
    pub fn may_contain(&self, entry: &[u8]) -> bool {
        self.filter.may_contain(self.facts.hasher.hash(entry))
    }

    /// As [`FilterBlockReader::may_contain`], by the entry's hash under [`FilterBlockReader::hasher`]. A caller
    /// with a hasher of its own must have it compared at opening: [`OpenOptions::expect_hasher`].
    #[inline]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        self.filter.may_contain(hash)
    }

    /// Answers for many hashes at once: while some are probed, the lines of the next are on their way. Pays from a handful of
    /// hashes on, most where the block is too large for the caches; any number will do, and a thousand are better than thirty.
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
    /// If the slices' lengths differ: a defect of the caller, whatever the block's bytes.
    pub fn may_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        self.filter.may_contain_all(hashes, answers);
    }

    /// The hasher that entries must be hashed with.
    pub fn hasher(&self) -> KeyHasher {
        self.facts.hasher
    }

    /// The kind.
    pub fn kind(&self) -> FilterKind {
        self.facts.kind
    }

    /// What the entries were made from.
    pub fn transform(&self) -> KeyTransform {
        self.facts.transform
    }

    /// Distinct entries (see [`FilterBlockReader::entries_estimated`]).
    pub fn num_entries(&self) -> u64 {
        self.facts.num_entries
    }

    /// Whether the number of entries is an estimate: the block is a union or an intersection.
    pub fn entries_estimated(&self) -> bool {
        self.facts.entries_estimated
    }

    pub(super) fn filter(&self) -> &FilterView<'a> {
        &self.filter
    }

    /// Length of the block in bytes.
    pub fn block_len(&self) -> usize {
        self.facts.block_len
    }

    /// Bits an entry, header included; `None` without entries.
    pub fn bits_per_key(&self) -> Option<f64> {
        let num_entries = self.facts.num_entries;
        (num_entries > 0).then(|| self.facts.block_len as f64 * 8.0 / num_entries as f64)
    }

    /// Probes made for a key, for the kinds that probe.
    pub fn num_probes(&self) -> Option<u32> {
        self.filter.num_probes()
    }

    /// The rate at which absent keys pass, computed from the payload. Reads the whole payload.
    pub fn false_positive_rate(&self) -> f64 {
        self.filter.predicted_fpr()
    }

    /// Share of the filter's bits that are set (golomb: of its range that is occupied). Reads the whole payload.
    pub fn fill(&self) -> f64 {
        self.filter.fill()
    }
}
