//! Filter sets: lookups, damage, and the vectors of the format's document.

mod any_bytes;
mod damage;
mod document;
mod golden;
mod kit;
mod lookups;
mod mistakes;
mod misuse;
mod plain;
mod sample;
mod second_reader;
mod threads;
mod writers;

use crate::damage::repaired;
use crate::sample::{Table, add, columns, look_up, no_row_lost, open, policy, selected, set, tables};
use filterblock::{DecodeError, DecodeErrorClass, FilterBlockBuilder, KeyHasher};
use filterblock_set::{
    Answers, EntryBuffer, FOOTER_LEN, FileWriter, FilterSet, Opening, SetBuildError, SetBuilder, SetColumn, TimeUnit,
    Value, ValueClass,
};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use testkit::random::Random;
