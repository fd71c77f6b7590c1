//! Synthetic cells: distinct rows in no order, the same each time.

use crate::units::splitmix64;

/// Row `number`, of 20 bytes.
pub(super) fn row(number: u64) -> String {
    format!("row-{:016x}", splitmix64(number))
}

/// The value of row `number`, of `len` printable bytes.
pub(super) fn value(number: u64, len: usize) -> Vec<u8> {
    let digits = (1..).flat_map(|i| format!("{:016x}", splitmix64(splitmix64(number).wrapping_add(i))).into_bytes());
    digits.take(len).collect()
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
