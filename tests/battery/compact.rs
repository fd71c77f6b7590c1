//! Compact frames, which have no checksum: any bytes give an error or the answers that the format defines for them,
//! without panic or allocation. Undetected damage may deny stored keys: section 10 requires an engine that stores such
//! frames to verify them itself.

use crate::rules::compact_fault;
use crate::trailers::{fuse_trailer, golomb_trailer, ribbon_trailer};
use crate::*;

/// Opens `frame`, a damaged form of `sample`.
fn try_frame(tally: &mut Tally, sample: &Sample, frame: &[u8]) {
    let _case = Case((sample.kind, frame));
    let (opened, seen) = measured(|| {
        let reader = open_compact(frame)?;
        describe(&reader);
        assert_eq!(reader.frame_len(), frame.len());
        Ok(tally.answers.ask(&reader, sample))
    });
    tally.add(opened, compact_fault(frame).map_err(|(_, error)| error), seen);
    if opened.is_ok() && tally.num_opened % 8 == 0 {
        tally.num_compared += tally.answers.assert_as_oracle(sample, &Oracle::open_compact(frame));
    }
}

/// Frames with no entries, one entry, one golomb bucket and several.
fn samples() -> Vec<Sample> {
    let sizes = [0, 1, 50, 150, 700];
    FilterKind::ALL
        .iter()
        .copied()
        .flat_map(|kind| sizes.map(|num_entries| Sample::compact(kind, num_entries)))
        .chain([Sample::compact_thinned(150)])
        .collect()
}

/// Length of the trailer in bytes, section 10.
fn trailer_len(frame: &[u8]) -> usize {
    match frame[frame.len() - 1] {
        0x10 => 1,
        0x11 | 0x12 => 2,
        0x14 if frame[frame.len() - 2] & 15 == 15 => 5,
        0x14 => 4 + usize::from(frame[frame.len() - 2] & 15),
        0x15 => 4 + usize::from(frame[frame.len() - 2] & 7),
        0x13 if frame[frame.len() - 2] < 16 => 3,
        _ => 4 + usize::from(frame[frame.len() - 2] >> 4) + usize::from(frame[frame.len() - 2] & 15),
    }
}

#[test]
fn every_flip_cut_and_extension_of_a_compact_frame_is_refused_or_read_by_the_rules() {
    let mut tally = Tally::new();
    for sample in samples() {
        let mut frame = sample.bytes.clone();
        for bit in 0..frame.len() * 8 {
            frame[bit / 8] ^= 1 << (bit % 8);
            try_frame(&mut tally, &sample, &frame);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        (0..frame.len()).for_each(|len| try_frame(&mut tally, &sample, &frame[..len]));
        (1..frame.len()).for_each(|start| try_frame(&mut tally, &sample, &frame[start..]));
        for filler in [vec![0; 64], vec![0xff; 64], sample.bytes.iter().copied().cycle().take(64).collect()] {
            let mut longer = sample.bytes.clone();
            for byte in filler {
                longer.push(byte);
                try_frame(&mut tally, &sample, &longer);
            }
        }
    }
    let num_bytes: usize = samples().iter().map(|sample| sample.bytes.len()).sum();
    let num_samples = samples().len();
    assert_eq!(tally.num_tried as usize, num_bytes * 8 + num_bytes + (num_bytes - num_samples) + num_samples * 3 * 64);
    tally.report("flips, cuts at both ends and extensions of compact frames");
}

/// All pairs of values of the last two bytes, which are the whole trailer except golomb's, ribbon's and fuse's, and all
/// values of each byte of these.
#[test]
fn every_value_of_the_trailer_is_refused_or_read_by_the_rules() {
    let mut tally = Tally::new();
    let step = by_extent(7, 1, 1);
    for sample in samples() {
        let mut frame = sample.bytes.clone();
        let len = frame.len();
        for values in (0..=0xffff_u16).step_by(step).filter(|_| len >= 2) {
            (frame[len - 1], frame[len - 2]) = (values as u8, (values >> 8) as u8);
            try_frame(&mut tally, &sample, &frame);
        }
        frame.copy_from_slice(&sample.bytes);
        for at in len - trailer_len(&frame)..len {
            for value in 0..=255 {
                frame[at] = value;
                try_frame(&mut tally, &sample, &frame);
                frame[at] = sample.bytes[at];
            }
        }
    }
    let num_trailers: usize = samples().iter().map(|sample| trailer_len(&sample.bytes)).sum();
    // The frames without entries, one of each kind, have one byte.
    let num_pairs = 0x1_0000_usize.div_ceil(step) * (samples().len() - FilterKind::ALL.len());
    assert_eq!(tally.num_tried as usize, num_pairs + num_trailers * 256);
    tally.report("values of the trailers of compact frames");
}

/// Tries values for each two of a trailer's fields: `limits` of each field, and the frame's own value and its
/// neighbours. A trailer with these fields is made by `trailer`; `own` reads them, and the payload.
fn try_pairs<const N: usize>(
    kind: FilterKind,
    own: impl Fn(Oracle) -> Option<([u64; N], Vec<u8>)>,
    limits: [&[u64]; N],
    apart: &[(usize, usize)],
    trailer: impl Fn([u64; N]) -> Vec<u8>,
) {
    let (mut tally, mut num_pairs) = (Tally::new(), 0);
    for sample in samples().into_iter().filter(|sample| sample.kind == kind && sample.bytes.len() > 1) {
        let (own, payload) = own(Oracle::open_compact(&sample.bytes)).expect("a filter of the kind");
        let values = |field: usize| {
            let most = limits[field].iter().copied().max().unwrap_or(0);
            let near = [own[field], own[field] + 1, own[field].saturating_sub(1)];
            limits[field].iter().copied().chain(near.into_iter().filter(move |value| *value <= most))
        };
        let pairs = (0..N).flat_map(|first| (first + 1..N).map(move |second| (first, second)));
        for (first, second) in pairs.filter(|pair| !apart.contains(pair)) {
            num_pairs += 1;
            for a in values(first) {
                for b in values(second) {
                    let mut fields = own;
                    (fields[first], fields[second]) = (a, b);
                    try_frame(&mut tally, &sample, &[&payload[..], &trailer(fields)].concat());
                }
            }
        }
    }
    // Four samples of a kind have entries, and one of ribbon is thinned.
    let num_samples = if kind == FilterKind::Ribbon { 5 } else { 4 };
    assert_eq!(num_pairs, num_samples * (N * (N - 1) / 2 - apart.len()));
    tally.report(&format!("values of {num_pairs} pairs of fields of {kind}'s trailers"));
}

#[test]
fn every_pair_of_golombs_trailer_fields_at_their_limits_is_refused_or_read_by_the_rules() {
    let integers = &[0, 1, 2, 63, 64, 65, 66, 4096, 4097, 1 << 32, 1 << 58, 1 << 63, u64::MAX - 1, u64::MAX];
    let bytes = &[0, 1, 2, 7, 8, 47, 48, 49, 56, 57, 58, 254, 255];
    let own = |oracle| match oracle {
        Oracle::Golomb { golomb: g, payload } => {
            Some(([g.num_buckets, g.bucket_range, g.remainder_bits, g.directory_bits], payload))
        }
        _ => None,
    };
    try_pairs(FilterKind::Golomb, own, [integers, integers, bytes, bytes], &[], |[buckets, range, r, d]| {
        golomb_trailer(buckets, range, [r as u8, d as u8])
    });
}

#[test]
fn every_pair_of_ribbons_trailer_fields_at_their_limits_is_refused_or_read_by_the_rules() {
    let shares = &[0, 1, 255, 256, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 32, u64::MAX];
    let bytes = &[0, 1, 2, 7, 8, 9, 15, 30, 31, 32, 33, 254, 255];
    // Of four bits.
    let layers = &bytes[..7];
    let own = |oracle| match oracle {
        Oracle::Ribbon { ribbon: r, payload } => {
            Some(([r.wide_share, r.last_seed, r.columns, r.num_blocks.len() as u64, r.thinned_from], payload))
        }
        _ => None,
    };
    // A frame has either a share or the columns that it was thinned from.
    let limits = [&shares[..], bytes, bytes, layers, bytes];
    try_pairs(FilterKind::Ribbon, own, limits, &[(0, 4)], |[wide_share, rest @ .., thinned_from]| {
        ribbon_trailer(wide_share, thinned_from as u8, rest.map(|field| field as u8))
    });
}

#[test]
fn every_pair_of_fuses_trailer_fields_at_their_limits_is_refused_or_read_by_the_rules() {
    let segments = &[0, 1, 2, 255, 256, 1 << 16, (1 << 32) - 1, 1 << 32, 1 << 55];
    let bytes = &[0, 1, 2, 7, 8, 17, 18, 19, 31, 32, 33, 62, 63, 64, 254, 255];
    // Of five bits.
    let lengths = &bytes[..9];
    let own = |oracle| match oracle {
        Oracle::Fuse { fuse: f, payload } => {
            Some(([f.num_segments, f.seed, f.fingerprint_bits, f.log2_segment_len], payload))
        }
        _ => None,
    };
    try_pairs(FilterKind::Fuse, own, [&segments[..], bytes, bytes, lengths], &[], |[segments, rest @ ..]| {
        fuse_trailer(segments, rest.map(|field| field as u8))
    });
}

/// The numbers of blocks at the end of a payload: all values of each byte, and pairs at their limits.
#[test]
fn every_number_of_ribbons_blocks_is_refused_or_read_by_the_rules() {
    let mut tally = Tally::new();
    let limits = [0, 1, 2, 3, 4, 255, 256, 1 << 16, 1 << 31, u32::MAX - 1, u32::MAX];
    for sample in samples().into_iter().filter(|sample| sample.kind == FilterKind::Ribbon && sample.bytes.len() > 1) {
        let mut frame = sample.bytes.clone();
        let num_layers = usize::from(frame[frame.len() - 2] >> 4);
        let end = frame.len() - trailer_len(&frame);
        for at in end - 4 * num_layers..end {
            for value in 0..=255 {
                frame[at] = value;
                try_frame(&mut tally, &sample, &frame);
            }
            frame[at] = sample.bytes[at];
        }
        for (first, second) in (0..num_layers).flat_map(|i| (i..num_layers).map(move |j| (i, j))) {
            for (a, b) in limits.into_iter().flat_map(|a| limits.map(|b| (a, b))) {
                for (layer, num) in [(first, a), (second, b)] {
                    let at = end - 4 * (num_layers - layer);
                    (0..4).for_each(|i| frame[at + i] = (num >> (8 * i)) as u8);
                }
                try_frame(&mut tally, &sample, &frame);
            }
            frame.copy_from_slice(&sample.bytes);
        }
    }
    assert!(tally.num_opened > 0);
    tally.report("numbers of blocks of ribbon's layers");
}
