//! The attacker's preparation: with the data and the seed known, a copy of the store shows which absent rows its
//! filters pass.

use super::data::{Dataset, random};
use super::stage::Stage;
use super::webtable;
use filterblock::kv::Store;
use filterblock::{FilterPolicy, KeyHasher};
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// A library's default, and so the first guess.
pub(super) const KNOWN_SEED: u64 = 0;
/// The most rows that the attacker tries, for filters that pass hardly any.
const MAX_TRIED: usize = 10_000_000;

/// The result of the preparation.
pub(super) struct Crafted {
    /// Distinct absent rows, each of which some filter passes, so that it costs a read.
    pub(super) rows: Vec<Vec<u8>>,
    /// The first absent rows tried, whatever the filters answer: as many as `rows` was to have.
    pub(super) ordinary: Vec<Vec<u8>>,
    /// Rows tried: absent, but for the odd one that exists or is out of range.
    pub(super) num_tried: u64,
    /// Absent rows among them that cost a read, repeated ones included.
    pub(super) num_passed: u64,
    /// Without loading the copy of the store.
    pub(super) time: Duration,
}

/// Loads a copy of the store with the known seed in `parent`, and tries rows until `num` are found.
pub(super) fn craft(data: &Dataset, policy: FilterPolicy, num: usize, parent: &Path) -> anyhow::Result<Crafted> {
    let copy = Stage::set_as("attacker", data, Some(policy), KeyHasher::new(KNOWN_SEED), parent)?;
    let started = Instant::now();
    let (mut rows, mut ordinary, mut found) = (Vec::new(), Vec::new(), HashSet::new());
    let (mut num_tried, mut num_passed) = (0, 0);
    for row in guesses(data).take(MAX_TRIED) {
        num_tried += 1;
        if !data.is_absent(&row) {
            continue;
        }
        if ordinary.len() < num {
            ordinary.push(row.clone());
        }
        if costs_a_read(&copy.store, &row)? {
            num_passed += 1;
            if found.insert(row.clone()) {
                rows.push(row);
            }
        }
        if rows.len() == num {
            break;
        }
    }
    let crafted = Crafted { rows, ordinary, num_tried, num_passed, time: started.elapsed() };
    copy.strike()?;
    Ok(crafted)
}

fn costs_a_read(store: &Store, row: &[u8]) -> anyhow::Result<bool> {
    let reads = || store.storage().read_counts().reads;
    let before = reads();
    store.get_row(row)?;
    Ok(reads() > before)
}

/// Plausible rows in no order: more pages of the web table's hosts, or the absent rows of a list. Some may be present.
fn guesses(data: &Dataset) -> Box<dyn Iterator<Item = Vec<u8>> + '_> {
    if let Some(num_hosts) = data.num_hosts {
        return Box::new((0..).map(move |i| webtable::guess(i, num_hosts)));
    }
    let mut order: Vec<usize> = (0..data.absent_rows.len()).collect();
    order.sort_by_cached_key(|&i| random(b"guess", i as u64));
    Box::new(order.into_iter().map(|i| data.absent_rows[i].clone()))
}

#[cfg(test)]
mod tests {
    use super::super::data::Dataset;
    use super::{craft, guesses, webtable};
    use filterblock::{FilterKind, FilterPolicy};
    use std::collections::HashSet;

    #[test]
    fn most_guesses_are_absent_pages_of_known_hosts() {
        let data = webtable::generate(4000);
        let guessed: Vec<_> = guesses(&data).take(1000).collect();
        assert!(guessed.iter().filter(|row| data.is_absent(row)).count() > 950);
        let of_known_host = |row: &Vec<u8>| {
            let host = row.split(|&byte| byte == b'/').next().unwrap_or_default();
            data.rows.iter().any(|known| known.row.starts_with(host)) && row.ends_with(b".html")
        };
        assert!(guessed.iter().filter(|row| of_known_host(row)).count() > 900);
    }

    #[test]
    fn a_list_is_tried_in_some_order_each_row_once() {
        let data = webtable::generate(1000);
        let listed = Dataset { num_hosts: None, ..data };
        let guessed: Vec<_> = guesses(&listed).collect();
        assert_ne!(guessed, listed.absent_rows);
        assert_eq!(guessed.iter().collect::<HashSet<_>>(), listed.absent_rows.iter().collect());
        assert_eq!(guessed.len(), listed.absent_rows.len());
    }

    #[test]
    fn crafted_rows_are_absent_and_take_as_many_guesses_as_the_rate_predicts() {
        let data = webtable::generate(2000);
        let policy = FilterPolicy::with_bits_per_key(FilterKind::Bloom, 8.0).expect("legal");
        let place = tempfile::tempdir().expect("a directory");
        let crafted = craft(&data, policy, 100, place.path()).expect("crafted");
        assert_eq!((crafted.rows.len(), crafted.ordinary.len()), (100, 100));
        assert_eq!(crafted.rows.iter().collect::<HashSet<_>>().len(), 100);
        assert!(crafted.rows.iter().chain(&crafted.ordinary).all(|row| data.is_absent(row)));
        assert!(crafted.num_passed >= 100);
        // Three tables' filters let 2 of 100 pass each, so about one row in 16: four standard deviations of 100
        // successes.
        assert!((1000..2700).contains(&crafted.num_tried), "{}", crafted.num_tried);
    }
}
