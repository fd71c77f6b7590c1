//! See `src/targets/range.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(range);
