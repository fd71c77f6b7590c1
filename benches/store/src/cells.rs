//! The cells that are written and queried. Row, column and value follow from a cell's number, so that every answer can
//! be checked without a copy of the data.

use serde::{Deserialize, Serialize};

pub const ROW_LEN: usize = 16;
pub const COLUMN: &[u8; 4] = b"cell";
pub const KEY_LEN: usize = ROW_LEN + COLUMN.len();
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
}

impl Order {
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sequential => "sequential",
        }
    }
}

const POOL_LEN: usize = 1 << 20;
const TAG_LEN: usize = 8;

/// Cells 0, 1, … in the order of their writing.
pub struct Cells {
    order: Order,
    /// Random bytes. A value is the cell's own eight bytes followed by a window of these, so a block's values do not
    /// compress.
    pool: Vec<u8>,
}

impl Cells {
    pub fn new(order: Order) -> Self {
        let mut random = Random::new(0);
        let pool = (0..POOL_LEN / 8).flat_map(|_| random.number().to_le_bytes()).collect();
        Self { order, pool }
    }

    pub fn key(&self, cell: u64) -> Key {
        Key::new(match self.order {
            Order::Random => scramble(cell),
            Order::Sequential => 3 * cell,
        })
    }

    /// A key that no cell has, within the range of the keys of `num_cells` cells; `index` is below `num_cells`.
    pub fn absent_key(&self, index: u64, num_cells: u64) -> Key {
        Key::new(match self.order {
            // Scrambling maps no two numbers to one.
            Order::Random => scramble(num_cells + index),
            Order::Sequential => 3 * index + 1,
        })
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
