//! A deterministic stream of writes, and the contents of a store after some of them.

use std::collections::BTreeMap;
use std::io::Write;
use testkit::random::Random;

const NUM_ROWS: u64 = 400;
const NUM_COLUMNS: u64 = 3;

/// Cells by row and column.
pub type Cells = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

/// A write to one cell.
struct Write1 {
    row: Vec<u8>,
    column: Vec<u8>,
    /// `None` deletes the cell.
    value: Option<Vec<u8>>,
}

/// Writes by their number. Cells are few, so most writes overwrite; one in eight deletes.
#[derive(Clone, Copy)]
pub struct Stream {
    pub seed: u64,
}

impl Stream {
    fn write(self, number: u64) -> Write1 {
        let mut random = Random::new(self.seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let row = format!("row-{:03}", random.below(NUM_ROWS)).into_bytes();
        let column = format!("c{}", random.below(NUM_COLUMNS)).into_bytes();
        let len = if random.one_in(64) { 9000 } else { random.below(200) };
        // All values differ, so that a cell's value identifies its last write.
        let value = format!("{number}:{}", "v".repeat(len as usize)).into_bytes();
        Write1 { row, column, value: (!random.one_in(8)).then_some(value) }
    }

    /// Applies the writes of these numbers to `cells`.
    pub fn apply(self, numbers: std::ops::Range<u64>, cells: &mut Cells) {
        for Write1 { row, column, value } in numbers.map(|number| self.write(number)) {
            match value {
                Some(value) => cells.insert((row, column), value),
                None => cells.remove(&(row, column)),
            };
        }
    }

    /// The input lines for the writes of these numbers.
    pub fn lines(self, numbers: std::ops::Range<u64>) -> Vec<u8> {
        let mut lines = Vec::new();
        for Write1 { row, column, value } in numbers.map(|number| self.write(number)) {
            let value = value.unwrap_or_else(|| b"\\N".to_vec());
            lines.write_all(&[&row[..], b"\t", &column, b"\t", &value, b"\n"].concat()).unwrap();
        }
        lines
    }
}
