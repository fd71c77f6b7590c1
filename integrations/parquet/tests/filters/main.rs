//! The filter beside arrow-rs's, in files that arrow-rs and DuckDB write and read, beside its formula, and damaged.

mod arrow_files;
mod bits;
mod column;
mod damage;
mod duckdb;
mod file;
mod rates;
mod values;

/// The numbers of a generator with equal probabilities (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
