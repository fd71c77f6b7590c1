//! Work is bounded whatever the bytes: blocks with damaged parameters and payloads whose checksums hold, and compact
//! frames, are opened and queried, and what they load from the frame is counted. The bounds are those of
//! `EMBEDDING.md`. (Loads of vectors are not counted: there is a fixed number of them before the portable search.)

use super::{FilterBlockBuilder, compact};
use crate::bytes::loads_of;
use crate::frame::{HEADER_LEN, OpenOptions, checksums};
use crate::hash::{KeyHash, mix};
use crate::keys::kinds::FilterLayout;
use crate::keys::policy::FilterPolicy;
use crate::kind::FilterKind;
use std::vec::Vec;

/// The parameters in a header.
const PARAMS_AT: usize = 40;
/// The range of a bucket of golomb.
const BUCKET_RANGE_AT: usize = PARAMS_AT + 4;
/// The length of the payload in a header.
const PAYLOAD_LEN_AT: usize = 32;
/// The most bytes after the payload of a compact frame.
const MAX_TRAILER_LEN: usize = 20;

/// The most loads of 64 bits of an opening: the header's fields, the directory's of eight layers, and a seed.
const MAX_OPEN: u64 = 40;

/// Returns the most loads of a query. A word that lies at any bit takes two.
fn max_query(kind: FilterKind, params: &[u8]) -> u64 {
    match kind {
        // Bytes, which are not counted: see the number of probes.
        FilterKind::Bloom => 0,
        FilterKind::Blocked => 8,
        // At most 512 · (r + 2) bits: a remainder for each code, the unary bits twice, and the directory.
        FilterKind::Golomb => {
            let remainder_bits = u64::from(params[0]);
            let bucket_bits = 512 * (remainder_bits + 2);
            bucket_bits / (remainder_bits + 1) + 2 * bucket_bits / 57 + 64
        }
        // Two words of each column; the thresholds are bytes.
        FilterKind::Ribbon => 2 * 33 + 8,
        FilterKind::Fuse => 4,
    }
}

/// The greatest numbers of loads, in openings and in queries, and the number of frames that were accepted.
#[derive(Default)]
struct Counted {
    open: u64,
    query: u64,
    num_accepted: u64,
}

impl Counted {
    /// Opens by `open` and queries with each engine; what is refused costs no more than what is accepted.
    fn add(&mut self, params: &[u8], open: impl FnOnce() -> Option<(FilterLayout, Vec<u8>)>) {
        let (num_loads, opened) = loads_of(open);
        self.open = self.open.max(num_loads);
        assert!(num_loads <= MAX_OPEN, "{num_loads} to open {params:02x?}");
        let Some((layout, payload)) = opened else { return };
        let Some(kind) = layout.kind() else { return };
        self.num_accepted += 1;
        let max_probes = if kind == FilterKind::Bloom { 64 } else { 16 };
        assert!(layout.num_probes(&payload).is_none_or(|num| (1..=max_probes).contains(&num)), "{layout:?}");
        let payload = layout.own(&payload);
        for layout in layout.with_each_engine() {
            for hash in (0..60).map(|i| KeyHash::from_raw(mix(i + 1))) {
                let (num_loads, _) = loads_of(|| layout.may_contain(payload, 0, hash));
                self.query = self.query.max(num_loads);
                assert!(num_loads <= max_query(kind, params), "{num_loads} to query {kind} {params:02x?}");
            }
        }
    }
}

/// Calls `visit` with `bytes` as they are, and with each of `places` changed in several ways.
fn each_damage(bytes: &[u8], places: core::ops::Range<usize>, mut visit: impl FnMut(&[u8])) {
    visit(bytes);
    for at in places {
        for value in [0, 1, 2, 3, 0x1f, 0x30, 0x7f, 0xff, bytes[at] ^ 1, bytes[at] ^ 8, bytes[at] ^ 0x80] {
            let mut damaged = bytes.to_vec();
            damaged[at] = value;
            visit(&damaged);
        }
    }
}

/// Fills a payload in one of six ways; the first leaves it as it is.
fn filled(payload: &mut [u8], way: u64) {
    match way {
        0 => {}
        1 => payload.fill(0),
        2 => payload.fill(0xff),
        3 => payload.fill(0x55),
        4 => payload.fill(0x01),
        _ => (0..).zip(payload).for_each(|(i, byte)| *byte = mix(i + way) as u8),
    }
}

#[test]
fn no_bytes_make_an_opening_or_a_query_long() {
    let rates: [(FilterKind, &[f64]); 5] = [
        (FilterKind::Bloom, &[0.3, 1e-6]),
        (FilterKind::Blocked, &[0.01, 1e-5]),
        (FilterKind::Golomb, &[0.25, 0.01, 1e-4, 1e-9]),
        (FilterKind::Ribbon, &[0.5, 0.003, 1e-9]),
        (FilterKind::Fuse, &[0.5, 0.004, 1e-9]),
    ];
    for (kind, rates) in rates {
        let mut counted = Counted::default();
        for (&rate, num_entries) in rates.iter().flat_map(|rate| [1, 60, 700, 9_000].map(|num| (rate, num))) {
            let policy = FilterPolicy::with_false_positive_rate(kind, rate).expect("legal");
            // The hashes of the second shape are remapped.
            for shape in [0, 40] {
                let mut builder = FilterBlockBuilder::new(&policy);
                (0..num_entries).for_each(|i| builder.add_hash(KeyHash::from_raw(mix(i + 1) >> shape)));
                let (mut block, mut frame) = (builder.clone().finish().expect("built"), Vec::new());
                builder.finish_compact_into(&mut frame).expect("built");
                for way in 0..6 {
                    let end = block.len();
                    filled(&mut block[HEADER_LEN..end.max(HEADER_LEN + 48) - 48], way);
                    each_damage(&block.clone(), PARAMS_AT..PARAMS_AT + 12, |block| {
                        let mut block = block.to_vec();
                        checksums::write(&mut block, 0);
                        let params = block[PARAMS_AT..PARAMS_AT + 12].to_vec();
                        counted.add(&params, || {
                            let reader = OpenOptions::new().open(&block).ok()?;
                            Some((*reader.layout(), reader.payload().to_vec()))
                        });
                    });
                    let trailer_at = frame.len().saturating_sub(MAX_TRAILER_LEN);
                    filled(&mut frame[..trailer_at.saturating_sub(32)], way);
                    each_damage(&frame.clone(), trailer_at..frame.len(), |frame| {
                        // The widest remainder has the greatest bound.
                        counted.add(&[48; 12], || {
                            let (layout, payload) = compact::open(frame).ok()?;
                            Some((layout, payload.to_vec()))
                        });
                    });
                }
            }
        }
        let Counted { open, query, num_accepted } = counted;
        assert!(num_accepted > 1_000, "{kind}: {num_accepted}");
        println!("counted: {kind}, at most {open} loads an opening and {query} a query, {num_accepted} damaged frames");
    }
}

/// The longest searches of golomb: one bucket of the greatest length, full of codes of each width and of quotients of
/// several lengths, and an offset beyond all of them. They stay within the bound, and come near to it.
#[test]
fn a_bucket_of_the_greatest_length_is_searched_within_its_bound() {
    let mut most = 0;
    for (remainder_bits, quotient_len) in (0..=48u8).flat_map(|bits| [1, 2, 5, 19, 57, 400].map(|len| (bits, len))) {
        let policy = FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 0.01).expect("legal");
        let mut builder = FilterBlockBuilder::new(&policy);
        builder.add_hash(KeyHash::from_raw(mix(1)));
        let mut block = builder.finish().expect("built");
        block[PARAMS_AT] = remainder_bits;
        let remainder_bits = usize::from(remainder_bits);
        let payload_len = 512 * (remainder_bits + 2) / 8;
        block.truncate(HEADER_LEN);
        block.resize(HEADER_LEN + payload_len, 0);
        // Each code is a quotient of this many unary bits, the last one set, and a remainder of zero.
        let num_codes = payload_len * 8 / (remainder_bits + quotient_len);
        let ones = (1..=num_codes).map(|code| code * quotient_len - 1);
        ones.for_each(|bit| block[HEADER_LEN + bit / 8] |= 1 << (bit % 8));
        crate::bytes::put_u64(&mut block, PAYLOAD_LEN_AT, payload_len as u64);
        crate::bytes::put_u64(&mut block, BUCKET_RANGE_AT, u64::MAX);
        checksums::write(&mut block, 0);
        let filter = OpenOptions::new().open(&block).expect("any codes");
        let bound = max_query(FilterKind::Golomb, &block[PARAMS_AT..]);
        for layout in filter.layout().with_each_engine() {
            let (num_loads, _) = loads_of(|| layout.may_contain(filter.payload(), 0, KeyHash::from_raw(u64::MAX)));
            assert!(num_loads <= bound, "{num_loads} of {bound} loads, {remainder_bits} bits");
            most = most.max(num_loads);
        }
    }
    assert!(most > 500, "{most}");
    println!("counted: at most {most} loads to search a golomb bucket of the greatest length");
}
