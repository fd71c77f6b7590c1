//! See `src/targets/repaired.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(repaired);
