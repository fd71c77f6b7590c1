//! The scans that a filter of row prefixes can answer, and the range of rows that share a prefix.

use core::ops::Bound;
use filterblock::KeyTransform;
use std::borrow::Cow;

/// The longest entry of a filter of prefixes that every row between `start` and `end` must have. Under a delimiter, the
/// directories of `start` are tried: the least row of the range has them all.
pub(crate) fn safe_entry<'a>(
    start: Bound<&'a [u8]>,
    end: Bound<&[u8]>,
    prefixes: KeyTransform,
) -> Option<Cow<'a, [u8]>> {
    match (prefixes, start) {
        (KeyTransform::FixedPrefix { len: 0 }, _) => None,
        (KeyTransform::FixedPrefix { len }, _) => safe_prefix(start, end, len.into()),
        (_, Bound::Included(least) | Bound::Excluded(least)) => {
            let directories: Vec<&[u8]> = prefixes.prefixes_of(least).collect();
            directories.iter().rev().find_map(|directory| safe_prefix(start, end, directory.len()))
        }
        (_, Bound::Unbounded) => None,
    }
}

/// The prefix of `len` bytes that every row between `start` and `end` must have, so that a filter of prefixes may be
/// probed for it and its *no* holds for the whole range. `None` if rows of the range may differ in it, or be shorter
/// than `len` bytes: shorter rows are not in the filter.
///
/// Either answer is right for a range that cannot contain a row.
///
/// # Proof
///
/// Let R be the rows of the range, not empty, and P the prefix. Rows are ordered by their bytes, a proper prefix first.
///
/// 1. R has a least element m: `start` itself if it is included; `start` followed by a zero byte if it is excluded, as
///    nothing lies between the two; the empty row without a bound. So P is the first `len` bytes of m, and there is
///    none if m is shorter.
/// 2. The rows that start with P are contiguous: a row between two of them agrees with both in the
///    first `len` bytes. The least row above all of them is *next(P)*: P without its trailing 0xff bytes, with the last
///    remaining byte increased by one; there is none if P consists of 0xff bytes.
/// 3. As m starts with P, all of R starts with P if and only if no row of R is next(P) or above. With an included
///    `end`, which is itself in R, that is so if and only if `end` starts with P; with an excluded one, if and only if
///    `end` is at most next(P); without a bound, if and only if there is no next(P).
fn safe_prefix<'a>(start: Bound<&'a [u8]>, end: Bound<&[u8]>, len: usize) -> Option<Cow<'a, [u8]>> {
    let prefix = match start {
        _ if len == 0 => Cow::Borrowed(&[][..]),
        Bound::Unbounded => return None,
        Bound::Included(start) => Cow::Borrowed(start.get(..len)?),
        Bound::Excluded(start) if start.len() + 1 == len => Cow::Owned([start, &[0]].concat()),
        Bound::Excluded(start) => Cow::Borrowed(start.get(..len)?),
    };
    let all_have_it = match (end, next_after(&prefix)) {
        (Bound::Included(end), _) => end.starts_with(&prefix),
        (Bound::Excluded(end), Some(next)) => end <= next.as_slice(),
        (Bound::Unbounded, Some(_)) => false,
        (Bound::Excluded(_) | Bound::Unbounded, None) => true,
    };
    all_have_it.then_some(prefix)
}

/// The range of the rows that start with `prefix`, which may be empty.
pub(crate) fn prefix_range(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    (Bound::Included(prefix.to_vec()), next_after(prefix).map_or(Bound::Unbounded, Bound::Excluded))
}

/// The least row above all that start with `prefix`; `None` if there is none.
fn next_after(prefix: &[u8]) -> Option<Vec<u8>> {
    let (last, before) = prefix[..prefix.len() - trailing_ff(prefix)].split_last()?;
    // The last byte is not 0xff.
    Some([before, &[last + 1]].concat())
}

fn trailing_ff(bytes: &[u8]) -> usize {
    bytes.iter().rev().take_while(|&&byte| byte == 0xff).count()
}

#[cfg(test)]
mod tests {
    use super::{next_after, prefix_range, safe_entry, safe_prefix};
    use core::ops::Bound;
    use filterblock::KeyTransform;

    /// All strings of at most `len` bytes of `alphabet`, in order.
    fn strings(alphabet: &[u8], len: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut longest = all.clone();
        for _ in 0..len {
            let longer = longest.iter().flat_map(|string| alphabet.iter().map(|&byte| [string, &[byte][..]].concat()));
            longest = longer.collect();
            all.extend_from_slice(&longest);
        }
        all.sort();
        all
    }

    /// Rows in order, and the answer by definition for any range of them.
    struct Universe {
        rows: Vec<Vec<u8>>,
        /// For each row, how many before it are shorter than the prefix, or are followed by a row with another one.
        breaks: Vec<usize>,
        len: usize,
    }

    impl Universe {
        fn new(rows: Vec<Vec<u8>>, len: usize) -> Self {
            let (mut breaks, mut sum) = (Vec::new(), 0);
            for (index, row) in rows.iter().enumerate() {
                breaks.push(sum);
                let (here, next) = (row.get(..len), rows.get(index + 1).and_then(|next| next.get(..len)));
                sum += usize::from(here.is_none() || here != next);
            }
            Self { rows, breaks, len }
        }

        /// The indices of the rows in a range.
        fn places(&self, start: Bound<&[u8]>, end: Bound<&[u8]>) -> (usize, usize) {
            let first = self.rows.partition_point(|row| match start {
                Bound::Included(start) => row.as_slice() < start,
                Bound::Excluded(start) => row.as_slice() <= start,
                Bound::Unbounded => false,
            });
            let behind = self.rows.partition_point(|row| match end {
                Bound::Included(end) => row.as_slice() <= end,
                Bound::Excluded(end) => row.as_slice() < end,
                Bound::Unbounded => true,
            });
            (first, behind)
        }

        /// The prefix that all rows at these indices have; the range is not empty.
        fn common_prefix(&self, first: usize, behind: usize) -> Option<&[u8]> {
            // No break from the first row to the one before the last: all have the prefix of the last.
            let is_common = self.breaks[behind - 1] == self.breaks[first];
            self.rows[behind - 1].get(..self.len).filter(|_| is_common)
        }
    }

    fn bounds(strings: &[Vec<u8>]) -> Vec<Bound<&[u8]>> {
        let included = strings.iter().map(|string| Bound::Included(string.as_slice()));
        let excluded = strings.iter().map(|string| Bound::Excluded(string.as_slice()));
        included.chain(excluded).chain([Bound::Unbounded]).collect()
    }

    /// If any row of a range has another prefix or none, so has one of those that the proof names: a bound itself, a
    /// bound with a zero byte appended, or a bound's prefix with a byte increased. All of these are in the universe.
    #[test]
    fn every_range_of_short_strings_is_answered_as_defined() {
        let ends = strings(&[0x00, 0x01, 0xff], 4);
        let rows = strings(&[0x00, 0x01, 0x02, 0xff], 5);
        let bounds = bounds(&ends);
        let (mut num_safe, mut num_unsafe) = (0u64, 0u64);
        for len in 0..=3 {
            let universe = Universe::new(rows.clone(), len);
            for &start in &bounds {
                for &end in &bounds {
                    let (first, behind) = universe.places(start, end);
                    if first >= behind {
                        continue;
                    }
                    let expected = universe.common_prefix(first, behind);
                    assert_eq!(safe_prefix(start, end, len).as_deref(), expected, "{start:x?} {end:x?} {len}");
                    match expected {
                        Some(_) => num_safe += 1,
                        None => num_unsafe += 1,
                    }
                }
            }
        }
        println!("{num_safe} ranges have a safe prefix, {num_unsafe} do not");
        assert!(num_safe > 10_000 && num_unsafe > 10_000);
    }

    /// Every range between strings of two letters and a delimiter, at the least, the greatest and a middle byte: the
    /// directory that is probed begins every row of the range, and a scan of a directory probes that one.
    #[test]
    fn every_row_of_a_range_has_the_directory_that_is_probed() {
        let mut num_safe = 0u64;
        for (alphabet, delimiter) in [([0x00, 0x61, 0xff], 0x00), ([0x00, 0x61, 0xff], 0xff), (*b"./0", b'/')] {
            let rows = strings(&alphabet, 4);
            for prefixes in [1, 2, 255].map(|levels| KeyTransform::DelimitedPrefix { delimiter, levels }) {
                let ends = bounds(&rows);
                for (&start, &end) in ends.iter().flat_map(|start| ends.iter().map(move |end| (start, end))) {
                    let Some(entry) = safe_entry(start, end, prefixes) else { continue };
                    let all = rows.iter().filter(|row| core::ops::RangeBounds::contains(&(start, end), row.as_slice()));
                    assert!(all.clone().all(|row| row.starts_with(&entry)), "{start:x?} {end:x?} {prefixes}");
                    assert!(prefixes.prefixes_of(&entry).last() == Some(&entry), "an entry as rows have it");
                    num_safe += u64::from(all.count() > 1);
                }
                for prefix in &rows {
                    let (start, end) = prefix_range(prefix);
                    let range = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
                    assert_eq!(
                        safe_entry(range.0, range.1, prefixes).as_deref(),
                        prefixes.entry_of(prefix),
                        "{prefix:x?}"
                    );
                }
            }
        }
        assert!(num_safe > 1_000, "{num_safe}");
    }

    #[test]
    fn the_range_of_a_prefix_has_exactly_its_rows() {
        let rows = strings(&[0x00, 0x01, 0x02, 0xfe, 0xff], 4);
        for prefix in strings(&[0x00, 0x01, 0xff], 3) {
            let (start, end) = prefix_range(&prefix);
            let range = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
            for row in &rows {
                let within = core::ops::RangeBounds::<[u8]>::contains(&range, row.as_slice());
                assert_eq!(within, row.starts_with(&prefix), "{row:x?} {prefix:x?}");
            }
            // Filters of prefixes no longer than this one can be probed.
            for len in 0..=4 {
                let asked = safe_prefix(range.0, range.1, len);
                assert_eq!(asked.as_deref(), prefix.get(..len), "{prefix:x?} {len}");
            }
        }
        assert_eq!(next_after(&[0xff, 0xff]), None);
        assert_eq!(next_after(&[0x61, 0xff]), Some(vec![0x62]));
    }
}
