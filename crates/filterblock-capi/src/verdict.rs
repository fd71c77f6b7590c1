//! The verdict on counters: whether filters are in use, and what they save.

use crate::border::{put_text, required, run};
use crate::counters::CountersSnapshot;
use crate::status::Status;
use crate::versioned;
use core::ffi::c_char;
use core::fmt::Write;
use core::mem::MaybeUninit;

/// The finding that nothing was built, opened or queried: nothing is known about the filters yet.
pub const FILTERBLOCK_FINDING_NO_LOOKUPS: u32 = 1;

/// The finding that filters were built, and none was opened or queried.
pub const FILTERBLOCK_FINDING_NEVER_OPENED: u32 = 2;

/// The finding that filters were opened, and no query of one was counted.
pub const FILTERBLOCK_FINDING_NEVER_QUERIED: u32 = 4;

/// The finding that filters were not opened: each of their tables is read for every key.
pub const FILTERBLOCK_FINDING_UNUSABLE: u32 = 8;

/// The finding that a thousand queries or more were counted, and none was answered *no*.
pub const FILTERBLOCK_FINDING_NEVER_DENIED: u32 = 16;

/// The finding that filters could not be built: their tables have none.
pub const FILTERBLOCK_FINDING_NOT_BUILT: u32 = 32;

/// A length that suffices for the text of `filterblock_verdict`, its NUL included.
pub const FILTERBLOCK_VERDICT_SIZE: usize = 1536;

/// Fewer queries do not show what a workload is like: all may be for keys that are there.
const MIN_QUERIES: u64 = 1000;

/// Interprets the counts of a snapshot: `*findings` is the sum of `FILTERBLOCK_FINDING_*`, 0 if filters are in use and
/// deny keys. The `out_len` bytes at `out` get a line for each finding, with its consequence and the next step, and one
/// for what filters have saved, and a NUL; they may be null, and are truncated to what fits. Filters that are never
/// queried, never opened or never deny change no answer, so nothing else reveals them: an engine prints the text now
/// and then, and asserts in its tests that there is no finding.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn filterblock_verdict(
    snapshot: *const CountersSnapshot,
    findings: Option<&mut MaybeUninit<u32>>,
    out: *mut c_char,
    out_len: usize,
) -> Status {
    let mut text = String::with_capacity(FILTERBLOCK_VERDICT_SIZE);
    let status = run(None, || {
        let findings = required(findings, "findings")?.write(u32::MAX);
        // SAFETY: `snapshot` is null, or valid for as many bytes as its size states (rule 1).
        let counts = unsafe { versioned::read(snapshot, "snapshot") }?;
        *findings = describe(&counts, &mut text);
        Ok(())
    });
    // SAFETY: `out` is null or valid for `out_len` bytes (rule 1).
    unsafe { put_text(&text, out, out_len) };
    status
}

/// Writes the text of a verdict, and returns its findings.
fn describe(counts: &CountersSnapshot, text: &mut String) -> u32 {
    let &CountersSnapshot { opened, damaged, newer, mismatch, failed, built, unfinished, queries, denied, .. } = counts;
    let unusable = [damaged, newer, mismatch, failed].into_iter().fold(0, u64::saturating_add);
    let mut findings = 0;
    let mut find = |is_so: bool, finding: u32, line: core::fmt::Arguments<'_>| {
        if is_so {
            findings |= finding;
            // Writing to a string does not fail.
            _ = writeln!(text, "{line}");
        }
    };
    find(
        opened | unusable | built | unfinished | queries == 0,
        FILTERBLOCK_FINDING_NO_LOOKUPS,
        format_args!("no filter was built, opened or queried: nothing is known about the filters yet"),
    );
    find(
        built > 0 && opened | unusable | queries == 0,
        FILTERBLOCK_FINDING_NEVER_OPENED,
        format_args!(
            "{built} filters were built and none was opened or queried: they take memory and save nothing; query them \
             before a table is read, or do not build them"
        ),
    );
    find(
        opened > 0 && queries == 0,
        FILTERBLOCK_FINDING_NEVER_QUERIED,
        format_args!(
            "the filters were never queried, of which {opened} were opened: they take memory and save nothing; query \
             them before a table is read, or do not build them"
        ),
    );
    find(
        unusable > 0,
        FILTERBLOCK_FINDING_UNUSABLE,
        format_args!(
            "{unusable} times a filter did not open ({damaged} damaged, {newer} newer, {mismatch} mismatch, {failed} \
             failed): their tables are read; see the errors that were recorded (damage: rebuild the filters; a mismatch: \
             compare seed, key and transform with the writer's)"
        ),
    );
    find(
        queries >= MIN_QUERIES && denied == 0,
        FILTERBLOCK_FINDING_NEVER_DENIED,
        format_args!(
            "filters passed all {queries} queries: they saved nothing; compare the form of the keys that are looked up \
             with the transform, and leave filters out if all of these keys exist"
        ),
    );
    find(
        unfinished > 0,
        FILTERBLOCK_FINDING_NOT_BUILT,
        format_args!(
            "{unfinished} filters could not be built: their tables are read; see the errors that were recorded"
        ),
    );
    _ = write!(text, "filters saved {denied} reads in {queries} queries");
    findings
}

#[cfg(test)]
mod tests {
    use super::{FILTERBLOCK_VERDICT_SIZE, describe};
    use crate::counters::CountersSnapshot;
    use crate::versioned::Versioned;

    #[test]
    fn the_longest_text_fits() {
        let mut counts = CountersSnapshot::zeroed();
        let mut longest = 0;
        // Each set of counts that are zero, where the others are as long as they can be.
        for zeros in 0..512 {
            let value = |field: u32| if zeros >> field & 1 == 1 { 0 } else { u64::MAX };
            (counts.opened, counts.damaged, counts.newer, counts.mismatch) = (value(0), value(1), value(2), value(3));
            (counts.failed, counts.built, counts.unfinished) = (value(4), value(5), value(6));
            (counts.queries, counts.denied) = (value(7), value(8));
            let mut text = String::new();
            let findings = describe(&counts, &mut text);
            assert_eq!(text.lines().count(), findings.count_ones() as usize + 1, "{text}");
            longest = longest.max(text.len());
        }
        assert!(longest < FILTERBLOCK_VERDICT_SIZE, "{longest}");
    }
}
