//! Tables of plausible mistakes, each of which is committed; those that cannot be noticed are listed in EMBEDDING.md.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What becomes of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An error at the call, or at the next finish.
    Refused,
    /// No stored key is denied.
    Maybe,
    /// Stored keys are denied.
    Denies,
    /// The same, but a debug build panics.
    PanicsInDebug,
}
use Outcome::{Denies, Maybe, PanicsInDebug, Refused};

/// The number of stored keys that are denied, or a refusal.
pub type Tried = Result<usize, String>;

/// A mistake, what becomes of it, and how it is committed.
pub type Row = (&'static str, Outcome, fn() -> Tried);

pub fn refused(error: impl Display) -> String {
    error.to_string()
}

/// Commits the mistakes of both tables: those that are noticed, and those that are not. A mistake that denies keys denies
/// more than `least_denied` of them.
pub fn commit(what: &str, [noticed, unnoticed]: [&[Row]; 2], least_denied: usize) {
    for &(mistake, expected, commit) in noticed.iter().chain(unnoticed) {
        let outcome = match catch_unwind(AssertUnwindSafe(commit)) {
            Err(_) => PanicsInDebug,
            Ok(Err(_)) => Refused,
            Ok(Ok(0)) => Maybe,
            Ok(Ok(denied)) => {
                assert!(denied > least_denied, "{mistake}: {denied} denied, which is neither none nor all");
                Denies
            }
        };
        let expected = if expected == PanicsInDebug && !cfg!(debug_assertions) { Denies } else { expected };
        assert_eq!(outcome, expected, "{mistake}");
    }
    assert!(noticed.iter().all(|(_, outcome, _)| matches!(outcome, Refused | Maybe)));
    assert!(unnoticed.iter().all(|(_, outcome, _)| matches!(outcome, Denies | PanicsInDebug)));
    println!("counted: {} {what} that are noticed, {} that are listed", noticed.len(), unnoticed.len());
}

/// The table of EMBEDDING.md under `heading` lists these mistakes and no others, and names the builds that panic.
pub fn assert_listed(heading: &str, unnoticed: &[Row]) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../EMBEDDING.md");
    let document = std::fs::read_to_string(path).expect("a document");
    let (_, section) = document.split_once(&format!("\n{heading}\n")).expect("a section");
    let table = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = table.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        assert!(cells.len() == 5 && !cells[2].is_empty() && !cells[3].is_empty(), "{line}");
        (cells[1], if cells[2].contains("debug build panics") { PanicsInDebug } else { Denies })
    });
    let listed: Vec<_> = unnoticed.iter().map(|&(mistake, outcome, _)| (mistake, outcome)).collect();
    assert_eq!(rows.collect::<Vec<_>>(), listed);
}
