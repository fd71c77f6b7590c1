//! The store's account of a run, held against the operating system's.

use super::os;
use filterblock::kv::Ledger;
use serde::Serialize;

/// Which counters of `/proc/self/io` reads are checked against; `None` where a run has none.
pub(super) fn os_counter(direct_io: bool, mut counts: impl Iterator<Item = Option<os::Count>>) -> Option<&'static str> {
    counts.all(|count| count.is_some()).then_some(match direct_io {
        true => "syscr, read_bytes",
        false => "syscr, rchar",
    })
}

/// Names of JSON fields are part of the interface: add, but do not rename.
#[derive(Serialize)]
pub(super) struct Account {
    ledger_reads: u64,
    os_reads: Option<u64>,
    pub(super) ledger_read_bytes: u64,
    pub(super) os_read_bytes: Option<u64>,
    pub(super) reads_match_os: Option<bool>,
    ledger_balanced: bool,
    answers_hash: String,
}

impl Account {
    pub(super) fn new(ledger: &Ledger, os: Option<os::Count>, balanced: bool, answers: u64) -> Self {
        let (ledger_reads, ledger_read_bytes) = (ledger.data_block_reads(), ledger.data_block_bytes());
        Self {
            ledger_reads,
            os_reads: os.map(|os| os.calls),
            ledger_read_bytes,
            os_read_bytes: os.map(|os| os.bytes),
            reads_match_os: os.map(|os| os.calls == ledger_reads && os.bytes == ledger_read_bytes),
            ledger_balanced: balanced,
            answers_hash: format!("{answers:#018x}"),
        }
    }

    /// What is wrong with the account of the run `name`. What its ledger says was `avoided` must be what it read
    /// `fewer` than the run without filters.
    pub(super) fn failures(&self, name: &str, avoided: u64, fewer: i64) -> Vec<String> {
        let mut failures = Vec::new();
        if self.reads_match_os == Some(false) {
            let of = |reads: Option<u64>| reads.map_or("?".to_owned(), |reads| reads.to_string());
            failures.push(format!(
                "{name}: the ledger says {} reads of {} bytes, the operating system {} of {}",
                self.ledger_reads,
                self.ledger_read_bytes,
                of(self.os_reads),
                of(self.os_read_bytes)
            ));
        }
        if !self.ledger_balanced {
            failures.push(format!("{name}: the ledger's sums do not agree"));
        }
        if i64::try_from(avoided) != Ok(fewer) {
            failures.push(format!(
                "{name}: the ledger says {avoided} reads were avoided, but without filters there were {fewer} more"
            ));
        }
        failures
    }
}

/// What all runs together were checked for.
pub(super) struct Verdict<'a> {
    pub(super) answers_identical: bool,
    pub(super) answers_wrong: u64,
    pub(super) os_counter: Option<&'static str>,
    pub(super) accounts: Vec<&'a Account>,
    pub(super) warnings: Vec<&'a String>,
}

impl Verdict<'_> {
    /// Each check and its outcome; whether it passed, where it was made.
    pub(super) fn lines(&self) -> [(&'static str, String, Option<bool>); 3] {
        let yes = |yes: bool| if yes { "yes" } else { "NO" }.to_owned();
        let reads = match self.os_counter {
            None => ("not checked: no /proc/self/io here".to_owned(), None),
            Some(counters) => {
                let all = self.accounts.iter().all(|account| account.reads_match_os == Some(true));
                (format!("{} ({counters} of /proc/self/io)", yes(all)), Some(all))
            }
        };
        let right = self.answers_wrong == 0;
        [
            ("Answers identical in all runs", yes(self.answers_identical), Some(self.answers_identical)),
            ("Answers right", yes(right), Some(right)),
            ("Reads equal to the system's count", reads.0, reads.1),
        ]
    }

    /// What is wrong with the answers.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        if !self.answers_identical {
            failures.push("the runs do not give identical answers".to_owned());
        }
        if self.answers_wrong > 0 {
            failures.push(format!("{} answers are wrong", self.answers_wrong));
        }
        failures
    }
}
