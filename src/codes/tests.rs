//! Every engine this machine has against the portable one, and that against decoding code by code.

use super::decode::Bucket;
use super::engine::Engine;
#[cfg(simd_x86_64)]
use super::search::search;
use super::{Buckets, ENTRIES_PER_BUCKET, MAX_REMAINDER_BITS, Params, Plan, Source, View, build};
use crate::build::{Built, Output, Tally};
use crate::error::DecodeError;
use crate::hash::{KeyHash, mix};
use std::vec::Vec;

/// As `format/golomb.md` words it: both starts by themselves, every offset decoded, none skipped.
fn naive(view: &View<'_>, bucket: u64, from: u64, to: u64) -> bool {
    let (start, end) = (view.start(bucket), view.start(bucket + 1));
    if start < view.layout.codes_start || start > end || end > view.layout.codes_end {
        return true;
    }
    let remainder_bits = view.layout.params.remainder_bits();
    if end - start > 512 * (u64::from(remainder_bits) + 2) {
        return true;
    }
    let mut offsets = Bucket { codes: view.payload, start, end, remainder_bits }.offsets();
    offsets.any(|offset| (from..=to).contains(&offset))
}

/// Compares all answers to `hashes`, and to ranges that begin with them, and prefetches for them; `false` if `payload` is
/// refused.
fn agree(params: Params, payload: &[u8], hashes: &[u64]) -> bool {
    let Ok(mut layout) = View::check(params, payload, 0) else { return false };
    let engines: Vec<Engine> = Engine::all(&params).collect();
    for &hash in hashes {
        let (bucket, from) = params.buckets.locate(KeyHash::from_raw(hash));
        let len = mix(hash) >> (63 - mix(!hash) % 40);
        let to = from.saturating_add(len).min(params.buckets.range - 1);
        View::new(&layout, payload).prefetch_directory(bucket);
        View::new(&layout, payload).prefetch_codes(bucket);
        let [of_hash, of_range] = [from, to].map(|to| naive(&View::new(&layout, payload), bucket, from, to));
        for &engine in &engines {
            layout.engine = engine;
            let view = View::new(&layout, payload);
            let answers = [view.may_contain(KeyHash::from_raw(hash)), view.may_have(bucket, from, to)];
            assert_eq!(answers, [of_hash, of_range], "{engine:?} {hash:?} {len} {params:?} {payload:02x?}");
        }
    }
    true
}

/// Appends to `payload`, in which all hashes must be found.
fn built(plan: Plan, hashes: &[u64], payload: &mut Vec<u8>) -> Params {
    let all = Tally::of(hashes.iter().copied());
    let built = build(plan, Source::Remapped, &mut hashes.to_vec(), all, &mut Output::Vec(payload), true);
    let Ok(Built { params, is_checked: true }) = built else { panic!("{built:?}") };
    params
}

/// Ranges of a bucket for remainders of `remainder_bits`: as planned, dense, and with quotients of many bits.
fn ranges(remainder_bits: u32, load: u64) -> [u64; 4] {
    let planned = (ENTRIES_PER_BUCKET << remainder_bits) * 3 / 2;
    [planned, planned / 3 + 1, load + 3, planned.saturating_mul(6)]
}

#[test]
fn engines_agree_on_what_is_built() {
    for remainder_bits in 0..=MAX_REMAINDER_BITS {
        for load in [1, 3, 20, 64, 65, 97, 130, 300] {
            for (bucket_range, num_buckets) in ranges(remainder_bits, load).into_iter().zip([7, 3, 66, 1]) {
                let buckets = Buckets { num: num_buckets, range: bucket_range };
                let plan = Plan { buckets, remainder_bits: remainder_bits as u8 };
                let seed = bucket_range ^ load << 50;
                let mut hashes: Vec<u64> = (0..load * num_buckets.min(7)).map(|i| mix(seed ^ (i + 1))).collect();
                hashes.sort_unstable();
                let mut payload = Vec::new();
                let params = built(plan, &hashes, &mut payload);
                let others = (0..100).map(|i| mix(seed ^ (i + 1_000_000)));
                let asked: Vec<u64> = hashes.iter().step_by(1 + hashes.len() / 200).copied().chain(others).collect();
                assert!(agree(params, &payload, &asked), "{params:?} is refused");
                let layout = View::check(params, &payload, 0).expect("accepted before");
                let view = View::new(&layout, &payload);
                assert!(hashes.iter().all(|&hash| view.may_contain(KeyHash::from_raw(hash))));
                damaged(params, &mut payload, &asked);
            }
        }
    }
}

/// One byte after the other is changed and stays so, half of them in the first 64, where the directory is.
fn damaged(params: Params, payload: &mut [u8], asked: &[u64]) {
    for round in 0..6 {
        let random = mix(payload.len() as u64 ^ round << 32);
        let span = if round % 2 == 0 { payload.len().min(64) } else { payload.len() };
        let Some(byte) = payload.get_mut((random >> 32) as usize % span.max(1)) else { return };
        *byte ^= random as u8;
        agree(params, payload, &asked[..asked.len().min(60)]);
    }
}

/// Bytes and dimensions at random, of which many a directory leads out of the codes.
#[test]
fn engines_agree_on_any_bytes() {
    let mut opened = 0;
    for case in 0..20_000u64 {
        let random = |i: u64| mix(case * 1000 + i + 1);
        let payload: Vec<u8> =
            (0..random(0) % 400).map(|i| ((random(10 + i) & random(500 + i)) | (random(900) % 2)) as u8).collect();
        let fields = [(random(1) % 50) as u8, (random(2) % 60) as u8, 1 + (random(3) % 255) as u8];
        let fields = if case % 2 == 0 { [fields[0] % 12, fields[1] % 8, 64] } else { fields };
        let Ok(params) = Params::new(fields, 1 + random(4) % 20, 1 + random(5) % (1 << (random(6) % 59))) else {
            continue;
        };
        let asked: Vec<u64> = (0..40).map(|i| random(2000 + i)).collect();
        opened += u32::from(agree(params, &payload, &asked));
    }
    assert!(opened > 2000, "only {opened} opened");
}

/// A run of empty range as long as a search's window, after no or some entries, then adjacent entries: bits after the
/// last code must not be taken for a code, nor a code beyond the window for one within it, wherever the window ends.
#[test]
fn engines_agree_where_entries_cluster() {
    let mut asked = 0;
    for remainder_bits in 0..=12u64 {
        let bucket_range = 200 << remainder_bits;
        // The least hash of an offset: a single bucket's offset is ⌊h · range / 2⁶⁴⌋.
        let hash_at = |offset: u64| (u128::from(offset) << 64).div_ceil(bucket_range.into()) as u64;
        for (quotient, load) in (48..72).flat_map(|quotient| (1..=6).map(move |load| (quotient, load))) {
            for lead in 0..=3 {
                let remainder = mix(quotient << 8 | load) % (1 << remainder_bits);
                let first = (quotient << remainder_bits) + remainder;
                let hashes: Vec<u64> = (0..lead).chain((0..load).map(|i| first + 3 * i)).map(hash_at).collect();
                let buckets = Buckets { num: 1, range: bucket_range };
                let plan = Plan { buckets, remainder_bits: remainder_bits as u8 };
                let mut payload = Vec::new();
                let params = built(plan, &hashes, &mut payload);
                let sought = (40..90).map(|quotient| (quotient << remainder_bits) + remainder);
                let near = (0..=lead).chain(first - 4..first + 3 * load + 4);
                let others: Vec<u64> = near.chain(sought).map(hash_at).collect();
                assert!(agree(params, &payload, &others), "{params:?} is refused");
                asked += others.len();
            }
        }
    }
    assert!(asked > 500_000, "only {asked} asked");
}

/// The search with vectors leaves few queries to the portable one, which takes much longer and would hide its defects.
#[cfg(simd_x86_64)]
#[test]
fn vectors_answer_most_queries() {
    for remainder_bits in 5..=24 {
        let num_entries = 64 * 500;
        // As planned: 2^r times the rate is about ln 2.
        let buckets = Buckets { num: 500, range: (ENTRIES_PER_BUCKET << remainder_bits) * 3 / 2 };
        let plan = Plan { buckets, remainder_bits: remainder_bits as u8 };
        let mut hashes: Vec<u64> = (0..num_entries).map(|i| mix(i + 1)).collect();
        hashes.sort_unstable();
        let mut payload = Vec::new();
        let params = built(plan, &hashes, &mut payload);
        let layout = View::check(params, &payload, 0).expect("sound");
        let unanswered = |hashes: &mut dyn Iterator<Item = u64>| {
            let answers = hashes.map(|hash| params.buckets.locate(KeyHash::from_raw(hash)));
            let answers = answers.map(|(bucket, offset)| match Engine::best(&params) {
                Engine::Avx2(proof) => search(proof, &layout, &payload, bucket, offset, offset),
                #[cfg(simd_avx512)]
                Engine::Avx512Vbmi2(proof) => search(proof, &layout, &payload, bucket, offset, offset),
                _ => Some(true),
            });
            answers.filter(|answer| answer.is_none()).count() as u64
        };
        let present = unanswered(&mut hashes.iter().copied());
        let absent = unanswered(&mut (0..num_entries).map(|i| mix(!i)));
        assert!(present.max(absent) < num_entries / 50, "{remainder_bits} bits: {present} and {absent} left");
    }
}

/// Three fields of 5 bits leave one bit of the directory's second byte unused; there is no anchor.
#[test]
fn a_bit_behind_the_directory_is_named_by_its_place() {
    let params = Params::new([3, 5, 64], 3, 1000).expect("legal");
    assert!(View::check(params, &[0xff, 0x7f, 0], 100).is_ok());
    let error = View::check(params, &[0, 0x80, 0], 100).expect_err("padding");
    assert_eq!(error, DecodeError::Padding { offset_bytes: 101, found: 0x80 });
    let error = View::check(params, &[0, 0], 100).expect_err("no codes");
    assert_eq!(error, DecodeError::PayloadLength { declared_bytes: 3, actual_bytes: 2 });
}

/// The hash of a place is located there: of all places of few, and of some of up to 2⁶³.
#[test]
fn hashes_of_places_are_located_there() {
    let check = |buckets: Buckets, place: (u64, u64)| {
        assert_eq!(buckets.locate(KeyHash::from_raw(buckets.hash_at()(place))), place, "{buckets:?}");
    };
    for (num, range) in (1..20).flat_map(|num| (1..40).map(move |range| (num, range))) {
        (0..num * range).for_each(|place| check(Buckets { num, range }, (place / range, place % range)));
    }
    for i in 0..100_000 {
        let num = 1 + mix(i) % (1 << (mix(!i) % 27));
        let most = (1u64 << 63) / num;
        let range = if i % 3 == 0 { most } else { (1 + mix(i << 1) % most) >> (mix(i << 2) % 60) };
        let buckets = Buckets { num, range: range.max(1) };
        let place = (mix(i << 3) % num, mix(i << 4) % buckets.range);
        [place, (0, 0), (num - 1, buckets.range - 1)].into_iter().for_each(|place| check(buckets, place));
    }
}
