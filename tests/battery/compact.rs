//! Compact frames, which have no checksum: any bytes give an error or the answers that the format defines for them,
//! without panic or allocation. Undetected damage may deny stored keys: section 10 requires an engine that stores such
//! frames to verify them itself.

use crate::allocation::{Allocated, measured};
use crate::errors::{assert_complete_message, name_of};
use crate::extent::by_extent;
use crate::oracle::Oracle;
use crate::report::{Case, counted};
use crate::rules::{compact_verdict, fuse_trailer, golomb_trailer, ribbon_trailer};
use crate::samples::{Answers, Sample, describe, open_compact};
use filterblock::FilterKind;
use std::collections::BTreeMap;

#[derive(Debug)]
struct Tally {
    num_frames: u64,
    num_opened: u64,
    /// Answers of the frames that opened.
    num_compared: u64,
    refused: BTreeMap<String, u64>,
    worst: Allocated,
    answers: Answers,
}

impl Tally {
    fn new() -> Self {
        let (refused, worst, answers) = (BTreeMap::new(), Allocated::NOTHING, Answers::new());
        Self { num_frames: 0, num_opened: 0, num_compared: 0, refused, worst, answers }
    }

    /// Opens `frame`, a damaged form of `sample`.
    fn try_frame(&mut self, sample: &Sample, frame: &[u8]) {
        let _case = Case((sample.kind, frame));
        self.num_frames += 1;
        let (opened, seen) = measured(|| {
            let reader = open_compact(frame)?;
            describe(&reader);
            assert_eq!(reader.frame_len(), frame.len());
            self.answers.ask(&reader, sample);
            Ok(())
        });
        self.worst = self.worst.max(seen);
        assert_eq!(opened, compact_verdict(frame));
        match opened {
            Ok(()) => {
                self.num_opened += 1;
                if self.num_opened % 8 == 0 {
                    self.num_compared += self.answers.assert_as_oracle(sample, &Oracle::open_compact(frame));
                }
            }
            Err(error) => {
                assert_complete_message(&error);
                *self.refused.entry(name_of(&error)).or_default() += 1;
            }
        }
    }

    fn report(&self, what: &str) {
        assert_eq!(self.worst, Allocated::NOTHING);
        assert_eq!(self.num_opened + self.refused.values().sum::<u64>(), self.num_frames);
        let mut counts = vec![(self.num_frames, what), (self.num_opened, "opened")];
        counts.extend(self.refused.iter().map(|(name, count)| (*count, name.as_str())));
        counts.push((self.num_compared, "answers that are the oracle's"));
        counts.push((self.worst.largest_bytes, "bytes allocated at most"));
        counted(&counts);
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
            tally.try_frame(&sample, &frame);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        (0..frame.len()).for_each(|len| tally.try_frame(&sample, &frame[..len]));
        (1..frame.len()).for_each(|start| tally.try_frame(&sample, &frame[start..]));
        for filler in [vec![0; 64], vec![0xff; 64], sample.bytes.iter().copied().cycle().take(64).collect()] {
            let mut longer = sample.bytes.clone();
            for byte in filler {
                longer.push(byte);
                tally.try_frame(&sample, &longer);
            }
        }
    }
    let num_bytes: usize = samples().iter().map(|sample| sample.bytes.len()).sum();
    let num_samples = samples().len();
    assert_eq!(tally.num_frames as usize, num_bytes * 8 + num_bytes + (num_bytes - num_samples) + num_samples * 3 * 64);
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
            tally.try_frame(&sample, &frame);
        }
        frame.copy_from_slice(&sample.bytes);
        for at in len - trailer_len(&frame)..len {
            for value in 0..=255 {
                frame[at] = value;
                tally.try_frame(&sample, &frame);
                frame[at] = sample.bytes[at];
            }
        }
    }
    let num_trailers: usize = samples().iter().map(|sample| trailer_len(&sample.bytes)).sum();
    // The frames without entries, one of each kind, have one byte.
    let num_pairs = 0x1_0000_usize.div_ceil(step) * (samples().len() - FilterKind::ALL.len());
    assert_eq!(tally.num_frames as usize, num_pairs + num_trailers * 256);
    tally.report("values of the trailers of compact frames");
}

#[test]
fn every_pair_of_golombs_trailer_fields_at_their_limits_is_refused_or_read_by_the_rules() {
    let mut tally = Tally::new();
    let integers = [0, 1, 2, 63, 64, 65, 66, 4096, 4097, 1 << 32, 1 << 58, 1 << 63, u64::MAX - 1, u64::MAX];
    let bytes = [0, 1, 2, 7, 8, 47, 48, 49, 56, 57, 58, 254, 255];
    let mut num_pairs = 0;
    for sample in samples().into_iter().filter(|sample| sample.kind == FilterKind::Golomb && sample.bytes.len() > 1) {
        let Oracle::Golomb { golomb, payload } = Oracle::open_compact(&sample.bytes) else { panic!("golomb") };
        let own = [golomb.num_buckets, golomb.bucket_range, golomb.remainder_bits, golomb.directory_bits];
        let values = |field: usize| -> Vec<u64> {
            let limits = if field < 2 { integers.to_vec() } else { bytes.to_vec() };
            limits.into_iter().chain([own[field], own[field] + 1, own[field].saturating_sub(1)]).collect()
        };
        for (first, second) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            num_pairs += 1;
            for a in values(first) {
                for b in values(second) {
                    let mut fields = own;
                    (fields[first], fields[second]) = (a, b);
                    let trailer = golomb_trailer(fields[0], fields[1], [fields[2] as u8, fields[3] as u8]);
                    tally.try_frame(&sample, &[&payload[..], &trailer].concat());
                }
            }
        }
    }
    assert_eq!(num_pairs, 24);
    tally.report(&format!("values of {num_pairs} pairs of fields of golomb's trailers"));
}

#[test]
fn every_pair_of_ribbons_trailer_fields_at_their_limits_is_refused_or_read_by_the_rules() {
    let mut tally = Tally::new();
    let shares = [0, 1, 255, 256, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 32, u64::MAX];
    let bytes = [0, 1, 2, 7, 8, 9, 15, 30, 31, 32, 33, 254, 255];
    let mut num_pairs = 0;
    for sample in samples().into_iter().filter(|sample| sample.kind == FilterKind::Ribbon && sample.bytes.len() > 1) {
        let Oracle::Ribbon { ribbon, payload } = Oracle::open_compact(&sample.bytes) else { panic!("ribbon") };
        let own =
            [ribbon.wide_share, ribbon.last_seed, ribbon.columns, ribbon.num_blocks.len() as u64, ribbon.thinned_from];
        let values = |field: usize| -> Vec<u64> {
            let limits = if field == 0 { shares.to_vec() } else { bytes.to_vec() };
            let values = limits.into_iter().chain([own[field], own[field] + 1, own[field].saturating_sub(1)]);
            values.filter(|value| field != 3 || *value < 16).collect()
        };
        // A frame has either a share or the columns that it was thinned from.
        for (first, second) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)] {
            num_pairs += 1;
            for a in values(first) {
                for b in values(second) {
                    let mut fields = own;
                    (fields[first], fields[second]) = (a, b);
                    let [wide_share, rest @ .., thinned_from] = fields;
                    let trailer = ribbon_trailer(wide_share, thinned_from as u8, rest.map(|field| field as u8));
                    tally.try_frame(&sample, &[&payload[..], &trailer].concat());
                }
            }
        }
    }
    assert_eq!(num_pairs, 45);
    tally.report(&format!("values of {num_pairs} pairs of fields of ribbon's trailers"));
}

#[test]
fn every_pair_of_fuses_trailer_fields_at_their_limits_is_refused_or_read_by_the_rules() {
    let mut tally = Tally::new();
    let segments = [0, 1, 2, 255, 256, 1 << 16, (1 << 32) - 1, 1 << 32, 1 << 55];
    let bytes = [0, 1, 2, 7, 8, 17, 18, 19, 31, 32, 33, 62, 63, 64, 254, 255];
    let mut num_pairs = 0;
    for sample in samples().into_iter().filter(|sample| sample.kind == FilterKind::Fuse && sample.bytes.len() > 1) {
        let Oracle::Fuse { fuse, payload } = Oracle::open_compact(&sample.bytes) else { panic!("fuse") };
        let own = [fuse.num_segments, fuse.seed, fuse.fingerprint_bits, fuse.log2_segment_len];
        let values = |field: usize| -> Vec<u64> {
            let limits = if field == 0 { segments.to_vec() } else { bytes.to_vec() };
            let values = limits.into_iter().chain([own[field], own[field] + 1, own[field].saturating_sub(1)]);
            values.filter(|value| field < 3 || *value < 32).collect()
        };
        for (first, second) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            num_pairs += 1;
            for a in values(first) {
                for b in values(second) {
                    let mut fields = own;
                    (fields[first], fields[second]) = (a, b);
                    let trailer = fuse_trailer(fields[0], [fields[1], fields[2], fields[3]].map(|field| field as u8));
                    tally.try_frame(&sample, &[&payload[..], &trailer].concat());
                }
            }
        }
    }
    assert_eq!(num_pairs, 24);
    tally.report(&format!("values of {num_pairs} pairs of fields of fuse's trailers"));
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
                tally.try_frame(&sample, &frame);
            }
            frame[at] = sample.bytes[at];
        }
        for (first, second) in (0..num_layers).flat_map(|i| (i..num_layers).map(move |j| (i, j))) {
            for (a, b) in limits.into_iter().flat_map(|a| limits.map(|b| (a, b))) {
                for (layer, num) in [(first, a), (second, b)] {
                    let at = end - 4 * (num_layers - layer);
                    (0..4).for_each(|i| frame[at + i] = (num >> (8 * i)) as u8);
                }
                tally.try_frame(&sample, &frame);
            }
            frame.copy_from_slice(&sample.bytes);
        }
    }
    assert!(tally.num_opened > 0);
    tally.report("numbers of blocks of ribbon's layers");
}
