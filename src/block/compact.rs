//! The compact frame: a payload followed by a few bytes, for engines whose filter blocks are tiny (one for every 2 KiB
//! of data) or already checksummed and described elsewhere. It carries no checksum, seed, transform or count.
//!
//! The last byte is a tag: the frame's version, 1, in the upper four bits, the kind in the lower four; kind 0 is the
//! frame of no entries, one byte long. The kind's parameters precede the tag, in the encoding that the kind defines.

use super::queries::key_queries;
use crate::error::DecodeError;
use crate::filter::{FilterLayout, Params, Trailer};
use crate::hash::{KeyHash, KeyHasher};
use crate::kind::FilterKind;
use crate::policy::{EntryHasher, KeyTransform};
use core::fmt;

/// Version of the frame, in the tag's upper four bits.
const VERSION: u8 = 1;
/// No version to come: erased flash reads as ones.
const ERASED: u8 = 15;

/// The frame of a filter without entries.
#[cfg(feature = "std")]
pub(crate) const EMPTY: [u8; 1] = [VERSION << 4];

/// The most bytes that follow a payload: the parameters of any kind, and the tag.
#[cfg(feature = "std")]
pub(crate) const MAX_TRAILER_LEN: u64 = 20;

/// Appends what follows the payload of `params`.
#[cfg(feature = "std")]
pub(crate) fn write_trailer(params: &Params, out: &mut std::vec::Vec<u8>) {
    params.encode_trailer(out);
    out.push(VERSION << 4 | params.kind().tag());
}

/// Answers from the bytes of a compact frame, as a [`FilterBlockReader`](crate::FilterBlockReader) does from those of a
/// block. What a frame does not store, its number of entries above all, is not offered.
///
/// ```
/// use filterblock::{CompactFrameReader, FilterBlockBuilder, FilterKind, FilterPolicy, KeyTransform};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?.seed(7);
/// let mut builder = FilterBlockBuilder::new(policy);
/// (0..20u8).for_each(|i| builder.add_key(&[i]));
/// let mut frame = Vec::new();
/// assert_eq!(builder.finish_compact_into(&mut frame)?, 25 + 2);
/// let reader = CompactFrameReader::open(&frame, policy.hasher(), KeyTransform::WholeKey)?;
/// assert!(reader.may_contain(&[3]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct CompactFrameReader<'a> {
    frame: &'a [u8],
    payload_len: usize,
    layout: FilterLayout,
    entries: EntryHasher,
    kind: Option<FilterKind>,
}

key_queries! {
    impl<'a> CompactFrameReader<'a>
}

impl<'a> CompactFrameReader<'a> {
    /// Opens a frame, whose hasher and transform the engine knows. Takes constant time.
    ///
    /// # Errors
    /// A [`DecodeError`] where the frame contradicts itself. Without a checksum most damage goes unseen: whatever
    /// stores the frame must have verified it.
    pub fn open(frame: &'a [u8], hasher: KeyHasher, transform: KeyTransform) -> Result<Self, DecodeError> {
        let Read { kind, layout, payload_len } = read(frame)?;
        Ok(Self { frame, payload_len, layout, entries: EntryHasher::new(hasher, transform), kind })
    }

    /// As [`CompactFrameReader::may_contain`], by the hash of an entry under [`CompactFrameReader::hasher`].
    ///
    /// # Panics
    /// In builds with debug assertions, if `hash` was made by another hasher: a defect of the caller.
    #[must_use]
    #[inline(always)]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        self.entries.hasher().check_made(hash);
        self.layout.may_contain(self.payload(), 0, hash)
    }

    /// An answer for each hash; see
    /// [`FilterBlock::may_contain_hashes`](crate::FilterBlock::may_contain_hashes).
    ///
    /// # Panics
    /// If the slices' lengths differ: a defect of the caller, whatever the frame's bytes. And as
    /// [`CompactFrameReader::may_contain_hash`].
    pub fn may_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        if cfg!(debug_assertions) {
            hashes.iter().for_each(|&hash| self.entries.hasher().check_made(hash));
        }
        self.layout.may_contain_all(self.payload(), hashes, answers);
    }

    #[inline(always)]
    fn entries(&self) -> &EntryHasher {
        &self.entries
    }

    #[inline(always)]
    fn payload(&self) -> &'a [u8] {
        &self.frame[..self.payload_len]
    }

    #[cfg(feature = "std")]
    pub(super) fn parts(&self) -> (FilterLayout, &'a [u8]) {
        (self.layout, self.payload())
    }

    /// What makes hashes of keys: the hasher and transform that were given.
    #[inline]
    pub fn entry_hasher(&self) -> EntryHasher {
        self.entries
    }

    /// The kind; `None` without entries, where no kind is stored.
    pub fn kind(&self) -> Option<FilterKind> {
        self.kind
    }

    /// The hasher that entries must be hashed with.
    pub fn hasher(&self) -> KeyHasher {
        self.entries.hasher()
    }

    /// What the entries were made from.
    pub fn transform(&self) -> KeyTransform {
        self.entries.transform()
    }

    /// Length of the frame in bytes.
    pub fn frame_len(&self) -> usize {
        self.frame.len()
    }
}

/// In one line, without the bytes.
impl fmt::Debug for CompactFrameReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.map_or("empty", FilterKind::name);
        write!(f, "CompactFrameReader({kind}, {}, {:?}, ", self.transform(), self.hasher())?;
        write!(f, "{} bytes)", self.frame_len())
    }
}

/// What a frame states.
struct Read {
    /// Not stored where there are no entries.
    kind: Option<FilterKind>,
    layout: FilterLayout,
    payload_len: usize,
}

fn read(frame: &[u8]) -> Result<Read, DecodeError> {
    let mut trailer = Trailer::new(frame);
    let tag = trailer.pop()?;
    if tag >> 4 != VERSION {
        return Err(match tag >> 4 {
            found @ (0 | ERASED) => {
                DecodeError::Parameter { name: "compact_version", value: found.into(), min: 1, max: VERSION.into() }
            }
            found => DecodeError::NewerVersion { found, supported: VERSION },
        });
    }
    if tag & 0xf == 0 {
        return match trailer.rest().len() {
            0 => Ok(Read { kind: None, layout: FilterLayout::EMPTY, payload_len: 0 }),
            more => Err(DecodeError::PayloadLength { declared_bytes: 0, actual_bytes: more as u64 }),
        };
    }
    let kind = FilterKind::from_tag(tag & 0xf).ok_or(DecodeError::UnknownKind { found: tag & 0xf })?;
    let params = Params::decode_trailer(kind, &mut trailer)?;
    let payload = trailer.rest();
    Ok(Read { kind: Some(kind), layout: FilterLayout::check(params, payload, 0)?, payload_len: payload.len() })
}
