//! Golomb filters: format/golomb.md.

use super::{bit, field, int, range, set_bit, set_field};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
pub struct Golomb {
    pub remainder_bits: u64,
    pub directory_bits: u64,
    pub num_buckets: u64,
    pub bucket_range: u64,
}

/// A bucket's unary bits and its remainders.
type Codes = (Vec<bool>, Vec<u64>);

impl Golomb {
    pub fn locate(&self, hash: u64) -> (u64, u64) {
        let product = u128::from(hash) * u128::from(self.num_buckets);
        ((product >> 64) as u64, range(product as u64, self.bucket_range))
    }

    /// A place as one number.
    pub fn number(&self, bucket: u64, value: u64) -> u128 {
        u128::from(bucket) * u128::from(self.bucket_range) + u128::from(value)
    }

    fn anchors_len(&self) -> u64 {
        if self.num_buckets == 1 { 0 } else { 8 * (self.num_buckets.div_ceil(64) - 1) }
    }

    fn directory_len(&self) -> u64 {
        if self.num_buckets == 1 {
            return 0;
        }
        self.anchors_len() + (self.num_buckets * self.directory_bits).div_ceil(8)
    }

    /// The line's height above its anchor.
    pub fn line_at(&self, code_bits: u64, bucket: u64) -> u64 {
        ((256 * u128::from(code_bits) / u128::from(self.num_buckets)) as u64 * (bucket % 64)) >> 8
    }

    fn bias(&self) -> u64 {
        if self.directory_bits == 0 { 0 } else { 1 << (self.directory_bits - 1) }
    }

    /// The first bit of `bucket`.
    pub fn start(&self, payload: &[u8], bucket: u64) -> u64 {
        let code_bits = (payload.len() as u64 - self.directory_len()) * 8;
        if bucket == self.num_buckets {
            return code_bits;
        }
        if self.num_buckets == 1 {
            return 0;
        }
        let anchor = match bucket / 64 {
            0 => 0,
            group => int(&payload[8 * (group as usize - 1)..8 * group as usize]),
        };
        let deviation =
            field(&payload[self.anchors_len() as usize..], bucket * self.directory_bits, self.directory_bits);
        anchor.wrapping_add(self.line_at(code_bits, bucket)).wrapping_add(deviation).wrapping_sub(self.bias())
    }

    /// The values of `bucket`, or `None` if it cannot be read.
    pub fn offsets(&self, payload: &[u8], bucket: u64) -> Option<Vec<u64>> {
        let codes = &payload[self.directory_len() as usize..];
        let (s, e) = (self.start(payload, bucket), self.start(payload, bucket + 1));
        if s > e || e > codes.len() as u64 * 8 || e - s > 512 * (self.remainder_bits + 2) {
            return None;
        }
        let (mut unary, mut remainders, mut next, mut offsets) = (s, e, 0u64, Vec::new());
        while let Some(before) = remainders.checked_sub(self.remainder_bits) {
            remainders = before;
            let Some(one) = (unary..remainders).find(|&i| bit(codes, i) == 1) else { break };
            let gap =
                ((one - unary) << self.remainder_bits).wrapping_add(field(codes, remainders, self.remainder_bits));
            offsets.push(next.wrapping_add(gap));
            next = next.wrapping_add(gap).wrapping_add(1);
            unary = one + 1;
        }
        Some(offsets)
    }

    /// The start of each bucket, the end of the last one, and the codes of each.
    fn codes(&self, hashes: &BTreeSet<u64>) -> (Vec<u64>, Vec<Codes>) {
        let mut buckets = vec![BTreeSet::new(); self.num_buckets as usize];
        for &hash in hashes {
            let (bucket, offset) = self.locate(hash);
            buckets[bucket as usize].insert(offset);
        }
        let (mut starts, mut codes) = (vec![0u64], Vec::new());
        for offsets in &buckets {
            let (mut next, mut unary, mut remainders) = (0, Vec::new(), Vec::new());
            for &offset in offsets {
                let gap: u64 = offset - next;
                unary.extend(std::iter::repeat_n(false, (gap >> self.remainder_bits) as usize));
                unary.push(true);
                remainders.push(gap & ((1 << self.remainder_bits) - 1));
                next = offset + 1;
            }
            let len = unary.len() as u64 + remainders.len() as u64 * self.remainder_bits;
            starts.push(starts[starts.len() - 1] + len);
            codes.push((unary, remainders));
        }
        let end = starts.last_mut().expect("a start");
        *end = end.next_multiple_of(8);
        (starts, codes)
    }

    /// The deviation of each bucket's start from the line through its anchor.
    fn deviations(&self, starts: &[u64]) -> Vec<i64> {
        let code_bits = starts[self.num_buckets as usize];
        let deviation = |bucket: u64| {
            let anchor = starts[(bucket / 64 * 64) as usize];
            starts[bucket as usize].wrapping_sub(anchor).wrapping_sub(self.line_at(code_bits, bucket)) as i64
        };
        (0..self.num_buckets).map(deviation).collect()
    }

    /// Returns whether the library's writer leaves these hashes as they are.
    pub fn suits(&self, hashes: &BTreeSet<u64>) -> bool {
        let n = hashes.len() as u128;
        let mut buckets = vec![(0, BTreeSet::new()); self.num_buckets as usize];
        for &hash in hashes {
            let (bucket, value) = self.locate(hash);
            buckets[bucket as usize].0 += 1;
            buckets[bucket as usize].1.insert(value);
        }
        let entries = n.div_ceil(self.num_buckets.into());
        let rate = ((entries << 65) / (2 * u128::from(self.bucket_range) + entries)).min(u64::MAX.into());
        let square = |(k, &value): (i128, &u64)| (((u128::from(value + 1) * rate) >> 64) as i128 - k).pow(2) as u128;
        let squares: u128 = buckets.iter().flat_map(|(_, values)| (1..).zip(values).map(square)).sum();
        let num_values: usize = buckets.iter().map(|(_, values)| values.len()).sum();
        let whole_range = u128::from(self.num_buckets) * u128::from(self.bucket_range);
        buckets.iter().all(|&(count, _)| count <= 160)
            && n - num_values as u128 <= n * n / whole_range + 24
            && squares <= 64 * n + 131_072
    }

    /// The same filter with the least `directory_bits` that is enough for `hashes`.
    pub fn with_least_directory(self, hashes: &BTreeSet<u64>) -> Self {
        let deviations = self.deviations(&self.codes(hashes).0);
        let fits = |d: u64| match d {
            0 => deviations.iter().all(|&v| v == 0),
            _ => deviations.iter().all(|v| (-(1 << (d - 1))..1 << (d - 1)).contains(v)),
        };
        let directory_bits = if self.num_buckets == 1 { Some(0) } else { (0..=57).find(|&d| fits(d)) };
        Self { directory_bits: directory_bits.expect("a filter that can be written"), ..self }
    }

    pub(super) fn rebuild(&self, hashes: &BTreeSet<u64>) -> Vec<u8> {
        let (starts, codes) = self.codes(hashes);
        let code_bits = starts[self.num_buckets as usize];
        let mut payload = vec![0u8; (self.directory_len() + code_bits / 8) as usize];
        let (directory, out) = payload.split_at_mut(self.directory_len() as usize);
        for (bucket, (unary, remainders)) in codes.iter().enumerate() {
            (0..).zip(unary).filter(|(_, one)| **one).for_each(|(i, _)| set_bit(out, starts[bucket] + i));
            for (i, &remainder) in (1..).zip(remainders) {
                set_field(out, starts[bucket + 1] - i * self.remainder_bits, self.remainder_bits, remainder);
            }
        }
        if self.num_buckets > 1 {
            let (anchors, fields) = directory.split_at_mut(self.anchors_len() as usize);
            for (group, &start) in starts[..self.num_buckets as usize].iter().step_by(64).enumerate().skip(1) {
                set_field(&mut anchors[8 * (group - 1)..], 0, 64, start);
            }
            for (bucket, deviation) in (0..).zip(self.deviations(&starts)) {
                let stored = (deviation as u64).wrapping_add(self.bias());
                assert!(stored < 1 << self.directory_bits, "directory_bits is too small");
                set_field(fields, bucket * self.directory_bits, self.directory_bits, stored);
            }
        }
        payload
    }
}
