//! The compact frame: a payload followed by a few bytes, for engines whose filter blocks are tiny (one for every 2 KiB
//! of data) or already checksummed and described elsewhere. It carries no checksum, seed, transform or count.
//!
//! The last byte is a tag: the frame's version, 1, in the upper four bits, the kind in the lower four; kind 0 is the
//! frame of no entries, one byte long. The kind's parameters precede the tag, in the encoding that the kind defines.

use crate::error::DecodeError;
use crate::filter::{FilterView, Params, Trailer};
use crate::hash::{KeyHash, KeyHasher};
use crate::kind::FilterKind;
use crate::policy::KeyTransform;

/// Version of the frame, in the tag's upper four bits.
const VERSION: u8 = 1;
/// No version to come: erased flash reads as ones.
const ERASED: u8 = 15;

/// The frame of a filter without entries.
#[cfg(feature = "std")]
pub(crate) const EMPTY: [u8; 1] = [VERSION << 4];

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
#[derive(Clone, Copy, Debug)]
pub struct CompactFrameReader<'a> {
    filter: FilterView<'a>,
    kind: Option<FilterKind>,
    hasher: KeyHasher,
    transform: KeyTransform,
    frame_len: usize,
}

impl<'a> CompactFrameReader<'a> {
    /// Opens a frame, whose hasher and transform the engine knows. Takes constant time.
    ///
    /// # Errors
    /// A [`DecodeError`] where the frame contradicts itself. Without a checksum most damage goes unseen: whatever stores
    /// the frame must have verified it.
    pub fn open(frame: &'a [u8], hasher: KeyHasher, transform: KeyTransform) -> Result<Self, DecodeError> {
        let (kind, filter) = read(frame)?;
        Ok(Self { filter, kind, hasher, transform, frame_len: frame.len() })
    }

    /// Whether the table may contain `entry`; `false` is certain. The transform is not applied: `entry` is what it makes
    /// of a key.
    #[inline]
    pub fn may_contain(&self, entry: &[u8]) -> bool {
        self.filter.may_contain(self.hasher.hash(entry))
    }

    /// As [`CompactFrameReader::may_contain`], by the entry's hash under [`CompactFrameReader::hasher`].
    #[inline]
    pub fn may_contain_hash(&self, hash: KeyHash) -> bool {
        self.filter.may_contain(hash)
    }

    /// An answer for each hash; see
    /// [`FilterBlockReader::may_contain_hashes`](crate::FilterBlockReader::may_contain_hashes).
    ///
    /// # Panics
    /// If the slices' lengths differ: a defect of the caller, whatever the frame's bytes.
    pub fn may_contain_hashes(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        assert_eq!(hashes.len(), answers.len(), "one answer for each hash");
        self.filter.may_contain_all(hashes, answers);
    }

    /// The kind; `None` without entries, where no kind is stored.
    pub fn kind(&self) -> Option<FilterKind> {
        self.kind
    }

    /// The hasher that entries must be hashed with.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// What the entries were made from.
    pub fn transform(&self) -> KeyTransform {
        self.transform
    }

    /// Length of the frame in bytes.
    pub fn frame_len(&self) -> usize {
        self.frame_len
    }

    /// Probes of a query, for the kinds that probe bits.
    pub fn num_probes(&self) -> Option<u32> {
        self.filter.num_probes()
    }

    /// The rate at which absent keys pass, computed from the payload. Reads the whole payload.
    pub fn false_positive_rate(&self) -> f64 {
        self.filter.predicted_fpr()
    }

    /// Share of the filter's bits that are set (golomb: of its range that is taken). Reads the whole payload.
    pub fn fill(&self) -> f64 {
        self.filter.fill()
    }

    #[cfg(feature = "std")]
    pub(super) fn filter(&self) -> &FilterView<'a> {
        &self.filter
    }
}

/// Reads a frame; no kind is stored where there are no entries.
fn read(frame: &[u8]) -> Result<(Option<FilterKind>, FilterView<'_>), DecodeError> {
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
            0 => Ok((None, FilterView::Empty)),
            more => Err(DecodeError::PayloadLength { declared_bytes: 0, actual_bytes: more as u64 }),
        };
    }
    let kind = FilterKind::from_tag(tag & 0xf).ok_or(DecodeError::UnknownKind { found: tag & 0xf })?;
    let params = Params::decode_trailer(kind, &mut trailer)?;
    Ok((Some(kind), FilterView::new(params, trailer.rest(), 0)?))
}
