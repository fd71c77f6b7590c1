//! Order keys, by which partitions are separated.

use crate::hash::KeyTransform;
use crate::query::Query;
#[cfg(feature = "std")]
use std::vec::Vec;

/// An order key, as its bytes or as the pair that it is made of.
pub(super) enum OrderKey<'a> {
    Bytes(&'a [u8]),
    Pair(&'a [u8], &'a [u8]),
}

/// Returns the order key of the entry of a query; `None` if it has none under the transform. An entry that is a prefix is
/// its own order key, so that it is in one partition; one beside the whole key, and a delimited one, is added at the key.
#[inline]
pub(super) fn of_query(transform: KeyTransform, query: Query<'_>) -> Option<OrderKey<'_>> {
    let bytes = match (query, transform) {
        (Query::Cell(row, column), KeyTransform::RowColumn) => return Some(OrderKey::Pair(row, column)),
        (Query::Row(row) | Query::Cell(row, _), KeyTransform::Row) => Some(row),
        (Query::Entry { order_key, .. }, KeyTransform::Custom(_)) => Some(order_key),
        (Query::Key(key), _) => transform.entry_of(key),
        (Query::Prefix(key), _) => transform.prefix_of(key),
        (Query::Row(_) | Query::Cell(..) | Query::Entry { .. } | Query::Range(..), _) => None,
    };
    bytes.map(OrderKey::Bytes)
}

/// The bytes that follow a row in a pair's order key. A zero byte of the row is followed by 1, so a row that ends here
/// is below all longer ones.
const ROW_END: [u8; 2] = [0, 0];
const ESCAPED_ZERO: u8 = 1;

/// Returns the bytes of the order key of a (row, column) pair. Pairs are ordered by row, then by column, and so are
/// these. For let one row be a prefix of another: the longer one continues with 0, 1 or a greater byte, and 0, 0 is
/// below both.
pub(super) fn pair<'a>(row: &'a [u8], column: &'a [u8]) -> impl Iterator<Item = u8> + use<'a> {
    let escaped = row.iter().flat_map(|&byte| core::iter::once(byte).chain((byte == 0).then_some(ESCAPED_ZERO)));
    escaped.chain(ROW_END).chain(column.iter().copied())
}

/// Appends the separator between two partitions: the shortest byte string that is at least `last`, the last order key
/// of the first, and below every prefix of `next`, the first order key of the second, that is above `last`.
///
/// The second condition is more than being below `next`. Let q be a byte string with which some order keys begin, k the
/// least of them, and i the first partition whose separator is at least q. Then k is in partition i. For suppose it is
/// in a later one, so that `last` of i is below k. `last` does not begin with q, as k is the least that does, hence it
/// is below q, and q is at most the separator of i, which is below `next`, which is at most k. All strings between q
/// and k begin with q, so `next` is k, and q is a prefix of `next` above `last`: the separator is below q, a
/// contradiction.
#[cfg(feature = "std")]
pub(super) fn push_separator(last: &[u8], next: &[u8], out: &mut Vec<u8>) {
    let shared = last.iter().zip(next).take_while(|(a, b)| a == b).count();
    // The least prefix of `next` above `last` has `shared` + 1 bytes. A byte of `last` that is raised ends the
    // separator: at `shared` it must stay below that of `next`, after that it may be any.
    let can_be_raised = |&at: &usize| match at == shared {
        true => last[at] + 1 < next[at],
        false => last[at] < u8::MAX,
    };
    let raised = (shared..last.len().saturating_sub(1)).find(can_be_raised);
    match raised {
        Some(at) => {
            out.extend_from_slice(&last[..at]);
            out.push(last[at] + 1);
        }
        None => out.extend_from_slice(last),
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::{pair, push_separator};

    /// All strings of at most `len` bytes of these, in order.
    fn strings(alphabet: &[u8], len: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        for start in 0.. {
            let Some(string) = all.get(start).filter(|string: &&Vec<u8>| string.len() < len).cloned() else { break };
            all.extend(alphabet.iter().map(|&byte| [&string[..], &[byte]].concat()));
        }
        all.sort();
        all
    }

    #[test]
    fn separators_are_the_shortest_that_are_right() {
        let all = strings(&[0, 1, 2, 254, 255], 4);
        let candidates = strings(&[0, 1, 2, 3, 253, 254, 255], 4);
        let sample = |seed: usize| all.iter().skip(seed % 11).step_by(11);
        for (last, next) in
            (0..7).flat_map(|a| sample(a).flat_map(move |last| sample(a + 3).map(move |next| (last, next))))
        {
            if last >= next {
                continue;
            }
            let mut separator = Vec::new();
            push_separator(last, next, &mut separator);
            let above = (0..=next.len()).map(|len| &next[..len]).find(|prefix| *prefix > &last[..]).unwrap();
            assert!(last <= &separator && &separator[..] < above, "{last:?} {separator:?} {next:?}");
            let shortest = candidates.iter().filter(|c| last <= c && &c[..] < above).map(Vec::len).min();
            assert_eq!(shortest, Some(separator.len()), "{last:?} {separator:?} {next:?}");
        }
        let mut out = b"kept".to_vec();
        push_separator(b"com.example/a-long-key", b"org.example/", &mut out);
        assert_eq!(out, b"keptd");
    }

    #[test]
    fn pairs_are_ordered_by_row_and_then_by_column() {
        let parts = strings(&[0, 1, 255], 3);
        let mut pairs: Vec<_> = parts.iter().flat_map(|row| parts.iter().map(move |column| (row, column))).collect();
        pairs.sort();
        let mut keys = pairs.iter().map(|(row, column)| pair(row, column).collect::<Vec<u8>>());
        let first = keys.next().unwrap();
        assert_eq!(first, [0, 0]);
        keys.fold(first, |last, key| {
            assert!(last < key, "{last:?} {key:?}");
            key
        });
    }
}
