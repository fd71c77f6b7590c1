//! The index of a partitioned filter: format/partition.md.

use super::{int, mix};

/// An index, of which nothing is verified.
pub struct Index<'a> {
    /// Offset, length, separator.
    pub partitions: Vec<(u64, u64, &'a [u8])>,
}

impl<'a> Index<'a> {
    pub fn open(index: &'a [u8]) -> Self {
        let num_partitions = int(&index[40..44]) as usize;
        let separators = &index[64 + 16 * num_partitions..];
        let mut start = 0;
        let partition = |i: usize| {
            let record = &index[64 + 16 * i..][..16];
            let end = int(&record[12..]) as usize;
            let separator = &separators[start..end];
            start = end;
            (int(&record[..8]), int(&record[8..12]), separator)
        };
        let partitions = (0..num_partitions).map(partition).collect();
        assert_eq!(start, separators.len());
        Self { partitions }
    }

    pub fn find(&self, order_key: &[u8]) -> Option<usize> {
        self.partitions.iter().position(|(_, _, separator)| *separator >= order_key)
    }
}

pub fn partition_context(context: u64, partition: u64) -> u64 {
    mix(context ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(partition)
}

/// The row with a byte 1 after each byte 0, two bytes 0, the column.
pub fn order_key_of_pair(row: &[u8], column: &[u8]) -> Vec<u8> {
    let row = row.iter().flat_map(|&byte| if byte == 0 { vec![0, 1] } else { vec![byte] });
    row.chain([0, 0]).chain(column.iter().copied()).collect()
}
