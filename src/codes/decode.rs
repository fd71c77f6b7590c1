//! Decoding of a bucket: one code after the other, or only as far as a query needs.

use crate::bits;
use crate::hash::fast_range;

/// The quotients' and remainders' bits of a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket<'a> {
    pub(super) codes: &'a [u8],
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) remainder_bits: u32,
}

/// The ascending offsets of a bucket, one by one: for counting, and as the reference for every search.
pub(super) struct Offsets<'a> {
    bucket: Bucket<'a>,
    /// The first bit of the unary window, and the bits that are left of it.
    window_start: u64,
    window: u64,
    /// The number of offsets decoded so far.
    count: u64,
    /// The last remainder's first bit.
    remainders_start: u64,
    remainders_sum: u64,
}

/// Unary bits taken at a time.
const WINDOW_BITS: u32 = bits::MAX_FIELD_BITS;

/// Constants of a search that depend on the filter's dimensions alone.
///
/// The sum of a run of remainders is taken some of them at a time: even and odd ones are added as neighbours in slots
/// of twice their width, then the slots by a multiplication.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// A mask of the lower half of each slot.
    lower_halves: u64,
    /// A one in each slot.
    slots: u64,
    /// The average number of unary bits per unit of value, in 2⁻⁶⁴.
    unary_rate: u64,
    /// The average number of loads of remainders per unary bit, in 2⁻¹⁶.
    load_rate: u32,
    remainder_bits: u8,
    /// The number of remainders taken at a time.
    count: u8,
    /// The first bit of the uppermost slot, which receives the sum of all.
    uppermost: u8,
    /// The number of bits of a word beyond a slot's width.
    beyond_slot: u8,
}

impl Tuning {
    /// Computes the constants for buckets of `bucket_bits` bits and `entries` entries on average.
    pub(super) const fn new(remainder_bits: u32, bucket_range: u64, bucket_bits: u64, entries: u64) -> Self {
        // The count is limited by the remainders in one load, and by those whose sum fits a slot: (2^r + 1) · (2^r − 1)
        // = 2^2r − 1. Without remainders there is nothing to load.
        let by_load = match bits::MAX_FIELD_BITS.checked_div(remainder_bits) {
            Some(count) => count,
            None => bits::MAX_FIELD_BITS,
        };
        let by_slot = if remainder_bits < 6 { (1 << remainder_bits) + 1 } else { by_load };
        let count = if by_load < by_slot || remainder_bits == 0 { by_load } else { by_slot };
        let stride = 2 * remainder_bits;
        let (mut lower_halves, mut slots, mut uppermost, mut index) = (0, 0, 0, 0);
        while index < count.div_ceil(2) {
            uppermost = index * stride;
            slots |= 1 << uppermost;
            lower_halves |= ((1 << remainder_bits) - 1) << uppermost;
            index += 1;
        }
        let unary_bits = bucket_bits.saturating_sub(entries * remainder_bits as u64);
        let unary_rate = ((unary_bits as u128) << 64) / bucket_range as u128;
        // There are no more codes than unary bits. Damage may suggest otherwise and must not cause needless loads.
        let most = (1 << 16) / count as u64;
        let load_rate = match ((entries << 16) / count as u64).checked_div(unary_bits) {
            Some(rate) if rate < most => rate,
            _ => most,
        };
        let unary_rate = if unary_rate > u64::MAX as u128 { u64::MAX } else { unary_rate as u64 };
        Self {
            lower_halves,
            slots,
            unary_rate,
            load_rate: load_rate as u32,
            remainder_bits: remainder_bits as u8,
            count: count as u8,
            uppermost: uppermost as u8,
            beyond_slot: if remainder_bits == 0 { 0 } else { u64::BITS.saturating_sub(stride) as u8 },
        }
    }

    /// Returns the average number of unary bits that precede a code of value `sought`.
    #[inline(always)]
    const fn unary_bits_before(&self, sought: u64) -> u64 {
        fast_range(sought, self.unary_rate)
    }

    /// Returns a number of unary bits that nearly always end less than 16 codes below a code of value `sought`. Far
    /// from the start they deviate more.
    #[cfg(simd_x86_64)]
    #[inline(always)]
    pub(super) fn early_skip(&self, sought: u64) -> u64 {
        fast_range(sought, self.unary_rate - self.unary_rate / 32)
            .saturating_sub(EARLY_SLACK_BITS)
            .min(MOST_EARLY_SKIP_BITS)
    }

    /// Returns a number of unary bits that nearly always end a few codes below a code of value `sought`.
    #[inline(always)]
    fn first_skip(&self, sought: u64) -> u64 {
        let mean = self.unary_bits_before(sought);
        mean.saturating_sub(mean / 32 + SLACK_BITS).min(MOST_SKIP_BITS)
    }

    /// Returns the number of loads that mostly contain the remainders of a run of `unary_bits` unary bits. A load too
    /// few costs a branch, a load too many a load.
    #[inline(always)]
    fn likely_loads(&self, unary_bits: u64) -> u64 {
        1 + (((unary_bits + SLACK_BITS) * u64::from(self.load_rate)) >> 16)
    }

    /// Returns the sum of the `count` remainders that end before bit `end` of `codes`. It takes the number of loads
    /// that `unary_bits` unary bits mostly need, or more.
    #[inline(always)]
    fn sum(&self, codes: &[u8], mut end: u64, mut count: u64, unary_bits: u64) -> u64 {
        let width = u32::from(self.remainder_bits);
        let mut sum = 0;
        let mut take = |count: &mut u64| {
            let taken = (*count).min(u64::from(self.count));
            *count -= taken;
            let width_of_all = taken as u32 * width;
            end -= u64::from(width_of_all);
            let fields = bits::read(codes, end, width_of_all);
            let pairs = (fields & self.lower_halves) + (fields >> width & self.lower_halves);
            sum += pairs.wrapping_mul(self.slots) >> self.uppermost & u64::MAX >> self.beyond_slot;
        };
        for _ in 0..self.likely_loads(unary_bits) {
            take(&mut count);
        }
        while count > 0 {
            take(&mut count);
        }
        sum
    }
}

/// The state of a search.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    /// The rest of the value sought, above the codes that were skipped.
    pub(super) left: u64,
    /// The next unary bit.
    pub(super) unary: u64,
    /// The end of the next remainder.
    pub(super) remainders: u64,
}

/// The deviation from the mean, in unary bits, that is allowed for.
const SLACK_BITS: u64 = 3;
/// The greatest number of unary bits that are skipped at once.
const MOST_SKIP_BITS: u64 = 4 * WINDOW_BITS as u64;
/// The greatest number of unary bits that a search with vectors skips: three words contain them from any bit of the
/// first byte on.
#[cfg(simd_x86_64)]
const MOST_EARLY_SKIP_BITS: u64 = 3 * 64 - 7;
/// The number of unary bits by which a search with vectors stays below the mean: it compares the 16 codes that follow,
/// which have some 34 unary bits.
#[cfg(simd_x86_64)]
const EARLY_SLACK_BITS: u64 = 9;
/// The number of codes that are decoded together in the end: one load contains six remainders of 9 bits.
const SOON: u32 = 6;
/// The least distance to a value, in unary bits, over which codes are skipped.
const FAR_BITS: u64 = 16;

impl<'a> Bucket<'a> {
    #[inline]
    pub(super) fn offsets(self) -> Offsets<'a> {
        Offsets {
            bucket: self,
            window_start: self.start,
            window: bits::read(self.codes, self.start, WINDOW_BITS),
            count: 0,
            remainders_start: self.end,
            remainders_sum: 0,
        }
    }

    /// Returns whether one of the offsets is in `from..=to`. It skips by rank the codes below, then decodes.
    ///
    /// The value after a run of unary bits follows from the number of its codes and the sum of their remainders. The
    /// length of the first run is guessed from `from` alone, so that no branch waits for the codes; it nearly always
    /// ends a few codes below. If it does not, as in overfull buckets, further runs follow that cannot lead too far: a
    /// unary bit advances the value by at most 2^r, a zero by exactly that, a one by its remainder and one.
    #[inline(always)]
    pub(super) fn has_within(self, tuning: &Tuning, from: u64, to: u64) -> bool {
        let (cursor, len) = (self.skip_below(tuning, from), to - from);
        match self.has_soon(cursor, len) {
            Ok(found) => found,
            Err(further) => self.has_from(further, len),
        }
    }

    /// Returns the cursor after some codes that lie below `sought`, few before the first that does not.
    #[inline(always)]
    fn skip_below(self, tuning: &Tuning, sought: u64) -> Cursor {
        let mut cursor = Cursor { left: sought, unary: self.start, remainders: self.end };
        let first = tuning.first_skip(sought);
        cursor = self.skip(tuning, cursor, first, first).unwrap_or(cursor);
        loop {
            let skip = (cursor.left >> self.remainder_bits).min(MOST_SKIP_BITS);
            if skip < FAR_BITS {
                break;
            }
            // Here the bucket is not as planned: loads that it would need may be many that it does not.
            let Some(next) = self.skip(tuning, cursor, skip, 0) else { break };
            cursor = next;
        }
        cursor
    }

    /// Returns whether one load contains the remainders of the next [`SOON`] codes, and a window those of their unary
    /// bits that lie below the last value sought.
    #[inline(always)]
    fn fits_one_load(self, cursor: Cursor, len: u64) -> bool {
        let width_of_all = SOON * self.remainder_bits;
        width_of_all <= bits::MAX_FIELD_BITS
            && cursor.remainders >= u64::from(width_of_all)
            && cursor.left.saturating_add(len) >> self.remainder_bits < u64::from(WINDOW_BITS - SOON)
    }

    /// Returns whether a value up to `len` above the one sought is among the next [`SOON`] codes, or the cursor after
    /// them if they lie below it. There is no branch on its place: a mispredicted branch would keep the next query from
    /// starting.
    #[inline(always)]
    fn has_soon(self, cursor: Cursor, len: u64) -> Result<bool, Cursor> {
        let Bucket { codes, remainder_bits, .. } = self;
        let Cursor { left, unary, remainders } = cursor;
        let width_of_all = SOON * remainder_bits;
        if !self.fits_one_load(cursor, len) {
            return Err(cursor);
        }
        let fields = bits::read(codes, remainders - u64::from(width_of_all), width_of_all);
        let mut window = bits::read(codes, unary, WINDOW_BITS);
        // This is below zero once the value is passed.
        let mut left = left as i64;
        let (mut found, mut sound, mut used, mut next) = (false, true, 0, remainders);
        for i in 1..=SOON {
            // The result is 64 if the window has no one; its zeros alone then pass all values.
            let one = u64::from(window.trailing_zeros());
            next -= u64::from(remainder_bits);
            sound &= unary + one < next;
            let remainder = fields >> ((SOON - i) * remainder_bits) & ((1 << remainder_bits) - 1);
            let gap = (((one - used) << remainder_bits) + remainder) as i64;
            found |= sound & (gap.wrapping_sub(left) as u64 <= len);
            left -= gap + 1;
            used = (one + 1).min(64);
            window &= window.wrapping_sub(1);
        }
        if left < 0 || !sound {
            return Ok(found);
        }
        Err(Cursor { left: left as u64, unary: unary + used, remainders: next })
    }

    /// Returns `cursor` moved by `unary_bits` (at most [`MOST_SKIP_BITS`]), or `None` if that leads beyond the value
    /// sought or beyond the last code. It loads the remainders that `likely_bits` unary bits mostly need, or more.
    #[inline(always)]
    fn skip(self, tuning: &Tuning, cursor: Cursor, unary_bits: u64, likely_bits: u64) -> Option<Cursor> {
        let Cursor { left, unary, remainders } = cursor;
        let width = u64::from(self.remainder_bits);
        let unary_after = unary + unary_bits;
        let (mut ones, mut at) = (0, unary);
        loop {
            let window = (unary_after - at).min(u64::from(WINDOW_BITS));
            ones += u64::from(bits::read(self.codes, at, window as u32).count_ones());
            at += window;
            if at >= unary_after {
                break;
            }
        }
        let after = remainders.checked_sub(ones * width).filter(|&after| unary_after <= after)?;
        let sum = tuning.sum(self.codes, remainders, ones, likely_bits);
        let left = left.checked_sub(((unary_bits - ones) << self.remainder_bits) + sum + ones)?;
        Some(Cursor { left, unary: unary_after, remainders: after })
    }

    /// Searches code by code.
    #[inline(always)]
    fn has_from(self, cursor: Cursor, len: u64) -> bool {
        let Bucket { codes, remainder_bits, .. } = self;
        let Cursor { mut left, mut unary, mut remainders } = cursor;
        let (mut window_start, mut window) = (unary, bits::read(codes, unary, WINDOW_BITS));
        while let Some(remainder_start) = remainders.checked_sub(u64::from(remainder_bits)) {
            while window == 0 {
                window_start += u64::from(WINDOW_BITS);
                // No code that is sought can follow this run of zeros.
                let is_above = window_start - unary > left.saturating_add(len) >> remainder_bits;
                if is_above || window_start >= remainder_start {
                    return false;
                }
                window = bits::read(codes, window_start, WINDOW_BITS);
            }
            let one = window_start + u64::from(window.trailing_zeros());
            if one >= remainder_start {
                return false;
            }
            let gap = ((one - unary) << remainder_bits) + bits::read(codes, remainder_start, remainder_bits);
            if gap >= left {
                return gap - left <= len;
            }
            // Each gap after the first is stored less one, as offsets are distinct.
            left -= gap + 1;
            (unary, remainders) = (one + 1, remainder_start);
            window &= window - 1;
        }
        false
    }
}

impl Iterator for Offsets<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let Bucket { codes, start, remainder_bits, .. } = self.bucket;
        self.remainders_start = self.remainders_start.checked_sub(u64::from(remainder_bits))?;
        while self.window == 0 {
            self.window_start += u64::from(WINDOW_BITS);
            if self.window_start >= self.remainders_start {
                return None;
            }
            self.window = bits::read(codes, self.window_start, WINDOW_BITS);
        }
        let one = self.window_start + u64::from(self.window.trailing_zeros());
        if one >= self.remainders_start {
            return None;
        }
        self.window &= self.window - 1;
        let quotients_sum = one - start - self.count;
        let remainder = bits::read(codes, self.remainders_start, remainder_bits);
        self.remainders_sum = self.remainders_sum.wrapping_add(remainder);
        // Each gap after the first is stored less one, as offsets are distinct.
        let offset = (quotients_sum << remainder_bits).wrapping_add(self.remainders_sum).wrapping_add(self.count);
        self.count += 1;
        Some(offset)
    }
}
