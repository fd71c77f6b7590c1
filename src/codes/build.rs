//! The builder: from hashes to codes and directory.

use super::crowd::Crowd;
use super::decode::Bucket;
use super::{Buckets, ENTRIES_PER_BUCKET, GROUP, Params, Slope, View, max_bucket_bits, sizing};
use crate::build::{Built, MAX_PARTS, NoRoom, Output, Partitions, Repeated, Tally, Unbuilt, check_sorted, fault};
use crate::hash::{KeyHash, fast_range};
use crate::{bits, bytes};
use std::vec::Vec;

/// About how many hashes are sorted together: as few as the grouping of all takes no longer for.
const PART_LEN: usize = 32;

/// A multiplier with no other property than that about half of its bits are ones.
const MARK_MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// All that is known before a build, which alone determines the width of the directory's fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) buckets: Buckets,
    pub(crate) remainder_bits: u8,
}

impl Plan {
    /// Plans for `num_entries` (at least 1) hashes in `range_per_entry` times as many places, 1 to 2⁴⁸, and fewer than 2⁶⁴
    /// in all.
    pub(crate) fn new(num_entries: u64, range_per_entry: f64) -> Self {
        let num = num_entries.div_ceil(ENTRIES_PER_BUCKET);
        let range = (range_per_entry * (num_entries as f64 / num as f64)) as u64;
        let buckets = Buckets { num, range: range.saturating_add(1).min(u64::MAX / num) };
        Self { buckets, remainder_bits: sizing::best_remainder_bits(range_per_entry) as u8 }
    }
}

/// The origin of the numbers of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Those of a set, each once. They may [crowd](Crowd), and be remapped then.
    Hashes,
    /// Those of a set that was remapped, each once.
    Remapped,
    /// Those [of places](Buckets::hash_at), which may crowd as far as readers permit, and be repeated.
    Places,
}

impl Source {
    fn sort(self, hashes: &mut [u64]) -> Result<(), Repeated> {
        if self == Self::Places {
            hashes.sort_unstable();
            return Ok(());
        }
        check_sorted(hashes)
    }
}

/// Appends directory and codes of `hashes`, whose tally is `all`. Meanwhile it keeps 8 bytes a bucket, and what
/// [`Partitions`] does.
///
/// # Errors
/// [`Unbuilt::Unsolved`] if a bucket is longer than [`Params::max_bucket_bits`], which readers refuse; and if hashes that
/// are not remapped crowd.
pub(crate) fn build(
    plan: Plan,
    source: Source,
    hashes: &mut [u64],
    all: Tally,
    out: &mut Output<'_>,
    checks: bool,
) -> Result<Built<Params>, Unbuilt> {
    let start = out.len();
    let crowd = (source == Source::Hashes).then(|| Crowd::new(plan.buckets, hashes.len() as u64));
    let mut codes = Codes::new(plan, crowd, hashes.len() as u64, out);
    let num_sorted = hashes.len() / PART_LEN;
    let num_parts = if num_sorted <= MAX_PARTS { num_sorted } else { num_sorted.isqrt().min(MAX_PARTS) };
    let appended = if num_parts < 2 {
        source.sort(hashes)?;
        codes.append_all(hashes)?;
        Tally::of(hashes.iter().copied())
    } else {
        // Large sets are grouped a second time, part by part in a cache.
        let per_part = (num_sorted / num_parts).min(MAX_PARTS);
        let number = |hash, num_parts: usize| fast_range(hash, num_parts as u64) as usize;
        let parts = Partitions::new(hashes, num_parts, |hash| number(hash, num_parts));
        let (mut of_part, mut of_smaller, mut appended) = (Vec::new(), Vec::new(), Tally::default());
        let mut append = |some: &mut [u64]| -> Result<(), Unbuilt> {
            source.sort(some)?;
            appended = appended + Tally::of(some.iter().copied());
            codes.append_all(some)
        };
        for part in 0..num_parts {
            parts.gather(part, &mut of_part);
            // A crowded part may have all of its hashes in one smaller part.
            if per_part == 1 || of_part.len() > 8 * PART_LEN * per_part {
                append(&mut of_part)?;
                continue;
            }
            let number = |hash| number(hash, num_parts * per_part) - part * per_part;
            let smaller = Partitions::new(&mut of_part, per_part, number);
            (0..per_part).try_for_each(|part| {
                smaller.gather(part, &mut of_smaller);
                append(&mut of_smaller)
            })?;
        }
        appended
    };
    let (params, values) = codes.finish()?;
    let payload = out.written_mut(start);
    fault::inject(payload);
    let is_checked = checks
        && appended == all
        && View::check(params, payload, 0).is_ok_and(|layout| {
            let view = View::new(&layout, payload);
            values
                == (0..plan.buckets.num).fold(Tally::default(), |sum, bucket| sum + tally(bucket, view.bucket(bucket)))
        });
    Ok(Built { params, is_checked })
}

/// Returns the tally of the offsets that queries find in `bucket`.
fn tally(number: u64, bucket: Option<Bucket<'_>>) -> Tally {
    Tally::of(bucket.into_iter().flat_map(Bucket::offsets).map(|offset| mark(number, offset)))
}

/// Returns the number by which an offset of a bucket counts in a tally. It is not linear, so that an error in one offset
/// does not cancel that in another.
#[inline]
fn mark(bucket: u64, offset: u64) -> u64 {
    let product = (offset ^ bucket.rotate_left(32)).wrapping_mul(MARK_MULTIPLIER);
    product ^ product >> 32
}

/// The codes that have been appended.
struct Codes<'o, 'v> {
    plan: Plan,
    num_entries: u64,
    out: &'o mut Output<'v>,
    /// The place of the codes in `out`.
    begin: usize,
    /// The length of `out`, if that is too short: codes are then counted, not written.
    too_short: Option<u64>,
    /// The starts of the buckets before the current one, and, last, its own: in bits of the codes.
    starts: Vec<u64>,
    /// The gaps of the current bucket, as stored.
    gaps: Vec<u64>,
    /// The least offset that may follow in the current bucket.
    next_least: u64,
    /// The number of the current bucket's entries.
    entries_of_bucket: u64,
    /// Counts of the other buckets, unless the hashes are remapped.
    crowd: Option<Crowd>,
    /// The tally of the offsets.
    values: Tally,
}

impl<'o, 'v> Codes<'o, 'v> {
    fn new(plan: Plan, crowd: Option<Crowd>, num_entries: u64, out: &'o mut Output<'v>) -> Self {
        let begin = out.len();
        let mut starts = Vec::with_capacity(plan.buckets.num as usize + 1);
        starts.push(0);
        let (gaps, values) = (Vec::with_capacity(2 * ENTRIES_PER_BUCKET as usize), Tally::default());
        let (next_least, entries_of_bucket) = (0, 0);
        Self {
            plan,
            num_entries,
            out,
            begin,
            too_short: None,
            starts,
            gaps,
            next_least,
            entries_of_bucket,
            crowd,
            values,
        }
    }

    /// Appends `hashes`, which are sorted and follow those before.
    fn append_all(&mut self, hashes: &[u64]) -> Result<(), Unbuilt> {
        for &hash in hashes {
            let (bucket, offset) = self.plan.buckets.locate(KeyHash::from_raw(hash));
            while self.bucket() < bucket {
                self.end_bucket()?;
            }
            self.entries_of_bucket += 1;
            // Two hashes may share an offset, which is then stored and counted once.
            if offset + 1 == self.next_least {
                continue;
            }
            self.values = self.values + Tally::of([mark(bucket, offset)]);
            // An offset out of order would be counted and not stored, which the check notices.
            if let Some(gap) = offset.checked_sub(self.next_least) {
                self.gaps.push(gap);
                self.next_least = offset + 1;
            }
        }
        Ok(())
    }

    /// Returns the number of the current bucket.
    fn bucket(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// Appends the codes of the current bucket.
    fn end_bucket(&mut self) -> Result<(), Unbuilt> {
        let width = u32::from(self.plan.remainder_bits);
        let start = self.starts[self.starts.len() - 1];
        let mut end = start + self.gaps.iter().map(|gap| (gap >> width) + 1 + u64::from(width)).sum::<u64>();
        let is_crowded = self.crowd.as_mut().is_some_and(|crowd| {
            crowd.add(self.entries_of_bucket, &self.gaps);
            crowd.is_crowded()
        });
        // The last bucket ends where the payload does: it is up to seven bits longer.
        if is_crowded || end - start + 7 > max_bucket_bits(width) {
            return Err(self.unsolved());
        }
        if self.bucket() + 1 == self.plan.buckets.num {
            end = end.next_multiple_of(8);
        }
        self.write_bucket(start, end);
        self.starts.push(end);
        (self.next_least, self.entries_of_bucket) = (0, 0);
        Ok(())
    }

    /// Writes the codes of the current bucket to the bits from `start` to `end`, if there is room.
    fn write_bucket(&mut self, start: u64, end: u64) {
        let width = u32::from(self.plan.remainder_bits);
        let gaps = self.gaps.drain(..);
        let len = self.begin + end.div_ceil(8) as usize;
        if self.too_short.is_some() {
            return;
        }
        if let Err(NoRoom { actual_bytes, .. }) = self.out.append_zeros(len - self.out.len()) {
            self.too_short = Some(actual_bytes);
            return;
        }
        let codes = self.out.written_mut(self.begin);
        // Fields are collected in a register: each one written to memory would wait for the one before it.
        let (mut unary, mut ones_start, mut ones) = (start, start, 0);
        let (mut remainders, mut fields, mut fields_len) = (end, 0, 0);
        for gap in gaps {
            unary += gap >> width;
            if unary - ones_start >= u64::from(bits::MAX_FIELD_BITS) {
                bits::write(codes, ones_start, bits::MAX_FIELD_BITS, ones);
                (ones_start, ones) = (unary, 0);
            }
            ones |= 1 << (unary - ones_start);
            unary += 1;
            if fields_len + width > bits::MAX_FIELD_BITS {
                bits::write(codes, remainders, fields_len, fields);
                (fields, fields_len) = (0, 0);
            }
            remainders -= u64::from(width);
            fields = fields << width | gap & ((1 << width) - 1);
            fields_len += width;
        }
        bits::write(codes, ones_start, bits::MAX_FIELD_BITS, ones);
        bits::write(codes, remainders, fields_len, fields);
    }

    /// Appends the buckets that are left, and puts the directory before the codes. Returns the tally of the offsets,
    /// too.
    fn finish(mut self) -> Result<(Params, Tally), Unbuilt> {
        let Plan { buckets, remainder_bits } = self.plan;
        while self.bucket() < buckets.num {
            self.end_bucket()?;
        }
        let code_bits = self.starts[buckets.num as usize];
        let slope = Slope::new(code_bits, buckets.num);
        let directory_bits = if buckets.num == 1 { 0 } else { directory_bits(&self.starts, slope) };
        let params = Params { remainder_bits, directory_bits, entries_per_bucket: ENTRIES_PER_BUCKET as u8, buckets };
        let directory_len = params.directory_len().expect("a directory shorter than the hashes it was made from");
        let (directory_len, codes_len) = (directory_len as usize, (code_bits / 8) as usize);
        if let Some(actual_bytes) = self.too_short {
            let needed_bytes = (self.begin + directory_len + codes_len) as u64;
            return Err(NoRoom { needed_bytes, actual_bytes }.into());
        }
        if buckets.num > 1 {
            self.out.append_zeros(directory_len)?;
            let payload = self.out.written_mut(self.begin);
            payload.copy_within(..codes_len, directory_len);
            payload[..directory_len].fill(0);
            write_directory(&params, &self.starts, slope, &mut payload[..directory_len]);
        }
        Ok((params, self.values))
    }

    fn unsolved(&self) -> Unbuilt {
        Unbuilt::Unsolved { num_seeds: 1, num_entries: self.num_entries }
    }
}

/// Returns the deviation of each bucket's start from the line through its group's anchor.
fn deviations(starts: &[u64], slope: Slope) -> impl Iterator<Item = i64> {
    let buckets = &starts[..starts.len() - 1];
    buckets.chunks(GROUP as usize).flat_map(move |group| {
        (0..).zip(group).map(move |(index, start)| (start - group[0]).wrapping_sub(slope.at(index)) as i64)
    })
}

/// Returns the least width whose biased range contains every deviation.
fn directory_bits(starts: &[u64], slope: Slope) -> u8 {
    let bits_for = |d: i64| match d {
        0 => 0,
        _ => 65 - if d < 0 { !d } else { d }.leading_zeros(),
    };
    let width = deviations(starts, slope).map(bits_for).max().unwrap_or(0);
    u8::try_from(width).expect("at most 65")
}

fn write_directory(params: &Params, starts: &[u64], slope: Slope, directory: &mut [u8]) {
    let (anchors, fields) = directory.split_at_mut(params.anchors_len() as usize);
    for (group, &start) in starts[..starts.len() - 1].iter().step_by(GROUP as usize).skip(1).enumerate() {
        bytes::put_u64(anchors, group * super::ANCHOR_LEN as usize, start);
    }
    let width = u32::from(params.directory_bits);
    for (index, deviation) in (0..).zip(deviations(starts, slope)) {
        bits::write(fields, index * u64::from(width), width, params.bias().wrapping_add(deviation as u64));
    }
}
