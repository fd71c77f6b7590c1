//! Tables and files of rebuilt filters: their checksums, computed and compared here without the library.

pub use crate::layout::Parts;
use crate::layout::{DATA_LEN_AT, FILTERS_AT, FOOTER_MAGIC, INDEX_LEN_AT, NUM_FILTERS_AT, PAGE_LEN};
use crate::layout::{int, placed_crc, seal_footer, u64_at};
use crate::records::Edit;
use crate::repair::{HEADER_LEN, Repair, is_sealed, repair};
use std::ops::Range;

const BLOCK_MAGIC: &[u8] = b"\xf5FBD";

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// The context that a filter block of this file is bound to.
pub fn context(parts: &Parts, purpose: u8) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&[&parts.number.to_le_bytes()[..], &[purpose]].concat())
}

/// What to repair in a file.
#[derive(Clone, Copy, Debug)]
pub struct Forgery {
    pub data: bool,
    pub index: bool,
    pub filters: bool,
    /// The length of the data and the number of blocks in it: what the other parts leave.
    pub lens: bool,
}

/// Makes the file's checksums right, and magic, as `forgery` says. The footer's always.
pub fn forge(file: &mut Vec<u8>, forgery: Forgery) {
    file.resize(file.len().next_multiple_of(PAGE_LEN).max(PAGE_LEN), 0);
    let footer = file.len() - PAGE_LEN;
    if forgery.lens {
        repair_lens(file, footer);
    }
    let parts = Parts::of(file).unwrap_or_default();
    if forgery.data {
        for block in parts.blocks.iter().filter(|block| !block.is_empty()) {
            put(file, block.start, BLOCK_MAGIC);
            let crc = placed_crc(parts.number, block.start as u64, &file[block.start + 8..block.end]);
            put(file, block.start + 4, &crc.to_le_bytes());
        }
    }
    if forgery.index && parts.index.len() >= 8 {
        let crc = placed_crc(parts.number, parts.index.start as u64, &file[parts.index.start + 4..parts.index.end]);
        put(file, parts.index.start, &crc.to_le_bytes());
    }
    for (purpose, place) in &parts.filters {
        if forgery.filters && place.len() >= HEADER_LEN {
            repair(&mut file[place.clone()], Repair::all(context(&parts, *purpose)));
        }
    }
    put(file, footer, FOOTER_MAGIC);
    put(file, footer + FOOTER_MAGIC.len(), &1u32.to_le_bytes());
    seal_footer(file);
}

/// The data takes what index and filters leave of the file.
fn repair_lens(file: &mut [u8], footer: usize) {
    let fields = &file[footer..];
    let padded = |len: u64| len.checked_next_multiple_of(PAGE_LEN as u64);
    let num_filters = u64_at(fields, NUM_FILTERS_AT).min(8) as usize;
    let filters = (0..num_filters).map(|filter| u64_at(fields, FILTERS_AT + 16 * filter));
    let others = filters.chain([u64_at(fields, INDEX_LEN_AT)]);
    let Some(others) = others.map(padded).try_fold(0u64, |sum, len| sum.checked_add(len?)) else { return };
    if let Some(data_len) = (footer as u64).checked_sub(others) {
        put(file, footer + DATA_LEN_AT, &data_len.to_le_bytes());
    }
}

/// The checksum that the manifest knows a table by.
pub fn footer_crc(file: &[u8]) -> u32 {
    file.len().checked_sub(4).map_or(0, |at| int(&file[at..]) as u32)
}

/// The edit that adds a table.
pub fn added(number: u64, level: u64, file: &[u8], filter_file: u64) -> Edit {
    let parts = Parts::of(file).unwrap_or_default();
    let lens = [file.len(), parts.index.start, parts.index.len()].map(|len| len as u64);
    Edit::TableAdded { number, level, lens, footer_crc: footer_crc(file), max_seq: parts.max_seq, filter_file }
}

/// Whether a part of `file` that differs from `original` has valid checksums: then they were computed, or found by
/// chance, and the answers are not predictable.
pub fn is_forged(original: &[u8], file: &[u8]) -> bool {
    let parts = Parts::of(original).unwrap_or_default();
    let differs = |place: &Range<usize>| file.get(place.clone()).is_some_and(|now| now != &original[place.clone()]);
    let crc_holds = |place: Range<usize>, behind: usize, number: u64| {
        let (part, offset) = (&file[place.clone()], place.start as u64);
        int(&part[behind - 4..behind]) == u64::from(placed_crc(number, offset, &part[behind..]))
    };
    let block = |place: &Range<usize>| differs(place) && crc_holds(place.clone(), 8, parts.number);
    let index = differs(&parts.index) && crc_holds(parts.index.clone(), 4, parts.number);
    let filter = |(purpose, place): &(u8, Range<usize>)| {
        differs(place) && is_sealed(&file[place.clone()], context(&parts, *purpose))
    };
    parts.blocks.iter().any(block) || index || parts.filters.iter().any(filter)
}
