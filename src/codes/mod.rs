//! Bucketed codes: an ascending sequence of numbers, Golomb-Rice coded in buckets that a directory finds. The payload of
//! `golomb` is one, and so are the codes of ranges of integers; `format/golomb.md` states the bytes.
//!
//! # What is stored
//!
//! A number is a *bucket* and an *offset* below `bucket_range` in it. A bucket holds 64 entries on average. Its distinct
//! offsets are stored in ascending order, as gaps. A gap consists of a *quotient*, gap >> r, in unary, and a *remainder*
//! of r bits: Golomb's code with a power of two as divisor, which is Rice's. Quotients grow forward from the bucket's
//! first bit, remainders backward from its end:
//!
//! ```text
//!   start(b)                                                            start(b + 1)
//!   | 0..01 0..01 1 0..01  ->        (zeros)        <- | rem 2 | rem 1 | rem 0 |
//! ```
//!
//! So no count is stored, the place of the i-th remainder is known without reading the others, and the unary bits can
//! be skipped by rank.
//!
//! A directory precedes the codes. It holds for each bucket the deviation of its start from a straight line, and every
//! [`GROUP`] buckets an absolute *anchor*, to which the line is pinned. Around the line, starts perform a random walk
//! of some hundred bits, so that 12 or 13 bits a bucket suffice, where plain offsets take 16 bits and a base.
//!
//! # Why a query is fast, for a compressed sequence
//!
//! A query is whether a bucket has an offset in `from..=to`, where both are one for a single hash. Decoding half a bucket
//! code by code took 114 to 119 ns. Two observations make that unnecessary. The value that is reached after some unary
//! bits depends only on the number of ones among them and on the sum of that number of remainders: so codes can be
//! skipped by rank, with population counts and sums of packed fields. And gaps are random, so the number of unary bits
//! that precede a value is nearly known from the value alone: the first skip is computed before any code is loaded, and
//! hardly any branch that could be mispredicted waits for the codes.
//!
//! - `decode.rs` is the portable definition: it skips to a few codes below `from`, then decodes six at once.
//! - `search.rs` is the search with vectors (`avx2.rs`, `avx512.rs`): it compares the 16 codes that follow the skip at
//!   once. Buckets at the ends of a payload, and those that deviate too far from the average (fewer than 2 of 100), are
//!   left to the portable search.
//!
//! On a Zen 5 processor, absent keys of filters at 1 % take 18 ns among ten thousand with AVX2, for hashes and remainders
//! of up to 9 bits (.45 of the portable search), and with AVX-512 13.6 (.75 of AVX2; .81 at a million keys, .86 at 20
//! million). AVX-512 alone unpacks remainders of up to 24 bits: at .01 % it takes .34 of the portable search, and ranges
//! of integers .47 to .57. Payloads beyond 4 MiB prefetch the codes where the bucket is expected while the directory is
//! read; batches among 50 million keys take half the time. A query still takes about twice the time of ribbon's.
//!
//! # How the builder works
//!
//! It needs the numbers in order (`build.rs`): as hashes, which ascend with them. (A [place](Buckets::hash_at) is
//! turned into a hash that is located there.) They are grouped by their upper bits and sorted group by group, in a
//! level-1 cache, and each bucket's codes are written when its last hash has come. Line, deviations and the least width
//! of the directory's fields follow from the lengths of all buckets, so the directory is written in the end and the
//! codes are moved after it. A build keeps 8 bytes a bucket beside the hashes. The length of the payload depends on the
//! hashes.
//!
//! The check decodes the finished payload once, bucket by bucket as queries find them, and compares a tally of the
//! offsets with that of the entries': 2 ns an entry, where a search for each takes 15 and more.

#[cfg(simd_x86_64)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
mod avx2;
#[cfg(simd_avx512)]
#[expect(unsafe_code, reason = "intrinsics; each block names the check that pays for it")]
#[expect(clippy::incompatible_msrv, reason = "compiled only where build.rs found a newer compiler")]
mod avx512;
#[cfg(simd_x86_64)]
#[expect(unsafe_code, reason = "a call of code for features of which there is a proof")]
mod bmi2;
#[cfg(feature = "std")]
mod build;
#[cfg(feature = "std")]
mod crowd;
mod decode;
mod engine;
mod portable;
#[cfg(simd_x86_64)]
mod search;
pub(crate) mod sizing;
#[cfg(all(test, feature = "std"))]
mod tests;

#[cfg(feature = "std")]
pub(crate) use build::{Plan, Source, build};

use self::decode::{Bucket, Tuning};
use self::engine::Engine;
use crate::bits;
use crate::bytes;
use crate::cpu::prefetch;
use crate::error::DecodeError;
use crate::hash::{KeyHash, fast_range};

/// The number of buckets that share an anchor.
pub(crate) const GROUP: u64 = 64;
/// The number of entries that a bucket holds on average, as this version writes it. A compact frame does not store it,
/// so readers assume this number: only the length of a search's first skip depends on it.
pub(crate) const ENTRIES_PER_BUCKET: u64 = 64;
pub(crate) const MAX_REMAINDER_BITS: u32 = 48;
pub(crate) const ANCHOR_LEN: u64 = 8;
/// The number of bytes that are prefetched together.
const LINE_LEN: usize = 64;
/// The greatest length of payloads in which the place of a bucket is not guessed: in caches the guess is not known to
/// pay.
const MAX_NEAR_LEN: usize = 1 << 22;
/// The greatest length of a payload, in bytes: its bits can be counted in 64.
const MAX_PAYLOAD_LEN: u64 = (1 << 61) - 1;

/// The buckets into which the range of hashes is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buckets {
    /// At least 1.
    pub(crate) num: u64,
    /// The number of values of a bucket, at least 1; that of all buckets fits 64 bits.
    pub(crate) range: u64,
}

impl Buckets {
    /// Returns the size of the whole range to which hashes are mapped.
    pub(crate) const fn whole_range(&self) -> u64 {
        self.num * self.range
    }

    /// Returns the bucket of `hash` and its offset in it.
    #[inline]
    pub(crate) const fn locate(&self, hash: KeyHash) -> (u64, u64) {
        let product = hash.get() as u128 * self.num as u128;
        ((product >> 64) as u64, fast_range(product as u64, self.range))
    }

    /// Returns the bucket that follows `bucket`; the first follows the last.
    #[inline(always)]
    pub(crate) const fn next(&self, bucket: u64) -> u64 {
        if bucket + 1 == self.num { 0 } else { bucket + 1 }
    }

    /// Returns the function from a bucket and an offset to a hash that is [located](Buckets::locate) there.
    ///
    /// Of U places, ⌊h · U / 2⁶⁴⌋ is that of a hash h, so place p has the hashes from p · 2⁶⁴ / U on, at least 2 of them.
    /// The function returns the one after p · ⌈2¹²⁷ / U⌉ / 2⁶³, which is less than 1 above.
    ///
    /// # Panics
    /// If there are more than 2⁶³ places.
    pub(crate) fn hash_at(self) -> impl Fn((u64, u64)) -> u64 + Copy {
        assert!(self.whole_range() <= 1 << 63, "every place has two hashes");
        let step = (1u128 << 127).div_ceil(self.whole_range().into());
        move |(bucket, offset)| (((bucket * self.range + offset) as u128 * step) >> 63) as u64 + 1
    }
}

/// Dimensions: stored as `remainder_bits: u8` at 0, `directory_bits: u8` at 1, `entries_per_bucket: u8` at 2, zero
/// at 3, `bucket_range: u64` at 4. The number of buckets follows from the number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    pub(crate) remainder_bits: u8,
    pub(crate) directory_bits: u8,
    pub(crate) entries_per_bucket: u8,
    pub(crate) buckets: Buckets,
}

impl Params {
    /// `fields` are `remainder_bits`, `directory_bits`, `entries_per_bucket`.
    pub(crate) fn new(fields: [u8; 3], num_buckets: u64, bucket_range: u64) -> Result<Self, DecodeError> {
        let [remainder_bits, directory_bits, entries_per_bucket] = fields;
        DecodeError::check_params(&[
            ("remainder_bits", u64::from(remainder_bits), 0, u64::from(MAX_REMAINDER_BITS)),
            ("directory_bits", u64::from(directory_bits), 0, u64::from(bits::MAX_FIELD_BITS)),
            ("entries_per_bucket", u64::from(entries_per_bucket), 1, u64::from(u8::MAX)),
            ("num_buckets", num_buckets, 1, u64::MAX),
            ("bucket_range", bucket_range, 1, u64::MAX / num_buckets.max(1)),
        ])?;
        let buckets = Buckets { num: num_buckets, range: bucket_range };
        Ok(Self { remainder_bits, directory_bits, entries_per_bucket, buckets })
    }

    const fn remainder_bits(&self) -> u32 {
        self.remainder_bits as u32
    }

    #[inline(always)]
    pub(crate) const fn max_bucket_bits(&self) -> u64 {
        max_bucket_bits(self.remainder_bits as u32)
    }

    /// Returns the length of the anchors in bytes. A single bucket has none, as it has no directory.
    const fn anchors_len(&self) -> u64 {
        (self.buckets.num.div_ceil(GROUP) - 1) * ANCHOR_LEN
    }

    /// Returns the length of anchors and deviations, in bytes, or `None` if no payload could be that long.
    fn directory_len(&self) -> Option<u64> {
        if self.buckets.num == 1 {
            return Some(0);
        }
        let deviation_bits = self.buckets.num.checked_mul(u64::from(self.directory_bits))?;
        self.anchors_len().checked_add(deviation_bits.div_ceil(8))
    }

    /// Returns half of the deviations' range: a stored field of this value means no deviation.
    const fn bias(&self) -> u64 {
        match self.directory_bits {
            0 => 0,
            width => 1 << (width - 1),
        }
    }
}

/// Returns the most bits of a bucket. Longer ones are not searched, so that no bytes can make a query slow: at 1.5 bits
/// beyond its remainder a code, this is room for more than 340 codes, and for 255 as sparse as legal.
#[inline(always)]
const fn max_bucket_bits(remainder_bits: u32) -> u64 {
    512 * (remainder_bits as u64 + 2)
}

/// The slope of the line from which bucket starts deviate: bits per bucket, in 256ths.
#[derive(Clone, Copy, Debug)]
struct Slope(u64);

impl Slope {
    const fn new(code_bits: u64, num_buckets: u64) -> Self {
        Self(((code_bits as u128 * 256) / num_buckets as u128) as u64)
    }

    /// Returns the expected bits of the first `buckets` (below [`GROUP`]) buckets of a group.
    #[inline]
    const fn at(self, buckets: u64) -> u64 {
        self.0.wrapping_mul(buckets) >> 8
    }
}

/// The places of a payload's parts: all that is known about a filter without its payload. Places of codes are counted
/// in bits from the payload's start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    params: Params,
    /// The first bit of the directory's fields, which follow the anchors.
    fields_start: u64,
    codes_start: u64,
    codes_end: u64,
    slope: Slope,
    /// The number of buckets whose field and the next one are within one load.
    near_buckets: u64,
    tuning: Tuning,
    engine: Engine,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    layout: &'a Layout,
    payload: &'a [u8],
}

#[cfg(all(test, feature = "std"))]
impl Layout {
    /// Returns this with each engine of the processor, the portable one first.
    pub(crate) fn with_each_engine(&self) -> impl Iterator<Item = Self> + use<> {
        let layout = *self;
        Engine::all(&layout.params).map(move |engine| Self { engine, ..layout })
    }
}

impl<'a> View<'a> {
    /// Checks all of `payload`, at `base` of the frame, but its codes.
    pub(crate) fn check(params: Params, payload: &[u8], base: u64) -> Result<Layout, DecodeError> {
        Self::check_from(0, params, payload, base)
    }

    /// Checks all from `start` on of `payload`, at `base` of the frame, but its codes.
    pub(crate) fn check_from(start: usize, params: Params, payload: &[u8], base: u64) -> Result<Layout, DecodeError> {
        let of_frame = payload.len() as u64;
        let payload = payload.get(start..).unwrap_or(&[]);
        let (actual_bytes, base) = (payload.len() as u64, base + start as u64);
        let directory_bytes = params.directory_len().unwrap_or(u64::MAX);
        if directory_bytes >= actual_bytes || actual_bytes > MAX_PAYLOAD_LEN {
            // The codes take at least one byte.
            let declared_bytes = directory_bytes.saturating_add(1 + start as u64);
            return Err(DecodeError::PayloadLength { declared_bytes, actual_bytes: of_frame });
        }
        // The length is below the payload's, so it fits usize. And num_buckets · directory_bits fits 64 bits, or
        // `directory_len` would be `None`.
        let directory = &payload[..directory_bytes as usize];
        let field_bits = params.buckets.num.wrapping_mul(u64::from(params.directory_bits));
        if let Some(found) = bits::padding(directory, field_bits) {
            return Err(DecodeError::Padding { offset_bytes: base + directory_bytes - 1, found });
        }
        let (codes_start, codes_end) = (directory_bytes * 8, actual_bytes * 8);
        let slope = Slope::new(codes_end - codes_start, params.buckets.num);
        let fields_start = params.anchors_len() * 8;
        let (bucket_bits, entries) = (slope.at(1), params.entries_per_bucket.into());
        let tuning = Tuning::new(params.remainder_bits(), params.buckets.range, bucket_bits, entries);
        let engine = Engine::best(&params);
        let fields_fit = 2 * u32::from(params.directory_bits) <= bits::MAX_FIELD_BITS;
        let near_buckets = if fields_fit { params.buckets.num - 1 } else { 0 };
        Ok(Layout { params, fields_start, codes_start, codes_end, slope, near_buckets, tuning, engine })
    }

    /// Returns the view over the payload from which `layout` was made.
    #[inline(always)]
    pub(crate) fn new(layout: &'a Layout, payload: &'a [u8]) -> Self {
        assert!(payload.len() as u64 * 8 == layout.codes_end, "the bytes of a filter changed their length");
        Self { layout, payload }
    }

    /// Returns whether the offset of `hash` may be in its bucket.
    #[inline]
    pub(crate) fn may_contain(&self, hash: KeyHash) -> bool {
        if self.payload.len() > MAX_NEAR_LEN {
            self.prefetch_expected(hash);
        }
        self.may_contain_near(hash)
    }

    /// Returns [`View::may_contain`] of a hash whose codes are in a cache, or prefetched.
    #[inline]
    pub(crate) fn may_contain_near(&self, hash: KeyHash) -> bool {
        let (bucket, offset) = self.layout.params.buckets.locate(hash);
        self.layout.engine.may_contain(self.layout, self.payload, bucket, offset)
    }

    /// Returns whether `bucket` may have an offset in `from..=to`; `from` is at most `to`.
    #[inline(always)]
    pub(crate) fn may_have(&self, bucket: u64, from: u64, to: u64) -> bool {
        self.layout.engine.may_have(self.layout, self.payload, bucket, from, to)
    }

    /// Returns the number of bits of the codes of `bucket`; `None` if it is unreadable, so that it may have any code.
    #[inline(always)]
    pub(crate) fn bits(&self, bucket: u64) -> Option<u64> {
        self.bucket(bucket).map(|bucket| bucket.end - bucket.start)
    }

    pub(crate) const fn params(&self) -> &'a Params {
        &self.layout.params
    }

    pub(crate) const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Prefetches the directory's entries for the codes of `bucket`.
    #[inline]
    pub(crate) fn prefetch_directory(&self, bucket: u64) {
        let Layout { params, fields_start, .. } = self.layout;
        prefetch(self.payload, ((bucket / GROUP).saturating_sub(1) * ANCHOR_LEN) as usize);
        prefetch(self.payload, ((fields_start + bucket * u64::from(params.directory_bits)) / 8) as usize);
    }

    /// Prefetches the codes of `bucket`: of few that are as planned there are more lines. The directory is read, not
    /// prefetched.
    #[inline]
    pub(crate) fn prefetch_codes(&self, bucket: u64) {
        let (start, end) = self.bounds(bucket);
        for byte in [start / 8, start / 8 + LINE_LEN as u64, end.wrapping_sub(1) / 8] {
            prefetch(self.payload, byte as usize);
        }
    }

    /// The number of distinct offsets over the range, as an absent key's offset is uniform. A bucket that cannot be
    /// read passes every key. So does, in this function, a bucket that overlaps an earlier one, as only damage can
    /// cause: each bit is decoded once.
    pub(crate) fn share_taken(&self) -> f64 {
        let params = self.layout.params;
        let (mut decoded_to, mut passing) = (0, 0.0);
        for bucket in 0..params.buckets.num {
            passing += match self.bucket(bucket).filter(|bucket| bucket.start >= decoded_to) {
                Some(bucket) => {
                    decoded_to = bucket.end;
                    (bucket.offsets().count() as f64).min(params.buckets.range as f64)
                }
                None => params.buckets.range as f64,
            };
        }
        // Rounding must not give more than 1.
        (passing / params.buckets.whole_range() as f64).min(1.0)
    }

    /// Prefetches three lines of codes where the bucket of `hash` is expected between its group's start and the next,
    /// so that they arrive while the directory is read. They contain most of nearly every bucket. In the last group,
    /// which no anchor follows, the lines are wrong.
    #[inline]
    fn prefetch_expected(&self, hash: KeyHash) {
        let (bucket, _) = self.layout.params.buckets.locate(hash);
        let (group, index) = (bucket / GROUP, bucket % GROUP);
        let start = self.group_start(group);
        let expected = start.wrapping_add(self.group_start(group + 1).wrapping_sub(start).wrapping_mul(index) / GROUP);
        let middle = (expected.wrapping_add(self.layout.params.bias() + self.layout.slope.at(1) / 2) / 8) as usize;
        for line in [middle.wrapping_sub(LINE_LEN), middle, middle.wrapping_add(LINE_LEN)] {
            prefetch(self.payload, line);
        }
    }

    /// Returns the first bit of `bucket`, which may be the one past the last.
    fn start(&self, bucket: u64) -> u64 {
        let Layout { params, fields_start, codes_start, codes_end, slope, .. } = *self.layout;
        if bucket == params.buckets.num {
            return codes_end;
        }
        if params.buckets.num == 1 {
            return codes_start;
        }
        let width = u32::from(params.directory_bits);
        let deviation = bits::read(self.payload, fields_start + bucket * u64::from(width), width);
        self.group_start(bucket / GROUP).wrapping_add(slope.at(bucket % GROUP)).wrapping_add(deviation)
    }

    /// Returns the start of the line through `group`, less the bias of the deviations from it.
    #[inline]
    fn group_start(&self, group: u64) -> u64 {
        let before = group.saturating_sub(1) * ANCHOR_LEN;
        let anchor = bytes::u64_padded(self.payload, before as usize) * u64::from(group > 0);
        self.layout.codes_start.wrapping_sub(self.layout.params.bias()).wrapping_add(anchor)
    }

    /// Returns start and end of `bucket` from the directory.
    #[inline(always)]
    fn bounds(&self, bucket: u64) -> (u64, u64) {
        match self.near_bounds(bucket) {
            Some(bounds) => bounds,
            None => self.far_bounds(bucket),
        }
    }

    #[cold]
    #[inline(never)]
    fn far_bounds(self, bucket: u64) -> (u64, u64) {
        (self.start(bucket), self.start(bucket + 1))
    }

    /// Returns the [`View::bounds`] of all but one bucket in 64: those whose field and the next share an anchor and one
    /// load.
    #[inline(always)]
    fn near_bounds(&self, bucket: u64) -> Option<(u64, u64)> {
        let Layout { params, fields_start, slope, .. } = self.layout;
        let (group, index, width) = (bucket / GROUP, bucket % GROUP, u32::from(params.directory_bits));
        if index + 1 == GROUP || bucket >= self.layout.near_buckets {
            return None;
        }
        let fields = bits::read(self.payload, fields_start + bucket * u64::from(width), 2 * width);
        let (deviation, next_deviation) = (fields & ((1 << width) - 1), fields >> width);
        let line = self.group_start(group);
        let start = line.wrapping_add(slope.at(index)).wrapping_add(deviation);
        Some((start, line.wrapping_add(slope.at(index + 1)).wrapping_add(next_deviation)))
    }

    /// Returns the bits of `bucket`, or `None` if the directory points outside the codes or backward, or if the bucket is
    /// too long. Only damage causes that, in bytes that were opened without verifying their digest, or a writer of other
    /// dimensions.
    #[inline]
    fn bucket(&self, bucket: u64) -> Option<Bucket<'a>> {
        let Layout { params, codes_start, codes_end, .. } = *self.layout;
        let (start, end) = self.bounds(bucket);
        let sound = codes_start <= start && start <= end && end <= codes_end && end - start <= params.max_bucket_bits();
        sound.then_some(Bucket { codes: self.payload, start, end, remainder_bits: params.remainder_bits() })
    }
}
