//! The compact frame: a payload followed by a few bytes, for engines whose filter blocks are tiny (one for every 2 KiB
//! of data) or already checksummed and described elsewhere. It carries no checksum, seed, transform or count.
//!
//! The last byte is a tag: the frame's version, 1, in the upper four bits; a bit that is set if the filter is remapped;
//! and the kind in the lower three. Kind 0 is the frame of no entries, one byte long. The kind's parameters precede the
//! tag, in the encoding that the kind defines.

use super::kinds::{self, FilterLayout, Params, Trailer};
use super::queries::key_queries;
use crate::error::DecodeError;
use crate::frame::EMPTY_COMPACT_LEN;
use crate::hash::{EntryHasher, KeyHash, SetSeed};
use crate::kind::FilterKind;
use core::fmt;
#[cfg(feature = "std")]
use {
    super::thin::{self, ThinError},
    std::vec::Vec,
};

/// The version of the frame, in the tag's upper four bits.
const VERSION: u8 = 1;
/// A version that will never exist: erased flash reads as ones.
const ERASED: u8 = 15;

/// The bit of the tag of a remapped filter.
const REMAPPED: u8 = 1 << 3;

/// The frame of a filter without entries.
pub(crate) const EMPTY: [u8; EMPTY_COMPACT_LEN] = [VERSION << 4];

/// Appends the bytes that follow the payload of `params`.
#[cfg(feature = "std")]
pub(crate) fn write_trailer(params: &Params, is_remapped: bool, out: &mut Vec<u8>) {
    params.encode_trailer(out);
    out.push(VERSION << 4 | if is_remapped { REMAPPED } else { 0 } | params.kind().tag());
}

/// A reader of a compact frame, as a [`FilterBlockReader`](crate::FilterBlockReader) is of a block. It has no call for
/// what a frame does not store, such as the number of entries.
///
/// ```
/// use filterblock::{CompactFrameReader, FilterBlockBuilder, FilterKind, FilterPolicy};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 10.0)?.with_seed(7);
/// let mut builder = FilterBlockBuilder::new(&policy);
/// (0..20u8).for_each(|i| builder.add_key(&[i]));
/// let mut frame = Vec::new();
/// assert_eq!(builder.finish_compact_into(&mut frame)?, 25 + 2);
/// let reader = CompactFrameReader::open(&frame, &policy)?;
/// assert!(reader.may_contain(&[3]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct CompactFrameReader<'a> {
    frame: &'a [u8],
    payload_len: usize,
    layout: FilterLayout,
    entries: &'a EntryHasher,
    kind: Option<FilterKind>,
}

key_queries! {
    impl<'a> CompactFrameReader<'a>
}

impl<'a> CompactFrameReader<'a> {
    /// Opens a frame, in constant time. A frame does not state the hasher and the transform with which it was written:
    /// they are those of `expected`, a [`FilterPolicy`](crate::FilterPolicy) or its [`EntryHasher`].
    ///
    /// # Errors
    /// A [`DecodeError`] if the frame contradicts itself. Without a checksum most damage goes unseen: the engine must
    /// verify the frame's bytes itself.
    pub fn open(frame: &'a [u8], expected: &'a impl AsRef<EntryHasher>) -> Result<Self, DecodeError> {
        let Read { kind, layout, payload_len } = read(frame)?;
        Ok(Self { frame, payload_len, layout, entries: expected.as_ref(), kind })
    }

    /// Answers like [`CompactFrameReader::may_contain`] for the hash of an entry under
    /// [`CompactFrameReader::entry_hasher`].
    ///
    /// # Panics
    /// In builds with debug assertions, if `hash` was made by another hasher: a defect of the caller.
    #[must_use]
    #[inline(always)]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        self.entries.check_made(hash);
        self.layout.may_contain(self.payload(), 0, hash)
    }

    /// Answers for each hash; see
    /// [`FilterBlock::may_contain_hashes`](crate::FilterBlock::may_contain_hashes).
    ///
    /// # Panics
    /// If the slices' lengths differ, which is a defect of the caller, never of the frame's bytes; and where
    /// [`CompactFrameReader::may_contain_hash`] panics.
    pub fn may_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        if cfg!(debug_assertions) {
            hashes.iter().for_each(|&hash| self.entries.check_made(hash));
        }
        self.layout.may_contain_all(self.payload(), hashes, answers);
    }

    #[inline(always)]
    fn entries(&self) -> &EntryHasher {
        self.entries
    }

    #[inline(always)]
    fn payload(&self) -> &'a [u8] {
        &self.frame[..self.payload_len]
    }

    /// Returns a compact frame of the first `columns` columns and the same entries; see
    /// [`FilterBlock::thin`](crate::FilterBlock::thin).
    ///
    /// # Errors
    /// The errors of [`FilterBlock::thin`](crate::FilterBlock::thin).
    #[cfg(feature = "std")]
    pub fn thin(&self, columns: u32) -> Result<Vec<u8>, ThinError> {
        thin::check(&self.layout, columns, 1)?;
        let mut frame = Vec::new();
        match self.layout.thin(self.payload(), columns, &mut frame) {
            Some(params) => write_trailer(&params, self.layout.set_seed().is_some(), &mut frame),
            None => frame.extend(EMPTY),
        }
        Ok(frame)
    }

    /// The hasher and the transform that were given, which make hashes of keys.
    #[inline]
    pub fn entry_hasher(&self) -> &'a EntryHasher {
        self.entries
    }

    /// Returns the kind; `None` without entries, where no kind is stored.
    pub fn kind(&self) -> Option<FilterKind> {
        self.kind
    }

    /// Returns the length of the frame in bytes.
    pub fn frame_len(&self) -> usize {
        self.frame.len()
    }
}

/// The output is one line, without the bytes.
impl fmt::Debug for CompactFrameReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.map_or("empty", FilterKind::name);
        write!(f, "CompactFrameReader({kind}, {}, {:?}, ", self.entries.transform(), self.entries.hasher())?;
        write!(f, "{} bytes)", self.frame_len())
    }
}

/// The filter of a frame and its payload, for queries by hashes alone.
pub(super) fn open(frame: &[u8]) -> Result<(FilterLayout, &[u8]), DecodeError> {
    let Read { layout, payload_len, .. } = read(frame)?;
    Ok((layout, &frame[..payload_len]))
}

/// The statements of a frame.
struct Read {
    /// The tag of the kind, which is not stored without entries.
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
        DecodeError::check_len(0, trailer.rest().len() as u64)?;
        return Ok(Read { kind: None, layout: FilterLayout::EMPTY, payload_len: 0 });
    }
    let (unmarked, is_remapped) = (tag & 0xf & !REMAPPED, tag & REMAPPED != 0);
    let kind = FilterKind::from_tag(unmarked).filter(|&kind| kinds::remaps(kind) || !is_remapped);
    let kind = kind.ok_or(DecodeError::UnknownKind { found: tag & 0xf })?;
    let params = Params::decode_trailer(kind, &mut trailer)?;
    let (payload_len, (own, set_seed)) = (trailer.rest().len(), SetSeed::split_off(trailer.rest(), is_remapped)?);
    Ok(Read { kind: Some(kind), layout: FilterLayout::check(params, own, 0, set_seed)?, payload_len })
}
