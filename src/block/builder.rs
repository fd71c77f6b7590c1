//! The writer's side: collects hashes, returns a block.
//!
//! Protocol, as a regular expression: `new (add_key | add_hash)* finish ((add_key | add_hash)* finish)*`, where
//! `finish` is any of the finishing calls. A builder that has finished is empty and ready for the next table; one
//! whose finishing failed still holds its entries.

use super::header::Header;
use super::plan::{Target, plan};
use super::reader::{FilterBlockReader, OpenOptions};
use super::{HEADER_LEN, compact};
use crate::error::{BuildError, DecodeError};
use crate::filter::blocked::LINE_LEN;
use crate::filter::{PARAMS_LEN, Params, needs_order};
use crate::hash::{KeyHash, KeyHasher};
use crate::kind::FilterKind;
use crate::policy::{FilterPolicy, FilterSize};
use std::vec::Vec;

/// Turns the keys of one table into one filter block.
///
/// Keeps 8 bytes for each added entry, besides the block itself, which where entries were added repeatedly is first made
/// as large as if they differed. The same set of entries and the same policy give
/// the same bytes, in whatever order and however often the entries were added.
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
            |block| options.open(block),
        )
    }

    /// Appends a compact frame to `out` and returns its length: the payload and, depending on the kind, 2 to 20
    /// bytes behind it. A compact frame has no checksum and stores neither seed nor transform nor context nor number
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
            |frame| FilterBlockReader::open_compact(frame, hasher, transform),
        )
    }

    /// Appends `header_len` bytes and the payload to `out`, lets `seal` complete the frame, and checks it as `open`
    /// opens it.
    fn finish_frame(
        &mut self,
        out: &mut Vec<u8>,
        header_len: usize,
        seal: impl Fn(Option<&Params>, u64, &mut Vec<u8>, usize),
        open: impl Fn(&[u8]) -> Result<FilterBlockReader<'_>, DecodeError>,
    ) -> Result<usize, BuildError> {
        if needs_order(self.policy.kind()) {
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
        let mut target = Target::new(&policy, num_entries, header_len);
        if let Err(error) = self.check_cap(target, num_entries) {
            // Repeated hashes may be what is too many.
            self.sort();
            let fewer = (self.hashes.len() as u64) < num_entries;
            return if fewer { self.build_payload(out, header_len) } else { Err(error) };
        }
        let mut cut_bits = 0;
        loop {
            let mut params = plan(&policy, target, num_entries)?;
            if params.build(&mut self.hashes, out).is_err() {
                // Planned for the repeated ones too, it may be many times too large.
                out.truncate(start);
                out.shrink_to(capacity);
                self.sort();
                return self.build_payload(out, header_len);
            }
            let payload_bytes = (out.len() - start) as u64;
            let FilterSize::MaxBytes(cap_bytes) = policy.size() else {
                return Ok(Some(params));
            };
            let frame_bytes = payload_bytes + HEADER_LEN as u64;
            if frame_bytes <= cap_bytes {
                return Ok(Some(params));
            }
            // Golomb's length depends on the keys: aim lower by what it was too long, and ever lower, so that few
            // rounds reach a fit or nothing.
            out.truncate(start);
            cut_bits = ((frame_bytes - cap_bytes) * 8).max(cut_bits * 2);
            target = match target {
                Target::Millibits { total_bits, .. } if total_bits > 0 => {
                    Target::from_bits(total_bits.saturating_sub(cut_bits), num_entries)
                }
                _ => {
                    let (kind, min_bytes) = (policy.kind(), frame_bytes);
                    return Err(BuildError::ByteCap { kind, cap_bytes, min_bytes, num_entries });
                }
            };
        }
    }

    /// Refuses a cap that leaves a Bloom filter less than a bit an entry: it would pass nearly every key. (Golomb's
    /// codes do not shrink so far.)
    fn check_cap(&self, target: Target, num_entries: u64) -> Result<(), BuildError> {
        let kind = self.policy.kind();
        match (self.policy.size(), target) {
            (FilterSize::MaxBytes(cap_bytes), Target::Millibits { per_entry, .. })
                if per_entry < 1_000 && kind != FilterKind::Golomb =>
            {
                let least_payload = if kind == FilterKind::Blocked { LINE_LEN as u64 } else { 1 };
                let min_bytes = HEADER_LEN as u64 + num_entries.div_ceil(8).max(least_payload);
                Err(BuildError::ByteCap { kind, cap_bytes, min_bytes, num_entries })
            }
            _ => Ok(()),
        }
    }

    /// Asks the finished frame for every hash it was built from.
    fn self_check(&self, opened: Result<FilterBlockReader<'_>, DecodeError>) -> Result<(), BuildError> {
        let Ok(reader) = opened else {
            let hash = self.hashes.first().copied().unwrap_or(0);
            return Err(BuildError::SelfCheck { hash, num_missing: self.hashes.len() as u64 });
        };
        #[cfg(not(feature = "rayon"))]
        let missing = self.hashes.chunks(CHECKED_AT_ONCE).flat_map(|hashes| missing(&reader, hashes));
        #[cfg(feature = "rayon")]
        let missing: Vec<u64> = {
            use rayon::prelude::*;
            self.hashes.par_chunks(CHECKED_AT_ONCE).flat_map_iter(|hashes| missing(&reader, hashes)).collect()
        };
        let mut missing = missing.into_iter();
        match missing.next() {
            None => Ok(()),
            Some(hash) => Err(BuildError::SelfCheck { hash, num_missing: 1 + missing.count() as u64 }),
        }
    }
}

/// Hashes that a self-check asks for together.
const CHECKED_AT_ONCE: usize = 256;

/// Those of at most [`CHECKED_AT_ONCE`] hashes that a reader says are absent.
fn missing(reader: &FilterBlockReader<'_>, hashes: &[u64]) -> Vec<u64> {
    let mut raw = [KeyHash::from_raw(0); CHECKED_AT_ONCE];
    raw.iter_mut().zip(hashes).for_each(|(raw, &hash)| *raw = KeyHash::from_raw(hash));
    let mut answers = [false; CHECKED_AT_ONCE];
    reader.may_contain_hashes(&raw[..hashes.len()], &mut answers[..hashes.len()]);
    if answers[..hashes.len()].iter().all(|&answer| answer) {
        return Vec::new();
    }
    hashes.iter().zip(answers).filter(|(_, answer)| !answer).map(|(&hash, _)| hash).collect()
}
