//! The Golomb-coded set: the sorted hashes themselves, reduced to a smaller range and compressed (F. Putze, P. Sanders,
//! J. Singler, *Cache-, Hash- and Space-Efficient Bloom Filters*, ACM JEA 14, 2009, section 5).
//!
//! `format/golomb.md` states the bytes.
//!
//! # What is stored
//!
//! A hash is mapped monotonically to a *bucket* and an *offset* below `bucket_range` in it, both from the same 128-bit
//! product. A bucket holds 64 entries on average. Its distinct offsets are stored in ascending order, as
//! [bucketed codes](crate::codes), whose essay has their layout, their search and their builder.
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
//! best (A. Kiely, *Selecting the Golomb parameter in Rice coding*, 2004; `codes/sizing`). The directory adds about
//! 0.21 bits. In all, a filter is 20 % above the least size at a rate of 1/317 and 17 % at 1/1000: the lower the rate,
//! the less the constant matters. At 1 % an entry takes 8.26 bits in all.
//!
//! # When hashes crowd
//!
//! Buckets have 64 entries on average because hashes are random. Hashes that share a bucket, by a weak hash function or
//! on purpose, would make each query follow all of them: 183 µs for 100 000, and the check of a finished block n times
//! that. Where values crowd within their buckets, or are equal, the first skip ends elsewhere, and a query takes four
//! times as long. So a set that crowds is *remapped* ([`SetSeed`](crate::hash::SetSeed)), and readers answer *maybe* for
//! a bucket that no writer makes ([`Params::max_bucket_bits`]).
//!
//! # Small filters
//!
//! In a compact frame a filter of one bucket describes itself in three bytes: its range is rounded up to half of 2^r.
//! For 18 to 36 keys, as LevelDB has them in a filter, `golomb:9.2` takes 34.3 bytes and errs at 0.47 %, where
//! `bloom:9.9` takes 34.9 bytes and errs at 0.96 %.

#[cfg(feature = "std")]
mod plan;

#[cfg(feature = "std")]
pub(crate) use plan::{Plan, Settings};

use super::seam::{KindParams, KindView, PARAMS_LEN, StoredParams, in_batches};
use super::trailer::Trailer;
use crate::bytes;
use crate::codes::{Buckets, ENTRIES_PER_BUCKET};
pub(crate) use crate::codes::{Layout, Params, View};
use crate::error::DecodeError;
use crate::hash::KeyHash;

/// The widest remainder of a single bucket that a compact frame describes in two bytes.
const MAX_SHORT_REMAINDER_BITS: u8 = 15;

/// A compact frame stores `num_buckets` and `bucket_range`, each without its leading zero bytes, `remainder_bits`,
/// `directory_bits`, and a byte with the two lengths, the length of `num_buckets` in the upper four bits. A single
/// bucket with a [`short_range`] is stored as that byte, followed by `remainder_bits`, 1 to 15, in place of
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

    fn encode(&self) -> [u8; PARAMS_LEN] {
        let mut out = [0; PARAMS_LEN];
        (out[0], out[1], out[2]) = (self.remainder_bits, self.directory_bits, self.entries_per_bucket);
        bytes::put_u64(&mut out, 4, self.buckets.range);
        out
    }

    fn encode_trailer(&self, out: &mut impl Extend<u8>) {
        if let (Some(short_range), 0) = (short_range(self.buckets, self.remainder_bits), self.directory_bits) {
            out.extend([short_range, self.remainder_bits]);
            return;
        }
        let lens = [self.buckets.num, self.buckets.range].map(|value| bytes::push_short(out, value));
        out.extend([self.remainder_bits, self.directory_bits, lens[0] << 4 | lens[1]]);
    }
}

/// Returns the range of a single bucket in units of 2^(remainder_bits − 1), two to four for each entry, or `None`
/// if it is not a multiple of the unit or too large for a byte.
fn short_range(buckets: Buckets, remainder_bits: u8) -> Option<u8> {
    let (1, 1..=MAX_SHORT_REMAINDER_BITS) = (buckets.num, remainder_bits) else { return None };
    let unit = 1 << (remainder_bits - 1);
    (buckets.range % unit == 0).then(|| u8::try_from(buckets.range / unit).ok())?
}

impl<'a> KindView<'a> for View<'a> {
    type Params = Params;
    type Layout = Layout;

    fn check(params: Params, payload: &[u8], base: u64) -> Result<Layout, DecodeError> {
        View::check(params, payload, base)
    }

    #[inline(always)]
    fn new(layout: &'a Layout, payload: &'a [u8]) -> Self {
        View::new(layout, payload)
    }

    #[cfg(all(test, feature = "std"))]
    fn with_each_engine(layout: &Layout) -> std::vec::Vec<Layout> {
        layout.with_each_engine().collect()
    }

    fn params(&self) -> &Params {
        View::params(self)
    }

    #[inline]
    fn may_contain(&self, hash: KeyHash) -> bool {
        View::may_contain(self, hash)
    }

    fn may_contain_all(&self, hashes: &[KeyHash], answers: &mut [bool]) {
        in_batches(self.payload(), hashes, answers, |h| self.prefetch(h), |h| self.may_contain_near(h));
    }

    /// Prefetches the codes of the bucket of `hash`. The directory is read, not prefetched: it is a fortieth of the
    /// whole and mostly cached, and without it the codes are located only to within some lines.
    #[inline]
    fn prefetch(&self, hash: KeyHash) {
        let (bucket, _) = self.params().buckets.locate(hash);
        self.prefetch_codes(bucket);
    }

    /// An absent key's offset is uniform.
    fn predicted_fpr(&self) -> f64 {
        self.share_taken()
    }

    /// The share of the range that is taken.
    fn fill(&self) -> f64 {
        self.share_taken()
    }
}
