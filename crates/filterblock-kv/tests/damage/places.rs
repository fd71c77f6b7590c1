//! Intact bytes in the wrong place.

use crate::case::{Outcome, Trial};
use crate::layout::Kind;
use crate::stores::Sample;
use filterblock_kv::PAGE_LEN;
use std::ops::Range;

/// The pages of all files; the last one of a file may be shorter.
fn pages(sample: &Sample) -> Vec<(&str, Range<usize>)> {
    let mut pages = Vec::new();
    for (name, bytes) in &sample.files {
        for start in (0..bytes.len()).step_by(PAGE_LEN) {
            pages.push((name.as_str(), start..bytes.len().min(start + PAGE_LEN)));
        }
    }
    pages
}

/// Replaces the bytes at `place` by `page`, whatever their lengths.
fn spliced(bytes: &[u8], place: &Range<usize>, page: &[u8]) -> Vec<u8> {
    [&bytes[..place.start], page, &bytes[place.end..]].concat()
}

/// The possible outcomes of a foreign page in a file. The last state is found or its loss is reported: no page of
/// another place can end a log early.
fn assert_noticed(sample: &Sample, changed: &[&str], outcome: Outcome, what: &str) {
    let is_unread =
        |name: &&str| Kind::of(name) == Some(Kind::Lock) || sample.superseded.iter().any(|table| table == name);
    let is_harmless = |name: &&str| matches!(Kind::of(name), Some(Kind::Lock | Kind::Filters));
    let is_fine = match outcome {
        Outcome::Right => changed.iter().all(is_unread),
        Outcome::Warned => true,
        Outcome::Earlier(_) => false,
        Outcome::Partial | Outcome::Refused => !changed.iter().all(is_harmless),
    };
    assert!(is_fine, "{what}: {outcome:?}");
}

#[test]
fn pages_swapped_or_copied_within_and_between_files() {
    for (name, sample) in [("closed", Sample::closed()), ("crashed", Sample::crashed())] {
        let mut trial = Trial::new(&sample);
        let pages = pages(&sample);
        for (i, (file, place)) in pages.iter().enumerate() {
            for (j, (other, other_place)) in pages.iter().enumerate().filter(|&(j, _)| j != i) {
                let what = format!("{file} {place:?} and {other} {other_place:?}");
                let (bytes, other_bytes) = (&sample.files[*file], &sample.files[*other]);
                let (page, other_page) = (&bytes[place.clone()], &other_bytes[other_place.clone()]);
                if page == other_page {
                    continue;
                }
                let kind = Kind::of(file).unwrap();
                let copied = vec![((*file).to_owned(), Some(spliced(bytes, place, other_page)))];
                let outcome = trial.run("page copied", kind, &copied, &|| what.clone());
                assert_noticed(&sample, &[file], outcome, &what);
                if i > j {
                    continue;
                }
                let swapped = match file == other {
                    // The later one first, so that the earlier one's range stays valid.
                    true => {
                        let later = spliced(bytes, other_place, page);
                        vec![((*file).to_owned(), Some(spliced(&later, place, other_page)))]
                    }
                    false => {
                        let here = spliced(bytes, place, other_page);
                        let there = spliced(other_bytes, other_place, page);
                        vec![((*file).to_owned(), Some(here)), ((*other).to_owned(), Some(there))]
                    }
                };
                let outcome = trial.run("pages swapped", kind, &swapped, &|| what.clone());
                assert_noticed(&sample, &[file, other], outcome, &what);
            }
        }
        assert!(trial.report(&format!("pages, {name}")) > 500);
    }
}

#[test]
fn files_swapped_or_copied() {
    for (name, sample) in [("closed", Sample::closed()), ("crashed", Sample::crashed())] {
        let mut trial = Trial::new(&sample);
        for (file, bytes) in &sample.files {
            for (other, other_bytes) in sample.files.iter().filter(|(other, _)| *other != file) {
                let what = format!("{file} and {other}");
                let kind = Kind::of(file).unwrap();
                let copied = vec![(file.clone(), Some(other_bytes.clone()))];
                let outcome = trial.run("file copied", kind, &copied, &|| what.clone());
                assert_noticed(&sample, &[file], outcome, &what);
                if file < other {
                    let swapped = vec![(file.clone(), Some(other_bytes.clone())), (other.clone(), Some(bytes.clone()))];
                    let outcome = trial.run("files swapped", kind, &swapped, &|| what.clone());
                    assert_noticed(&sample, &[file, other], outcome, &what);
                }
            }
        }
        let num_files = sample.files.len() as u64;
        assert_eq!(trial.report(&format!("files, {name}")), num_files * (num_files - 1) * 3 / 2);
    }
}
