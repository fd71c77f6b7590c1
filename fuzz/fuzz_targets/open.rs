//! See `src/targets/open.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(open);
