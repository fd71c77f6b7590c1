//! A reader of sets in the simplest code possible, from format/set.md alone: no code of the package.

use crate::*;
use filterblock::OpenOptions;

fn int(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes[at..at + len].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

fn xxh3(bytes: &[u8]) -> u64 {
    KeyHasher::new(0).hash(bytes).get()
}

pub fn context(identity: u64, column: &str, class: u8, num_slices: u64, slice: u64) -> u64 {
    mix(identity ^ mix(xxh3(column.as_bytes()) ^ mix(slice + num_slices * 65_536 + u64::from(class) * 4_294_967_296)))
}

pub struct PlainSet<'a> {
    bytes: &'a [u8],
    seed: u64,
    columns: Vec<(String, u8, u64)>,
    files: Vec<(String, u64)>,
    /// Column, slice, file, and where the block is.
    blocks: Vec<(u64, u64, u64, u64, u64)>,
}

impl<'a> PlainSet<'a> {
    pub fn read(bytes: &'a [u8]) -> Self {
        let footer = bytes.len() - 64;
        let index_len = int(bytes, footer + 32, 8) as usize;
        let index = &bytes[footer - index_len..footer];
        assert_eq!(int(bytes, footer + 52, 8), xxh3(index));
        let [num_columns, num_files, num_sections] =
            [(14, 2), (24, 4), (28, 4)].map(|(at, len)| int(bytes, footer + at, len) as usize);
        let (base, columns_at) = (int(index, 0, 8), 8);
        // What another writer appended lies between the continued set and the rest.
        let foreign = bytes.len() as u64 - 64 - index_len as u64 - int(bytes, footer + 40, 8);
        let files_at = columns_at + 8 * num_columns;
        let sections_at = files_at + 12 * num_files;
        let lens_at = sections_at + 20 * num_sections;
        let num_blocks: u64 = (0..num_sections).map(|number| int(index, sections_at + 20 * number + 12, 4)).sum();
        let names = &index[lens_at + 4 * num_blocks as usize..];
        let mut start = 0;
        let mut name = |end: u64| {
            let name = String::from_utf8(names[start..end as usize].to_vec()).expect("text");
            start = end as usize;
            name
        };
        let columns = (0..num_columns)
            .map(|number| columns_at + 8 * number)
            .map(|at| (name(int(index, at, 4)), index[at + 4], int(index, at + 6, 2)))
            .collect();
        let files = (0..num_files)
            .map(|number| (name(int(index, files_at + 12 * number + 8, 4)), int(index, files_at + 12 * number, 8)))
            .collect();
        let (mut blocks, mut len_at) = (Vec::new(), lens_at);
        for at in (0..num_sections).map(|number| sections_at + 20 * number) {
            let [mut offset, first, count, column, slice] =
                [(0, 8), (8, 4), (12, 4), (16, 2), (18, 2)].map(|(field, len)| int(index, at + field, len));
            offset += if offset < base { 0 } else { foreign };
            for file in first..first + count {
                let len = int(index, len_at, 4);
                blocks.push((column, slice, file, offset, len));
                (offset, len_at) = (offset + len, len_at + 4);
            }
        }
        Self { bytes, seed: int(bytes, footer + 16, 8), columns, files, blocks }
    }

    pub fn may_contain(&self, file: &str, column: &str, entry: &[u8]) -> bool {
        let number = self.columns.iter().position(|(name, ..)| name == column).expect("a column");
        let (_, class, num_slices) = &self.columns[number];
        let position = self.files.iter().position(|(name, _)| name == file).expect("a file");
        let hash = KeyHasher::new(self.seed).hash(entry).get();
        let slice = ((u128::from(mix(hash)) * u128::from(*num_slices)) >> 64) as u64;
        let wanted =
            |(c, s, f, ..): &&(u64, u64, u64, u64, u64)| (*c, *s, *f) == (number as u64, slice, position as u64);
        let (.., offset, len) = self.blocks.iter().find(wanted).expect("a block");
        let context = context(self.files[position].1, column, *class, *num_slices, slice);
        let block = &self.bytes[*offset as usize..(offset + len) as usize];
        OpenOptions::new().with_context(context).open(block).expect("a block").may_contain(entry)
    }
}
