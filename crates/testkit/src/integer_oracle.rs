//! Range filters of integers as section 16 states them: all codes of a payload, and answers that compare every one.

use crate::oracle::{Golomb, int};
use crate::range_oracle::are_ordered;
use filterblock::KeyHasher;
use std::ops::Bound::{self, Unbounded};
use std::ops::RangeBounds;

pub struct Integers {
    prefix: Vec<u8>,
    width: usize,
    pub log_block: u32,
    /// The first and the last number.
    ends: [u128; 2],
    golomb: Golomb,
    /// The code of every key, as a number of bucket and value.
    codes: Vec<u128>,
    /// The number of bits of each bucket.
    bits: Vec<u64>,
}

/// Returns whether a block with keys is one of this map.
pub fn are_in(block: &[u8]) -> bool {
    block[41] & 4 != 0
}

impl Integers {
    /// Reads a block with keys, without its checksums.
    pub fn open(block: &[u8]) -> Self {
        let (params, payload) = (&block[40..52], &block[64..]);
        let golomb = Golomb {
            remainder_bits: params[3].into(),
            directory_bits: params[4].into(),
            num_buckets: int(&block[24..32]).div_ceil(64),
            bucket_range: int(&params[8..12]) | u64::from(params[5]) << 32,
        };
        let (prefix, rest) = payload.split_at(int(&params[6..8]) as usize);
        let (ends, codes) = rest.split_at(2 * usize::from(params[0]));
        let ends = [&ends[..ends.len() / 2], &ends[ends.len() / 2..]];
        let ends = ends.map(|end| end.iter().fold(0, |number, &byte| number << 8 | u128::from(byte)));
        let of_bucket = |bucket: u64| {
            let values = golomb.offsets(codes, bucket).expect("a bucket of a writer");
            values.into_iter().map(move |value| golomb.number(bucket, value))
        };
        let bits = |bucket| golomb.start(codes, bucket + 1) - golomb.start(codes, bucket);
        let (num, bits) = (golomb.num_buckets, (0..golomb.num_buckets).map(bits).collect());
        let codes = (0..num).flat_map(of_bucket).collect();
        let (prefix, width) = (prefix.to_vec(), params[0].into());
        Self { prefix, width, log_block: params[2].into(), ends, golomb, codes, bits }
    }

    pub fn may_contain_range(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
        let (above, below) = ((lower, Unbounded), (Unbounded, upper));
        !are_ordered(lower, upper) || self.has(|key| above.contains(key), |key| below.contains(key))
    }

    pub fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
        let start = |key: &[u8]| key[..key.len().min(prefix.len())].to_vec();
        prefix.len() <= self.prefix.len() + self.width
            && self.has(|key| &start(key)[..] >= prefix, |key| &start(key)[..] <= prefix)
    }

    /// Returns whether the keys that are above a lower bound and below an upper one may be there.
    fn has(&self, is_above: impl Fn(&[u8]) -> bool, is_below: impl Fn(&[u8]) -> bool) -> bool {
        // The numbers for which each holds, by bisection: no rule about lengths of bounds is needed.
        let greatest = 1u128.checked_shl(8 * self.width as u32).map_or(u128::MAX, |end| end - 1);
        let first = least(greatest, |number| is_above(&self.key(number)));
        let behind = least(greatest, |number| !is_below(&self.key(number)));
        let (Some(first), Some(last)) = (first, behind.map_or(Some(greatest), |behind| behind.checked_sub(1))) else {
            return false;
        };
        if first > last || first > self.ends[1] || last < self.ends[0] {
            return false;
        }
        if first <= self.ends[0] || last >= self.ends[1] {
            return true;
        }
        let (block, last_block) = (first >> self.log_block, last >> self.log_block);
        if last_block - block > 32 {
            return true;
        }
        let mut bits = 0;
        let has_code = (block..=last_block).fold(false, |has_code, number| {
            let start = number << self.log_block;
            let from = first.max(start) - start;
            let to = (last - start).min((1 << self.log_block) - 1);
            let (bucket, value) = self.golomb.locate(KeyHasher::new(0).hash(&number.to_le_bytes()).get());
            let end = u128::from(self.golomb.num_buckets) * u128::from(self.golomb.bucket_range);
            let place = self.golomb.number(bucket, value);
            let bucket_of = |at: u128| ((place + at) % end / u128::from(self.golomb.bucket_range)) as usize;
            let range = u128::from(self.golomb.bucket_range);
            bits += self.bits[bucket_of(from)];
            // It reaches into the next bucket, which may be the same.
            if (place + from) % end % range + (to - from) >= range {
                bits += self.bits[bucket_of(to)];
            }
            has_code || self.codes.iter().any(|code| (from..=to).contains(&((code + end - place) % end)))
        });
        has_code || bits > 8 * 512 * (self.golomb.remainder_bits + 2)
    }

    fn key(&self, number: u128) -> Vec<u8> {
        [&self.prefix[..], &number.to_be_bytes()[16 - self.width..]].concat()
    }
}

/// The least number up to `greatest` for which something holds that holds for all above it, too.
fn least(greatest: u128, holds: impl Fn(u128) -> bool) -> Option<u128> {
    let mut least = 0;
    for bit in (0..128).rev().map(|place| 1u128 << place) {
        if least + (bit - 1) < greatest && !holds(least + (bit - 1)) {
            least += bit;
        }
    }
    holds(least).then_some(least)
}
