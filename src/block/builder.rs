//! The writer's side: collects hashes, returns a block.
//!
//! Protocol, as a regular expression: `new (add_key | add_hash)* finish ((add_key | add_hash)* finish)*`, where
//! `finish` is any of the finishing calls. A builder that has finished is empty and ready for the next table; one
//! whose finishing failed still holds its entries.

use super::compact::CompactFrameReader;
use super::header::Header;
use super::plan::{plan, target};
use super::reader::OpenOptions;
use super::{HEADER_LEN, compact};
use crate::error::BuildError;
use crate::filter::size::{Bits, FilterSize, Target};
use crate::filter::{FilterView, PARAMS_LEN, Params};
use crate::hash::{KeyHash, KeyHasher};
use crate::policy::FilterPolicy;
use std::collections::TryReserveError;
use std::vec::Vec;

/// Turns the keys of one table into one filter block.
///
/// Keeps 8 bytes for each added entry besides the block itself. A block with duplicate entries is first made as large as
/// if they differed. The same set of entries and the same policy give the same bytes, in whatever order and however often
/// the entries were added.
///
/// ```
/// use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
/// let mut builder = FilterBlockBuilder::new(policy);
/// builder.add_key(b"present");
/// let block = builder.finish()?;
/// assert!(FilterBlockReader::open(&block)?.may_contain(b"present"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FilterBlockBuilder {
    policy: FilterPolicy,
    hasher: KeyHasher,
    context: u64,
    hashes: Vec<u64>,
}

impl FilterBlockBuilder {
    /// An empty builder.
    pub fn new(policy: FilterPolicy) -> Self {
        Self { policy, hasher: policy.hasher(), context: 0, hashes: Vec::new() }
    }

    /// Binds the blocks to `context`, say a file's number mixed with an offset: a reader must name the same one.
    #[must_use]
    pub fn context(mut self, context: u64) -> Self {
        self.context = context;
        self
    }

    /// Makes room for `additional` more entries.
    pub fn reserve(&mut self, additional: usize) {
        self.hashes.reserve(additional);
    }

    /// As [`FilterBlockBuilder::reserve`], for callers that must survive a lack of memory: after `try_reserve(n)` the
    /// next `n` additions allocate nothing. Repeated calls grow the room geometrically.
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

    /// Adds an entry. The policy's transform is recorded, not applied: `entry` is what it makes of a key, as
    /// [`KeyTransform::entry_of`](crate::KeyTransform::entry_of) does.
    #[inline]
    pub fn add_key(&mut self, entry: &[u8]) {
        self.add_hash(self.hasher.hash(entry));
    }

    /// Adds an entry by its hash, which must have been made with the policy's hasher.
    #[inline]
    pub fn add_hash(&mut self, hash: KeyHash) {
        self.hashes.push(hash.get());
    }

    /// Entries added since the last finish, repeated ones included.
    pub fn num_added(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// The policy.
    pub fn policy(&self) -> &FilterPolicy {
        &self.policy
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
    /// header that answers *no* to every key.
    ///
    /// # Errors
    /// [`BuildError::ByteCap`], [`BuildError::TooLarge`], [`BuildError::SelfCheck`]. Then `out` is as before and
    /// the builder keeps its entries.
    pub fn finish_into(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildError> {
        let (policy, context) = (self.policy, self.context);
        let seal = |params: Option<&Params>, num_entries: u64, frame: &mut [u8]| {
            let header = Header {
                kind: policy.kind(),
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
            OpenOptions::new().context(context).expect_hasher(self.hasher).expect_transform(policy.key_transform());
        self.finish_frame(
            out,
            HEADER_LEN,
            |params, num_entries, out, start| seal(params, num_entries, &mut out[start..]),
            |block| options.open(block).ok().map(|reader| *reader.filter()),
        )
    }

    /// Appends a compact frame to `out` and returns its length: the payload, followed by 2 to 20 bytes, depending on
    /// the kind. A compact frame has no checksum and stores neither seed nor transform nor context nor number
    /// of entries; it is for engines that keep these themselves. A byte cap counts the frame's payload and 64 bytes.
    ///
    /// # Errors
    /// As [`FilterBlockBuilder::finish_into`].
    pub fn finish_compact_into(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildError> {
        let (hasher, transform) = (self.hasher, self.policy.key_transform());
        self.finish_frame(
            out,
            0,
            |params, _, out, _| match params {
                Some(params) => compact::write_trailer(params, out),
                None => out.extend(compact::EMPTY),
            },
            |frame| CompactFrameReader::open(frame, hasher, transform).ok().map(|reader| *reader.filter()),
        )
    }

    /// Appends `header_len` bytes and the payload to `out`, lets `seal` complete the frame, and checks it as `open`
    /// opens it.
    fn finish_frame(
        &mut self,
        out: &mut Vec<u8>,
        header_len: usize,
        seal: impl Fn(Option<&Params>, u64, &mut Vec<u8>, usize),
        open: impl Fn(&[u8]) -> Option<FilterView<'_>>,
    ) -> Result<usize, BuildError> {
        if self.policy.settings().needs_order() {
            self.sort();
        }
        let start = out.len();
        out.resize(start + header_len, 0);
        let built = self.build_payload(out, header_len).and_then(|params| {
            seal(params.as_ref(), self.hashes.len() as u64, out, start);
            if self.policy.checks_itself() { self.self_check(open(&out[start..])) } else { Ok(()) }
        });
        match built {
            Ok(()) => {
                self.hashes.clear();
                Ok(out.len() - start)
            }
            Err(error) => {
                out.truncate(start);
                Err(error)
            }
        }
    }

    /// Sorts the hashes and drops repeated ones.
    fn sort(&mut self) {
        #[cfg(not(feature = "rayon"))]
        self.hashes.sort_unstable();
        #[cfg(feature = "rayon")]
        rayon::slice::ParallelSliceMut::par_sort_unstable(&mut self.hashes[..]);
        self.hashes.dedup();
    }

    /// Appends the payload; `None` and no bytes without entries. Takes the hashes for distinct until a build finds one
    /// twice, or they are too many for a cap.
    fn build_payload(&mut self, out: &mut Vec<u8>, header_len: usize) -> Result<Option<Params>, BuildError> {
        let (policy, num_entries) = (self.policy, self.hashes.len() as u64);
        if num_entries == 0 {
            return Ok(None);
        }
        let (start, capacity) = (out.len(), out.capacity());
        if let Err(error) = self.check_cap(num_entries) {
            // Repeated hashes may be what is too many.
            self.sort();
            let fewer = (self.hashes.len() as u64) < num_entries;
            return if fewer { self.build_payload(out, header_len) } else { Err(error) };
        }
        let (mut target, mut cut_bits) = (target(&policy, num_entries, header_len), 0);
        loop {
            let Ok(params) = plan(&policy, target, num_entries)?.build(&mut self.hashes, out) else {
                // Planned for the repeated ones too, it may be many times too large.
                out.truncate(start);
                out.shrink_to(capacity);
                self.sort();
                return self.build_payload(out, header_len);
            };
            let frame_bytes = (out.len() - start + HEADER_LEN) as u64;
            let cap_bytes = match policy.size() {
                FilterSize::MaxBytes(cap_bytes) if frame_bytes > cap_bytes => cap_bytes,
                _ => return Ok(Some(params)),
            };
            // The length depends on the keys: aim lower by the excess, and by more each time, so that few rounds reach a fit
            // or nothing.
            out.truncate(start);
            cut_bits = ((frame_bytes - cap_bytes) * 8).max(cut_bits * 2);
            target = match target {
                Target::Bits(Bits { total, is_cap, .. }) if total > 0 => {
                    Target::Bits(Bits::new(total.saturating_sub(cut_bits), num_entries, is_cap))
                }
                _ => return Err(self.too_small_a_cap(cap_bytes, frame_bytes)),
            };
        }
    }

    /// Refuses a cap that leaves less than the kind's least payload.
    fn check_cap(&self, num_entries: u64) -> Result<(), BuildError> {
        let min_bytes = HEADER_LEN as u64 + self.policy.settings().min_payload_len(num_entries);
        match self.policy.size() {
            FilterSize::MaxBytes(cap_bytes) if cap_bytes < min_bytes => Err(self.too_small_a_cap(cap_bytes, min_bytes)),
            _ => Ok(()),
        }
    }

    fn too_small_a_cap(&self, cap_bytes: u64, min_bytes: u64) -> BuildError {
        let num_entries = self.hashes.len() as u64;
        BuildError::ByteCap { kind: self.policy.kind(), cap_bytes, min_bytes, num_entries }
    }

    /// Queries the finished frame for every hash it was built from.
    fn self_check(&self, opened: Option<FilterView<'_>>) -> Result<(), BuildError> {
        let Some(filter) = opened else {
            let hash = self.hashes.first().copied().unwrap_or(0);
            return Err(BuildError::SelfCheck { hash, num_missing: self.hashes.len() as u64 });
        };
        #[cfg(not(feature = "rayon"))]
        let missing = self.hashes.chunks(CHECKED_AT_ONCE).flat_map(|hashes| missing(&filter, hashes));
        #[cfg(feature = "rayon")]
        let missing: Vec<u64> = {
            use rayon::prelude::*;
            self.hashes.par_chunks(CHECKED_AT_ONCE).flat_map_iter(|hashes| missing(&filter, hashes)).collect()
        };
        let mut missing = missing.into_iter();
        match missing.next() {
            None => Ok(()),
            Some(hash) => Err(BuildError::SelfCheck { hash, num_missing: 1 + missing.count() as u64 }),
        }
    }
}

/// Hashes that a self-check queries together.
const CHECKED_AT_ONCE: usize = 256;

/// Those of at most [`CHECKED_AT_ONCE`] hashes that are absent from `filter`.
fn missing(filter: &FilterView<'_>, hashes: &[u64]) -> Vec<u64> {
    let mut raw = [KeyHash::from_raw(0); CHECKED_AT_ONCE];
    raw.iter_mut().zip(hashes).for_each(|(raw, &hash)| *raw = KeyHash::from_raw(hash));
    let mut answers = [false; CHECKED_AT_ONCE];
    filter.may_contain_all(&raw[..hashes.len()], &mut answers[..hashes.len()]);
    if answers[..hashes.len()].iter().all(|&answer| answer) {
        return Vec::new();
    }
    hashes.iter().zip(answers).filter(|(_, answer)| !answer).map(|(&hash, _)| hash).collect()
}
