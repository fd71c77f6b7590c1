//! See `src/targets/filters.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(filters);
