//! What the kit is worth for the order of checks: a reader that makes each check by itself and replies with the first
//! row that fails, in any order of rows. In the document's order it replies as the kit has it; with any two rows
//! exchanged it is noticed, but for two neighbours that cannot both fail.

use crate::assembled::crc32;
use crate::case::{Case, Expected, Reply, Request};
use crate::oracle::{int, mix};
use crate::{index_refused, order};
use filterblock::KeyHasher;

/// A frame, whose header may be cut: then the bytes that are missing count as zeros.
struct Frame<'a> {
    request: &'a Request,
    header: [u8; 64],
    /// What follows the header.
    rest: &'a [u8],
}

impl<'a> Frame<'a> {
    fn new(request: &'a Request) -> Self {
        let mut header = [0; 64];
        let len = request.bytes.len().min(64);
        header[..len].copy_from_slice(&request.bytes[..len]);
        Self { request, header, rest: &request.bytes[len..] }
    }

    fn has_entries(&self) -> bool {
        self.header[24..32] != [0; 8]
    }

    fn is_unexpected(&self) -> bool {
        let (id, param) = (self.header[11], int(&self.header[14..16]) as u16);
        let of = |hasher: KeyHasher| (hasher.hash_id(), hasher.seed());
        let hash = self.request.hash.hasher().map(of);
        hash.is_some_and(|hash| hash != (self.header[10], int(&self.header[16..24])))
            || self.request.transform.is_some_and(|transform| transform != (id, param))
    }

    /// Of the index, record by record: offset, length, end of the separator.
    fn records(&self) -> Vec<[u64; 3]> {
        let num = int(&self.header[40..44]) as usize;
        let record = |bytes: &[u8]| [int(&bytes[..8]), int(&bytes[8..12]), int(&bytes[12..])];
        self.rest.chunks_exact(16).take(num).map(record).collect()
    }

    fn fails_in_a_record(&self) -> bool {
        let (records, mut place, mut separator) = (self.records(), 0, 0);
        let separators_len = self.rest.len().saturating_sub(16 * records.len()) as u64;
        let mut fails = false;
        for [offset, len, end] in records {
            fails |= offset < place || len < 64 || offset.checked_add(len).is_none() || end < separator;
            fails |= end > separators_len;
            (place, separator) = (offset.saturating_add(len), end);
        }
        fails || separator != separators_len
    }

    fn separators_do_not_ascend(&self) -> bool {
        let records = self.records();
        let separators = self.rest.get(16 * records.len()..).unwrap_or_default();
        let mut start = 0;
        let separator = |[_, _, end]: [u64; 3]| {
            let separator = separators.get(start..end as usize).unwrap_or_default();
            start = end as usize;
            separator
        };
        let all: Vec<&[u8]> = records.into_iter().map(separator).collect();
        all.windows(2).any(|pair| pair[0] >= pair[1])
    }

    /// Of the sound blocks of the kit: where their kinds have reserved bytes, and where their payloads have unused
    /// bits.
    fn reserved_and_unused(&self) -> (Vec<usize>, Vec<u8>) {
        let last = self.rest.last().copied().unwrap_or_default();
        let at = |at: usize| self.rest.get(at).copied().unwrap_or_default();
        match self.header[9] {
            1 => ((41..44).collect(), vec![last & 0xfe]),
            2 => ((42..52).collect(), vec![]),
            3 => (vec![43], vec![at(1) & 0xf0]),
            4 => ((48..52).collect(), vec![at(self.rest.len().wrapping_sub(9)) & 0xfc]),
            _ => ([43].into_iter().chain(48..52).collect(), vec![last]),
        }
    }

    /// Whether the check of a row fails, and the class of that.
    fn fails(&self, row: &str) -> Option<&'static str> {
        let Self { request, header, rest } = self;
        let (is_index, context) = (request.frame == "index", mix(request.context));
        let magic: &[u8; 8] = if is_index { b"\xf2FBLI\r\n\x1a" } else { b"\xf1FBLK\r\n\x1a" };
        let crc = || crc32(&header[..60]).rotate_right(15).wrapping_add(0xa282_ead8) ^ context as u32;
        let most = [0, 64, 16, 48, 32, 32][usize::from(header[9]).min(5)];
        let (fails, class) = match row {
            "length" => (request.bytes.len() < 64, "damaged"),
            "magic" => (header[..8] != *magic, "damaged"),
            "crc" => (int(&header[60..]) != u64::from(crc()), "damaged"),
            "version" if header[8] == 0 => (true, "damaged"),
            "version" => (header[8] != 1, "newer"),
            "kind" => (!(1..=5).contains(&header[9]), "newer"),
            "hash_id" => (!(1..=2).contains(&header[10]), "newer"),
            "features" => (header[13] != 0, "newer"),
            "transform" => ((5..=127).contains(&header[11]) || header[11] < 3 && header[14..16] != [0; 2], "newer"),
            "reserved" if is_index => (header[9] != 0 || header[44..52] != [0; 8], "newer"),
            "payload_len" => (int(&header[32..40]) != rest.len() as u64, "damaged"),
            "digest" => (KeyHasher::new(0).hash(rest).get() ^ context != int(&header[52..60]), "damaged"),
            "expected" => (self.is_unexpected(), "mismatch"),
            "key" => (header[10] == 2 && request.hash == Expected::Nothing, "mismatch"),
            "estimate" => (header[12] & 1 == 1 && (header[9] != 1 || !self.has_entries()), "damaged"),
            "empty-len" => (!self.has_entries() && !rest.is_empty(), "damaged"),
            "empty-params" => (!self.has_entries() && header[40..52] != [0; 12], "newer"),
            "reserved" => {
                (self.has_entries() && self.reserved_and_unused().0.iter().any(|&at| header[at] != 0), "newer")
            }
            "range" => (self.has_entries() && !(1..=most).contains(&header[40]), "damaged"),
            "unused" => (self.has_entries() && self.reserved_and_unused().1.iter().any(|&bits| bits != 0), "damaged"),
            "records" => (16 * int(&header[40..44]) > rest.len() as u64, "damaged"),
            "entries" => {
                let (entries, partitions) = (int(&header[24..32]), int(&header[40..44]));
                (entries < partitions || entries > 0 && partitions == 0, "damaged")
            }
            "record" => (self.fails_in_a_record(), "damaged"),
            "order" => (self.separators_do_not_ascend(), "damaged"),
            _ => panic!("{row}"),
        };
        fails.then_some(class)
    }
}

/// Whether a reader that checks `rows` in this order replies to each case as the kit has it.
fn passes(rows: &[&str], cases: &[(Vec<(&'static str, &'static str)>, &Case)]) -> bool {
    cases.iter().all(|(failing, case)| {
        let first = rows.iter().find_map(|row| failing.iter().find(|(name, _)| name == row));
        match (first, &case.reply) {
            (Some(&(row, class)), Reply::Refused { class: expected, row: expected_row, .. }) => {
                (class, row) == (*expected, *expected_row)
            }
            _ => panic!("{}: no row fails", case.name),
        }
    })
}

/// Exchanges any two of `rows`. Returns the pairs that no case of the kit notices.
fn unnoticed(rows: &[&'static str], cases: &[Case]) -> Vec<(&'static str, &'static str)> {
    let failing = |case: &Case| {
        let frame = Frame::new(&case.request);
        rows.iter().filter_map(|&row| Some((row, frame.fails(row)?))).collect()
    };
    let cases: Vec<_> = cases.iter().map(|case| (failing(case), case)).collect();
    assert!(passes(rows, &cases), "the document's order");
    let mut unnoticed = Vec::new();
    for first in 0..rows.len() {
        for second in first + 1..rows.len() {
            let mut exchanged = rows.to_vec();
            exchanged.swap(first, second);
            if passes(&exchanged, &cases) {
                unnoticed.push((rows[first], rows[second]));
            }
        }
    }
    unnoticed
}

#[test]
fn any_two_rows_exchanged_are_noticed() {
    let of_blocks = unnoticed(&order::ROWS, &order::cases());
    // The last row of a filter without entries, and the first of one with entries.
    assert_eq!(of_blocks, [("empty-params", "reserved")]);
    let named = |case: &Case| matches!(&case.reply, Reply::Refused { row, .. } if case.name.starts_with(&format!("index, {row}")));
    let of_indexes: Vec<Case> = index_refused::cases().into_iter().filter(named).collect();
    assert_eq!(unnoticed(&index_refused::ROWS, &of_indexes), []);
    let pairs = |num: usize| num * (num - 1) / 2;
    let num_pairs = pairs(order::ROWS.len()) + pairs(index_refused::ROWS.len());
    println!("counted: {num_pairs} readers with two rows of checks exchanged, {} noticed", num_pairs - of_blocks.len());
}
