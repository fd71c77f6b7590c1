//! Searching sorted rows by eight bytes of each.
//!
//! A binary search among keys takes a cache miss or two at each step. Rows of a table mostly differ soon after their
//! common prefix, so the eight bytes that follow it decide nearly every step, and integers in one array stay within a
//! few cache lines.

use crate::bytes;
use core::cmp::Ordering;
use core::ops::Range;

/// The eight bytes of `row` from `at` on, as if zeros followed, as a number that orders as they do.
fn fence(row: &[u8], at: usize) -> u64 {
    bytes::u64_padded(row, at).swap_bytes()
}

/// Rows in ascending order, which may repeat.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fences {
    /// The common prefix of all rows.
    common: Box<[u8]>,
    fences: Vec<u64>,
}

impl Fences {
    /// Returns the fences of `rows` in ascending order; `least` is not greater than any row, and `greatest` not less.
    pub(crate) fn new<'a>(least: &[u8], greatest: &[u8], rows: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let common = least.iter().zip(greatest).take_while(|(a, b)| a == b).count();
        let fences = rows.into_iter().map(|row| fence(row, common)).collect();
        Self { common: least[..common].into(), fences }
    }

    /// The rows that may be equal to `row`: all before them are less, all after them are greater.
    #[inline]
    pub(crate) fn around(&self, row: &[u8]) -> Range<usize> {
        match self.compare_head(row) {
            Ordering::Less => return 0..0,
            Ordering::Greater => return self.fences.len()..self.fences.len(),
            Ordering::Equal => {}
        }
        let sought = fence(row, self.common.len());
        let start = self.fences.partition_point(|&fence| fence < sought);
        // The rows themselves decide where fences are equal. There are few such rows, mostly none.
        let same = match self.fences.get(start) {
            Some(&fence) if fence == sought => self.fences[start..].partition_point(|&fence| fence == sought),
            _ => 0,
        };
        start..start + same
    }

    /// Compares `row` with the common prefix, up to the length of the shorter.
    #[inline]
    fn compare_head(&self, row: &[u8]) -> Ordering {
        // The C library compares with masked loads. For zero bytes at the dangling address of an empty box the
        // processor takes 300 ns to suppress the fault.
        if self.common.is_empty() {
            return Ordering::Equal;
        }
        row[..row.len().min(self.common.len())].cmp(&self.common)
    }

    /// Compares the row at `index` with `row`; `None` if that takes the row itself.
    #[inline]
    pub(crate) fn compare(&self, index: usize, row: &[u8]) -> Option<Ordering> {
        let of_heads = self.compare_head(row).reverse();
        let of_fences = || self.fences[index].cmp(&fence(row, self.common.len()));
        Some(of_heads.then_with(of_fences)).filter(|&order| order != Ordering::Equal)
    }
}

/// The first index of a range for which `is_before` is false.
pub(crate) fn partition_point<T>(all: &[T], range: Range<usize>, is_before: impl Fn(&T) -> bool) -> usize {
    range.start + all[range].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::{Fences, Ordering};

    #[test]
    fn rows_are_around_where_they_belong() {
        let alphabets: [&[u8]; 2] = [&[0, b'a', 0xff], b"ab"];
        let mut asked = 0;
        for alphabet in alphabets {
            let mut all = vec![vec![]];
            let mut last = all.clone();
            for _ in 0..4 {
                let longer =
                    |row: &Vec<u8>| alphabet.iter().map(|&byte| [&row[..], &[byte]].concat()).collect::<Vec<_>>();
                last = last.iter().flat_map(longer).collect();
                all.extend_from_slice(&last);
            }
            all.sort();
            for head in [&b""[..], b"0123456789"] {
                for step in 1..7 {
                    let rows: Vec<Vec<u8>> = all.iter().step_by(step).map(|row| [head, row].concat()).collect();
                    let (least, greatest) = (&rows[0], &rows[rows.len() - 1]);
                    let fences = Fences::new(least, greatest, rows.iter().map(Vec::as_slice));
                    for sought in all.iter().flat_map(|row| [row.clone(), [head, row].concat()]) {
                        let around = fences.around(&sought);
                        assert!(rows[..around.start].iter().all(|row| *row < sought), "{sought:?}");
                        assert!(rows[around.end..].iter().all(|row| *row > sought), "{sought:?}");
                        for (place, row) in rows.iter().enumerate() {
                            let order = fences.compare(place, &sought);
                            assert!(order.is_none_or(|order| order == row.cmp(&sought) && order != Ordering::Equal));
                            asked += 1;
                        }
                    }
                }
            }
        }
        assert!(asked > 100_000, "{asked}");
    }
}
