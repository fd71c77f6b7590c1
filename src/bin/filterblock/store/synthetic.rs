//! Cells that are made up: distinct rows in no order, the same ones each time.

/// The finalizer of SplitMix64 (G. Steele, D. Lea, C. Flood, *Fast splittable pseudorandom number generators*, OOPSLA
/// 2014): a bijection, so that no two numbers make the same row.
fn scattered(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The row with this number: 20 bytes.
pub(super) fn row(number: u64) -> String {
    format!("row-{:016x}", scattered(number))
}

/// Its value, of `len` printable bytes.
pub(super) fn value(number: u64, len: usize) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = scattered(number ^ u64::MAX);
    let letter = |_| {
        state = scattered(state);
        LETTERS[(state >> 58) as usize]
    };
    (0..len).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::{row, value};
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_distinct_and_values_have_their_length() {
        let rows: BTreeSet<String> = (0..10_000).map(row).collect();
        assert_eq!(rows.len(), 10_000);
        assert!(rows.iter().all(|row| row.len() == 20));
        for len in [0, 1, 100] {
            assert_eq!(value(7, len).len(), len);
        }
        assert_ne!(value(7, 100), value(8, 100));
    }
}
