//! The rows of a measured database, computed from their numbers.

/// Length of a value in bytes.
const VALUE_LEN: usize = 100;

/// Numbers of absent keys begin here: no database has as many rows.
const FIRST_ABSENT: u64 = 1 << 40;

/// A key and its value.
pub struct Row {
    /// 16 hexadecimal digits.
    pub key: [u8; 16],
    /// Bytes that do not compress.
    pub value: [u8; VALUE_LEN],
}

/// The row of number `i`. Rows that follow each other are scattered over the whole range of keys.
pub fn row(i: u64) -> Row {
    let (key, mut state) = (key(i), i);
    let value = std::array::from_fn(|_| {
        state = scramble(state);
        state as u8
    });
    Row { key, value }
}

/// Returns absent key number `i`, within the range of the rows' keys.
pub fn absent_key(i: u64) -> [u8; 16] {
    key(FIRST_ABSENT + i)
}

fn key(i: u64) -> [u8; 16] {
    let number = scramble(i);
    std::array::from_fn(|digit| b"0123456789abcdef"[(number >> (60 - 4 * digit) & 15) as usize])
}

/// A bijection of 64-bit numbers (the finaliser of SplitMix64): distinct numbers have distinct keys.
fn scramble(i: u64) -> u64 {
    let mut x = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
