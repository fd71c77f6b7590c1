//! Tables and files of rebuilt filters, as the documentation of the store's `sstable` modules describes their bytes:
//! their checksums, computed and compared here without the library.

use crate::oracle::int;
use crate::pages::PAGE_LEN;
use crate::records::placed_crc;
use crate::repair::{HEADER_LEN, Repair, is_sealed, repair};
use std::ops::Range;

const FOOTER_MAGIC: &[u8] = b"\xf3FBSST\r\n";
const BLOCK_MAGIC: &[u8] = b"\xf5FBD";
const NUMBER_AT: usize = 16;
const DATA_LEN_AT: usize = 80;
const INDEX_LEN_AT: usize = 88;
const NUM_FILTERS_AT: usize = 96;
const FILTERS_AT: usize = 104;
const CRC_AT: usize = PAGE_LEN - 4;

/// The layout according to footer and index, as far as it is within the file.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    pub number: u64,
    pub blocks: Vec<Range<usize>>,
    pub index: Range<usize>,
    /// Each with its purpose.
    pub filters: Vec<(u8, Range<usize>)>,
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    int(&bytes[at..at + 8])
}

/// The range from `at` of `len` bytes, if it ends before `end`.
fn within(at: usize, len: u64, end: usize) -> Option<Range<usize>> {
    let range = at..at.checked_add(usize::try_from(len).ok()?)?;
    (range.end <= end).then_some(range)
}

impl Parts {
    /// The parts of a file of a page at least.
    pub fn of(file: &[u8]) -> Option<Self> {
        let footer = file.len().checked_sub(PAGE_LEN)? / PAGE_LEN * PAGE_LEN;
        let fields = &file[footer..footer + PAGE_LEN];
        let mut parts = Self { number: u64_at(fields, NUMBER_AT), ..Self::default() };
        parts.find(file, fields, footer);
        Some(parts)
    }

    /// Looks for all that ends before the footer; `None` where something does not.
    fn find(&mut self, file: &[u8], fields: &[u8], footer: usize) -> Option<()> {
        let data = within(0, u64_at(fields, DATA_LEN_AT), footer)?;
        self.index = within(data.end, u64_at(fields, INDEX_LEN_AT), footer)?;
        self.blocks = blocks(&file[self.index.clone()], data.end);
        let mut at = self.index.end.next_multiple_of(PAGE_LEN);
        for filter in 0..u64_at(fields, NUM_FILTERS_AT).min(8) as usize {
            let field = FILTERS_AT + 16 * filter;
            let place = within(at, u64_at(fields, field), footer)?;
            at = place.end.next_multiple_of(PAGE_LEN);
            self.filters.push((fields[field + 8], place));
        }
        Some(())
    }

    /// The context that a filter block of this file is bound to.
    pub fn context(&self, purpose: u8) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&[&self.number.to_le_bytes()[..], &[purpose]].concat())
    }
}

/// The places of data blocks, as the index says, as far as they are within the data.
fn blocks(index: &[u8], data_len: usize) -> Vec<Range<usize>> {
    let (mut blocks, mut at, mut entry) = (Vec::new(), 0, 8);
    let num_blocks = index.get(4..8).map_or(0, int);
    for _ in 0..num_blocks {
        let Some(head) = index.get(entry..entry + 12) else { break };
        let Some(place) = within(at, int(&head[..4]) * PAGE_LEN as u64, data_len) else { break };
        entry += 12 + head[4..].chunks(2).map(|len| int(len) as usize).sum::<usize>();
        at = place.end;
        blocks.push(place);
    }
    blocks
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
            repair(&mut file[place.clone()], Repair::all(parts.context(*purpose)));
        }
    }
    put(file, footer, FOOTER_MAGIC);
    put(file, footer + FOOTER_MAGIC.len(), &1u32.to_le_bytes());
    let crc = placed_crc(0, footer as u64, &file[footer..footer + CRC_AT]);
    put(file, footer + CRC_AT, &crc.to_le_bytes());
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
        differs(place) && is_sealed(&file[place.clone()], parts.context(*purpose))
    };
    parts.blocks.iter().any(block) || index || parts.filters.iter().any(filter)
}
