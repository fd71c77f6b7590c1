//! Blocks wrong in two ways at once: for each pair of rows the class and the row of the first.

use crate::assembled::{crc32, put, repair};
use crate::case::{Case, Expected, Request};
use crate::oracle::{int, mix};
use crate::refused::{BLOCKED, BLOOM, FUSE, GOLOMB, NONE, RIBBON, refused, sound};

/// A block on its way to being wrong.
pub struct Draft {
    pub request: Request,
    digest_is_wrong: bool,
    crc_is_wrong: bool,
    is_cut: bool,
}

type Break = fn(&mut Draft);

/// A way to fail a row: its class, the blocks that it works on, and what it does to them.
struct Way {
    row: usize,
    class: &'static str,
    bases: &'static [usize],
    wreck: Break,
}

pub const ROWS: [&str; 18] = [
    "length",
    "magic",
    "crc",
    "version",
    "kind",
    "hash_id",
    "features",
    "transform",
    "payload_len",
    "digest",
    "expected",
    "key",
    "estimate",
    "empty-len",
    "empty-params",
    "reserved",
    "range",
    "unused",
];

/// Recomputes the CRC of a block whose digest stays as it is; `flip` is what is then wrong with it.
pub fn repair_crc(block: &mut [u8], context: u64, flip: u32) {
    let crc = crc32(&block[..60]).rotate_right(15).wrapping_add(0xa282_ead8) ^ mix(context) as u32 ^ flip;
    put(&mut block[60..64], crc.into());
}

impl Draft {
    pub fn new(bytes: Vec<u8>) -> Self {
        let request = Request { frame: "block", bytes, ..Request::default() };
        Self { request, digest_is_wrong: false, crc_is_wrong: false, is_cut: false }
    }

    fn set(&mut self, at: usize, value: u8) {
        self.request.bytes[at] = value;
    }

    /// Sets a bit of the last byte of what has unused bits, by the block's kind.
    fn set_unused(&mut self) {
        let len = self.request.bytes.len();
        let at = match self.request.bytes[9] {
            3 => 65,
            4 => len - 9,
            _ => len - 1,
        };
        self.request.bytes[at] |= 0x80;
    }

    pub fn done(self) -> Request {
        let Self { mut request, digest_is_wrong, crc_is_wrong, is_cut } = self;
        let Request { bytes, context, .. } = &mut request;
        repair(bytes, *context);
        if digest_is_wrong {
            let digest = int(&bytes[52..60]) ^ 1 << 40;
            put(&mut bytes[52..60], digest);
        }
        repair_crc(bytes, *context, u32::from(crc_is_wrong) << 9);
        if is_cut {
            bytes.truncate(63);
        }
        request
    }
}

const ALL: &[usize] = &[BLOOM, GOLOMB, RIBBON, FUSE, BLOCKED, NONE];
const WITH_ENTRIES: &[usize] = &[BLOOM, GOLOMB, RIBBON, FUSE, BLOCKED];

fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    let mut way = |row: &str, class, bases, wreck| {
        let row = ROWS.iter().position(|name| *name == row).expect("a row");
        ways.push(Way { row, class, bases, wreck });
    };
    way("length", "damaged", ALL, |draft| draft.is_cut = true);
    way("magic", "damaged", ALL, |draft| draft.set(0, 0xf2));
    way("crc", "damaged", ALL, |draft| draft.crc_is_wrong = true);
    way("version", "damaged", ALL, |draft| draft.set(8, 0));
    way("version", "newer", ALL, |draft| draft.set(8, 2));
    way("kind", "newer", ALL, |draft| draft.set(9, 6));
    way("hash_id", "newer", ALL, |draft| draft.set(10, 3));
    way("features", "newer", ALL, |draft| draft.request.bytes[13] |= 0x10);
    way("transform", "newer", ALL, |draft| draft.set(11, 5));
    way("transform", "newer", ALL, |draft| draft.set(15, 1));
    way("payload_len", "damaged", ALL, |draft| draft.request.bytes[32] ^= 1);
    way("digest", "damaged", ALL, |draft| draft.digest_is_wrong = true);
    way("expected", "mismatch", ALL, |draft| draft.request.transform = Some((1, 0)));
    way("expected", "mismatch", ALL, |draft| draft.request.hash = Expected::Seed(1));
    way("key", "mismatch", ALL, |draft| draft.set(10, 2));
    way("estimate", "damaged", &[GOLOMB, RIBBON, FUSE, BLOCKED, NONE], |draft| draft.request.bytes[12] |= 1);
    way("empty-len", "damaged", WITH_ENTRIES, |draft| draft.set(24, 0));
    way("empty-params", "newer", &[NONE], |draft| draft.set(47, 1));
    way("reserved", "newer", WITH_ENTRIES, |draft| match draft.request.bytes[9] {
        1 => draft.set(42, 1),
        2 => draft.set(51, 1),
        3 => draft.set(43, 1),
        _ => draft.set(50, 1),
    });
    way("range", "damaged", WITH_ENTRIES, |draft| draft.set(40, 77));
    way("unused", "damaged", &[BLOOM, GOLOMB, RIBBON, FUSE], Draft::set_unused);
    ways
}

/// Whether both can be wrong at once: with entries and without, with an unknown hash and a known one.
fn exclude_each_other(first: &Way, second: &Way) -> bool {
    let name = |way: &Way| ROWS[way.row];
    match (name(first), name(second)) {
        // These are the two ways in which a block without entries is wrong.
        ("empty-len" | "empty-params", "reserved" | "range" | "unused") | ("empty-len", "empty-params") => true,
        ("hash_id", "key") => true,
        _ => false,
    }
}

pub fn cases() -> Vec<Case> {
    let (ways, sound, mut cases, mut seen) = (ways(), sound(), Vec::new(), Vec::new());
    for first in &ways {
        for second in ways.iter().filter(|second| second.row > first.row) {
            if exclude_each_other(first, second) {
                continue;
            }
            // A caller that states a seed expects hash id 1, so there is no key to be missed.
            let Some(&base) = first.bases.iter().find(|base| second.bases.contains(base)) else { continue };
            let mut draft = Draft::new(sound[base].clone());
            (first.wreck)(&mut draft);
            (second.wreck)(&mut draft);
            let (row, then) = (ROWS[first.row], ROWS[second.row]);
            seen.push((first.row, second.row));
            cases.push(Case::new(format!("{row} before {then}"), draft.done(), refused(first.class, row)));
        }
    }
    // Parameters of a payload without entries.
    let mut draft = Draft::new(sound[BLOOM].clone());
    draft.set(24, 0);
    cases.push(Case::new("empty-len before empty-params", draft.done(), refused("damaged", "empty-len")));
    // Every pair, but for those that cannot both be wrong: the last three of a filter with entries with the two of one
    // without, an unknown hash with one that needs a key, and estimates of bloom's with bloom's own.
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 18 * 17 / 2 - 6 - 1 - 1, "pairs of rows");
    cases
}
