//! What a test reports: its counts, and the case at hand when it panics.

use crate::errors::name_of;
use crate::rules::class_of;
use crate::*;
use std::collections::BTreeMap;

/// A number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let groups = digits.as_bytes()[first..].chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    std::iter::once(digits[..first].to_owned())
        .filter(|group| !group.is_empty())
        .chain(groups)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Prints the counts as one line that begins with "counted: ", wherever the harness has left its cursor.
pub(crate) fn counted(counts: &[(u64, &str)]) {
    let parts: Vec<String> = counts.iter().map(|(number, what)| format!("{} {what}", grouped(*number))).collect();
    println!("\ncounted: {}", parts.join(", "));
}

/// The case at hand, printed only if the test panics: the library's own message does not name it.
pub(crate) struct Case<T: std::fmt::Debug>(pub(crate) T);

impl<T: std::fmt::Debug> Drop for Case<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in the case {:?}", self.0);
        }
    }
}

/// Outcomes of many changed blocks or frames.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) num_tried: u64,
    pub(crate) num_opened: u64,
    /// Answers of those that opened.
    pub(crate) num_compared: u64,
    /// Of those that opened, those that deny a stored key.
    pub(crate) num_denying: u64,
    pub(crate) refused: BTreeMap<String, u64>,
    pub(crate) worst: Allocated,
    pub(crate) answers: Answers,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let (num_tried, num_opened, num_compared, num_denying) = (0, 0, 0, 0);
        let (refused, worst, answers) = (BTreeMap::new(), Allocated::NOTHING, Answers::new());
        Self { num_tried, num_opened, num_compared, num_denying, refused, worst, answers }
    }

    /// Compares the result of opening with that of the rules, checks an error's message and class, and counts it.
    pub(crate) fn add(
        &mut self,
        opened: Result<Denied, DecodeError>,
        expected: Result<(), DecodeError>,
        seen: Allocated,
    ) {
        assert_eq!(opened.map(drop), expected);
        self.num_tried += 1;
        self.worst = self.worst.max(seen);
        match opened {
            Ok(_) => self.num_opened += 1,
            Err(error) => {
                assert_complete_message(&error);
                assert_eq!(error.class().to_string(), class_of(&error));
                *self.refused.entry(name_of(&error)).or_default() += 1;
            }
        }
    }

    pub(crate) fn report(&self, what: &str) {
        assert_eq!(self.worst, Allocated::NOTHING);
        assert_eq!(self.num_opened + self.refused.values().sum::<u64>(), self.num_tried);
        let mut counts = vec![(self.num_tried, what), (self.num_opened, "opened")];
        counts.push((self.num_compared, "answers that are the oracle's"));
        if self.num_denying > 0 {
            counts.push((self.num_denying, "of these deny a stored key"));
        }
        counts.extend(self.refused.iter().map(|(name, count)| (*count, name.as_str())));
        counts.push((self.worst.largest_bytes, "bytes allocated at most"));
        counted(&counts);
    }
}

#[test]
fn numbers_are_grouped() {
    let texts: Vec<String> = [0, 7, 999, 1_000, 33_488, 8_386_560, 1_000_000_000].map(grouped).into();
    assert_eq!(texts, ["0", "7", "999", "1 000", "33 488", "8 386 560", "1 000 000 000"]);
}
