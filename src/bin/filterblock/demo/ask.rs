//! Questions, and how they are asked, timed and checked.

use super::data::{Dataset, random};
use filterblock::KeyHasher;
use filterblock::kv::{Error, Ledger, Store};
use std::collections::HashMap;
use std::time::Instant;

/// A sort of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    AbsentRow,
    AbsentColumn,
    PresentCell,
}

impl Class {
    pub(super) const ALL: [Self; 3] = [Self::AbsentRow, Self::AbsentColumn, Self::PresentCell];

    pub(super) const fn is_absent(self) -> bool {
        !matches!(self, Self::PresentCell)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AbsentRow => "absent_row",
            Self::AbsentColumn => "absent_column",
            Self::PresentCell => "present_cell",
        }
    }

    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::AbsentRow => "absent rows",
            Self::AbsentColumn => "absent columns of present rows",
            Self::PresentCell => "present cells",
        }
    }

    /// Question `i` of the class, drawn uniformly and with replacement.
    pub(super) fn question(self, data: &Dataset, i: u64) -> Question<'_> {
        let r = random(b"question", i);
        let row = &data.rows[(r % data.rows.len() as u64) as usize];
        match self {
            Self::AbsentRow => {
                let row = &data.absent_rows[(r % data.absent_rows.len() as u64) as usize];
                Question { row, column: None, expected: None }
            }
            Self::AbsentColumn => Question { row: &row.row, column: Some(&row.absent_column), expected: None },
            Self::PresentCell => {
                let (column, value) = &row.columns[((r >> 32) % row.columns.len() as u64) as usize];
                Question { row: &row.row, column: Some(column), expected: Some(value) }
            }
        }
    }
}

/// What is asked of the store, and what it must answer.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) row: &'a [u8],
    /// `None` asks for the whole row, which is not there.
    pub(super) column: Option<&'a [u8]>,
    pub(super) expected: Option<&'a [u8]>,
}

/// What a series of questions came to.
pub(super) struct Asked {
    pub(super) ledger: Ledger,
    /// One for each question, in ascending order.
    pub(super) nanos: Vec<u64>,
    pub(super) num_wrong: u64,
}

/// Asks one question after the other, chaining all answers into `answers`.
pub(super) fn ask<'a>(
    store: &Store,
    questions: impl Iterator<Item = Question<'a>>,
    answers: &mut u64,
) -> Result<Asked, Error> {
    let before = store.ledger();
    let (mut nanos, mut num_wrong) = (Vec::new(), 0);
    let mut chain = |answer: &[u8]| *answers = KeyHasher::new(*answers).hash(answer).get();
    for Question { row, column, expected } in questions {
        let Some(column) = column else {
            let started = Instant::now();
            let columns = store.get_row(row)?;
            nanos.push(started.elapsed().as_nanos() as u64);
            num_wrong += u64::from(!columns.is_empty());
            chain(b"row");
            columns.iter().for_each(|(column, value)| {
                chain(column);
                chain(value);
            });
            continue;
        };
        let started = Instant::now();
        let value = store.get(row, column)?;
        nanos.push(started.elapsed().as_nanos() as u64);
        num_wrong += u64::from(value.as_deref() != expected);
        chain(if value.is_some() { b"value" } else { b"none" });
        chain(&value.unwrap_or_default());
    }
    nanos.sort_unstable();
    Ok(Asked { ledger: store.ledger().since(&before), nanos, num_wrong })
}

/// The nearest-rank percentile of ascending `nanos`, in microseconds; 0 of none.
pub(super) fn percentile_us(nanos: &[u64], per_mille: usize) -> f64 {
    let rank = (nanos.len() * per_mille).div_ceil(1000).max(1);
    nanos.get(rank - 1).map_or(0.0, |&nanos| nanos as f64 / 1e3)
}

/// By what factor the number of false positives varies more than if every question were another: Σm²/Σm over the
/// times m that each was asked, for a filter is wrong about a key each time or never.
pub(super) fn repetition<'a>(questions: impl Iterator<Item = Question<'a>>) -> f64 {
    let mut times_asked: HashMap<_, u64> = HashMap::new();
    for question in questions {
        *times_asked.entry((question.row, question.column)).or_default() += 1;
    }
    let (sum, squares) = times_asked.values().fold((0, 0), |(sum, squares), m| (sum + m, squares + m * m));
    if sum == 0 { 1.0 } else { squares as f64 / sum as f64 }
}

#[cfg(test)]
mod tests {
    use super::{Question, percentile_us, repetition};

    #[test]
    fn percentiles_are_nearest_ranks() {
        let nanos: Vec<u64> = (1..=2000).map(|rank| rank * 1000).collect();
        for (per_mille, expected) in [(0, 1.0), (500, 1000.0), (990, 1980.0), (999, 1998.0), (1000, 2000.0)] {
            assert_eq!(percentile_us(&nanos, per_mille), expected);
        }
        assert_eq!((percentile_us(&nanos[..3], 500), percentile_us(&[], 500)), (2.0, 0.0));
    }

    #[test]
    fn repetition_counts_how_often_each_question_comes() {
        let of =
            |rows: &[&'static [u8]]| repetition(rows.iter().map(|row| Question { row, column: None, expected: None }));
        assert_eq!(of(&[]), 1.0);
        assert_eq!(of(&[b"a", b"b", b"c"]), 1.0);
        assert_eq!(of(&[b"a", b"a", b"a"]), 3.0);
        assert_eq!(of(&[b"a", b"b", b"a", b"c"]), 1.5);
    }
}
