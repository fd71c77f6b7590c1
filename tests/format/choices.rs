//! What the library's writer chooses of its own, beside what format/writer.md states of it.

use crate::spec::{compare, list};
use crate::*;

const BITS: u64 = 10;
const RATE: f64 = 0.01;

/// `log2_segment_len` and `num_segments` of format/writer.md.
pub fn fuse_dimensions(n: u64) -> (u8, u64) {
    let log = (n as f64).ln();
    let log2_segment_len = (log / 2.91f64.ln() + if n <= 170 { 0.5 } else { -0.8 }).floor() as u64;
    let log2_segment_len = log2_segment_len.min((u64::from(n.ilog2()) / 2).clamp(12, 18));
    let slots_per_entry = (1.2475 - 0.0139 * log + 10.0 / n as f64).clamp(1.07, 2.0);
    let (num_slots, segment_len) = ((n as f64 * slots_per_entry).floor() as u64, 1 << log2_segment_len);
    (log2_segment_len as u8, ((num_slots + segment_len / 2) / segment_len).saturating_sub(3).max(1))
}

fn fuse_payload_len(fingerprint_bits: u64, n: u64) -> u64 {
    let (log2_segment_len, num_segments) = fuse_dimensions(n);
    (((num_segments + 3) << log2_segment_len) - 1) * fingerprint_bits / 8 + 8
}

/// The columns, the share and the layers' numbers of blocks of format/writer.md.
fn assert_ribbon(block: &[u8], hashes: &[u64], millislots: u64) {
    let (n, is_remapped) = (hashes.len(), block[13] == 1);
    let (ribbon, payload, mut entering) = match Oracle::open(block) {
        Oracle::Ribbon { ribbon, payload } => (ribbon, payload, hashes.to_vec()),
        Oracle::Remapped { own, .. } => match *own {
            Oracle::Ribbon { ribbon, payload } => {
                (ribbon, payload, remapped(&hashes.iter().copied().collect()).into_iter().collect())
            }
            _ => panic!("ribbon"),
        },
        _ => panic!("ribbon"),
    };
    let layers = ribbon.layers();
    for (i, layer) in layers.iter().enumerate() {
        let (count, is_last) = (entering.len() as u64, i + 1 == layers.len());
        entering.iter_mut().for_each(|x| *x = ribbon.entered(i, *x));
        let before = entering.len();
        if count <= 4096 || i == 7 {
            let least = (count * millislots.max(1024)).div_ceil(64_000).max(2);
            let more = (least * ribbon.last_seed.saturating_sub(15)).div_ceil(8);
            let num_seeds = if is_remapped { 32 } else { (n as u64 / count).clamp(3, 16) };
            assert!(is_last && layer.num_blocks == least + more && ribbon.last_seed < num_seeds, "{n}: {ribbon:?}");
            return;
        }
        assert_eq!(layer.num_blocks, (count * millislots / 1000).div_ceil(64), "{n}: {ribbon:?}");
        let is_bumped = |x: &u64| {
            let start = range(*x, layer.num_starts());
            !is_last && 127 - start % 128 >= Ribbon::limit(&payload, layer, start / 128)
        };
        entering.retain(is_bumped);
        assert_eq!(is_last, entering.is_empty(), "{n}: a layer follows, unless nothing is bumped");
        assert!(is_remapped || entering.len() <= before / 8, "{n}: {} of {before} bumped", entering.len());
    }
    assert_eq!(ribbon.last_seed, 0, "{n}: a last layer with bumped hashes before it");
}

/// Seed 0, unless it fails: then the first that does not for the remapped hashes.
fn assert_fuse_seed(block: &[u8], hashes: &[u64]) {
    let set: BTreeSet<u64> = hashes.iter().copied().collect();
    let fuse = |oracle| match oracle {
        Oracle::Fuse { fuse, .. } => fuse,
        _ => panic!("fuse"),
    };
    match Oracle::open(block) {
        Oracle::Remapped { own, .. } => {
            let fuse = fuse(*own);
            assert!(!fuse.suits(&set), "remapped, though seed 0 does not fail");
            let remapped = remapped(&set);
            assert!((0..fuse.seed).all(|seed| Fuse { seed, ..fuse.clone() }.fails(&remapped)));
        }
        oracle => assert_eq!(fuse(oracle).seed, 0),
    }
}

/// The parameters and the length of a kind's block of `hashes`.
fn assert_chosen(kind: FilterKind, hashes: &[u64]) {
    let n = hashes.len() as u64;
    let policy = match kind {
        FilterKind::Golomb | FilterKind::Ribbon => FilterPolicy::with_false_positive_rate(kind, RATE),
        _ => FilterPolicy::with_bits_per_key(kind, BITS as f64),
    };
    let block = block_of(policy.expect("legal"), hashes);
    let (params, payload_len) = (&block[40..52], block.len() as u64 - 64);
    if n == 0 {
        assert_eq!((params, payload_len), (&[0; 12][..], 0), "{kind}");
        return;
    }
    let total = BITS * n - (BITS * n / 64).min(512);
    match kind {
        FilterKind::Bloom => {
            let bits_per_entry = (total * 1000 / n).max(2000) as f64 / 1000.0;
            let rate = |probes: i32| (1.0 - (-f64::from(probes) / bits_per_entry).exp()).powi(probes);
            let below = (bits_per_entry * std::f64::consts::LN_2).floor() as i32;
            let num_probes = if rate(below + 1) < rate(below) { below + 1 } else { below };
            assert_eq!((i32::from(params[0]), int(&params[4..])), (num_probes, (total / 8 * 8).max(8)), "{kind}, {n}");
        }
        FilterKind::Blocked => {
            let num_lines = if total < 64 * 512 { (total + 256) / 512 } else { total / 512 };
            assert_eq!((payload_len, params[1]), (num_lines.max(1) * 64, 3), "{kind}, {n}");
        }
        FilterKind::Golomb => {
            let num_buckets = n.div_ceil(64);
            let bucket_range = (1.0 / RATE * (n as f64 / num_buckets as f64)).floor() as u64 + 1;
            let least = ((1.0 + 5f64.sqrt()) / 2.0).ln() / RATE;
            let remainder_bits = (0..=48u8).find(|&r| (1u64 << r) as f64 >= least);
            assert_eq!((Some(params[0]), params[2]), (remainder_bits, 64), "{kind}, {n}");
            assert_eq!(int(&params[4..]), bucket_range, "{kind}, {n}");
        }
        FilterKind::Ribbon => {
            let columns = (1.0 / RATE).log2().floor() as i32;
            let share = (2.0 * (1.0 - RATE * 2f64.powi(columns)) * 2f64.powi(32)).ceil() as u64;
            assert_eq!((i32::from(params[0]), int(&params[4..8])), (columns, share), "{kind}, {n}");
            assert_ribbon(&block, hashes, 995);
        }
        FilterKind::Fuse => {
            let fits = |f: &u64| fuse_payload_len(*f, n) <= total / 8;
            let fingerprint_bits = (1..=32).rev().find(fits).unwrap_or(1);
            let (log2_segment_len, num_segments) = fuse_dimensions(n);
            assert_eq!(params[..2], [fingerprint_bits as u8, log2_segment_len], "{kind}, {n}");
            assert_eq!(int(&params[4..8]), num_segments, "{kind}, {n}");
            assert_fuse_seed(&block, hashes);
            let own_len = payload_len - 8 * u64::from(block[13]);
            assert_eq!(own_len, fuse_payload_len(fingerprint_bits, n), "{kind}, {n}");
        }
        kind => panic!("{kind}: no formula"),
    }
}

#[test]
fn the_writer_chooses_what_the_document_states() {
    let all: Vec<u64> = numbers(800).take(1_000_000).collect();
    let random = numbers(801).map(|number| range(number, 1_000_001) as usize).take(by_extent(2, 100, 100));
    let sizes: Vec<usize> = (0..=5_000).step_by(by_extent(11, 1, 1)).chain(random).collect();
    for &kind in FilterKind::ALL {
        sizes.iter().for_each(|&n| assert_chosen(kind, &all[..n]));
    }
    println!("counted: {} choices of the writer, as the document states them", sizes.len() * FilterKind::ALL.len());
}

#[test]
fn vectors_of_fuse_dimensions() {
    let line = |n: u64| {
        let policy = FilterPolicy::with_false_positive_rate(FilterKind::Fuse, 0.5).expect("legal");
        assert_eq!(policy.expected_block_len(n).expect("a length"), 64 + fuse_payload_len(1, n));
        let (log2_segment_len, num_segments) = fuse_dimensions(n);
        format!("{n} {log2_segment_len} {num_segments}")
    };
    compare("fuse-dimensions", &[1, 2, 8, 150, 151, 1_000, 5_000, 1_000_000, 1_000_000_000].map(line));
}

#[test]
fn vectors_of_ribbon_dimensions() {
    let line = |(n, millislots, rate): (u64, u64, f64)| {
        let hashes: Vec<u64> = (1..=n).map(|i| mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let policy = FilterPolicy::with_false_positive_rate(FilterKind::Ribbon, rate).expect("legal");
        let block = block_of(policy.with_slots_per_key(millislots as f64 / 1e3).expect("legal"), &hashes);
        assert_ribbon(&block, &hashes, millislots);
        let own = &block[64..block.len() - 8 * usize::from(block[13])];
        let num_blocks = crate::oracle::ribbon::num_blocks(own, block[41].into());
        let (columns, wide_share, remapped, last_seed) = (block[40], int(&block[44..48]), block[13], block[42]);
        format!("{n} {millislots} {columns} {wide_share:#010x} {remapped} {last_seed} {}", list(&num_blocks))
    };
    let sets = [
        (1, 995, 0.25),
        (128, 995, 0.25),
        (129, 1_200, 0.25),
        (368, 995, 0.01),
        (374, 995, 0.01),
        (4_096, 995, 0.01),
        (4_097, 995, 0.01),
        (9_000, 950, 0.01),
        (9_000, 1_200, 0.01),
        (100_000, 950, 0.25),
    ];
    compare("ribbon-dimensions", &sets.map(line));
}
