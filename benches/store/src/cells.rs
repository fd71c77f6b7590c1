//! The cells that are written and queried. Row, column and value follow from a cell's number, so that every answer can
//! be checked without a copy of the data.

use serde::{Deserialize, Serialize};

pub const ROW_LEN: usize = 16;
pub const COLUMN: &[u8; 4] = b"cell";
pub const KEY_LEN: usize = ROW_LEN + COLUMN.len();
/// Leading bytes of a row, which the rows of a group share in [`Order::Grouped`].
pub const PREFIX_LEN: usize = 12;
/// Rows of a group.
const GROUP_LEN: u64 = 8;
pub const VALUE_LEN: usize = 100;

/// Bytes that a caller writes with one put.
pub const CELL_LEN: usize = KEY_LEN + VALUE_LEN;

/// Row and column: filterblock takes them separately, the peers take them joined.
#[derive(Clone, Copy)]
pub struct Key([u8; KEY_LEN]);

impl Key {
    fn new(row: u64) -> Self {
        let mut key = [0; KEY_LEN];
        for (digit, at) in key[..ROW_LEN].iter_mut().zip((0..64).step_by(4).rev()) {
            *digit = b"0123456789abcdef"[(row >> at) as usize & 15];
        }
        key[ROW_LEN..].copy_from_slice(COLUMN);
        Self(key)
    }

    pub fn row(&self) -> &[u8] {
        &self.0[..ROW_LEN]
    }

    pub fn column(&self) -> &[u8] {
        &self.0[ROW_LEN..]
    }

    pub fn prefix(&self) -> &[u8] {
        &self.0[..PREFIX_LEN]
    }

    pub fn joined(&self) -> &[u8] {
        &self.0
    }
}

/// The order in which cells are written.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Rows are scrambled numbers: each write lands anywhere in the range.
    Random,
    /// Rows increase.
    Sequential,
    /// The random order, but eight rows at a time share their first 12 bytes. They are written far apart.
    Grouped,
}

impl Order {
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sequential => "sequential",
            Self::Grouped => "grouped",
        }
    }
}

const POOL_LEN: usize = 1 << 20;
const TAG_LEN: usize = 8;

/// Cells 0, 1, … in the order of their writing.
pub struct Cells {
    order: Order,
    num_cells: u64,
    /// Random bytes. A value is the cell's own eight bytes followed by a window of these, so a block's values do not
    /// compress.
    pool: Vec<u8>,
}

impl Cells {
    pub fn new(order: Order, num_cells: u64) -> Self {
        let mut random = Random::new(0);
        let pool = (0..POOL_LEN / 8).flat_map(|_| random.number().to_le_bytes()).collect();
        Self { order, num_cells, pool }
    }

    pub fn key(&self, cell: u64) -> Key {
        Key::new(match self.order {
            Order::Random => scramble(cell),
            Order::Sequential => 3 * cell,
            Order::Grouped => grouped(cell % self.num_groups(), cell / self.num_groups()),
        })
    }

    /// A key that no cell has, within the range of the keys; `index` is below the number of cells.
    pub fn absent_key(&self, index: u64) -> Key {
        Key::new(match self.order {
            // Scrambling maps no two numbers to one.
            Order::Random => scramble(self.num_cells + index),
            Order::Sequential => 3 * index + 1,
            Order::Grouped => grouped(self.num_groups() + index, 0),
        })
    }

    /// Groups of [`Order::Grouped`]: rows that share a prefix.
    pub fn num_groups(&self) -> u64 {
        num_groups(self.num_cells)
    }

    /// The cells of a group.
    pub fn group(&self, group: u64) -> impl Iterator<Item = u64> {
        (group..self.num_cells).step_by(self.num_groups() as usize)
    }

    fn parts(&self, cell: u64) -> ([u8; TAG_LEN], &[u8]) {
        let tag = scramble(!cell);
        let start = tag as usize % (POOL_LEN - VALUE_LEN);
        (tag.to_le_bytes(), &self.pool[start..start + VALUE_LEN - TAG_LEN])
    }

    pub fn value(&self, cell: u64) -> [u8; VALUE_LEN] {
        let (tag, window) = self.parts(cell);
        let mut value = [0; VALUE_LEN];
        value[..TAG_LEN].copy_from_slice(&tag);
        value[TAG_LEN..].copy_from_slice(window);
        value
    }

    pub fn is_value(&self, cell: u64, value: &[u8]) -> bool {
        let (tag, window) = self.parts(cell);
        value.split_at_checked(TAG_LEN).is_some_and(|(head, rest)| head == tag && rest == window)
    }
}

/// The number of groups of `num_cells` cells.
pub fn num_groups(num_cells: u64) -> u64 {
    num_cells.div_ceil(GROUP_LEN)
}

/// The row of a member of a group: 48 bits that follow from the group alone, by a bijection, and 16 from both.
fn grouped(group: u64, member: u64) -> u64 {
    const MASK: u64 = (1 << 48) - 1;
    // Products with odd numbers, and exclusive ors with the upper half, can be undone.
    let mixed = group.wrapping_mul(0x9e37_79b9_7f4b) & MASK;
    let prefix = (mixed ^ (mixed >> 24)).wrapping_mul(0xbf58_476d_1ce5) & MASK;
    let prefix = prefix ^ (prefix >> 24);
    let member = (scramble(prefix).wrapping_add(member.wrapping_mul(0x9e37))) & 0xffff;
    (prefix << 16) | member
}

/// SplitMix64's finalizer, a bijection.
fn scramble(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A reproducible stream of random numbers (SplitMix64).
pub struct Random {
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0xd134_2543_de82_ef95) }
    }

    pub fn number(&mut self) -> u64 {
        let number = scramble(self.state);
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        number
    }

    /// Below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(limit)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, Order};
    use std::collections::{HashMap, HashSet};

    #[test]
    fn keys_are_distinct_and_a_prefix_is_that_of_one_group() {
        for order in [Order::Random, Order::Sequential, Order::Grouped] {
            let (num_cells, mut keys) = (10_001, HashSet::new());
            let cells = Cells::new(order, num_cells);
            assert!((0..num_cells).all(|cell| keys.insert(cells.key(cell).joined().to_vec())));
            assert!((0..num_cells).all(|index| keys.insert(cells.absent_key(index).joined().to_vec())));
        }
        let cells = Cells::new(Order::Grouped, 10_001);
        let mut prefixes: HashMap<_, HashSet<u64>> = HashMap::new();
        for cell in 0..10_001 {
            prefixes.entry(cells.key(cell).prefix().to_vec()).or_default().insert(cell);
        }
        assert_eq!(prefixes.len() as u64, cells.num_groups());
        for group in 0..cells.num_groups() {
            let members: HashSet<u64> = cells.group(group).collect();
            assert_eq!(prefixes[cells.key(group).prefix()], members);
        }
        assert!((0..10_001).all(|index| !prefixes.contains_key(cells.absent_key(index).prefix())));
    }
}
