//! Filter sets: lookups, damage, and the vectors of the format's document.

mod accepted;
mod document;
mod golden;
mod groups;
mod kit;
mod lookups;
mod mistakes;
mod misuse;
mod sample;
mod second_reader;
mod threads;
mod whole;
mod writers;

use crate::sample::{
    Table, add, bools, builder, columns, finish, hasher, look_up, no_row_lost, open, selected, set, tables, usual,
};
use filterblock::{DecodeError, KeyHasher};
use filterblock_set::{
    EntryBuffer, FOOTER_LEN, FileMask, FileWriter, FilterSet, Opening, SetBuildError, SetBuilder, SetColumn, TimeUnit,
    Value, ValueClass,
};
use std::collections::BTreeSet;
use std::ops::Range;
use testkit::random::Random;

/// Returns the bytes of a little-endian integer.
pub fn little_endian(value: u64) -> [u8; 8] {
    std::array::from_fn(|byte| (value >> (8 * byte)) as u8)
}

/// A set with the checksums of its index and its footer made right.
pub fn repaired(mut bytes: Vec<u8>) -> Vec<u8> {
    let Some(at) = bytes.len().checked_sub(FOOTER_LEN) else { return bytes };
    let index_len = bytes[at + 32..at + 40].iter().rev().fold(0, |len: u64, &byte| len << 8 | u64::from(byte));
    let Some(index_at) = at.checked_sub(index_len as usize) else { return bytes };
    let digest = KeyHasher::new(0).hash(&bytes[index_at..at]).get();
    bytes[at + 52..at + 60].copy_from_slice(&little_endian(digest));
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[at..at + 60]);
    let masked = crc.finalize().rotate_right(15).wrapping_add(0xa282_ead8);
    bytes[at + 60..].copy_from_slice(&little_endian(masked.into())[..4]);
    bytes
}
