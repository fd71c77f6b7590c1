//! See `src/targets/compact.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(compact);
