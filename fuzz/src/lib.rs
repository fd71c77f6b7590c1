//! The fuzz targets, each one function from an input's bytes that panics on a defect, and the code that they share.
//!
//! A target's file under `fuzz_targets` only calls its function, so that the stable toolchain replays every input that
//! libFuzzer keeps.

#![deny(unsafe_code)]

pub mod blocks;
pub mod case;
#[path = "../../tests/format/integer_oracle.rs"]
pub mod integer_oracle;
#[path = "../../crates/filterblock-kv/tests/layout/mod.rs"]
pub mod layout;
#[path = "../../tests/format/oracle/mod.rs"]
pub mod oracle;
pub mod pages;
#[path = "../../tests/format/range_oracle.rs"]
pub mod range_oracle;
#[path = "../../tests/format/readers.rs"]
pub mod readers;
pub mod records;
pub mod repair;
pub mod sample;
pub mod seeds;
#[path = "../../crates/filterblock-kv/tests/sim/disk/mod.rs"]
pub mod sim;
pub mod sstable;
#[path = "../../crates/filterblock-kv/tests/damage/state.rs"]
mod state;
pub mod store;
pub mod targets;

#[cfg(test)]
mod memory;
#[cfg(test)]
mod replay;

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
