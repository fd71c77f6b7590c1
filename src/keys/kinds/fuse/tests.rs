//! Built filters against the definition: the four slots of every entry add up to its fingerprint, and no other claim is
//! made of the bytes.

use super::aside::unknowns;
use super::build::{build, solve};
use super::groups::Groups;
use super::peel::Peeling;
use super::sizing::{self, MAX_FINGERPRINT_BITS, TRIED_SEEDS};
use super::slots::Slots;
use super::{KindView, Params, Plan, Settings, View};
use crate::build::Output;
use crate::error::DecodeError;
use crate::hash::{KeyHash, mix};
use crate::keys::kinds::seam::{Built, Hashes, KindParams, KindPlan, KindSettings, Mode, Unbuilt};
use crate::keys::kinds::size::{Bits, Target};
use std::vec::Vec;

fn plan(fingerprint_bits: u32, num_entries: u64) -> Plan {
    let target = Target::Rate(sizing::false_positive_rate(fingerprint_bits));
    Settings.plan(target, num_entries).expect("short enough").plan
}

fn built(plan: Plan, hashes: &[u64]) -> (Params, Vec<u8>) {
    let (mut hashes, mut payload) = (hashes.to_vec(), Vec::new());
    let params = plan
        .build(Hashes::remapped(&mut hashes), &mut Output::Vec(&mut payload), Mode::default())
        .expect("solved")
        .params;
    (params, payload)
}

/// The number of `hashes` that a filter denies.
fn num_denied((params, payload): &(Params, Vec<u8>), hashes: &[u64]) -> usize {
    let layout = View::check(*params, payload, 0).expect("its own bytes");
    let view = View::new(&layout, payload);
    hashes.iter().filter(|&&hash| !view.may_contain(KeyHash::from_raw(hash))).count()
}

#[test]
fn every_entry_is_found() {
    for num_entries in (1..300).chain([1_000, 20_000, 300_000]) {
        for fingerprint_bits in [1, 7, 8, 9, 16, 25, 32] {
            let hashes: Vec<u64> = (0..num_entries).map(|i| mix(i + (num_entries << 32))).collect();
            let filter = built(plan(fingerprint_bits, num_entries), &hashes);
            assert_eq!(num_denied(&filter, &hashes), 0, "of {num_entries}, {:?}", filter.0);
        }
    }
}

/// `count` hashes in `num_parts` parts of a `share` of the range.
fn clustered(count: u64, num_parts: u64, share: u64) -> Vec<u64> {
    (0..count).map(|i| ((i % num_parts) << 62) + mix(i + count) / share).collect()
}

/// Hashes in one or two small parts of the range are given up before any is set aside, which is the dear step: the
/// attempt counts and takes away each entry once.
#[test]
fn clustered_hashes_are_given_up_early() {
    let mut given_up = 0;
    for count in (8..400).step_by(3).chain([512, 1_000, 3_000, 10_000]) {
        for (num_parts, share) in [1, 2].into_iter().flat_map(|parts| [128, 512, 4096].map(|share| (parts, share))) {
            let hashes = clustered(count, num_parts, share);
            let plan = plan(8, count);
            let mut peeling = Peeling::<u32>::new(Slots::new(&plan), plan.num_slots() as usize);
            let is_solved = peeling.peel(&Groups::new(&mut hashes.clone()));
            let slots = peeling.slots;
            let mut touched: Vec<u64> = hashes.iter().flat_map(|&hash| slots.of(hash)).collect();
            touched.sort_unstable();
            touched.dedup();
            if touched.len() < hashes.len() {
                assert!(!is_solved && peeling.aside.is_empty(), "{count} in {num_parts} of {share}");
                given_up += 1;
            }
            // No more searches than entries, of no more entries each.
            assert!(peeling.aside.len() <= 128, "{count} in {num_parts} of {share}: {}", peeling.aside.len());
        }
    }
    assert!(given_up > 500, "{given_up}");
}

/// No set is given up that setting entries aside would have solved: the bytes are those of a builder that always tries.
#[test]
fn nothing_solvable_is_given_up() {
    let [mut given_up, mut solved] = [0, 0];
    for round in 0..3_000u64 {
        let count = 2 + mix(round) % 90;
        let plan =
            Params { fingerprint_bits: 8, log2_segment_len: 2, seed: 0, num_segments: 1 + (mix(!round) % 24) as u32 };
        let mut hashes: Vec<u64> = (0..count).map(|i| mix(i + (round << 20)) >> (mix(round ^ 77) % 6)).collect();
        let mut peeling = Peeling::<u32>::new(Slots::new(&plan), plan.num_slots() as usize);
        peeling.add(&hashes);
        peeling.take_away();
        let (may_be_solved, groups) = (peeling.may_be_solved(hashes.len()), Groups::new(&mut hashes));
        let is_solved = peeling.set_aside(&groups, count as usize) && unknowns(&peeling).is_some();
        assert!(may_be_solved || !is_solved, "round {round}");
        given_up += u32::from(!may_be_solved);
        solved += u32::from(is_solved);
    }
    assert!(given_up > 500 && solved > 500, "{given_up} given up, {solved} solved");
}

/// The fewer slots, the more entries are set aside: none, some, and more than sums of one word have unknowns for.
#[test]
fn entries_that_are_set_aside_are_found() {
    let hashes: Vec<u64> = (0..10_000).map(mix).collect();
    let [mut most, mut least] = [0, usize::MAX];
    for num_segments in [105, 85, 82] {
        let plan = Params { fingerprint_bits: 9, log2_segment_len: 7, seed: 0, num_segments };
        let mut peeling = Peeling::<u32>::new(Slots::new(&plan), plan.num_slots() as usize);
        assert!(peeling.peel(&Groups::new(&mut hashes.clone())));
        [most, least] = [most.max(peeling.aside.len()), least.min(peeling.aside.len())];
        let filter = built(plan, &hashes);
        assert_eq!(filter.0.seed, 0);
        assert_eq!(num_denied(&filter, &hashes), 0, "{num_segments} segments, {} set aside", peeling.aside.len());
    }
    assert!(least == 0 && most > 88, "{least} to {most}");
}

/// Hashes that all start in one slot, or in few, or are neighbours.
#[test]
fn odd_hashes_are_found() {
    let mut most_seeds = 0;
    for num_entries in [2, 129, 1_000, 30_000] {
        let shapes: [fn(u64) -> u64; 5] =
            [|i| i, |i| i << 44, |i| u64::MAX - i, |i| ((i % 3) << 62) | i, |i| mix(i) >> 20];
        for shape in shapes {
            let hashes: Vec<u64> = (0..num_entries).map(shape).collect();
            let filter = built(plan(10, num_entries), &hashes);
            assert_eq!(num_denied(&filter, &hashes), 0, "of {num_entries}, {:?}", filter.0);
            most_seeds = most_seeds.max(filter.0.seed);
        }
    }
    assert!(most_seeds > 0, "a seed after the first is used");
}

/// Few entries need a second seed now and then, many hardly ever: at least one seed in three suits any number of them.
#[test]
fn seeds_suffice() {
    let (mut num_tables, mut num_second, mut most_seeds) = (0, 0, 0);
    for num_entries in (1..400).chain((400..3_000).step_by(61)) {
        let (num_sets, mut num_failed) = (30, 0);
        for set in 0..num_sets {
            let hashes: Vec<u64> = (0..num_entries).map(|i| mix(i + (set << 40) + (num_entries << 20))).collect();
            let (params, _) = built(plan(1, num_entries), &hashes);
            num_failed += u64::from(params.seed);
            num_second += u64::from(params.seed > 0);
            most_seeds = most_seeds.max(params.seed);
            num_tables += 1;
        }
        // A binomial number, of failures until a success in each set.
        let failing = num_failed as f64 / (num_failed + num_sets) as f64;
        assert!(failing < 0.75, "{num_entries} entries: {num_failed} seeds of {} fail", num_failed + num_sets);
    }
    println!(
        "counted: {num_tables} small fuse tables, {num_second} with more than one seed, at most {most_seeds} failed"
    );
    // Three in four would fail at worst: 64 in a row with 10⁻⁸.
    assert!(most_seeds < 24);
    for num_entries in [100_000, 400_000] {
        for set in 0..4 {
            let hashes: Vec<u64> = (0..num_entries).map(|i| mix(i + (set << 40))).collect();
            assert!(built(plan(1, num_entries), &hashes).0.seed <= 1, "{num_entries}");
        }
    }
}

#[test]
fn absent_hashes_pass_at_the_predicted_rate() {
    for fingerprint_bits in [1, 4, 7, 8, 11] {
        let num_entries = 100_000;
        let hashes: Vec<u64> = (0..num_entries).map(mix).collect();
        let plan = plan(fingerprint_bits, num_entries);
        let (params, payload) = built(plan, &hashes);
        let layout = View::check(params, &payload, 0).expect("its own bytes");
        let view = View::new(&layout, &payload);
        let predicted = view.predicted_fpr();
        assert_eq!(predicted, 0.5f64.powi(fingerprint_bits as i32));
        assert_eq!(plan.expected_fpr(num_entries), predicted);
        let num_asked = 2_000_000u64;
        let passed = (0..num_asked).filter(|i| view.may_contain(KeyHash::from_raw(mix(!i)))).count() as f64;
        let (mean, deviation) =
            (predicted * num_asked as f64, (predicted * (1.0 - predicted) * num_asked as f64).sqrt());
        assert!((passed - mean).abs() < 4.0 * deviation, "{passed} of {num_asked}, expected {mean} ± {deviation}");
        // Slots that nobody owns are 0, or hold unknowns.
        let owned = num_entries as f64 / params.num_slots() as f64;
        assert!((0.5 * owned - 0.01..0.51).contains(&view.fill()), "{}", view.fill());
    }
}

/// The slots that a payload has for an entry, and no more than were requested.
#[test]
fn sizes_are_as_planned() {
    for (num_entries, most) in
        [(10, 2.8), (100, 1.36), (1_000, 1.16), (10_000, 1.127), (100_000, 1.087), (1_000_000, 1.071)]
    {
        for fingerprint_bits in [1, 8, 13, 32] {
            let target = Target::Rate(sizing::false_positive_rate(fingerprint_bits));
            let planned = Settings.plan(target, num_entries).expect("short enough");
            assert_eq!(planned.payload_bytes, planned.plan.payload_len());
            let bits = planned.plan.num_bits() as f64 / num_entries as f64;
            assert!(bits <= most * f64::from(fingerprint_bits), "{num_entries}: {bits}");
            let by_bits = |total| {
                let target = Target::Bits(Bits::new(total, num_entries, true));
                u32::from(Settings.plan(target, num_entries).expect("short enough").plan.fingerprint_bits)
            };
            if planned.payload_bytes * 8 > num_entries * 64 {
                continue; // more than a policy may give
            }
            assert_eq!(by_bits(planned.payload_bytes * 8), fingerprint_bits);
            assert_eq!(by_bits(planned.payload_bytes * 8 - 1), fingerprint_bits.saturating_sub(1).max(1));
        }
    }
    let hashes: Vec<u64> = (0..777).map(mix).collect();
    let (params, payload) = built(plan(9, 777), &hashes);
    assert_eq!(payload.len() as u64, params.payload_len());
}

#[test]
fn more_entries_than_32_bits_count() {
    let planned = Settings.plan(Target::Rate(0.01), (1 << 32) + 5).expect("within the format");
    let slots_per_key = planned.plan.num_slots() as f64 / ((1u64 << 32) + 5) as f64;
    assert!((1.0699..1.0701).contains(&slots_per_key), "{slots_per_key}");
    assert!(Settings.plan(Target::Rate(0.5), 1 << 49).is_ok_and(|planned| planned.payload_bytes > 1 << 46));
    assert!(Settings.plan(Target::Rate(0.5), 1 << 50).is_err_and(|too_long| too_long.payload_bytes > 1 << 47));
    assert!(Settings.plan(Target::Rate(1e-9), u64::MAX).is_err_and(|too_long| too_long.payload_bytes == u64::MAX));
}

#[test]
fn order_and_width_of_slot_numbers_do_not_change_the_bytes() {
    let hashes: Vec<u64> = (0..50_000).map(mix).collect();
    let plan = plan(11, hashes.len() as u64);
    let expected = built(plan, &hashes);
    let mut reversed: Vec<u64> = hashes.iter().rev().copied().collect();
    assert_eq!(built(plan, &reversed), expected);
    let mut payload = std::vec![0; plan.payload_len() as usize];
    assert_eq!(
        solve::<u64>(plan, Hashes::remapped(&mut reversed), &mut payload, true),
        Ok(Built { params: expected.0, is_checked: true })
    );
    assert_eq!(payload, expected.1);
    reversed.sort_unstable();
    let mut sorted = hashes;
    sorted.sort_unstable();
    assert_eq!(reversed, sorted, "none is lost");
}

/// A repeated hash is reported; hashes that no seed separates are, too, after the last of them.
#[test]
fn what_cannot_be_built_is_an_error() {
    for num_entries in [2u64, 3, 50, 20_000] {
        let mut hashes: Vec<u64> = (1..num_entries).map(mix).collect();
        hashes.push(hashes[0]);
        let result = build(plan(8, num_entries), Hashes::given(&mut hashes), &mut Output::Vec(&mut Vec::new()), true);
        assert_eq!(result, Err(Unbuilt::Repeated));
    }
    // More entries than slots.
    let crowded = Params { fingerprint_bits: 8, log2_segment_len: 2, seed: 0, num_segments: 1 };
    let mut hashes: Vec<u64> = (0..1_000).map(mix).collect();
    let result = build(crowded, Hashes::remapped(&mut hashes), &mut Output::Vec(&mut Vec::new()), true);
    assert_eq!(result, Err(Unbuilt::Unsolved { num_seeds: TRIED_SEEDS, num_entries: 1_000 }));
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 1_000, "none is lost");
}

/// Every slot's word lies in the payload, for the largest dimensions, too; and nothing overflows.
#[test]
fn the_last_word_ends_the_payload() {
    for fingerprint_bits in 1..=MAX_FINGERPRINT_BITS as u8 {
        for (log2_segment_len, num_segments) in [(0, 1), (0, 2), (3, 7), (18, u32::MAX)] {
            let params = Params { fingerprint_bits, log2_segment_len, seed: 63, num_segments };
            let layout = super::Layout::new(params);
            let (at, shift) = layout.place(params.num_slots() - 1);
            // A payload longer than memory has no places.
            if let Ok(payload_len) = usize::try_from(params.payload_len()) {
                assert_eq!(at + 8, payload_len);
            }
            assert!(shift + u32::from(fingerprint_bits) <= 64);
            let slots = layout.slots.of(u64::MAX);
            assert!(slots.iter().all(|&slot| slot < params.num_slots()), "{slots:?} {params:?}");
            assert!(slots.is_sorted_by(|a, b| a >> log2_segment_len < b >> log2_segment_len));
            let mut trailer = Vec::new();
            params.encode_trailer(&mut trailer);
            let mut trailer = crate::keys::kinds::Trailer::new(&trailer);
            assert_eq!(Params::decode_trailer(&mut trailer), Ok(params));
        }
    }
}

#[test]
fn unused_bits_are_zero() {
    let hashes: Vec<u64> = (0..20).map(mix).collect();
    for fingerprint_bits in [5, 8, 9, 32] {
        let (params, payload) = built(plan(fingerprint_bits, 20), &hashes);
        let used = params.num_bits() as usize;
        for bit in used - 1..payload.len() * 8 {
            let mut damaged = payload.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let expected = match bit {
                _ if bit < used => None,
                _ => Some(DecodeError::Padding { offset_bytes: 3 + bit as u64 / 8, found: damaged[bit / 8] }),
            };
            assert_eq!(View::check(params, &damaged, 3).err(), expected, "bit {bit} of {params:?}");
        }
    }
}

/// Whatever the bytes are, they answer.
#[test]
fn any_payload_answers() {
    for round in 0..200u64 {
        let [fingerprint_bits, log2_segment_len, seed] = [mix(round) % 32 + 1, mix(!round) % 8, mix(round + 999) % 64];
        let num_segments = mix(round << 20) % 50 + 1;
        let params =
            Params::new(fingerprint_bits as u8, log2_segment_len as u8, seed as u8, num_segments).expect("legal");
        let mut payload: Vec<u8> = (0..params.payload_len()).map(|i| mix(i ^ round << 32) as u8).collect();
        for bit in params.num_bits()..params.payload_len() * 8 {
            payload[bit as usize / 8] &= !(1 << (bit % 8));
        }
        let layout = View::check(params, &payload, 0).expect("any slots");
        let view = View::new(&layout, &payload);
        let hashes: Vec<KeyHash> =
            (0..200).map(|i| mix(i ^ round)).chain([0, u64::MAX]).map(KeyHash::from_raw).collect();
        let mut answers = std::vec![false; hashes.len()];
        view.may_contain_all(&hashes, &mut answers);
        for (&hash, answer) in hashes.iter().zip(answers) {
            view.prefetch(hash);
            // Bit by bit.
            let seeded = layout.slots.seeded(hash.get());
            let bits = |slot: u64| {
                let bit = |i: u64| u32::from(payload[(i / 8) as usize] >> (i % 8) & 1);
                (0..fingerprint_bits).fold(0, |bits, j| bits | bit(slot * fingerprint_bits + j) << j)
            };
            let sum = layout.slots.of(seeded).into_iter().fold(0, |sum, slot| sum ^ bits(slot));
            let expected = (super::fingerprint(seeded) ^ sum) & layout.fingerprint_mask == 0;
            assert_eq!((view.may_contain(hash), answer), (expected, expected), "{params:?}");
        }
    }
}

#[test]
fn fingerprints_by_hand() {
    assert_eq!(sizing::fingerprint_bits_for_false_positive_rate(1.0 / 256.0), 8);
    assert_eq!(sizing::fingerprint_bits_for_false_positive_rate(0.01), 7);
}
