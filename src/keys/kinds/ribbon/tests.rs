//! Built filters against the definition: every equation of every entry holds, and no other claim is made of the bytes.

use super::engine::Engine;
use super::row::WIDTH;
use super::sizing::{self, MAX_COLUMNS, MIN_MILLISLOTS, STRETCH};
use super::{KindView, Params, Plan, Settings, View};
use crate::build::Output;
use crate::hash::{KeyHash, fast_range, mix};
use crate::keys::kinds::seam::{Built, Hashes, KindPlan, KindSettings, Mode, Unbuilt};
use crate::keys::kinds::size::{MILLISLOTS, Target};
use std::vec::Vec;

fn plan(rate: f64, millislots: u64, num_entries: u64) -> Plan {
    let settings = Settings::default().set(MILLISLOTS, millislots).expect("legal");
    settings.plan(Target::Rate(rate), num_entries).expect("short enough").plan
}

/// `hashes` differ.
fn built(plan: Plan, hashes: &[u64], parallel: bool) -> (Params, Vec<u8>) {
    let (mut hashes, mut payload) = (hashes.to_vec(), Vec::new());
    let params = plan
        .build(Hashes::remapped(&mut hashes), &mut Output::Vec(&mut payload), Mode { parallel, checks: true })
        .expect("solved");
    let Built { params, is_checked: true } = params else { panic!("an entry was not found: {params:?}") };
    (params, payload)
}

#[test]
fn every_entry_is_found() {
    for num_entries in (1..300).chain([1_000, 20_000, 300_000]) {
        for (rate, millislots) in [(0.01, 965), (1.0 / 256.0, 995), (0.5, 1075), (2.0f64.powi(-32), 950)] {
            let hashes: Vec<u64> = (0..num_entries).map(|i| mix(i + (num_entries << 32))).collect();
            let (params, payload) = built(plan(rate, millislots, num_entries), &hashes, false);
            let layout = View::check(params, &payload, 0).expect("its own bytes");
            let view = View::new(&layout, &payload);
            let missing = hashes.iter().filter(|&&hash| !view.may_contain(KeyHash::from_raw(hash))).count();
            assert_eq!(missing, 0, "of {num_entries} at {rate}, {params:?}");
        }
    }
}

/// Returns whether the repeated hash is held by the first layer, bumped, or in a layer that bumps none; with one column
/// every second equation that follows from others is not a contradiction.
#[test]
fn a_repeated_hash_is_found() {
    for num_entries in [1, 2, 100, 4_096, 6_000, 20_000] {
        for (rate, millislots) in [(0.5, 950), (0.001, 1_200)] {
            let hashes: Vec<u64> = (0..num_entries).map(mix).collect();
            let plan = plan(rate, millislots, num_entries + 1);
            for index in (0..num_entries as usize).step_by(hashes.len().div_ceil(97)) {
                for num_times in [1, 2, 300] {
                    let mut repeated = [&hashes[..], &std::vec![hashes[index]; num_times]].concat();
                    let mut payload = Vec::new();
                    let built =
                        plan.build(Hashes::remapped(&mut repeated), &mut Output::Vec(&mut payload), Mode::default());
                    assert!(matches!(built, Err(Unbuilt::Repeated)), "{index} of {num_entries}, {num_times} times");
                }
            }
        }
    }
}

/// Which hash comes first decides nothing, not even among those of one start.
#[test]
fn the_order_of_hashes_decides_nothing() {
    let shapes: [fn(u64) -> u64; 3] = [mix, |i| (mix(i) >> 20) | ((i % 5) << 61), |i| (mix(i) & !255) | (i % 256)];
    for (num_entries, shape) in [5_000, 40_000].into_iter().flat_map(|num| shapes.map(|shape| (num, shape))) {
        let mut hashes: Vec<u64> = (0..num_entries).map(shape).collect();
        let plan = plan(0.3, 950, num_entries);
        let expected = built(plan, &hashes, false);
        for order in 0..4 {
            hashes.sort_unstable_by_key(|&hash| mix(hash ^ order));
            assert_eq!(built(plan, &hashes, false), expected, "{num_entries}");
        }
    }
}

/// No hash starts in the 63 slots before a cut, so that the row before them is kept: it ends with its stretch.
#[test]
fn a_row_that_ends_at_a_cut_is_found() {
    let plan = plan(0.01, 995, 200_000);
    let (params, payload) = built(plan, &(0..200_000).map(mix).collect::<Vec<_>>(), false);
    let layout = View::check(params, &payload, 0).expect("its own bytes");
    let (num_starts, last) = (layout.first.num_starts, STRETCH - WIDTH);
    let start_of = |hash: &u64| fast_range(*hash, num_starts);
    let ends_at_cut = ((u128::from(last) << 64) / u128::from(num_starts)) as u64 + 1;
    assert!(num_starts > STRETCH && layout.first_steps == 0 && start_of(&ends_at_cut) == last);
    let others = (0..).map(mix).filter(|hash| !(last..STRETCH).contains(&start_of(hash)));
    let hashes: Vec<u64> = [ends_at_cut].into_iter().chain(others).take(200_000).collect();
    for parallel in [false, true] {
        let (params, payload) = built(plan, &hashes, parallel);
        let layout = View::check(params, &payload, 0).expect("its own bytes");
        let view = View::new(&layout, &payload);
        assert!(hashes.iter().all(|&hash| view.may_contain(KeyHash::from_raw(hash))), "{params:?}");
    }
}

/// Hashes that all start in one slot, or in few, or are neighbours.
#[test]
fn odd_hashes_are_found() {
    for num_entries in [2, 129, 1_000, 30_000] {
        let shapes: [fn(u64) -> u64; 5] =
            [|i| i, |i| i << 44, |i| u64::MAX - i, |i| ((i % 3) << 62) | i, |i| mix(i) >> 20];
        for shape in shapes {
            let hashes: Vec<u64> = (0..num_entries).map(shape).collect();
            let (params, payload) = built(plan(0.001, MIN_MILLISLOTS.into(), num_entries), &hashes, false);
            let layout = View::check(params, &payload, 0).expect("its own bytes");
            let view = View::new(&layout, &payload);
            assert!(hashes.iter().all(|&hash| view.may_contain(KeyHash::from_raw(hash))), "{num_entries} {params:?}");
        }
    }
}

#[test]
fn absent_hashes_pass_at_the_predicted_rate() {
    for (rate, millislots) in [(0.01, 965), (1.0 / 128.0, 995), (0.001, 1_075), (0.3, 950)] {
        let num_entries = 200_000;
        let hashes: Vec<u64> = (0..num_entries).map(mix).collect();
        let plan = plan(rate, millislots, num_entries);
        let (params, payload) = built(plan, &hashes, false);
        let layout = View::check(params, &payload, 0).expect("its own bytes");
        let view = View::new(&layout, &payload);
        let predicted = view.predicted_fpr();
        assert!((plan.expected_fpr(num_entries) / predicted - 1.0).abs() < 2e-3, "{predicted}");
        assert!(predicted <= rate && predicted > rate * 0.995, "{predicted} for {rate}");
        let num_asked = 2_000_000u64;
        let passed = (0..num_asked).filter(|i| view.may_contain(KeyHash::from_raw(mix(!i)))).count() as f64;
        let (mean, deviation) =
            (predicted * num_asked as f64, (predicted * (1.0 - predicted) * num_asked as f64).sqrt());
        assert!((passed - mean).abs() < 4.0 * deviation, "{passed} of {num_asked}, expected {mean} ± {deviation}");
    }
}

#[test]
fn sizes_are_as_planned() {
    for (num_entries, tolerance) in [(1_000, 0.14), (10_000, 0.02), (100_000, 0.004), (1_000_000, 0.001)] {
        for millislots in [950, 965, 995, 1_000, 1_043, 1_075, 1_200] {
            let hashes: Vec<u64> = (0..num_entries).map(|i| mix(i ^ millislots << 40)).collect();
            let settings = Settings::default().set(MILLISLOTS, millislots).expect("legal");
            let planned = settings.plan(Target::Rate(1.0 / 256.0), num_entries).expect("short enough");
            let (_, payload) = built(planned.plan, &hashes, false);
            let ratio = payload.len() as f64 / planned.payload_bytes as f64;
            println!(
                "{num_entries} {millislots}: {ratio:.4}, {:.4} bits",
                payload.len() as f64 * 8.0 / num_entries as f64
            );
            assert!((ratio - 1.0).abs() < tolerance, "{num_entries} {millislots}: {ratio}");
        }
    }
}

#[test]
fn cores_do_not_change_the_bytes() {
    let hashes: Vec<u64> = (0..400_000).map(mix).collect();
    let plan = plan(0.003, 995, hashes.len() as u64);
    assert_eq!(built(plan, &hashes, false), built(plan, &hashes, true));
}

#[test]
fn engines_agree() {
    for columns in 1..=MAX_COLUMNS {
        for share in [0, 1 << 31] {
            let Ok(_) = Params::new([columns as u8, 1, 0], share, 0) else { continue };
            let rate = sizing::false_positive_rate(columns, share as u32);
            let hashes: Vec<u64> = (0..3_000).map(|i| mix(i + u64::from(columns))).collect();
            let (params, mut payload) = built(plan(rate, 965, 3_000), &hashes, false);
            for round in 0..3 {
                let mut layout = View::check(params, &payload, 0).expect("its own bytes");
                let portable = Layouts::portable(layout);
                for engine in Engine::all(&params) {
                    layout.engine = engine;
                    for hash in hashes.iter().copied().chain((0..3_000).map(|i| mix(!i))).map(KeyHash::from_raw) {
                        let expected = View::new(&portable, &payload).may_contain(hash);
                        assert_eq!(View::new(&layout, &payload).may_contain(hash), expected, "{engine:?} {params:?}");
                    }
                }
                // Damage of the solution or the thresholds, which no check sees.
                let at = mix(round + u64::from(columns)) as usize % (payload.len() - params.directory_len() - 8);
                payload[at] ^= 0x15;
            }
        }
    }
}

/// With columns left out, by a copy and by a limit, in odd payloads too: each engine answers as portable code does for
/// the copy.
#[test]
fn engines_agree_on_the_first_columns() {
    for (columns, share) in [(2, 0), (9, 1 << 31), (16, 0), (17, 1), (31, u32::MAX), (MAX_COLUMNS, 0)] {
        let rate = sizing::false_positive_rate(columns, share);
        for num_entries in [100, 6_000] {
            let hashes: Vec<u64> = (0..num_entries).map(|i| mix(i + u64::from(columns))).collect();
            let (params, mut payload) = built(plan(rate, 965, num_entries), &hashes, false);
            for round in 0..2 {
                for kept in 1..params.most_columns() {
                    first_columns_agree(params, &payload, kept, &hashes);
                }
                let at = mix(round + u64::from(columns)) as usize % (payload.len() - params.directory_len() - 8);
                payload[at] ^= 0x15;
            }
        }
    }
}

fn first_columns_agree(params: Params, payload: &[u8], kept: u32, hashes: &[u64]) {
    let mut layout = View::check(params, payload, 0).expect("its own bytes");
    let mut copy = Vec::new();
    let thinned = View::new(&layout, payload).thin(kept, &mut copy).expect("columns");
    let of_copy = View::check(thinned, &copy, 0).expect("a payload");
    View::limit_columns(&mut layout, kept);
    let (portable, mut engines_of_copy) = (Layouts::portable(of_copy), of_copy);
    let expected_fpr = View::new(&portable, &copy).predicted_fpr();
    assert_eq!(View::new(&layout, payload).predicted_fpr().to_bits(), expected_fpr.to_bits());
    for engine in Engine::all(&params) {
        (layout.engine, engines_of_copy.engine) = (engine, engine);
        for hash in hashes.iter().step_by(9).copied().chain((0..300).map(|i| mix(!i))).map(KeyHash::from_raw) {
            let expected = View::new(&portable, &copy).may_contain(hash);
            assert_eq!(View::new(&engines_of_copy, &copy).may_contain(hash), expected, "{engine:?} {thinned:?}");
            assert_eq!(View::new(&layout, payload).may_contain(hash), expected, "{engine:?} {kept} of {params:?}");
        }
    }
}

/// In payloads that a cache holds and in longer ones, whose windows are prefetched.
#[test]
fn batches_answer_as_single_queries() {
    for (num_entries, rate) in [(1_000, 0.01), (200_000, 0.004), (60_000, 2.0f64.powi(-30))] {
        let hashes: Vec<u64> = (0..num_entries).map(mix).collect();
        let (params, mut payload) = built(plan(rate, 965, num_entries), &hashes, false);
        let asked = hashes.iter().copied().step_by(3).chain((0..40_000).map(|i| mix(!i)));
        let asked: Vec<KeyHash> = asked.map(KeyHash::from_raw).collect();
        for _ in 0..2 {
            let mut layout = View::check(params, &payload, 0).expect("its own bytes");
            let portable = Layouts::portable(layout);
            let ordinary = View::new(&portable, &payload);
            let expected: Vec<bool> = asked.iter().map(|&hash| ordinary.may_contain(hash)).collect();
            for engine in Engine::all(&params) {
                layout.engine = engine;
                let mut answers = std::vec![false; asked.len()];
                View::new(&layout, &payload).may_contain_all(&asked, &mut answers);
                assert!(answers == expected, "{engine:?} {params:?}");
            }
            // Thresholds other than the builder's.
            let at = layout.first.thresholds_at as usize;
            let end = payload.len() - params.directory_len() - 1;
            payload[at.min(end)..end].fill(0x6c);
        }
    }
}

struct Layouts;

impl Layouts {
    fn portable(layout: super::Layout) -> super::Layout {
        super::Layout { engine: Engine::Portable(crate::cpu::Portable), ..layout }
    }
}

#[test]
fn sizes_by_hand() {
    assert!((sizing::bumped_share(965) - 0.0363).abs() < 1e-4);
    assert_eq!(sizing::columns_for_false_positive_rate(1.0 / 256.0), (8, 0));
    assert_eq!(sizing::columns_for_false_positive_rate(0.75 / 256.0), (8, 1 << 31));
}
