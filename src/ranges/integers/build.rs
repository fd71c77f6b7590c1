//! The writer's side.

use super::super::keys::Keys;
use super::super::query::{MAX_WIDTH, Numbers};
use super::codes::Blocks;
use super::params::{MAX_LOG_BLOCK, Params};
use super::query::MAX_BLOCKS;
use crate::build::{Built, Output, Tally, Unbuilt, fault};
use crate::codes::{self, Plan, Source};
use crate::error::NotIntegers;
use std::vec::Vec;

/// The most keys of a block, unless ranges would have too many blocks. They share a bucket or two, of 64 codes on average.
pub(super) const MAX_KEYS_PER_BLOCK: usize = 32;
/// The length of blocks, in ranges that the filter is for, if keys permit: most ranges then lie in one block.
const LOG_BLOCK_TO_RANGE: u32 = 3;
/// The most places of a bucket: those of 2²⁶ buckets have two hashes each.
const MAX_BUCKET_RANGE: u64 = 1 << 37;
/// The most blocks that such a range has to have room for.
const MAX_BLOCKS_TO_RANGE: u64 = MAX_BLOCKS as u64 - 1;

/// Returns the logarithm of the greatest blocks of which none has more than [`MAX_KEYS_PER_BLOCK`] of ascending numbers.
fn log_least_span(numbers: impl Iterator<Item = u128>) -> u32 {
    let (mut before, mut least) = ([0; MAX_KEYS_PER_BLOCK], u128::MAX);
    for (index, number) in numbers.enumerate() {
        let before = &mut before[index % MAX_KEYS_PER_BLOCK];
        if index >= MAX_KEYS_PER_BLOCK {
            least = least.min(number ^ *before);
        }
        *before = number;
    }
    least.ilog2()
}

/// Appends the payload of `keys`, sorted and at least one, for ranges of up to `len` integers, in `range_per_key` times
/// as many places. If the keys are not of one length, or have more than 16 bytes after their common prefix, or crowd too
/// much for such ranges, nothing is appended.
pub(in crate::ranges) fn build(
    keys: &Keys,
    len: u64,
    range_per_key: f64,
    out: &mut Vec<u8>,
    checks: bool,
) -> Result<Built<Params>, NotIntegers> {
    let key_len = keys.common_len().ok_or_else(|| {
        let (shortest, longest) = keys.extent();
        NotIntegers::Lengths { shortest: shortest as u64, longest: longest as u64 }
    })?;
    let prefix_len = keys.common_prefix_len();
    let width = key_len - prefix_len;
    if width > MAX_WIDTH {
        return Err(NotIntegers::Width { bytes: width as u64, max: MAX_WIDTH as u64 });
    }
    if prefix_len > usize::from(u16::MAX) {
        return Err(NotIntegers::Prefix { bytes: prefix_len as u64, max: u16::MAX.into() });
    }
    let start = out.len();
    let (first_key, last_key) = (keys.get(0), keys.get(keys.len() - 1));
    let numbers = Numbers { prefix: &first_key[..prefix_len], width };
    let number = |index: usize| numbers.number(&keys.bytes()[index * key_len + prefix_len..]);
    let mut plan = Plan::new(keys.len() as u64, range_per_key);
    plan.buckets.range = plan.buckets.range.min(MAX_BUCKET_RANGE);
    let (buckets, hash_at) = (plan.buckets, plan.buckets.hash_at());
    let most = (len.max(1).ilog2() + LOG_BLOCK_TO_RANGE).min(buckets.range.ilog2()).min(MAX_LOG_BLOCK.into());
    let least = u64::BITS - (len.saturating_sub(1) / MAX_BLOCKS_TO_RANGE).leading_zeros();
    let crowded = log_least_span((0..keys.len()).map(number));
    let mut hashes = Vec::with_capacity(keys.len());
    for log_len in (least..=most.min(crowded.max(least))).rev() {
        let blocks = Blocks { buckets, log_len };
        hashes.clear();
        let (mut all, mut block_before, mut first) = (Tally::default(), None, (0, 0));
        for index in 0..keys.len() {
            let (block, low) = blocks.split(number(index));
            if block_before != Some(block) {
                (block_before, first) = (Some(block), blocks.locate(block));
            }
            let hash = hash_at(blocks.code(first, low));
            all = all + Tally::of([hash]);
            hashes.push(hash);
        }
        // Prefix, first number, last number.
        out.extend_from_slice(first_key);
        out.extend_from_slice(&last_key[prefix_len..]);
        fault::inject(&mut out[start..]);
        match codes::build(plan, Source::Places, &mut hashes, all, &mut Output::Vec(out), checks) {
            Ok(built) => {
                let params = Params {
                    width: width as u8,
                    log_block: log_len as u8,
                    prefix_len: prefix_len as u16,
                    codes: built.params,
                };
                let (first, rest) = out[start..].split_at(key_len);
                let has_ends = first == first_key && rest.starts_with(&last_key[prefix_len..]);
                let is_checked = built.is_checked && hashes.len() == keys.len() && has_ends;
                return Ok(Built { params, is_checked });
            }
            // A bucket is longer than readers permit.
            Err(Unbuilt::Unsolved { .. } | Unbuilt::Repeated | Unbuilt::NoRoom(_)) => out.truncate(start),
        }
    }
    Err(NotIntegers::Crowded { len, within: 1 << least })
}
