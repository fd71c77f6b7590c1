//! Files that are too short, too long or missing.

use crate::case::{Outcome, Trial, spacing};
use crate::layout::{self, Kind};
use crate::stores::Sample;
use filterblock_kv::PAGE_LEN;

/// The expected outcome for a file cut to `len`, where it is known; the loss of a manifest's last records may go
/// undetected.
fn expected_of_cut(sample: &Sample, name: &str, kind: Kind, bytes: &[u8], len: usize) -> Option<Outcome> {
    match kind {
        Kind::Lock => Some(Outcome::Right),
        Kind::Table => Some(Outcome::Refused),
        Kind::Filters => Some(Outcome::Warned),
        // The length of an open log is not stored, but its magic was durable: its records survive up to the cut.
        Kind::Log => Some(match sample.open_log.as_ref().filter(|log| log.name == name) {
            Some(log) => log.lens.iter().rposition(|&end| end <= len).map_or(Outcome::Refused, Outcome::Earlier),
            None => Outcome::Refused,
        }),
        // The state in which the store was opened is the record after the magic.
        Kind::Manifest => (len < layout::records(bytes)[1].end).then_some(Outcome::Refused),
    }
}

fn cut_everywhere(name: &str, sample: &Sample) {
    let mut trial = Trial::new(sample);
    let mut num_lens = 0;
    for (file, bytes) in &sample.files {
        let kind = Kind::of(file).unwrap();
        let sparseness = match (kind, &sample.open_log) {
            (Kind::Lock | Kind::Manifest | Kind::Log, _) => 1,
            (Kind::Table | Kind::Filters, None) => spacing(),
            (Kind::Table | Kind::Filters, Some(_)) => 7 * spacing(),
        };
        let boundaries = layout::units(kind, bytes).into_iter().map(|(place, _)| place.start);
        let mut lens: Vec<usize> = (0..bytes.len()).step_by(sparseness).chain(boundaries).collect();
        lens.sort_unstable();
        lens.dedup();
        num_lens += lens.len() as u64;
        for len in lens {
            let changes = vec![(file.clone(), Some(bytes[..len].to_vec()))];
            let outcome = trial.run("cut", kind, &changes, &|| format!("to {len}"));
            match expected_of_cut(sample, file, kind, bytes, len) {
                Some(expected) => assert_eq!(outcome, expected, "{file} cut to {len}"),
                None => {
                    assert!(matches!(outcome, Outcome::Right | Outcome::Refused), "{file} cut to {len}: {outcome:?}")
                }
            }
        }
    }
    assert_eq!(trial.report(name), num_lens);
    assert!(trial.count("cut", Outcome::Refused) > 0 && trial.count("cut", Outcome::Warned) > 0);
}

#[test]
fn files_cut_at_every_length() {
    cut_everywhere("cut, closed", &Sample::closed());
}

#[test]
fn logs_cut_at_every_length_and_tables_at_many_after_a_crash() {
    cut_everywhere("cut, crashed", &Sample::crashed());
}

fn garbage(len: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_9abc_def0u64 ^ len as u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn files_with_more_behind_them() {
    for (name, sample) in [("closed", Sample::closed()), ("crashed", Sample::crashed())] {
        let mut trial = Trial::new(&sample);
        for (file, bytes) in &sample.files {
            let kind = Kind::of(file).unwrap();
            let expected = match kind {
                // A torn end, or bytes of a failed append after a seal.
                Kind::Lock | Kind::Manifest | Kind::Log => Outcome::Right,
                Kind::Table => Outcome::Refused,
                Kind::Filters => Outcome::Warned,
            };
            let last_page = bytes[bytes.len().saturating_sub(PAGE_LEN)..].to_vec();
            let own = [bytes.clone(), last_page].into_iter().filter(|more| !more.is_empty());
            let lens = (1..=64).chain([512, PAGE_LEN - 1, PAGE_LEN, 2 * PAGE_LEN]);
            for more in lens.flat_map(|len| [vec![0; len], vec![0xff; len], garbage(len)]).chain(own) {
                let changes = vec![(file.clone(), Some([&bytes[..], &more].concat()))];
                trial.expect("appended", kind, &changes, expected, &|| format!("{} bytes {:?}", more.len(), more[0]));
            }
        }
        let own_len = sample.files.values().filter(|bytes| !bytes.is_empty()).count() * 2;
        let num_cases = trial.report(&format!("appended, {name}"));
        assert_eq!(num_cases, (sample.files.len() * 68 * 3 + own_len) as u64);
    }
}

#[test]
fn files_that_are_gone() {
    for (name, sample) in [("closed", Sample::closed()), ("crashed", Sample::crashed())] {
        let mut trial = Trial::new(&sample);
        for file in sample.files.keys() {
            let kind = Kind::of(file).unwrap();
            let expected = match kind {
                Kind::Lock => Outcome::Right,
                Kind::Manifest | Kind::Log | Kind::Table => Outcome::Refused,
                Kind::Filters => Outcome::Warned,
            };
            trial.expect("gone", kind, &vec![(file.clone(), None)], expected, &String::new);
        }
        assert_eq!(trial.report(&format!("gone, {name}")), sample.files.len() as u64);
    }
}
