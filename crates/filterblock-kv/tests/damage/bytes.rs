//! Single bytes and bits.

use crate::case::{Outcome, Trial, spacing};
use crate::layout::{self, Kind, Unit};
use crate::stores::Sample;

/// The expected outcome of bad bytes in a unit. `last` is that of a lost last record of the manifest.
fn expected(sample: &Sample, name: &str, kind: Kind, unit: Unit, last: Outcome) -> Outcome {
    let log_is_open = sample.open_log.as_ref().filter(|log| log.name == name);
    let is_superseded = sample.superseded.iter().any(|table| table == name);
    match (kind, unit) {
        (_, Unit::Padding) => Outcome::Right,
        (_, Unit::Filter) if is_superseded => Outcome::Right,
        (_, Unit::Filter) | (Kind::Filters, _) => Outcome::Warned,
        (_, Unit::Data) => Outcome::Partial,
        (_, Unit::Index | Unit::Footer) => Outcome::Refused,
        (Kind::Manifest, Unit::Record(number)) => {
            let (_, bytes) = sample.files_of(kind).next().unwrap();
            let is_last = number + 1 == layout::records(bytes).len();
            if is_last { last } else { Outcome::Refused }
        }
        // The magic was durable before the manifest named the log. The record after it leads from the first state to
        // the second.
        (_, Unit::Record(number)) => match log_is_open {
            Some(log) if number > log.before_last_group => Outcome::Earlier(number - 1),
            _ => Outcome::Refused,
        },
    }
}

/// The outcome for a manifest that has lost its last record: the seal of a closed store's log, which can be read
/// without it; or the edit that began the log of a store that was not closed, which the log itself proves.
fn without_last_record(trial: &mut Trial<'_>) -> Outcome {
    let (name, bytes) = trial.sample.files_of(Kind::Manifest).next().unwrap();
    let last = layout::records(bytes).pop().unwrap();
    let changes = vec![(name.to_owned(), Some(bytes[..last.start].to_vec()))];
    let expected = if trial.sample.open_log.is_some() { Outcome::Refused } else { Outcome::Right };
    trial.expect("last record of manifest lost", Kind::Manifest, &changes, expected, &String::new);
    expected
}

/// Flips the bits `masks` of the bytes for which `wanted` is true.
fn flip(
    trial: &mut Trial<'_>,
    what: &'static str,
    wanted: impl Fn(Kind, Unit, usize) -> bool,
    masks: impl Fn(usize) -> Vec<u8>,
) {
    let last = without_last_record(trial);
    let sample = trial.sample;
    for (name, bytes) in &sample.files {
        let kind = Kind::of(name).unwrap();
        for (place, unit) in layout::units(kind, bytes) {
            for at in place.clone().filter(|at| wanted(kind, unit, at - place.start)) {
                for mask in masks(at) {
                    let mut changed = bytes.clone();
                    changed[at] ^= mask;
                    let changes = vec![(name.clone(), Some(changed))];
                    let expected = expected(sample, name, kind, unit, last);
                    trial.expect(what, kind, &changes, expected, &|| format!("at {at} {unit:?} mask {mask:#x}"));
                }
            }
        }
    }
}

/// A mask that is not zero, another one for each offset.
fn some_mask(at: usize) -> Vec<u8> {
    vec![((at.wrapping_mul(0x9e37_79b1) >> 7) as u8).max(1)]
}

fn every_byte(sample: &Sample, sparseness: impl Fn(Kind, Unit) -> usize) -> u64 {
    let mut trial = Trial::new(sample);
    flip(&mut trial, "byte changed", |kind, unit, at| at % sparseness(kind, unit) == 0, some_mask);
    let num_cases = trial.report("bytes");
    let data = trial.count("byte changed", Outcome::Partial);
    assert!(trial.count("byte changed", Outcome::Warned) > 0 && data > 0);
    num_cases
}

#[test]
fn every_byte_of_a_closed_store() {
    let sample = Sample::closed();
    let num_bytes: usize = sample.files.values().map(Vec::len).sum();
    let num_cases = every_byte(&sample, |_, _| spacing());
    assert!(spacing() > 1 || num_cases == num_bytes as u64 + 1);
}

#[test]
fn every_byte_of_the_logs_and_many_of_the_tables_after_a_crash() {
    let sparseness = |kind, _| match kind {
        Kind::Manifest | Kind::Log | Kind::Lock => 1,
        Kind::Table | Kind::Filters => 7 * spacing(),
    };
    every_byte(&Sample::crashed(), sparseness);
}

/// Every bit of both logs, and of what describes a table and its filters.
#[test]
fn every_bit_of_some_structures() {
    let wanted = |kind, unit, at: usize| match (kind, unit) {
        (_, Unit::Record(_)) => true,
        // Fields and the first filters; the checksum.
        (_, Unit::Footer) => !(160..4092).contains(&at),
        (_, Unit::Index) => true,
        // Headers, and a cell.
        // Those of tables with rebuilt filters are not read, as the test of their bytes shows.
        (_, Unit::Filter) => at < 72,
        (_, Unit::Data) => at < 48,
        (_, Unit::Padding) => false,
    };
    for (name, sample) in [("closed", Sample::closed()), ("crashed", Sample::crashed())] {
        let mut trial = Trial::new(&sample);
        let sparseness = spacing() * if sample.open_log.is_some() { 3 } else { 1 };
        let wanted = |kind, unit, at| wanted(kind, unit, at) && at % sparseness == 0;
        flip(&mut trial, "bit flipped", wanted, |_| (0..8).map(|bit| 1 << bit).collect());
        trial.report(&format!("bits, {name}"));
        assert!(trial.count("bit flipped", Outcome::Refused) > 0);
    }
}
