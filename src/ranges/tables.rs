//! Many tables, one range: the scans of a log-structured store.

use super::query::Span;
use super::reader::{Probe, RangeFilter};
use crate::query::Query;

/// The number of tables whose searches go on in turns.
pub(super) const WINDOW: usize = 16;
/// The greatest product of a filter's length and the number of tables at which the filters are taken to be in a cache.
/// There, turns take as long as they save.
const MAX_NEAR_LEN: usize = 4 << 20;

/// Queries each of `tables`, and stores at its position in `answers` whether it may have what `query` names. The cache
/// misses of the tables overlap: each step of a search prefetches what its next step reads, and other tables have their
/// turn meanwhile.
///
/// ```
/// use filterblock::range::{RangeFilterBuilder, RangePolicy, probe_tables};
/// use filterblock::{OpenOptions, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = RangeFilterBuilder::new(RangePolicy::with_bits_per_key(16.0)?);
/// let mut tables = Vec::new();
/// for site in ["com.example", "org.example"] {
///     (0..100).for_each(|page| builder.add_key(format!("{site}/{page:03}").as_bytes()));
///     tables.push(OpenOptions::new().open_ranges(builder.finish()?)?);
/// }
/// let mut answers = [false; 2];
/// probe_tables(&tables, Query::Prefix(b"org.example/04"), &mut answers);
/// assert_eq!(answers, [false, true]);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// Panics if the numbers of answers and tables differ. No bytes of a block make it panic.
pub fn probe_tables<'a, B, I>(tables: I, query: Query<'_>, answers: &mut [bool])
where
    B: AsRef<[u8]> + 'a,
    I: IntoIterator<Item = &'a RangeFilter<B>>,
{
    let (mut tables, num_tables) = (tables.into_iter(), answers.len());
    for answers in answers.chunks_mut(WINDOW) {
        let mut window = [None; WINDOW];
        window[..answers.len()].fill_with(|| Some(tables.next().expect(ONE_EACH)));
        let in_window = window.iter().flatten().copied();
        match Span::of(query) {
            None => answers.fill(true),
            Some(span) if in_window.clone().all(|table| is_near(table, num_tables)) => {
                in_window.zip(answers).for_each(|(table, answer)| *answer = table.may_have(span));
            }
            Some(span) => in_turns(in_window, span, answers),
        }
    }
    assert!(tables.next().is_none(), "{ONE_EACH}");
}

const ONE_EACH: &str = "one answer for each table";

/// Returns whether `num_tables` filters as long as this one have at most [`MAX_NEAR_LEN`] bytes together.
fn is_near<B: AsRef<[u8]>>(table: &RangeFilter<B>, num_tables: usize) -> bool {
    table.as_bytes().len().saturating_mul(num_tables) <= MAX_NEAR_LEN
}

/// Probes at most [`WINDOW`] tables, each of which does one step of its search in each round.
pub(super) fn in_turns<'a, B: AsRef<[u8]> + 'a>(
    tables: impl Iterator<Item = &'a RangeFilter<B>> + Clone,
    span: Span<'_>,
    answers: &mut [bool],
) {
    tables.clone().for_each(RangeFilter::prefetch_start);
    let mut probes = [const { Probe::Known(false) }; WINDOW];
    for (table, probe) in tables.clone().zip(&mut probes) {
        *probe = table.start(span);
    }
    while probes.iter().any(|probe| !matches!(probe, Probe::Known(_))) {
        for (table, probe) in tables.clone().zip(&mut probes) {
            table.advance(probe);
        }
    }
    for (answer, probe) in answers.iter_mut().zip(probes) {
        *answer = !matches!(probe, Probe::Known(false));
    }
}
