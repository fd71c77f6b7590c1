//! The builder: from sorted hashes to directory and codes.

use super::{Buckets, ENTRIES_PER_BUCKET, GROUP, MAX_ENTRIES_BESIDE, MAX_ENTRIES_PER_BUCKET, Params, Plan, Slope};
use crate::filter::output::Output;
use crate::filter::seam::{Hashes, Unbuilt};
use crate::hash::KeyHash;
use crate::{bits, bytes};
use std::vec::Vec;

/// Returns the gaps, as stored, of the bucket that contains `keys`.
fn gaps(buckets: Buckets, keys: &[u64]) -> impl Iterator<Item = u64> {
    let mut next_least = 0;
    keys.iter().filter_map(move |&key| {
        let (_, offset) = buckets.locate(KeyHash::from_raw(key));
        // Two hashes may share an offset, which is then stored once.
        let gap = offset.checked_sub(next_least)?;
        next_least = offset + 1;
        Some(gap)
    })
}

/// Calls `visit` with each bucket and its keys, in order, empty buckets included.
fn for_each_bucket(buckets: Buckets, hashes: &[u64], mut visit: impl FnMut(u64, &[u64])) {
    let mut rest = hashes;
    for bucket in 0..buckets.num {
        let len = rest.iter().take_while(|&&h| buckets.locate(KeyHash::from_raw(h)).0 == bucket).count();
        let (keys, later) = rest.split_at(len);
        visit(bucket, keys);
        rest = later;
    }
}

/// Appends directory and codes of `hashes` (sorted, distinct). It makes two passes, the first for the lengths, and
/// keeps 8 bytes a bucket meanwhile.
///
/// # Errors
/// [`Unbuilt::Unsolved`] if a bucket is longer than [`Params::max_bucket_bits`], which readers refuse; and if `hashes`
/// are not remapped and crowd in few buckets ([`MAX_ENTRIES_PER_BUCKET`], [`MAX_ENTRIES_BESIDE`]).
pub(super) fn build(plan: Plan, hashes: Hashes<'_>, out: &mut Output<'_>) -> Result<Params, Unbuilt> {
    let Plan { buckets, remainder_bits } = plan;
    let Hashes { hashes, are_remapped } = hashes;
    let hashes = &*hashes;
    let width = u32::from(remainder_bits);
    let mut starts = Vec::with_capacity(buckets.num as usize + 1);
    let (mut code_bits, mut most_bits, mut most_entries, mut squares) = (0, 0, 0, 0);
    for_each_bucket(buckets, hashes, |_, keys| {
        starts.push(code_bits);
        let bucket_bits = gaps(buckets, keys).map(|gap| (gap >> width) + 1 + u64::from(width)).sum::<u64>();
        code_bits += bucket_bits;
        let num_entries = keys.len() as u64;
        (most_bits, most_entries) = (most_bits.max(bucket_bits), most_entries.max(num_entries));
        squares += u128::from(num_entries) * u128::from(num_entries);
    });
    // The last bucket ends where the payload does.
    code_bits = code_bits.next_multiple_of(8);
    starts.push(code_bits);

    let slope = Slope::new(code_bits, buckets.num);
    let directory_bits = if buckets.num == 1 { 0 } else { directory_bits(&starts, slope) };
    let params = Params { remainder_bits, directory_bits, entries_per_bucket: ENTRIES_PER_BUCKET as u8, buckets };
    let num_entries = hashes.len() as u64;
    let is_crowded =
        most_entries > MAX_ENTRIES_PER_BUCKET || squares > u128::from(num_entries) * u128::from(MAX_ENTRIES_BESIDE);
    // The last bucket is up to seven bits longer.
    if most_bits + 7 > params.max_bucket_bits() || (is_crowded && !are_remapped) {
        return Err(Unbuilt::Unsolved { num_seeds: 1, num_entries });
    }
    let directory_len = params.directory_len().expect("a directory shorter than the hashes it was made from");
    let payload = out.append_zeros((directory_len + code_bits / 8) as usize)?;
    let (directory, codes) = payload.split_at_mut(directory_len as usize);
    if buckets.num > 1 {
        write_directory(&params, &starts, slope, directory);
    }
    for_each_bucket(buckets, hashes, |bucket, keys| {
        let (mut unary, mut remainders) = (starts[bucket as usize], starts[bucket as usize + 1]);
        for gap in gaps(buckets, keys) {
            unary += gap >> width;
            bits::write(codes, unary, 1, 1);
            unary += 1;
            remainders -= u64::from(width);
            bits::write(codes, remainders, width, gap & ((1 << width) - 1));
        }
    });
    Ok(params)
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
