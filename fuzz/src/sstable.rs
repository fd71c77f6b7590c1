//! Tables and files of rebuilt filters: their checksums, computed and compared here without the library.

pub use crate::layout::Parts;
use crate::layout::{DATA_LEN_AT, FILTERS_AT, FOOTER_MAGIC, INDEX_LEN_AT, NUM_FILTERS_AT, PAGE_LEN};
use crate::layout::{int, placed_crc, seal_footer, u64_at};
use crate::oracle::mix;
use crate::records::Edit;
use crate::repair::{HEADER_LEN, Repair, is_sealed, repair, seal};
use filterblock::partition::INDEX_MAGIC;
use std::ops::Range;

const BLOCK_MAGIC: &[u8] = b"\xf5FBD";

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// The context that a filter block of this file is bound to.
pub fn context(parts: &Parts, purpose: u8) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&[&parts.number.to_le_bytes()[..], &[purpose]].concat())
}

/// A block or an index of a filter, and the context that it is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterPart {
    pub place: Range<usize>,
    pub context: u64,
    is_index: bool,
}

/// The blocks and indexes of all filters of `file`, each partition at the place that its index gives, as far as they are
/// within the filter. An index comes before its partitions.
pub fn filter_parts(file: &[u8], parts: &Parts) -> Vec<FilterPart> {
    let mut found = Vec::new();
    for ((purpose, place), &index_len) in parts.filters.iter().zip(&parts.index_lens) {
        let context = context(parts, *purpose);
        if index_len == 0 {
            found.push(FilterPart { place: place.clone(), context, is_index: false });
            continue;
        }
        let Some(index_at) = place.len().checked_sub(index_len) else { continue };
        let index = place.start + index_at..place.end;
        let handles = file[index.clone()].get(HEADER_LEN..).unwrap_or_default().chunks_exact(16);
        let num_partitions = file[index.clone()].get(40..44).map_or(0, int) as usize;
        found.push(FilterPart { place: index, context, is_index: true });
        for (number, handle) in (0u64..).zip(handles.take(num_partitions)) {
            let (offset, len) = (u64_at(handle, 0) as usize, int(&handle[8..12]) as usize);
            let Some(end) = offset.checked_add(len).filter(|&end| end <= index_at) else { continue };
            let context = mix(context ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(number);
            found.push(FilterPart { place: place.start + offset..place.start + end, context, is_index: false });
        }
    }
    found.retain(|part| part.place.len() >= HEADER_LEN);
    found
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
    for FilterPart { place, context, is_index } in filter_parts(file, &parts) {
        let (part, all) = (&mut file[place], Repair::all(context));
        match (forgery.filters, is_index) {
            (false, _) => {}
            (true, true) => seal(part, &INDEX_MAGIC, all),
            (true, false) => repair(part, all),
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

/// Returns whether a part of `file` that differs from `original` has valid checksums: then they were computed, or found
/// by chance, and the answers are not predictable.
pub fn is_forged(original: &[u8], file: &[u8]) -> bool {
    let parts = Parts::of(original).unwrap_or_default();
    let differs = |place: &Range<usize>| file.get(place.clone()).is_some_and(|now| now != &original[place.clone()]);
    let crc_holds = |place: Range<usize>, behind: usize, number: u64| {
        let (part, offset) = (&file[place.clone()], place.start as u64);
        int(&part[behind - 4..behind]) == u64::from(placed_crc(number, offset, &part[behind..]))
    };
    let block = |place: &Range<usize>| differs(place) && crc_holds(place.clone(), 8, parts.number);
    let index = differs(&parts.index) && crc_holds(parts.index.clone(), 4, parts.number);
    let filter = |part: &FilterPart| differs(&part.place) && is_sealed(&file[part.place.clone()], part.context);
    parts.blocks.iter().any(block) || index || filter_parts(original, &parts).iter().any(filter)
}
