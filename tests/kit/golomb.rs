//! Golomb blocks with codes and directories at random, queried for the very values that their buckets hold and for
//! those beside them. A directory may lead anywhere: out of the codes, backward, around 2^64.

use crate::assembled::{Header, raw_block};
use crate::case::Case;
use crate::kinds::{EXTREMES, Random, block_case, params};
use crate::oracle::{Golomb, bit};

/// Where the directory of a payload leads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Directory {
    /// To starts within the codes, most of them in order.
    Within,
    /// There too, from anchors close to 2^64.
    Around,
    /// Anywhere.
    Anywhere,
}

#[derive(Clone, Copy, Debug)]
pub struct Dimensions {
    pub remainder_bits: u8,
    pub directory_bits: u8,
    pub num_buckets: u64,
    pub bucket_range: u64,
    pub codes_len: u64,
    pub directory: Directory,
}

fn put_bits(bytes: &mut [u8], at: u64, width: u8, value: u64) {
    for j in 0..u64::from(width).min(64) {
        let i = at + j;
        bytes[(i / 8) as usize] |= ((value >> j & 1) as u8) << (i % 8);
    }
}

impl Dimensions {
    pub fn payload(&self, random: &mut Random) -> Vec<u8> {
        let (d, num) = (self.directory_bits, self.num_buckets);
        let codes = random.bits(self.codes_len as usize, 0.4);
        if num == 1 {
            return codes;
        }
        let end = 8 * self.codes_len;
        let groups = num.div_ceil(64) - 1;
        let slope = 256 * end / num;
        let mut directory = vec![0; (num * u64::from(d)).div_ceil(8) as usize];
        let mut anchors = vec![0; 8 * groups as usize];
        // Half the deviations' range is subtracted by readers.
        let bias = if d == 0 { 0 } else { 1u64 << (d - 1) };
        for bucket in 0..num {
            let line = (slope * (bucket % 64)) >> 8;
            // What the start should be, and the anchor that it is measured from.
            let wanted = bucket * end / num + random.below(5);
            let group = bucket / 64;
            let anchor = match (group, self.directory) {
                (0, _) => 0,
                (_, Directory::Around) => 0u64.wrapping_sub(3 + group),
                (_, Directory::Anywhere) => random.next(),
                (_, Directory::Within) => group * 64 * end / num,
            };
            if bucket % 64 == 0 && group > 0 {
                put_bits(&mut anchors, 64 * (group - 1), 64, anchor);
            }
            let field = match self.directory {
                Directory::Anywhere if random.below(3) > 0 => random.next(),
                _ => wanted.wrapping_sub(anchor).wrapping_sub(line).wrapping_add(bias),
            };
            put_bits(&mut directory, bucket * u64::from(d), d, field);
        }
        [anchors, directory, codes].concat()
    }

    fn golomb(&self) -> Golomb {
        Golomb {
            remainder_bits: self.remainder_bits.into(),
            directory_bits: self.directory_bits.into(),
            num_buckets: self.num_buckets,
            bucket_range: self.bucket_range,
        }
    }

    /// A hash of this bucket and value.
    fn hash(&self, bucket: u64, value: u64) -> Option<u64> {
        let low = (u128::from(value) << 64).div_ceil(self.bucket_range.into());
        let hash = ((u128::from(bucket) << 64) + low).div_ceil(self.num_buckets.into());
        let hash = u64::try_from(hash).ok()?;
        (self.golomb().locate(hash) == (bucket, value)).then_some(hash)
    }

    /// A value that a bucket does not hold, but seems to if the end of its quotients, or of its bits, is taken for a
    /// one.
    fn phantoms(&self, payload: &[u8], bucket: u64) -> Vec<u64> {
        let (golomb, r) = (self.golomb(), u64::from(self.remainder_bits));
        let codes = &payload[payload.len() - self.codes_len as usize..];
        let (mut unary, end) = (golomb.start(payload, bucket), golomb.start(payload, bucket + 1));
        let (mut remainders, mut next) = (end, 0u64);
        let field = |at: u64| (0..r).map(|j| bit(codes, at + j) << j).sum::<u64>();
        while let Some(before) = remainders.checked_sub(r).filter(|before| *before > unary) {
            remainders = before;
            let Some(one) = (unary..remainders).find(|&i| bit(codes, i) == 1) else {
                let value = |one: u64| next.wrapping_add((one - unary) << r).wrapping_add(field(remainders));
                return vec![value(remainders), value(end)];
            };
            next = next.wrapping_add((one - unary) << r).wrapping_add(field(remainders)).wrapping_add(1);
            unary = one + 1;
        }
        Vec::new()
    }

    /// Hashes whose answers depend on what a bucket holds.
    pub fn hashes(&self, payload: &[u8], random: &mut Random) -> Vec<u64> {
        let golomb = self.golomb();
        let mut hashes = Vec::new();
        // Those of every bucket would be too many.
        let step = self.num_buckets.div_ceil(24);
        let last = self.num_buckets - 1;
        let chosen = (0..=last).filter(|b| b % step == 0 || b % 64 < 2 && (*b < 200 || b + 200 > last) || *b == last);
        for bucket in chosen {
            let values = golomb.offsets(payload, bucket);
            let mut asked = vec![0, self.bucket_range - 1, random.below(self.bucket_range)];
            // Where values exceed 64 bits, answers are left open.
            let Some(values) = values.filter(|values| values.is_sorted()) else {
                hashes.extend(asked.iter().filter_map(|&value| self.hash(bucket, value)));
                continue;
            };
            let ends = values.iter().take(2).chain(values.iter().rev().take(2));
            asked.extend(ends.flat_map(|&value| [value, value.wrapping_add(1)]));
            asked.extend(self.phantoms(payload, bucket));
            asked.retain(|value| *value < self.bucket_range);
            asked.sort_unstable();
            asked.dedup();
            hashes.extend(asked.into_iter().filter_map(|value| self.hash(bucket, value)));
        }
        hashes
    }
}

/// Remainder bits, directory bits, buckets, range in units of 2^r, bytes of codes.
const DIMENSIONS: [(u8, u8, u64, u64, u64, Directory); 28] = [
    (0, 0, 1, 60, 9, Directory::Within),
    (1, 57, 1, 40, 9, Directory::Within),
    (7, 0, 1, 30, 24, Directory::Within),
    (8, 3, 1, 30, 25, Directory::Within),
    (9, 0, 1, 30, 26, Directory::Within),
    (16, 0, 1, 30, 30, Directory::Within),
    (31, 0, 1, 30, 40, Directory::Within),
    (32, 0, 1, 30, 40, Directory::Within),
    (33, 0, 1, 30, 41, Directory::Within),
    (47, 0, 1, 40, 50, Directory::Within),
    (48, 0, 1, 65_535, 60, Directory::Within),
    (2, 0, 2, 16, 12, Directory::Within),
    (3, 0, 7, 9, 30, Directory::Within),
    (0, 4, 3, 30, 6, Directory::Within),
    (4, 6, 5, 9, 28, Directory::Within),
    (5, 9, 9, 9, 40, Directory::Within),
    (2, 17, 64, 8, 80, Directory::Within),
    (2, 8, 65, 8, 80, Directory::Within),
    (3, 10, 66, 8, 99, Directory::Around),
    (1, 25, 130, 8, 90, Directory::Within),
    (2, 33, 67, 8, 70, Directory::Around),
    (3, 57, 66, 8, 80, Directory::Around),
    (6, 57, 5, 7, 40, Directory::Within),
    (2, 57, 9, 8, 20, Directory::Anywhere),
    (2, 7, 70, 8, 50, Directory::Anywhere),
    (2, 9, 12, 8, 30, Directory::Anywhere),
    (2, 12, 200, 8, 120, Directory::Around),
    (0, 0, 4200, 8, 200, Directory::Within),
];

pub fn all() -> impl Iterator<Item = Dimensions> {
    DIMENSIONS.into_iter().map(|(remainder_bits, directory_bits, num_buckets, units, codes_len, directory)| {
        Dimensions {
            remainder_bits,
            directory_bits,
            num_buckets,
            bucket_range: (units << remainder_bits) + u64::from(remainder_bits),
            codes_len,
            directory,
        }
    })
}

/// The block, with a number of entries that gives these buckets.
fn block(dimensions: &Dimensions, entries_per_bucket: u8, num_entries: u64, payload: &[u8]) -> Vec<u8> {
    let Dimensions { remainder_bits, directory_bits, num_buckets, bucket_range, .. } = *dimensions;
    assert_eq!(num_entries.div_ceil(entries_per_bucket.into()), num_buckets);
    let params = params([remainder_bits, directory_bits, entries_per_bucket, 0], bucket_range);
    raw_block(3, &Header::default(), num_entries, params, payload)
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, dimensions) in all().enumerate() {
        let random = &mut Random::new(800 + i as u64);
        let payload = dimensions.payload(random);
        let mut hashes = dimensions.hashes(&payload, random);
        hashes.extend(EXTREMES);
        let per_bucket = [1, 2, 64, 255][i % 4];
        // The most and the fewest entries of these buckets.
        let most = dimensions.num_buckets * u64::from(per_bucket);
        let num_entries = if i % 2 == 0 { most } else { most - u64::from(per_bucket) + 1 };
        let block = block(&dimensions, per_bucket, num_entries, &payload);
        let Dimensions { remainder_bits: r, directory_bits: d, num_buckets, directory, .. } = dimensions;
        let name = format!("golomb: r {r}, d {d}, {num_buckets} buckets, directory {directory:?}");
        cases.push(block_case(name, block, &hashes));
    }
    // Two buckets, of which the second starts before the first ends, at the end of the codes, behind it, and at bit 0.
    for start in [5u64, 16, 17, 0] {
        let dimensions = Dimensions {
            remainder_bits: 1,
            directory_bits: 8,
            num_buckets: 2,
            bucket_range: 16,
            codes_len: 2,
            directory: Directory::Within,
        };
        for first in [0u64, 7] {
            // The line leads to bit 8.
            let fields = [(128 + first) as u8, (128 + start - 8) as u8];
            let payload = [&fields[..], &[0b1011_0110, 0b1101_0101]].concat();
            let hashes: Vec<u64> = (0..2).flat_map(|b| (0..16).filter_map(move |v| dimensions.hash(b, v))).collect();
            let name = format!("golomb: buckets that start at bits {first} and {start} of 16");
            cases.push(block_case(name, block(&dimensions, 1, 2, &payload), &hashes));
        }
    }
    // The second of two buckets starts at a bit of the codes, but for multiples of powers of two.
    for high in [16, 25, 32, 48, 55] {
        let dimensions = Dimensions {
            remainder_bits: 1,
            directory_bits: 57,
            num_buckets: 2,
            bucket_range: 16,
            codes_len: 2,
            directory: Directory::Within,
        };
        for start in [9 + (1 << high), 9u64.wrapping_sub(1 << high)] {
            let mut fields = vec![0; 15];
            put_bits(&mut fields, 0, 57, 1 << 56);
            put_bits(&mut fields, 57, 57, start.wrapping_sub(8).wrapping_add(1 << 56));
            let payload = [&fields[..], &[0b1011_0110, 0b1101_0101]].concat();
            let hashes: Vec<u64> = (0..2).flat_map(|b| (0..16).filter_map(move |v| dimensions.hash(b, v))).collect();
            cases.push(block_case(
                format!("golomb: bucket 1 starts at bit {start:#x} of 16"),
                block(&dimensions, 1, 2, &payload),
                &hashes,
            ));
        }
    }
    // So does one under an anchor.
    for high in [32, 63] {
        let dimensions = Dimensions { num_buckets: 65, codes_len: 8, ..all().next().expect("dimensions") };
        let mut anchor = [0; 8];
        put_bits(&mut anchor, 0, 64, 4 | 1 << high);
        let payload = [anchor, [0x99; 8]].concat();
        let hashes: Vec<u64> =
            (0..8).flat_map(|v| [63, 64].map(|b| (b, v))).filter_map(|(b, v)| dimensions.hash(b, v)).collect();
        cases.push(block_case(
            format!("golomb: an anchor of 4 + 2^{high}"),
            block(&dimensions, 1, 65, &payload),
            &hashes,
        ));
    }
    cases
}
