//! See `src/targets/manifest.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(manifest);
