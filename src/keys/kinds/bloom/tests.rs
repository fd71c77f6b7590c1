//! Builds and probes of any number of bits.

use super::build::{build, insert};
use super::sizing::{MAX_NUM_PROBES, false_positive_rate};
use super::{KindView, Params, View, parted};
use crate::build::Output;
use crate::error::DecodeError;
use crate::hash::{KeyHash, mix};
use crate::keys::kinds::seam::{Hashes, Mode, Unbuilt};

fn build_vec(params: Params, hashes: &[u64]) -> Result<(Vec<u8>, bool), Unbuilt> {
    let (mut hashes, mut payload) = (hashes.to_vec(), Vec::new());
    let mode = Mode { checks: true, parallel: false };
    let is_checked = build(&params, Hashes::given(&mut hashes), &mut Output::Vec(&mut payload), mode)?;
    Ok((payload, is_checked))
}

/// The bits are those of a build in the order of the hashes, if the hashes are even or all in one part; and a repeated
/// hash is found.
#[test]
fn windows_get_the_same_bits() {
    for num_probes in [1, 2, 7, 8, 11, MAX_NUM_PROBES] {
        for num_bits in [8 << 14, (8 << 14) + 8, (8 << 15) - 3, 1_000_003] {
            for spread in [0, 12] {
                let params = Params::new(num_bits, num_probes).expect("legal");
                let hashes: Vec<u64> = (0..30_000).map(|i| mix(i) >> spread).collect();
                let mut expected = vec![0; params.payload_len() as usize];
                insert(params, &mut expected, &hashes, &mut Vec::new());
                assert!(parted::LENGTHS.contains(&(expected.len() as u64)));
                let (payload, is_checked) = build_vec(params, &hashes).expect("distinct");
                assert!(is_checked && payload == expected, "{params:?} {spread}");
                for again in [0, 17_000, 29_999] {
                    let hashes = [&hashes[..], &hashes[again..=again]].concat();
                    assert_eq!(build_vec(params, &hashes), Err(Unbuilt::Repeated), "{params:?} {spread}");
                }
            }
        }
    }
}

/// The first hash sets the only bit, so every later one finds its bits set; only a duplicate is reported.
#[test]
fn a_repeated_hash_is_found_though_its_first_found_every_bit_set() {
    let params = Params::new(1, 1).expect("legal");
    for count in [2, 3, 10, 300] {
        let distinct: Vec<u64> = (1..=count).map(mix).collect();
        assert_eq!(build_vec(params, &distinct).map(|(_, is_checked)| is_checked), Ok(true), "{count}");
        for again in 0..distinct.len() {
            let hashes = [&distinct[..], &distinct[again..=again]].concat();
            let built = build_vec(params, &hashes);
            assert_eq!(built, Err(Unbuilt::Repeated), "{count}, again {again}");
        }
    }
}

/// All hashes are searched for each suspect, so only those that found every bit set are suspected.
#[test]
fn only_who_finds_every_bit_set_is_suspected() {
    let params = Params::new(1_000, 7).expect("legal");
    let (mut bits, mut present) = (vec![0; 125], Vec::new());
    let [first, second, third] = [1, 2, 3].map(mix);
    insert(params, &mut bits, &[first, second, first, third, second], &mut present);
    assert_eq!(present, [first, second]);
}

#[test]
fn a_bit_behind_the_last_is_named_by_its_place() {
    let params = Params::new(61, 3).expect("legal");
    assert!(View::check(params, &[0xff; 8], 100).is_err());
    let error = View::check(params, &[0, 0, 0, 0, 0, 0, 0, 0x20], 100).expect_err("bit 61");
    assert_eq!(error, DecodeError::Padding { offset_bytes: 107, found: 0x20 });
    assert!(View::check(params, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f], 100).is_ok());
}

/// Any number of bits, also odd ones, with any number of probes: nothing is missing, no bit is set after the
/// last bit, and over many filters absent keys pass at the exact formula's rate.
#[test]
fn any_number_of_bits_and_probes_will_do() {
    for num_bits in [1, 2, 7, 8, 9, 61, 64, 101, 1_000, 10_007] {
        for num_probes in [1, 2, 3, 7, 20, MAX_NUM_PROBES] {
            let params = Params::new(num_bits, num_probes).expect("legal");
            let num_entries = num_bits / 10 + 1;
            let (mut passed, mut filters, mut squares) = (0.0, 0.0, 0.0);
            for round in 0..200 {
                let hashes: Vec<u64> = (0..num_entries).map(|i| mix(1 + i + round * 1_000_003)).collect();
                let (payload, is_checked) = build_vec(params, &hashes).expect("distinct");
                assert!(is_checked);
                let layout = View::check(params, &payload, 0).expect("no bit behind the last");
                let view = View::new(&layout, &payload);
                assert!(hashes.iter().all(|&hash| view.may_contain(KeyHash::from_raw(hash))));
                let absent = (0..500)
                    .filter(|i| {
                        let hash = KeyHash::from_raw(mix(!(i + round * 500)));
                        view.may_contain(hash)
                    })
                    .count();
                let share = absent as f64 / 500.0;
                (passed, filters, squares) = (passed + share, filters + 1.0, squares + share * share);
            }
            let exact = false_positive_rate(num_bits, num_entries, num_probes);
            let mean = passed / filters;
            let sigma = ((squares / filters - mean * mean) / filters).sqrt().max((exact / (filters * 500.0)).sqrt());
            assert!((mean - exact).abs() <= 4.0 * sigma, "{params:?}: {mean} passed, {exact} expected, ± {sigma}");
        }
    }
}
