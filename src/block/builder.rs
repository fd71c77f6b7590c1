//! The writer's side: collects hashes, returns a block.
//!
//! Protocol, as a regular expression: `new (add* finish)*`, where `add` and `finish` are any of the adding and
//! finishing calls. A builder that has finished is empty and ready for the next table; one
//! whose finishing failed still holds its entries.

use super::compact::CompactFrameReader;
use super::header::Header;
use super::plan::{check_cap, plan, target};
use super::reader::OpenOptions;
use super::self_check::self_check;
use super::{HEADER_LEN, compact};
use crate::error::BuildError;
use crate::filter::output::{NoRoom, Output};
use crate::filter::size::{Bits, FilterSize, Target};
use crate::filter::{FilterLayout, PARAMS_LEN, Params, Unbuilt};
use crate::hash::KeyHash;
use crate::policy::{EntryHasher, FilterPolicy, SizedKind, closer};
use core::fmt;
use std::collections::TryReserveError;
use std::vec::Vec;

impl From<NoRoom> for BuildError {
    fn from(NoRoom { needed_bytes, actual_bytes }: NoRoom) -> Self {
        Self::OutputTooShort { needed_bytes, actual_bytes }
    }
}

/// Turns the keys of one table into one filter block.
///
/// Keeps 8 bytes for each added entry besides the block itself; while it builds a large block of the kind fuse, 14
/// more, and for a large block of the kind ribbon 6 MiB for each core.
/// Entries that are repeated one after the other are dropped as they come; a block with other duplicates is first made
/// as large as if they differed. The same set of entries and the same policy give the same bytes, in whatever order and
/// however often the entries were added.
///
/// Each call that adds has its counterpart among the queries: [`add_key`](FilterBlockBuilder::add_key) serves
/// [`FilterBlock::may_contain`](crate::FilterBlock::may_contain) and
/// [`may_contain_prefix`](crate::FilterBlock::may_contain_prefix);
/// [`add_row_column`](FilterBlockBuilder::add_row_column) and [`add_row`](FilterBlockBuilder::add_row) serve the
/// queries by row and column. These apply the policy's transform. A key that has no entry under it is not added, but
/// [counted](FilterBlockBuilder::num_without_entry), and is *maybe* whatever the filter holds.
///
/// ```
/// use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, KeyTransform};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
/// let mut builder = FilterBlockBuilder::new(policy.transform(KeyTransform::FixedPrefix { len: 4 }));
/// builder.add_key(b"user7");
/// builder.add_key(b"me");
/// assert_eq!((builder.num_added(), builder.num_without_entry()), (1, 1));
/// let block = builder.finish()?;
/// let filter = FilterBlockReader::open(&block)?;
/// assert!(filter.may_contain(b"user9") && filter.may_contain_prefix(b"user"));
/// assert!(filter.may_contain(b"me") && !filter.may_contain(b"item1"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FilterBlockBuilder {
    policy: FilterPolicy,
    entries: EntryHasher,
    context: u64,
    parallel: bool,
    hashes: Vec<u64>,
    /// The last hash added of an entry of its own, and of a prefix beside the whole key.
    last: [Option<u64>; 2],
    num_without_entry: u64,
    /// A key was given whose entry only code could tell.
    lacks_code: bool,
}

impl FilterBlockBuilder {
    /// An empty builder.
    pub fn new(policy: FilterPolicy) -> Self {
        Self {
            policy,
            entries: policy.entry_hasher(),
            context: 0,
            parallel: false,
            hashes: Vec::new(),
            last: [None; 2],
            num_without_entry: 0,
            lacks_code: false,
        }
    }

    /// Forgets what was added since the last finish, and the context: for a builder that has refused to finish, or a
    /// table that is given up.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), filterblock::BuildError> {
    /// let mut builder = FilterBlockBuilder::new(FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?);
    /// builder.add_key(b"key");
    /// builder.clear();
    /// assert_eq!(builder.num_added(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn clear(&mut self) {
        self.hashes.clear();
        (self.last, self.num_without_entry, self.context, self.lacks_code) = ([None; 2], 0, 0, false);
    }

    /// Binds the next block to `context`, say a file's number mixed with the block's offset: a reader must name the
    /// same one. It holds until the next finish that succeeds, and not for the blocks after it.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, OpenOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = FilterBlockBuilder::new(FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?);
    /// builder.add_key(b"key");
    /// let (mut file, offset) = (vec![0; 4096], 4096);
    /// builder.context(offset).finish_into(&mut file)?;
    /// assert!(OpenOptions::new().context(offset).open(&file[4096..]).is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn context(&mut self, context: u64) -> &mut Self {
        self.context = context;
        self
    }

    /// Whether large blocks are built on all cores, with the feature `rayon`; without it this has no effect. The bytes
    /// are the same. Off unless set.
    pub fn parallel(&mut self, parallel: bool) -> &mut Self {
        self.parallel = parallel;
        self
    }

    /// The context of [`FilterBlockBuilder::context`] for the next block; 0 after a finish.
    pub fn given_context(&self) -> u64 {
        self.context
    }

    /// The setting of [`FilterBlockBuilder::parallel`].
    pub fn is_parallel(&self) -> bool {
        self.parallel
    }

    /// Makes room for `additional` more entries.
    pub fn reserve(&mut self, additional: usize) {
        self.hashes.reserve(additional);
    }

    /// As [`FilterBlockBuilder::reserve`], for callers that must survive a lack of memory: after `try_reserve(n)` the
    /// next `n` entries allocate nothing; a key with a prefix beside it has two. Repeated calls grow the room
    /// geometrically.
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = FilterBlockBuilder::new(FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?);
    /// builder.try_reserve(1)?;
    /// builder.add_key(b"key");
    /// assert!(builder.try_reserve(usize::MAX).is_err());
    /// assert_eq!(builder.num_added(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the memory cannot be had; the builder keeps its entries.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.hashes.try_reserve(additional)
    }

    /// Adds a key that is one byte string.
    #[inline]
    pub fn add_key(&mut self, key: &[u8]) {
        let mut hashes = self.entries.hash_entries(key);
        self.add_any(hashes.next());
        hashes.for_each(|prefix| self.push(prefix, 1));
    }

    /// Adds a row, for a filter of rows. (Under other transforms a row alone has no entry.)
    #[inline]
    pub fn add_row(&mut self, row: &[u8]) {
        self.add_any(self.entries.hash_row(row));
    }

    /// Adds a key that consists of a row and a column, for a filter of rows or of rows with columns.
    #[inline]
    pub fn add_row_column(&mut self, row: &[u8], column: &[u8]) {
        self.add_any(self.entries.hash_row_column(row, column));
    }

    /// Adds an entry: what the policy's transform makes of a key. For engines that apply it themselves. Under
    /// [`KeyTransform::WholeKeyAndPrefix`](crate::KeyTransform::WholeKeyAndPrefix) a key has two: add its
    /// [prefix](crate::KeyTransform::prefix_of), too.
    #[inline]
    pub fn add_entry(&mut self, entry: &[u8]) {
        self.push(self.entries.hasher().hash(entry), 0);
    }

    /// Adds an entry by its hash, which must have been made with the policy's hasher. A key may have two entries, or
    /// none that the library knows: see [`EntryHasher::hash_entries`].
    ///
    /// # Panics
    /// In builds with debug assertions, if `hash` was made by another hasher: a defect of the caller.
    #[inline]
    pub fn add_hash(&mut self, hash: KeyHash) {
        self.entries.hasher().check_made(hash);
        self.push(hash, 0);
    }

    #[inline]
    fn add_any(&mut self, hash: Option<KeyHash>) {
        match hash {
            Some(hash) => self.push(hash, 0),
            None => {
                self.num_without_entry += 1;
                // A reader that has the code would deny the key.
                self.lacks_code |= self.entries.transform().lacks_code();
            }
        }
    }

    #[inline]
    fn push(&mut self, hash: KeyHash, last: usize) {
        let hash = Some(hash.get());
        if self.last[last] != hash {
            self.last[last] = hash;
            self.hashes.extend(hash);
        }
    }

    /// Entries added since the last finish. Of neighbours that are equal, one is counted.
    pub fn num_added(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// Keys given since the last finish that have no entry under the policy's transform.
    pub fn num_without_entry(&self) -> u64 {
        self.num_without_entry
    }

    /// The policy.
    pub fn policy(&self) -> &FilterPolicy {
        &self.policy
    }

    /// The length in bytes of the block of what has been added so far; see [`FilterPolicy::expected_block_len`].
    ///
    /// # Errors
    /// As [`FilterPolicy::expected_block_len`].
    pub fn expected_block_len(&self) -> Result<u64, BuildError> {
        self.policy.expected_block_len(self.num_added())
    }

    /// The block of what was added, as bytes of its own. See [`FilterBlockBuilder::finish_into`].
    ///
    /// # Errors
    /// As [`FilterBlockBuilder::finish_into`].
    pub fn finish(&mut self) -> Result<Vec<u8>, BuildError> {
        let mut block = Vec::new();
        self.finish_into(&mut block)?;
        Ok(block)
    }

    /// Appends the block to `out`, at any alignment, and returns its length in bytes. Without entries it is a
    /// header that answers *no* to every key that could have one.
    ///
    /// # Errors
    /// [`BuildError::ByteCap`], [`BuildError::TooLarge`], [`BuildError::SelfCheck`], [`BuildError::NoCode`]. Then `out`
    /// is as before and the builder keeps its entries and context.
    pub fn finish_into(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildError> {
        self.finish_block(Output::Vec(out))
    }

    /// Writes the block to the beginning of `out`, memory of the engine's own, and returns its length in bytes.
    /// [`FilterBlockBuilder::expected_block_len`] gives it in advance: exactly, or, where the
    /// [length depends on the keys](FilterPolicy::len_depends_on_keys), without the margin of
    /// [`FilterPolicy::max_block_len`].
    ///
    /// ```
    /// use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = FilterBlockBuilder::new(FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?);
    /// (0..1000u16).for_each(|i| builder.add_key(&i.to_be_bytes()));
    /// let mut memory = vec![0xff; builder.expected_block_len()? as usize];
    /// let len = builder.finish_into_slice(&mut memory)?;
    /// assert!(FilterBlockReader::open(&memory[..len])?.may_contain(&[0, 7]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BuildError::OutputTooShort`], and as [`FilterBlockBuilder::finish_into`]. Then the contents of `out` mean
    /// nothing, and the builder keeps its entries and context.
    pub fn finish_into_slice(&mut self, out: &mut [u8]) -> Result<usize, BuildError> {
        self.finish_block(Output::Slice { memory: out, len: 0 })
    }

    /// Appends a compact frame to `out` and returns its length: the payload, followed by 2 to 20 bytes, depending on
    /// the kind. A compact frame has no checksum and stores neither seed nor transform nor context nor number
    /// of entries; it is for engines that keep these themselves. A byte cap counts the frame's payload and 64 bytes.
    ///
    /// # Errors
    /// As [`FilterBlockBuilder::finish_into`].
    pub fn finish_compact_into(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildError> {
        self.finish_compact(Output::Vec(out))
    }

    /// Writes a compact frame to the beginning of `out`, and returns its length in bytes; see
    /// [`FilterPolicy::max_compact_len`].
    ///
    /// # Errors
    /// As [`FilterBlockBuilder::finish_into_slice`].
    pub fn finish_compact_into_slice(&mut self, out: &mut [u8]) -> Result<usize, BuildError> {
        self.finish_compact(Output::Slice { memory: out, len: 0 })
    }

    fn finish_compact(&mut self, out: Output<'_>) -> Result<usize, BuildError> {
        let (hasher, transform) = (self.entries.hasher(), self.entries.transform());
        self.finish_frame(
            out,
            0,
            |params, _, out, _| {
                let mut trailer = Vec::new();
                match params {
                    Some(params) => compact::write_trailer(params, &mut trailer),
                    None => trailer.extend(compact::EMPTY),
                }
                out.append(&trailer)
            },
            |frame| CompactFrameReader::open(frame, hasher, transform).ok().map(|reader| reader.parts()),
        )
    }

    fn finish_block(&mut self, out: Output<'_>) -> Result<usize, BuildError> {
        let (policy, context) = (self.policy, self.context);
        let kind_of_empty = if self.hashes.is_empty() { Some(policy.kind_for(0)?.kind()) } else { None };
        let seal = |params: Option<&Params>, num_entries: u64, frame: &mut [u8]| {
            let header = Header {
                kind: params.map(Params::kind).or(kind_of_empty).unwrap_or_default(),
                transform: policy.key_transform(),
                hash_id: policy.hasher().hash_id(),
                seed: policy.hasher().seed(),
                num_entries,
                entries_estimated: false,
                params: params.map_or([0; PARAMS_LEN], Params::encode),
            };
            header.write(frame, context);
        };
        let options =
            OpenOptions::new().context(context).expect_hasher(policy.hasher()).expect_transform(policy.key_transform());
        self.finish_frame(
            out,
            HEADER_LEN,
            |params, num_entries, out, start| {
                seal(params, num_entries, out.written_mut(start));
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
        seal: impl Fn(Option<&Params>, u64, &mut Output<'_>, usize) -> Result<(), NoRoom>,
        open: impl Fn(&[u8]) -> Option<(FilterLayout, &[u8])>,
    ) -> Result<usize, BuildError> {
        if self.lacks_code {
            return Err(BuildError::NoCode { transform: self.entries.transform().to_wire() });
        }
        let (start, capacity) = (out.len(), out.capacity());
        let built = out.append_zeros(header_len).map(drop).map_err(BuildError::from);
        let built = built.and_then(|()| self.build_payload(&mut out, header_len)).and_then(|params| {
            seal(params.as_ref(), self.hashes.len() as u64, &mut out, start)?;
            match self.policy.self_checks() {
                true => self_check(&self.hashes, open(out.written(start)), self.parallel),
                false => Ok(()),
            }
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

    /// Sorts the hashes and drops repeated ones. Whether there were any.
    fn sort(&mut self) -> bool {
        let num_hashes = self.hashes.len();
        #[cfg(feature = "rayon")]
        if self.parallel {
            rayon::slice::ParallelSliceMut::par_sort_unstable(&mut self.hashes[..]);
        }
        // Linear where they are sorted already.
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.hashes.len() < num_hashes
    }

    /// Appends the payload; `None` and no bytes without entries. Takes the hashes for distinct until a build finds one
    /// twice, or they are too many for a size: then begins again with the distinct ones.
    fn build_payload(&mut self, out: &mut Output<'_>, header_len: usize) -> Result<Option<Params>, BuildError> {
        if self.hashes.is_empty() {
            return Ok(None);
        }
        let (first, others) = match self.policy.kinds_for(self.hashes.len() as u64) {
            Ok(kinds) => kinds,
            Err(error) => return if self.sort() { self.build_payload(out, header_len) } else { Err(error) },
        };
        let (start, capacity) = (out.len(), out.capacity());
        let mut built = self.build_kind(&first, out, header_len);
        for of_kind in &others {
            // What these hashes leave no room for under one kind may fit under the next.
            let Err(Some(refusal @ (BuildError::ByteCap { .. } | BuildError::Unsolved { .. }))) = built else { break };
            out.truncate(start, capacity);
            if self.sort() {
                return self.build_payload(out, header_len);
            }
            built =
                self.build_kind(of_kind, out, header_len).map_err(|error| error.map(|error| closer(refusal, error)));
        }
        match built {
            Ok(params) => Ok(Some(params)),
            Err(error) => {
                // Planned for repeated hashes, too, it may be many times too large, or of another kind.
                out.truncate(start, capacity);
                match (self.sort(), error) {
                    (false, Some(error)) => Err(error),
                    _ => self.build_payload(out, header_len),
                }
            }
        }
    }

    /// Appends the payload of one kind. The error is `None` after repeated hashes were found and dropped.
    fn build_kind(
        &mut self,
        of_kind: &SizedKind,
        out: &mut Output<'_>,
        header_len: usize,
    ) -> Result<Params, Option<BuildError>> {
        if of_kind.settings.needs_order() && self.sort() {
            return Err(None);
        }
        let (kind, num_entries) = (of_kind.kind(), self.hashes.len() as u64);
        let (start, capacity) = (out.len(), out.capacity());
        check_cap(of_kind, num_entries)?;
        let (mut target, mut cut_bits) = (target(of_kind.size, num_entries, header_len), 0);
        loop {
            let planned = plan(of_kind, target, num_entries)?.plan;
            let plan = if header_len == 0 { planned.in_compact_frame() } else { planned };
            let params = plan.build(&mut self.hashes, out, self.parallel).map_err(|unbuilt| match unbuilt {
                Unbuilt::Repeated => None,
                Unbuilt::NoRoom(no_room) => Some(no_room.into()),
                Unbuilt::Unsolved { num_seeds, num_entries } => {
                    Some(BuildError::Unsolved { kind, num_seeds, num_entries })
                }
            })?;
            let frame_bytes = (out.len() - start + HEADER_LEN) as u64;
            let cap_bytes = match of_kind.size {
                FilterSize::MaxBytes(cap_bytes) if frame_bytes > cap_bytes => cap_bytes,
                _ => return Ok(params),
            };
            // The length depends on the keys: aim lower by the excess, and by more each time, so that few rounds reach
            // a fit or nothing.
            out.truncate(start, capacity);
            cut_bits = ((frame_bytes - cap_bytes) * 8).max(cut_bits * 2);
            target = match target {
                Target::Bits(Bits { total, is_cap, .. }) if total > 0 => {
                    Target::Bits(Bits::new(total.saturating_sub(cut_bits), num_entries, is_cap))
                }
                _ => {
                    let min_bytes = frame_bytes;
                    return Err(Some(BuildError::ByteCap { kind, cap_bytes, min_bytes, num_entries }));
                }
            };
        }
    }
}

/// In a line, without the hashes.
impl fmt::Debug for FilterBlockBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilterBlockBuilder({}, {} entries added)", self.policy, self.num_added())
    }
}
