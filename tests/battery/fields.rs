//! Arbitrary headers with correct checksums: what a reader must do where no checksum helps it.
//!
//! # What can be promised
//!
//! A checksum only shows that bytes are as they were written; whoever recomputes it is a writer. A reader has to
//! believe a header with a correct CRC about the seed of the entries and the layout of the payload: the payload can
//! contradict it only by its length and a few unused bits. A Bloom filter of 7 probes under a header that declares 8 is
//! exactly the block of a writer that sets the same bits with 8 probes, and some keys of the first are absent from the
//! second. The digest does not help: it covers the unchanged payload, and if it covered more it would be recomputed as
//! well.
//!
//! So "never *absent* for a stored key" holds without exception for damage whose checksums are not recomputed, which is
//! an error (the tests of `flips` and `lengths`). With recomputed checksums the format promises less, and the tests
//! here assert it for each header:
//!
//! - It is rejected with the error of the first failing check of section 11 ([`verdict`](crate::rules::verdict)), or it
//!   opens and every answer is the oracle's for the changed header. There is no panic and no allocation.
//! - Stored keys are denied only through the fields that define how the payload is read: `kind`, `params` and, as
//!   golomb's number of buckets follows from it, `num_entries`; or, when keys are probed and not hashes, through
//!   `seed`. All others are *newer*, *damaged*, or change no answer. Fewer probes than were written deny nothing.
//! - A block with a payload never opens as one without entries, which would deny every key: `payload_len` must then be
//!   0, and is compared with the actual length.
//! - A caller that states the seed and transform it expects gets a mismatch for any other.

use crate::assembled::repair_crc;
use crate::rules::{DIGEST_AT, verdict};
use crate::*;
use std::ops::Range;

const SEED_AT: Range<usize> = 16..24;
const NUM_ENTRIES_AT: Range<usize> = 24..32;

/// Opens `block`, which is `sample` with another header, in every way that a caller can.
fn try_header(tally: &mut Tally, sample: &Sample, block: &[u8]) {
    let expecting = Caller { hash: Some((1, SEED)), transform: Some(TRANSFORM.to_wire()), ..ANY };
    let hasher = KeyHasher::new(SEED);
    let expecting_options = options().expect_hasher(&hasher).expect_transform(TRANSFORM);
    let of_trust = Caller { trusted: true, ..ANY };
    for (caller, options) in [(expecting, expecting_options), (of_trust, options().with_digest_check(false))] {
        let (opened, seen) = measured(|| options.open(block).map(drop));
        assert_eq!(opened, verdict(block, caller), "{caller:?}");
        tally.worst = tally.worst.max(seen);
    }
    if let Some(denied) = try_block(tally, sample, block) {
        assert_denied_for_a_reason(denied, sample, block);
    }
}

const ANY: Caller = Caller { context: CONTEXT, trusted: false, hash: None, transform: None };

/// Opens `block`, a changed `sample`, and compares its answers with the oracle's. Returns what it denies.
fn try_block(tally: &mut Tally, sample: &Sample, block: &[u8]) -> Option<Denied> {
    let _case = Case((sample.kind, &block[..HEADER_LEN]));
    let (opened, seen) = measured(|| {
        let reader = options().open(block)?;
        describe(&reader);
        assert_eq!(reader.as_bytes().len(), block.len());
        Ok(tally.answers.ask_block(&reader, sample))
    });
    tally.add(opened, verdict(block, ANY), seen);
    let denied = opened.ok()?;
    tally.num_denying += u64::from(denied != Denied::default());
    tally.num_compared += tally.answers.assert_as_oracle(sample, &Oracle::open(block));
    Some(denied)
}

/// Fields through which keys may be denied; see the module.
fn assert_denied_for_a_reason(denied: Denied, sample: &Sample, block: &[u8]) {
    let differs = |range: Range<usize>| block[range.clone()] != sample.bytes[range];
    // Bit 8 of the features: another reading of the payload, as another kind is.
    let (kind, params) = (differs(9..10) || differs(13..14), differs(40..DIGEST_AT));
    let buckets = sample.kind == FilterKind::Golomb && differs(NUM_ENTRIES_AT);
    assert!(denied.by_hash == 0 || kind || params || buckets, "{denied:?}");
    assert!(denied.by_key == 0 || denied.by_hash > 0 || differs(SEED_AT), "{denied:?}");
    let fewer_probes = block[40] <= sample.bytes[40] && !differs(41..DIGEST_AT) && sample.kind != FilterKind::Golomb;
    assert!(denied.by_hash == 0 || kind || !fewer_probes, "{denied:?} by fewer probes");
}

/// Small blocks, and a Golomb filter of several buckets.
fn samples() -> Vec<Sample> {
    let lens: &[usize] = by_extent(&[256], &[64, 128, 256, 512, 4096], &[64, 128, 256, 512, 1024, 4096, 16384]);
    let of_kind = |kind| {
        let of_lens = lens.iter().map(move |len| Sample::of_len(kind, *len));
        std::iter::once(Sample::of_one_entry(kind)).chain(of_lens)
    };
    FilterKind::ALL.iter().copied().flat_map(of_kind).chain([Sample::thinned(150)]).collect()
}

#[test]
fn every_value_of_every_header_byte_is_refused_or_read_by_the_rules() {
    let mut tally = Tally::new();
    for sample in samples() {
        let mut block = sample.bytes.clone();
        for at in 0..HEADER_LEN {
            for value in 0..=255 {
                block[at] = value;
                // A changed digest keeps its change under a correct CRC, and a changed CRC is not recomputed.
                if at < CRC_AT {
                    repair_crc(&mut block, CONTEXT);
                }
                try_header(&mut tally, &sample, &block);
                block[..HEADER_LEN].copy_from_slice(&sample.bytes[..HEADER_LEN]);
            }
        }
    }
    let num_samples = samples().len() as u64;
    assert_eq!(tally.num_tried, num_samples * 64 * 256);
    // The exception is real: the answers of each kind depend on its parameters.
    assert!(tally.num_denying > num_samples);
    tally.report("values of header bytes with the CRC repaired");
}

/// A field of a header: name, position, and values to try besides 0, 1 and its two largest.
#[derive(Clone)]
struct Field {
    at: Range<usize>,
    limits: &'static [u64],
}

const fn field(at: usize, len: usize, limits: &'static [u64]) -> Field {
    Field { at: at..at + len, limits }
}

/// Fields of every kind, with the limits between legal and illegal values.
const COMMON: [Field; 9] = [
    field(8, 1, &[2]),
    field(9, 1, &[2, 3, 4]),
    field(10, 1, &[2]),
    field(11, 1, &[2, 3, 6, 127, 128]),
    field(12, 2, &[0xfe, 0xff, 0x100]),
    field(14, 2, &[0x100]),
    field(16, 8, &[]),
    field(24, 8, &[63, 64, 65, 128, 129]),
    field(32, 8, &[64]),
];

/// The parameters of a kind: sections 5 to 9.
fn params(kind: FilterKind) -> Vec<Field> {
    // Four fields of a byte each, and those after them.
    let bytes = |limits: [&'static [u64]; 4], rest: &[Field]| {
        let bytes = (40..).zip(limits).map(|(at, limits)| field(at, 1, limits));
        bytes.chain(rest.iter().cloned()).collect()
    };
    let words = [field(44, 4, &[1 << 16, 1 << 31]), field(48, 4, &[])];
    match kind {
        FilterKind::Bloom => {
            vec![field(40, 1, &[63, 64, 65]), field(41, 3, &[]), field(44, 8, &[(1 << 56) - 1, 1 << 56, (1 << 56) + 1])]
        }
        FilterKind::Blocked => vec![field(40, 1, &[15, 16, 17]), field(41, 1, &[5, 6, 7]), field(42, 10, &[])],
        FilterKind::Ribbon => bytes([&[31, 32, 33], &[8, 9], &[30, 31, 32], &[31, 32, 33]], &words),
        FilterKind::Fuse => bytes([&[31, 32, 33], &[17, 18, 19], &[62, 63, 64], &[]], &words),
        _ => bytes([&[47, 48, 49], &[56, 57, 58], &[63, 64, 65], &[]], &[field(44, 8, &[1 << 58, 1 << 63])]),
    }
}

impl Field {
    /// Values for a block's field: the ends of its range and of the legal range, its own value and both neighbours.
    fn values(&self, block: &[u8]) -> Vec<Vec<u8>> {
        let len = self.at.len();
        let own = block[self.at.clone()].to_vec();
        let small =
            |value: u64| (0..len).map(|i| if i < 8 { (value >> (8 * i)) as u8 } else { 0 }).collect::<Vec<u8>>();
        let mut greatest = vec![0xff; len];
        let mut values = vec![own.clone(), small(0), small(1), greatest.clone()];
        greatest[0] = 0xfe;
        values.push(greatest);
        values.extend(self.limits.iter().map(|&value| small(value)));
        if len <= 8 {
            let own = int(&own);
            values.extend([small(own.wrapping_add(1)), small(own.wrapping_sub(1))]);
        }
        values.sort_unstable();
        values.dedup();
        values
    }
}

#[test]
fn every_pair_of_header_fields_at_their_limits_is_refused_or_read_by_the_rules() {
    let (mut tally, mut num_field_pairs) = (Tally::new(), 0);
    for sample in samples() {
        let fields: Vec<Field> = COMMON.into_iter().chain(params(sample.kind)).collect();
        let mut block = sample.bytes.clone();
        for (i, first) in fields.iter().enumerate() {
            for second in &fields[i + 1..] {
                num_field_pairs += 1;
                for a in first.values(&sample.bytes) {
                    for b in second.values(&sample.bytes) {
                        block[first.at.clone()].copy_from_slice(&a);
                        block[second.at.clone()].copy_from_slice(&b);
                        repair(&mut block, CONTEXT);
                        try_header(&mut tally, &sample, &block);
                    }
                }
                block[..HEADER_LEN].copy_from_slice(&sample.bytes[..HEADER_LEN]);
            }
        }
    }
    // Bloom and blocked have 12 fields, golomb 14, ribbon and fuse 15.
    let num_pairs = |sample: &Sample| match sample.kind {
        FilterKind::Golomb => 91,
        FilterKind::Ribbon | FilterKind::Fuse => 105,
        _ => 66,
    };
    assert_eq!(num_field_pairs, samples().iter().map(num_pairs).sum::<u64>());
    assert!(tally.num_tried > num_field_pairs * 25 && tally.num_denying > 0);
    assert!(["Padding", "PayloadLength"].iter().all(|name| tally.refused.contains_key(*name)), "{:?}", tally.refused);
    tally.report(&format!("values of {num_field_pairs} pairs of header fields with both checksums repaired"));
}

/// The exception to the promise: a changed payload with a recomputed digest opens, and answers by its changed bits.
#[test]
fn every_flip_of_a_payload_with_its_checksums_repaired_is_read_by_the_rules() {
    let mut tally = Tally::new();
    for sample in samples().into_iter().filter(|sample| sample.bytes.len() <= 512) {
        let mut block = sample.bytes.clone();
        for bit in HEADER_LEN * 8..block.len() * 8 {
            block[bit / 8] ^= 1 << (bit % 8);
            repair(&mut block, CONTEXT);
            try_block(&mut tally, &sample, &block);
            block[bit / 8] ^= 1 << (bit % 8);
        }
    }
    assert!(tally.num_denying > 0 && tally.num_opened > tally.num_tried / 2);
    tally.report("flipped bits of payloads with both checksums repaired");
}
