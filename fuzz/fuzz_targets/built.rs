//! See `src/targets/built.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(built);
