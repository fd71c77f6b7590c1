//! See `src/targets/partitioned.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(partitioned);
