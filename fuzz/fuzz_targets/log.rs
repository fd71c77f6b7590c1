//! See `src/targets/log.rs`.
#![cfg_attr(fuzzing, no_main)]

filterblock_fuzz::target!(log);
