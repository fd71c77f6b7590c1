//! The Golomb-coded set: the sorted hashes themselves, reduced to a smaller range and compressed (F. Putze, P. Sanders,
//! J. Singler, *Cache-, Hash- and Space-Efficient Bloom Filters*, ACM JEA 14, 2009, section 5).
//!
//! `format/golomb.md` states the bytes.
//!
//! # What is stored
//!
//! A hash is mapped monotonically to a *bucket* and an *offset* below `bucket_range` in it, both from the same 128-bit
//! product. A bucket holds 64 entries on average. Its distinct offsets are stored in ascending order, as gaps. A gap
//! consists of a *quotient*, gap >> r, in unary, and a *remainder* of r bits: Golomb's code with a power of two as
//! divisor, which is Rice's. Quotients grow forward from the bucket's first bit, remainders backward from its end:
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
//! # Why a query is right
//!
//! The query maps its hash as the builder mapped the entries and looks for the offset in the bucket. All offsets of the
//! bucket's entries are there, each once, so an entry is found. An absent hash passes if its offset is one that an
//! entry has: with probability n / U for n entries in a range of U values. A bucket whose bounds are not sound passes
//! every hash. (Only damage causes that, in bytes that were opened without verifying their digest.)
//!
//! # Why it is small
//!
//! Let M = U / n, so that the rate is 1/M and the least possible size is log₂ M bits an entry. Any code for n values
//! out of U takes at least log₂ M + 1.44 bits a value. So 1.44 bits an entry are the price of storing the values as
//! such. The code takes r + 1 + 1/(e^λ − 1) bits with λ = 2^r / M, which is 1.47 to 1.56 bits above log₂ M when r is
//! best (A. Kiely, *Selecting the Golomb parameter in Rice coding*, 2004; `sizing::golomb`). The directory adds about
//! 0.21 bits. In all, a filter is 20 % above the least size at a rate of 1/317 and 17 % at 1/1000: the lower the rate,
//! the less the constant matters. At 1 % an entry takes 8.26 bits in all.
//!
//! # Why a query is fast, for a compressed set
//!
//! Decoding half a bucket code by code took 114 to 119 ns a query. Two observations make that unnecessary. The value
//! that is reached after some unary bits depends only on the number of ones among them and on the sum of that number of
//! remainders: so codes can be skipped by rank, with population counts and sums of packed fields. And gaps are random,
//! so the number of unary bits that precede a value is nearly known from the value alone: the first skip is computed
//! before any code is loaded, and hardly any branch that could be mispredicted waits for the codes.
//!
//! - `decode.rs` is the portable definition: it skips to a few codes below the value, then decodes six at once.
//! - `search.rs` is the search with vectors (`avx2.rs`, `avx512.rs`): it compares the 16 codes that follow the skip at
//!   once. Buckets at the ends of a payload, and those that deviate too far from the average (fewer than 2 of 100), are
//!   left to the portable search.
//!
//! Absent keys at 1 % on a Zen 5 processor, paired with the search that decoded six codes, or 32 with AVX-512, after
//! the skip: with AVX2 20.6 ns among ten thousand keys (.43 of the time), 118 ns among 50 million (.51); with AVX-512
//! 15.3 (.63) and 107 (.76). Payloads beyond 4 MiB prefetch the codes where the bucket is expected while the directory
//! is read; batches among 50 million keys take half the time. A query still takes about twice the time of ribbon's.
//!
//! # How the builder works
//!
//! Alone among the kinds it needs the hashes in order (`build.rs`). They are grouped by their upper bits and sorted
//! group by group, in a level-1 cache, and each bucket's codes are written when its last hash has come. Line, deviations
//! and the least width of the directory's fields follow from the lengths of all buckets, so the directory is written in
//! the end and the codes are moved behind it. A build keeps 8 bytes a bucket beside the hashes. The length of the
//! payload depends on the keys, and a plan can only estimate it (`plan.rs`).
//!
//! The check decodes the finished payload once, bucket by bucket as queries find them, and compares a tally of the
//! offsets with that of the entries': 2 ns an entry, where a search for each takes 15 and more.
//!
//! Buckets have 64 entries on average because hashes are random. Hashes that share a bucket, by a weak hash function or
//! on purpose, would make each query follow all of them: 183 µs for 100 000, and the check of a finished block n times
//! that. Where values crowd within their buckets, or are equal, the first skip ends elsewhere, and a query takes four
//! times as long. So a set that crowds is *remapped* ([`SetSeed`](crate::hash::SetSeed)), and readers answer *maybe* for
//! a bucket that no writer makes ([`Params::max_bucket_bits`]).
//!
//! In a compact frame a filter of one bucket describes itself in three bytes: its range is rounded up to half of 2^r.
//! For 18 to 36 keys, as LevelDB has them in a filter, `golomb:9.2` takes 34.3 bytes and errs at 0.47 %, where
//! `bloom:9.9` takes 34.9 bytes and errs at 0.96 %.

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
pub(crate) mod ordered;
#[cfg(feature = "std")]
mod plan;
mod portable;
#[cfg(simd_x86_64)]
mod search;
#[cfg_attr(not(feature = "std"), expect(dead_code, reason = "only writers size filters"))]
pub mod sizing;
#[cfg(all(test, feature = "std"))]
mod tests;

#[cfg(feature = "std")]
pub(crate) use plan::{Plan, Settings};

use self::decode::{Bucket, Tuning};
use self::engine::Engine;
#[cfg(feature = "std")]
use super::seam::PARAMS_LEN;
use super::seam::{KindParams, KindView, StoredParams, in_batches};
use super::trailer::Trailer;
use crate::bits;
use crate::bytes;
use crate::cpu::prefetch;
use crate::error::DecodeError;
use crate::hash::{KeyHash, fast_range};

/// The number of buckets that share an anchor.
const GROUP: u64 = 64;
/// The number of entries that a bucket holds on average, as this version writes it. A compact frame does not store it,
/// so readers assume this number: only the length of a search's first skip depends on it.
const ENTRIES_PER_BUCKET: u64 = 64;
pub(super) const MAX_REMAINDER_BITS: u32 = 48;
/// The widest remainder of a single bucket that a compact frame describes in two bytes.
const MAX_SHORT_REMAINDER_BITS: u8 = 15;
const ANCHOR_LEN: u64 = 8;
/// The number of bytes that are prefetched together.
const LINE_LEN: usize = 64;
/// The greatest length of payloads in which the place of a bucket is not guessed: in caches the guess is not known to
/// pay.
const MAX_NEAR_LEN: usize = 1 << 22;
/// The greatest length of a payload, in bytes: its bits can be counted in 64.
const MAX_PAYLOAD_LEN: u64 = (1 << 61) - 1;

/// The buckets into which the range of hashes is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Buckets {
    /// At least 1.
    num: u64,
    /// The number of values of a bucket, at least 1; that of all buckets fits 64 bits.
    range: u64,
}

impl Buckets {
    /// Returns the size of the whole range to which hashes are mapped.
    const fn whole_range(&self) -> u64 {
        self.num * self.range
    }

    /// Returns the range of a single bucket in units of 2^(remainder_bits − 1), two to four for each entry, or `None`
    /// if it is not a multiple of the unit or too large for a byte.
    #[cfg(feature = "std")]
    fn short_range(&self, remainder_bits: u8) -> Option<u8> {
        let (1, 1..=MAX_SHORT_REMAINDER_BITS) = (self.num, remainder_bits) else { return None };
        let unit = 1 << (remainder_bits - 1);
        (self.range % unit == 0).then(|| u8::try_from(self.range / unit).ok())?
    }

    /// Returns the bucket of `hash` and its offset in it.
    #[inline]
    const fn locate(&self, hash: KeyHash) -> (u64, u64) {
        let product = hash.get() as u128 * self.num as u128;
        ((product >> 64) as u64, fast_range(product as u64, self.range))
    }
}

/// Dimensions: stored as `remainder_bits: u8` at 0, `directory_bits: u8` at 1, `entries_per_bucket: u8` at 2, zero
/// at 3, `bucket_range: u64` at 4. The number of buckets follows from the number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    remainder_bits: u8,
    directory_bits: u8,
    entries_per_bucket: u8,
    buckets: Buckets,
}

/// A compact frame stores `num_buckets` and `bucket_range`, each without its leading zero bytes, `remainder_bits`,
/// `directory_bits`, and a byte with the two lengths, the length of `num_buckets` in the upper four bits. A single
/// bucket with a [`Buckets::short_range`] is stored as that byte, followed by `remainder_bits`, 1 to 15, in place of
/// the lengths.
impl KindParams for Params {
    const REMAPS: bool = true;

    fn decode(stored: &StoredParams<'_>) -> Result<Self, DecodeError> {
        stored.check_reserved(3..4)?;
        let [remainder_bits, directory_bits, entries_per_bucket] = [0, 1, 2].map(|i| stored.bytes[i]);
        let num_buckets = stored.num_entries.div_ceil(u64::from(entries_per_bucket).max(1));
        Self::new([remainder_bits, directory_bits, entries_per_bucket], num_buckets, bytes::u64_at(stored.bytes, 4))
    }

    fn decode_trailer(trailer: &mut Trailer<'_>) -> Result<Self, DecodeError> {
        let lens = trailer.pop()?;
        if let remainder_bits @ 1..=MAX_SHORT_REMAINDER_BITS = lens {
            let bucket_range = trailer.pop_short(1)? << (remainder_bits - 1);
            return Self::new([remainder_bits, 0, ENTRIES_PER_BUCKET as u8], 1, bucket_range);
        }
        let (directory_bits, remainder_bits) = (trailer.pop()?, trailer.pop()?);
        // Both must be there before either is checked.
        trailer.require(usize::from(lens >> 4) + usize::from(lens & 0xf))?;
        let bucket_range = trailer.pop_short(lens & 0xf)?;
        let num_buckets = trailer.pop_short(lens >> 4)?;
        Self::new([remainder_bits, directory_bits, ENTRIES_PER_BUCKET as u8], num_buckets, bucket_range)
    }

    #[cfg(feature = "std")]
    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[1], out[2]) = (self.remainder_bits, self.directory_bits, self.entries_per_bucket);
        bytes::put_u64(&mut out, 4, self.buckets.range);
        out
    }

    #[cfg(feature = "std")]
    fn encode_trailer(&self, out: &mut std::vec::Vec<u8>) {
        if let (Some(short_range), 0) = (self.buckets.short_range(self.remainder_bits), self.directory_bits) {
            out.extend([short_range, self.remainder_bits]);
            return;
        }
        let lens = [self.buckets.num, self.buckets.range].map(|value| bytes::push_short(out, value));
        out.extend([self.remainder_bits, self.directory_bits, lens[0] << 4 | lens[1]]);
    }
}

impl Params {
    /// `fields` are `remainder_bits`, `directory_bits`, `entries_per_bucket`.
    fn new(fields: [u8; 3], num_buckets: u64, bucket_range: u64) -> Result<Self, DecodeError> {
        let [remainder_bits, directory_bits, entries_per_bucket] = fields;
        for (name, value, min, max) in [
            ("remainder_bits", u64::from(remainder_bits), 0, u64::from(MAX_REMAINDER_BITS)),
            ("directory_bits", u64::from(directory_bits), 0, u64::from(bits::MAX_FIELD_BITS)),
            ("entries_per_bucket", u64::from(entries_per_bucket), 1, u64::from(u8::MAX)),
            ("num_buckets", num_buckets, 1, u64::MAX),
            ("bucket_range", bucket_range, 1, u64::MAX / num_buckets.max(1)),
        ] {
            if !(min..=max).contains(&value) {
                return Err(DecodeError::Parameter { name, value, min, max });
            }
        }
        let buckets = Buckets { num: num_buckets, range: bucket_range };
        Ok(Self { remainder_bits, directory_bits, entries_per_bucket, buckets })
    }

    const fn remainder_bits(&self) -> u32 {
        self.remainder_bits as u32
    }

    #[inline(always)]
    const fn max_bucket_bits(&self) -> u64 {
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

impl<'a> KindView<'a> for View<'a> {
    type Params = Params;
    type Layout = Layout;

    fn check(params: Params, payload: &[u8], base: u64) -> Result<Layout, DecodeError> {
        let actual_bytes = payload.len() as u64;
        let directory_bytes = params.directory_len().unwrap_or(u64::MAX);
        if directory_bytes >= actual_bytes || actual_bytes > MAX_PAYLOAD_LEN {
            // The codes take at least one byte.
            return Err(DecodeError::PayloadLength { declared_bytes: directory_bytes.saturating_add(1), actual_bytes });
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

    #[inline(always)]
    fn new(layout: &'a Layout, payload: &'a [u8]) -> Self {
        assert!(payload.len() as u64 * 8 == layout.codes_end, "the bytes of a filter changed their length");
        Self { layout, payload }
    }

    #[cfg(all(test, feature = "std"))]
    fn with_each_engine(layout: &Layout) -> std::vec::Vec<Layout> {
        Engine::all(&layout.params).map(|engine| Layout { engine, ..*layout }).collect()
    }

    fn params(&self) -> &Params {
        &self.layout.params
    }

    #[inline]
    fn may_contain(&self, hash: KeyHash) -> bool {
        if self.payload.len() > MAX_NEAR_LEN {
            self.prefetch_expected(hash);
        }
        self.layout.engine.may_contain(self.layout, self.payload, hash)
    }

    fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        in_batches(
            self.payload,
            hashes,
            answers,
            |h| self.prefetch(h),
            |h| self.layout.engine.may_contain(self.layout, self.payload, h),
        );
    }

    /// Prefetches the codes of the bucket of `hash`. The directory is read, not prefetched: it is a fortieth of the
    /// whole and mostly cached, and without it the codes are located only to within some lines. (In an overfull or
    /// damaged bucket only the first and the last line are prefetched.)
    #[inline]
    fn prefetch(&self, hash: KeyHash) {
        let (bucket, _) = self.layout.params.buckets.locate(hash);
        let (start, end) = self.bounds(bucket);
        prefetch(self.payload, (start / 8) as usize);
        prefetch(self.payload, (end.wrapping_sub(1) / 8) as usize);
    }

    /// The number of distinct offsets over the range, as an absent key's offset is uniform. A bucket that cannot be
    /// read passes every key. So does, in this function, a bucket that overlaps an earlier one, as only damage can
    /// cause: each bit is decoded once.
    fn predicted_fpr(&self) -> f64 {
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
    /// The share of the range that is taken.
    fn fill(&self) -> f64 {
        self.predicted_fpr()
    }
}

impl<'a> View<'a> {
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
