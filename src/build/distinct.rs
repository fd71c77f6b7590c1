//! Checks whether a hash occurs twice, for builders that need no order. Most tables hold no key twice, so the check
//! must cost little; a builder that finds a repeated hash sorts the hashes, removes duplicates and starts again.

/// An error: a hash occurs more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeated;

/// The greatest group that is not sorted: in larger ones too many hashes would share a bit.
const MAX_GROUP: usize = 256;
/// The number of words of a group's table: 512 bytes are cheap to clear.
const GROUP_WORDS: usize = 64;

/// A set of hashes, by their lower bits, in a power-of-two number of words: *no* is certain.
struct Seen<W>(W);

impl<W: AsRef<[u64]> + AsMut<[u64]>> Seen<W> {
    #[inline]
    fn insert(&mut self, hash: u64) {
        let words = self.0.as_mut();
        let mask = words.len() - 1;
        words[(hash >> 6) as usize & mask] |= 1 << (hash % 64);
    }

    #[inline]
    fn may_contain(&self, hash: u64) -> bool {
        let words = self.0.as_ref();
        words[(hash >> 6) as usize & (words.len() - 1)] >> (hash % 64) & 1 == 1
    }
}

/// Checks that the hashes of a small group differ; may reorder them. It is designed for about fifty that share their
/// upper bits: one in two hundred then meets a bit that is already set, and is compared with those before it.
pub(crate) fn check_group(hashes: &mut [u64]) -> Result<(), Repeated> {
    if hashes.len() > MAX_GROUP {
        return check_sorted(hashes);
    }
    let mut seen = Seen([0; GROUP_WORDS]);
    for (at, &hash) in hashes.iter().enumerate() {
        if seen.may_contain(hash) && hashes[..at].contains(&hash) {
            return Err(Repeated);
        }
        seen.insert(hash);
    }
    Ok(())
}

/// Checks that the hashes of a large group differ, by a set of 21 to 43 bits a hash.
pub(crate) fn check_part(hashes: &[u64]) -> Result<(), Repeated> {
    let mut seen = Seen(std::vec![0; (hashes.len() / 3).next_power_of_two()]);
    let mut suspects = std::vec::Vec::new();
    for &hash in hashes {
        if seen.may_contain(hash) {
            suspects.push(hash);
        }
        seen.insert(hash);
    }
    check_suspects(hashes, &mut suspects)
}

/// Checks that `hashes` differ. `suspects` must include every hash at its second occurrence.
pub(crate) fn check_suspects(hashes: &[u64], suspects: &mut [u64]) -> Result<(), Repeated> {
    check_sorted(suspects)?;
    if suspects.is_empty() {
        return Ok(());
    }
    // With four words per suspect, most other hashes are rejected by their bit; the rest are looked up among the
    // suspects.
    let mut seen = Seen(std::vec![0; suspects.len().next_power_of_two() * 4]);
    suspects.iter().for_each(|&hash| seen.insert(hash));
    let is_suspect = |&&hash: &&u64| seen.may_contain(hash) && suspects.binary_search(&hash).is_ok();
    let num_found = hashes.iter().filter(is_suspect).count();
    // Each suspect is found at least once, at the place where it was suspected.
    if num_found == suspects.len() { Ok(()) } else { Err(Repeated) }
}

/// Sorts the hashes and checks that they differ.
pub(crate) fn check_sorted(hashes: &mut [u64]) -> Result<(), Repeated> {
    hashes.sort_unstable();
    if hashes.windows(2).any(|pair| pair[0] == pair[1]) { Err(Repeated) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{MAX_GROUP, Repeated, check_group, check_part, check_suspects};
    use crate::hash::mix;

    #[test]
    fn a_repeated_hash_is_found_at_any_position() {
        for len in [2, 3, 51, MAX_GROUP, MAX_GROUP + 1, 1_000] {
            let distinct: Vec<u64> = (0..len as u64).map(mix).collect();
            assert_eq!(check_group(&mut distinct.clone()), Ok(()));
            assert_eq!(check_part(&distinct), Ok(()));
            for (first, second) in [(0, 1), (0, len - 1), (len / 2 - 1, len - 1)] {
                let mut repeated = distinct.clone();
                repeated[second] = repeated[first];
                assert_eq!(check_part(&repeated), Err(Repeated), "{len}: {first}, {second}");
                assert_eq!(check_group(&mut repeated), Err(Repeated), "{len}: {first}, {second}");
            }
        }
    }

    #[test]
    fn only_suspects_that_occur_twice_are_repeated() {
        for num_suspects in [0, 1, 10, 64, 65, 500] {
            let mut hashes: Vec<u64> = (0..2_000).map(mix).collect();
            let mut suspects: Vec<u64> = hashes.iter().rev().take(num_suspects).copied().collect();
            assert_eq!(check_suspects(&hashes, &mut suspects), Ok(()), "{num_suspects}");
            if let Some(&suspect) = suspects.last() {
                hashes.push(suspect);
                assert_eq!(check_suspects(&hashes, &mut suspects), Err(Repeated), "{num_suspects}");
            }
        }
    }
}
