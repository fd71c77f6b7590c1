//! Rows for tests that need many.

/// Rows in no order, all different: SplitMix64's output function, which gives every number another one.
pub(crate) fn scattered(i: u64) -> Vec<u8> {
    let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:016x}", z ^ (z >> 31)).into_bytes()
}
