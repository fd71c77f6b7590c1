//! See `src/targets/set.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(set);
