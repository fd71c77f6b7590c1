//! The writer's side: collects hashes, returns a block.
//!
//! Protocol, as a regular expression: `new (add* finish)*`, where `add` and `finish` are any of the adding and
//! finishing calls. A builder that has finished is empty and ready for the next table; one
//! whose finishing failed still holds its entries.

use super::payload::{Built, Payload};
use super::self_check::self_check;
use crate::build::{NoRoom, Output};
use crate::error::BuildError;
use crate::frame::{HEADER_LEN, Header, OpenOptions, PARAMS_LEN};
use crate::hash::{EntryHasher, KeyHash, KeyTransform};
use crate::keys::compact;
use crate::keys::kinds::FilterLayout;
use crate::keys::policy::FilterPolicy;
use core::fmt;
use std::collections::TryReserveError;
use std::vec::Vec;

/// The levels of directories of which the last one is kept, so that those of sorted keys count once.
const NUM_LAST: usize = 8;

/// Turns the keys of one table into one filter block.
///
/// It keeps 8 bytes for each added entry besides the block itself. While it builds a block it takes up to 2 MiB, or half
/// a per cent of the entries' memory, to group them, and for a large block 14 bytes an entry more for the kind fuse (up
/// to 55 where entries are set aside, as below 350 000), 4 MiB for each core for the kind ribbon, or half a byte for
/// each probe of an entry for a bloom block of 16 MiB or more. An entry that repeats the one before it is dropped at
/// once; with other duplicates, a block is first planned as if all entries differed. The same set of entries and the same
/// policy give the same bytes, in every order and with every repetition of the entries.
///
/// Each call that adds has its counterpart among the queries: [`add_key`](Self::add_key) serves
/// [`FilterBlock::may_contain`](crate::FilterBlock::may_contain) and
/// [`may_contain_prefix`](crate::FilterBlock::may_contain_prefix); [`add_row_column`](Self::add_row_column) and
/// [`add_row`](Self::add_row) serve the queries by row and column. These apply the policy's transform. A key that has no
/// entry under it is not added, but [counted](Self::num_without_entry), and is *maybe* in every filter.
///
/// ```
/// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyTransform, OpenOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
/// let policy = policy.with_transform(KeyTransform::FixedPrefix { len: 4 });
/// let mut builder = FilterBlockBuilder::new(&policy);
/// builder.add_key(b"user7");
/// builder.add_key(b"me");
/// assert_eq!((builder.num_added(), builder.num_without_entry()), (1, 1));
/// let block = builder.finish()?;
/// let filter = OpenOptions::new().expect(&policy).open(&block)?;
/// assert!(filter.may_contain(b"user9") && filter.may_contain_prefix(b"user"));
/// assert!(filter.may_contain(b"me") && !filter.may_contain(b"item1"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FilterBlockBuilder {
    policy: FilterPolicy,
    context: u64,
    parallel: bool,
    hashes: Vec<u64>,
    /// The sum of the hashes as they were added, each plus one, by which the self-check notices a lost one.
    added: u64,
    /// The hashes added last: of an entry, of a prefix beside the whole key; of directories, by level.
    last: [Option<u64>; NUM_LAST],
    num_without_entry: u64,
    /// The reason why no block can be made of the added keys.
    refused: Option<BuildError>,
    allows_empty: bool,
}

impl FilterBlockBuilder {
    /// Returns an empty builder.
    pub fn new(policy: &FilterPolicy) -> Self {
        Self {
            policy: policy.clone(),
            context: 0,
            parallel: false,
            hashes: Vec::new(),
            added: 0,
            last: [None; NUM_LAST],
            num_without_entry: 0,
            refused: None,
            allows_empty: false,
        }
    }

    /// Removes all entries since the last finish, and the context: for a builder that has refused to finish, or an
    /// abandoned table.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let mut builder = FilterBlockBuilder::new(&FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?);
    /// builder.add_key(b"key");
    /// builder.clear();
    /// assert_eq!(builder.num_added(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn clear(&mut self) {
        self.hashes.clear();
        (self.added, self.last, self.num_without_entry, self.context) = (0, [None; NUM_LAST], 0, 0);
        (self.refused, self.allows_empty) = (None, false);
    }

    /// Binds the next block to `context`, say a file's number mixed with the block's offset: a reader must name the
    /// same one. It holds until the next finish that succeeds, and not for the blocks after it.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// builder.add_key(b"key");
    /// let (mut file, offset) = (vec![0; 4096], 4096);
    /// builder.set_context(offset).finish_into(&mut file)?;
    /// assert!(OpenOptions::new().with_context(offset).expect(&policy).open(&file[4096..]).is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_context(&mut self, context: u64) -> &mut Self {
        self.context = context;
        self
    }

    /// Permits the next block to have no entries, for a table without keys. Without this call a builder that received
    /// nothing since its last finish refuses to finish, because an empty block denies every key. The permission holds
    /// until the next finish that succeeds.
    ///
    /// ```
    /// use filterblock::{BuildError, FilterBlockBuilder, FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), BuildError> {
    /// let mut builder = FilterBlockBuilder::new(&FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?);
    /// builder.add_key(b"key");
    /// let block = builder.finish()?; // If writing it fails, write these bytes again:
    /// assert_eq!(builder.finish(), Err(BuildError::Empty));
    /// assert_eq!(builder.allow_empty().finish()?.len(), 64);
    /// # Ok(())
    /// # }
    /// ```
    pub fn allow_empty(&mut self) -> &mut Self {
        self.allows_empty = true;
        self
    }

    /// Sets whether large blocks of `blocked`, `ribbon` and `bloom` (from 16 MiB on) are built on all cores, with the
    /// feature `rayon`; without it this has no effect. `golomb` and `fuse` take one core: only the sort that follows
    /// repeated or crowded hashes takes all. The bytes are the same. It is off unless set.
    pub fn set_parallel(&mut self, parallel: bool) -> &mut Self {
        self.parallel = parallel;
        self
    }

    /// Makes room for callers that must survive a lack of memory: after `try_reserve(n)` the next `n` entries allocate
    /// nothing; a key with a prefix beside it has two, and one under delimited prefixes as many as it has of these
    /// ([`KeyTransform::prefixes_of`]). Repeated calls grow the room geometrically.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = FilterBlockBuilder::new(&FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?);
    /// builder.try_reserve(1)?;
    /// builder.add_key(b"key");
    /// assert!(builder.try_reserve(usize::MAX).is_err());
    /// assert_eq!(builder.num_added(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the memory cannot be allocated; the builder keeps its entries.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.hashes.try_reserve(additional)
    }

    /// Adds a key that is one byte string.
    #[inline]
    pub fn add_key(&mut self, key: &[u8]) {
        match self.entries().hash_plain(key) {
            Some(hash) => self.push(hash, 0),
            None => self.add_entries_of(key),
        }
    }

    /// [`Self::add_key`] under any transform and hasher. Inlined, it would have a plain key's call save registers, too.
    #[inline(never)]
    fn add_entries_of(&mut self, key: &[u8]) {
        match self.entries().transform() {
            KeyTransform::DelimitedPrefix { .. } => self.push_all(self.entries().hash_directories(key)),
            transform @ KeyTransform::Custom(_) => {
                // This also holds if the code panics: the key is then lost.
                let refused = self.refused.replace(BuildError::NoCode { transform: transform.to_wire() });
                let hashes = self.entries().hash_key_and_prefix(key);
                self.refused = refused;
                self.push_all(hashes);
            }
            _ => self.push_all(self.entries().hash_key_and_prefix(key)),
        }
    }

    /// Adds the entries of a key.
    fn push_all(&mut self, mut hashes: impl Iterator<Item = KeyHash>) {
        match hashes.next() {
            Some(hash) => self.push(hash, 0),
            None => self.note_without_entry(),
        }
        hashes.zip(1..).for_each(|(prefix, level)| self.push(prefix, level % NUM_LAST));
    }

    /// Adds a row, for a filter of rows. (Under other transforms a row alone has no entry.)
    #[inline]
    pub fn add_row(&mut self, row: &[u8]) {
        match self.entries().hash_row(row) {
            Some(hash) => self.push(hash, 0),
            None => self.refuse_form(),
        }
    }

    /// Adds a key that consists of a row and a column, for a filter of rows or of rows with columns.
    #[inline]
    pub fn add_row_column(&mut self, row: &[u8], column: &[u8]) {
        match self.entries().hash_row_column(row, column) {
            Some(hash) => self.push(hash, 0),
            None => self.refuse_form(),
        }
    }

    /// Adds an entry, which is the result of the policy's transform, for engines that apply it themselves. Under
    /// [`KeyTransform::WholeKeyAndPrefix`] a key has two entries: add its prefix, too. With a delimited prefix the
    /// shorter ones are added, too. A byte string that is not as long as a fixed prefix, or is no delimited one, is not a
    /// result of that transform: the builder [refuses](FilterBlockBuilder::refusal) it.
    #[inline]
    pub fn add_entry(&mut self, entry: &[u8]) {
        match self.entries().transform() {
            KeyTransform::FixedPrefix { len } if entry.len() != usize::from(len) => self.refuse_form(),
            transform @ KeyTransform::DelimitedPrefix { .. } => match transform.entry_of(entry) == Some(entry) {
                true => self.add_entries_of(entry),
                false => self.refuse_form(),
            },
            _ => self.push(self.entries().hasher().hash(entry), 0),
        }
    }

    /// Adds an entry by its hash, which must have been made with the policy's hasher. A key may have two entries, or
    /// none that the library knows: see [`EntryHasher::hash_entries`].
    ///
    /// # Panics
    /// In builds with debug assertions, if `hash` was made by another hasher: a defect of the caller.
    #[inline]
    pub fn add_hash(&mut self, hash: KeyHash) {
        self.entries().check_made(hash);
        self.push(hash, 0);
    }

    /// Counts a byte string without an entry, or refuses it where the filter could deny it.
    #[cold]
    fn note_without_entry(&mut self) {
        let transform = self.entries().transform();
        match transform {
            KeyTransform::Row | KeyTransform::RowColumn => self.refuse_form(),
            // A reader that has the code would deny the key.
            _ if self.entries().lacks_code() => {
                self.refused.get_or_insert(BuildError::NoCode { transform: transform.to_wire() });
            }
            _ => self.num_without_entry += 1,
        }
    }

    /// Refuses to finish: a key was added in a form of which the transform makes no entries, and queries in its own
    /// form would deny it.
    #[cold]
    fn refuse_form(&mut self) {
        let transform = self.entries().transform().to_wire();
        self.refused.get_or_insert(BuildError::WrongForm { transform });
    }

    #[inline]
    fn push(&mut self, hash: KeyHash, last: usize) {
        let hash = hash.get();
        if self.last[last] != Some(hash) {
            self.hashes.push(hash);
            self.last[last] = Some(hash); // Not before the push: it may unwind, and the key be added again.
            // A tally's two sums would be one vector here, whose next addition waits until memory has it.
            self.added = self.added.wrapping_add(hash).wrapping_add(1);
        }
    }

    /// Returns the number of entries added since the last finish. Equal neighbours count once.
    pub fn num_added(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// Returns the number of keys added since the last finish that have no entry under the policy's transform. If it is
    /// above 0 and [`num_added`](FilterBlockBuilder::num_added) is 0, the block will have no entries: it is right, but
    /// the transform does not suit the table's keys.
    pub fn num_without_entry(&self) -> u64 {
        self.num_without_entry
    }

    /// Returns the reason why no block can be made of what was added, as soon as it is known:
    /// [`BuildError::WrongForm`] or [`BuildError::NoCode`]. Every finish returns it, until [`clear`](Self::clear).
    ///
    /// ```
    /// use filterblock::{BuildError, FilterBlockBuilder, FilterKind, FilterPolicy, KeyTransform};
    ///
    /// # fn main() -> Result<(), BuildError> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?.with_transform(KeyTransform::Row);
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// builder.add_row(b"row");
    /// assert_eq!(builder.refusal(), None);
    /// builder.add_key(b"key"); // a query of this key would be *maybe*, and a query of this row denied
    /// assert_eq!(builder.refusal(), Some(BuildError::WrongForm { transform: KeyTransform::Row.to_wire() }));
    /// assert_eq!(builder.finish().err(), builder.refusal());
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn refusal(&self) -> Option<BuildError> {
        self.refused
    }

    #[inline]
    fn entries(&self) -> &EntryHasher {
        self.policy.entry_hasher()
    }

    /// Returns the policy by which the block is built.
    pub fn policy(&self) -> &FilterPolicy {
        &self.policy
    }

    /// Returns the length in bytes of the block of all entries added so far; see [`FilterPolicy::expected_block_len`].
    ///
    /// # Errors
    /// The errors of [`FilterPolicy::expected_block_len`].
    pub fn expected_block_len(&self) -> Result<u64, BuildError> {
        self.policy.expected_block_len(self.num_added())
    }

    /// Returns the block of all added entries in a new vector. See [`FilterBlockBuilder::finish_into`].
    ///
    /// # Errors
    /// The errors of [`FilterBlockBuilder::finish_into`].
    pub fn finish(&mut self) -> Result<Vec<u8>, BuildError> {
        let mut block = Vec::new();
        self.finish_into(&mut block)?;
        Ok(block)
    }

    fn payload(&mut self) -> Payload<'_> {
        Payload { policy: &self.policy, hashes: &mut self.hashes, added: &mut self.added, parallel: self.parallel }
    }

    /// Appends the block to `out`, at any alignment, and returns its length in bytes. The block of a table without keys
    /// ([`allow_empty`](FilterBlockBuilder::allow_empty)), or of keys none of which has an entry, is a header that
    /// answers *no* to every key that could have one.
    ///
    /// # Errors
    /// [`BuildError::Empty`] if nothing was added; [`BuildError::WrongForm`] and [`BuildError::NoCode`] after a
    /// [refusal](FilterBlockBuilder::refusal); [`BuildError::ByteCap`], [`BuildError::TooLarge`],
    /// [`BuildError::Unsolved`], [`BuildError::SelfCheck`]. Then `out` is as before and the builder keeps its entries
    /// and context.
    pub fn finish_into(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildError> {
        self.finish_block(Output::Vec(out))
    }

    /// Writes the block to the beginning of `out`, memory of the engine's own, and returns its length in bytes.
    /// [`FilterBlockBuilder::expected_block_len`] gives it in advance: exactly, or, where the
    /// [length depends on the keys](FilterPolicy::len_depends_on_keys), without the margin of
    /// [`FilterPolicy::max_block_len`].
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    /// let mut builder = FilterBlockBuilder::new(&policy);
    /// (0..1000u16).for_each(|i| builder.add_key(&i.to_be_bytes()));
    /// let mut memory = vec![0xff; builder.expected_block_len()? as usize];
    /// let len = builder.finish_into_slice(&mut memory)?;
    /// assert!(OpenOptions::new().expect(&policy).open(&memory[..len])?.may_contain(&[0, 7]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::OutputTooShort`], and the errors of [`FilterBlockBuilder::finish_into`]. The contents of `out` are
    /// then unspecified, and the builder keeps its entries and context. Without an error, bytes after the block may
    /// have changed if entries repeat.
    pub fn finish_into_slice(&mut self, out: &mut [u8]) -> Result<usize, BuildError> {
        self.finish_block(Output::Slice { memory: out, len: 0 })
    }

    /// Appends a compact frame to `out` and returns its length: the payload, followed by 2 to 20 bytes, depending on
    /// the kind. A compact frame has no checksum and stores neither seed nor transform nor context nor number
    /// of entries; it is for engines that keep these themselves. A byte cap counts the frame's payload and 64 bytes.
    ///
    /// # Errors
    /// The errors of [`FilterBlockBuilder::finish_into`].
    pub fn finish_compact_into(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildError> {
        self.finish_compact(Output::Vec(out))
    }

    /// Writes a compact frame to the beginning of `out`, and returns its length in bytes; see
    /// [`FilterPolicy::max_compact_len`].
    ///
    /// # Errors
    /// The errors of [`FilterBlockBuilder::finish_into_slice`].
    pub fn finish_compact_into_slice(&mut self, out: &mut [u8]) -> Result<usize, BuildError> {
        self.finish_compact(Output::Slice { memory: out, len: 0 })
    }

    fn finish_compact(&mut self, out: Output<'_>) -> Result<usize, BuildError> {
        self.finish_frame(
            out,
            0,
            |built, _, out, _| {
                let mut trailer = Vec::new();
                match built {
                    Some(Built { params, is_remapped, .. }) => {
                        compact::write_trailer(params, *is_remapped, &mut trailer)
                    }
                    None => trailer.extend(compact::EMPTY),
                }
                out.append(&trailer)
            },
            |frame| compact::open(frame).ok(),
        )
    }

    fn finish_block(&mut self, out: Output<'_>) -> Result<usize, BuildError> {
        let (entries, context) = (self.entries().clone(), self.context);
        let kind_of_empty = if self.hashes.is_empty() { Some(self.policy.kind_for(0)?.kind()) } else { None };
        let seal = |built: Option<&Built>, num_entries: u64, frame: &mut [u8]| {
            let header = Header {
                kind: built.map(|built| built.params.kind()).or(kind_of_empty).unwrap_or_default(),
                transform: entries.transform(),
                hash_id: entries.hasher().hash_id(),
                seed: entries.hasher().seed(),
                num_entries,
                entries_estimated: false,
                is_remapped: built.is_some_and(|built| built.is_remapped),
                params: built.map_or([0; PARAMS_LEN], |built| built.params.encode()),
            };
            header.write(frame, context);
        };
        let options = OpenOptions::new().with_context(context).expect(&entries);
        self.finish_frame(
            out,
            HEADER_LEN,
            |built, num_entries, out, start| {
                seal(built, num_entries, out.written_mut(start));
                Ok(())
            },
            |block| options.open(block).ok().map(|reader| (*reader.layout(), &block[HEADER_LEN..])),
        )
    }

    /// Appends `header_len` bytes and the payload to `out`, lets `seal` complete the frame, and checks it as `open`
    /// opens it.
    fn finish_frame(
        &mut self,
        mut out: Output<'_>,
        header_len: usize,
        seal: impl Fn(Option<&Built>, u64, &mut Output<'_>, usize) -> Result<(), NoRoom>,
        open: impl Fn(&[u8]) -> Option<(FilterLayout, &[u8])>,
    ) -> Result<usize, BuildError> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        if self.hashes.is_empty() && self.num_without_entry == 0 && !self.allows_empty {
            return Err(BuildError::Empty);
        }
        let (start, capacity) = (out.len(), out.capacity());
        let built = out.append_zeros(header_len).map(drop).map_err(BuildError::from);
        let built = built.and_then(|()| self.payload().build(&mut out, header_len)).and_then(|built| {
            seal(built.as_ref(), self.hashes.len() as u64, &mut out, start)?;
            if !self.policy.self_check() {
                return Ok(());
            }
            let is_checked = built.is_some_and(|built| built.is_checked);
            self_check(&self.hashes, open(out.written(start)), is_checked, self.parallel)
        });
        match built {
            Ok(()) => {
                self.clear();
                Ok(out.len() - start)
            }
            Err(error) => {
                out.truncate(start, capacity);
                Err(error)
            }
        }
    }
}

/// The output is one line, without the hashes.
impl fmt::Debug for FilterBlockBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilterBlockBuilder({}, {} entries added)", self.policy, self.num_added())
    }
}
