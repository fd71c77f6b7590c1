//! The fuzz targets, each one function from an input's bytes that panics on a defect, and the code that they share.
//!
//! A target's file under `fuzz_targets` only calls its function, so that the stable toolchain replays every input that
//! libFuzzer keeps.

#![deny(unsafe_code)]

pub mod blocks;
pub mod case;
pub mod pages;
pub mod records;
pub mod repair;
pub mod sample;
pub mod seeds;
pub mod sstable;
pub mod store;
pub mod targets;

#[cfg(test)]
mod memory;
#[cfg(test)]
mod replay;

pub use testkit::store::{layout, sim, state};
pub use testkit::{integer_oracle, oracle, range_oracle, readers};

/// The entry point of a target: libFuzzer's under `cargo fuzz`; otherwise a program that replays the files that it is
/// given.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|input: &[u8]| {
            $crate::targets::$name(input);
        });

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            for path in std::env::args_os().skip(1) {
                let reached = $crate::targets::$name(&std::fs::read(&path)?);
                println!("{}: no defect ({reached:?})", std::path::Path::new(&path).display());
            }
            Ok(())
        }
    };
}
