//! See `src/targets/table.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(table);
