//! Sizes and rates that are promised for a million keys, and those of the smallest tables. `tests/battery` observes the
//! rates for absent keys, for each kind, size, rate and form of keys.

use crate::*;

const MILLION: usize = 1_000_000;

/// The exact rate E[(X/m)^k] of a classic filter, X of m bits set by n entries: the k probes of an absent key fall on d
/// distinct bits, all of which the others hit. By inclusion and exclusion, so for few probes.
fn exact_rate(num_bits: u64, num_entries: usize, num_probes: u32) -> f64 {
    assert!(num_probes <= 16, "more terms cancel");
    let (m, balls) = (num_bits as f64, num_entries as f64 * f64::from(num_probes));
    let mut distinct = [0.0; 17];
    distinct[0] = 1.0;
    for _ in 0..num_probes {
        for d in (1..17).rev() {
            distinct[d] = distinct[d] * d as f64 / m + distinct[d - 1] * (m - d as f64 + 1.0) / m;
        }
        distinct[0] = 0.0;
    }
    let all_hit = |d: usize| {
        let (mut sum, mut term) = (0.0, 1.0);
        for missed in 0..=d {
            sum += term * (1.0 - missed as f64 / m).powf(balls);
            term *= -((d - missed) as f64) / (missed + 1) as f64;
        }
        sum
    };
    distinct.iter().enumerate().map(|(d, share)| share * all_hit(d)).sum()
}

/// The policy's formula, without the chance that whole hashes are equal, which no filter's bits show.
fn planned_rate(policy: &FilterPolicy, num_entries: usize) -> f64 {
    let floor = num_entries as f64 / 2f64.powi(64);
    (policy.expected_false_positive_rate(num_entries as u64).expect("a size that is built") - floor) / (1.0 - floor)
}

fn build(policy: FilterPolicy, num_entries: usize) -> Vec<u8> {
    builder_of_hashes(&policy, numbers(21).take(num_entries)).finish().expect("a block")
}

#[test]
fn sizes_meet_the_promise_at_a_million_keys() {
    let ten_bits = |kind, salt_bits| {
        let policy = capped(kind, MILLION as u64 * 10 / 8);
        let block = build(policy.with_salt_bits(salt_bits).expect("legal"), MILLION);
        assert!(block.len() * 8 <= 10 * MILLION);
        OpenOptions::new().open(&block).expect("intact").false_positive_rate()
    };
    let default = crate::golden::default_salt_bits();
    assert!(ten_bits(FilterKind::Bloom, default) <= 0.0083);
    assert!(ten_bits(FilterKind::Blocked, default) <= 0.0090);
    assert!(ten_bits(FilterKind::Blocked, 6) <= 0.0080);
    for rate in [0.01, 0.001] {
        let block = build(rated(FilterKind::Golomb, rate), MILLION);
        let reader = OpenOptions::new().open(&block).expect("intact");
        let bits = block.len() as f64 * 8.0 / MILLION as f64;
        let bound = (1.0 / reader.false_positive_rate()).log2() + 1.85;
        assert!(bits <= bound, "golomb at {rate}: {bits} bits, bound {bound}");
    }
}

#[test]
fn golomb_sizes_are_as_requested() {
    for millibits in [5_000, 8_000, 12_000, 20_000] {
        let policy = sized(FilterKind::Golomb, f64::from(millibits) / 1e3);
        let bits = build(policy, MILLION).len() as f64 * 8.0 / MILLION as f64;
        assert!((bits / (f64::from(millibits) / 1e3) - 1.0).abs() < 0.01, "golomb: {bits} bits for {millibits}");
    }
}

/// Beyond the sizes of `tests/battery`: the most bits per key, and the most keys.
#[test]
fn the_exact_formula_predicts_the_largest_bloom_filters() {
    for (bits, millions) in [(40.0, 1), (60.0, 1), (2.0, 10), (10.0, 10)] {
        let num_entries = millions * MILLION;
        let policy = sized(FilterKind::Bloom, bits);
        let planned = planned_rate(&policy, num_entries);
        let block = build(policy, num_entries);
        let ratio = OpenOptions::new().open(&block).expect("intact").false_positive_rate() / planned;
        assert!((ratio - 1.0).abs() < 0.01, "{bits} bits, {millions} million: block / formula = {ratio}");
    }
}

/// The classic filter follows the exact formula from one entry on: over many filters of each size, the mean rate lies
/// within four standard errors of it.
#[test]
fn bloom_follows_the_exact_formula_from_one_entry_on() {
    for num_entries in [1usize, 2, 3, 5, 10, 30, 100, 1_000] {
        for bits in [2.0, 5.0, 10.0, 20.0] {
            let policy = sized(FilterKind::Bloom, bits).with_self_check(false);
            let num_filters = 40_000 / num_entries.max(10);
            let mut hashes = numbers(31);
            let (mut sum, mut squares, mut exact) = (0.0, 0.0, 0.0);
            for _ in 0..num_filters {
                let mut builder = builder_of_hashes(&policy, hashes.by_ref().take(num_entries));
                let block = builder.finish().expect("a block");
                let reader = OpenOptions::new().open(&block).expect("intact");
                let num_bits = (block.len() as u64 - 64) * 8;
                let num_probes = reader.num_probes().expect("probes");
                if exact == 0.0 {
                    exact = exact_rate(num_bits, num_entries, num_probes);
                    let planned = planned_rate(&policy, num_entries);
                    let error = (planned / exact - 1.0).abs();
                    assert!(error < 1e-6, "{num_entries} entries: {planned:e}, exact {exact:e}");
                }
                // Observed, not computed from the fill, because the probes of absent keys are under test, too.
                let passed =
                    hashes.by_ref().take(100).filter(|&h| reader.may_contain_hash(KeyHash::from_raw(h))).count();
                sum += passed as f64 / 100.0;
                squares += (passed as f64 / 100.0).powi(2);
            }
            let (n, mean) = (num_filters as f64, sum / num_filters as f64);
            let deviation = ((squares / n - mean * mean) / n).sqrt().max((exact / (n * 100.0)).sqrt());
            assert!(
                (mean - exact).abs() <= 4.0 * deviation + 1e-9,
                "{num_entries} entries, {bits} bits: {mean:e}, exact {exact:e}, deviation {deviation:e}"
            );
        }
    }
}

/// Small tables get the size or the rate that the policy requests, as far as whole bytes and lines allow.
#[test]
fn small_tables_get_the_requested_size_or_rate() {
    for num_entries in (1..300).chain([500, 1_000, 3_000]) {
        for &kind in FilterKind::ALL {
            let mut builder = builder_of_hashes(&sized(kind, 10.0), numbers(51).take(num_entries));
            let len = frame_of(&mut builder).len() as f64;
            let requested = num_entries as f64 * 10.0 / 8.0;
            // Allowed: half a line, or a single line, plus the longest trailer, plus one part in 32; for fuse, also a
            // bit a slot less.
            let in_whole_bits = if kind == FilterKind::Fuse { num_entries as f64 * 3.0 / 16.0 } else { 0.0 };
            let least = requested - in_whole_bits - 32.0 - 20.0 - requested / 32.0;
            assert!(
                (least..=requested + 32.0 + 20.0 + requested / 32.0).contains(&len) || len <= 66.0,
                "{kind} {num_entries}: {len} bytes"
            );
        }
        for rate in [0.01, 0.001] {
            let policy = rated(FilterKind::Bloom, rate);
            let block = builder_of_hashes(&policy, numbers(51).take(num_entries)).finish().expect("a block");
            let num_probes = OpenOptions::new().open(&block).expect("intact").num_probes().expect("probes");
            let num_bits = (block.len() as u64 - 64) * 8;
            let exact = exact_rate(num_bits, num_entries, num_probes);
            assert!(exact <= rate, "{num_entries} entries: {exact} for {rate}");
            let fewer = num_bits - 8 * (2 + num_bits / 8 / 512);
            let fewer = exact_rate(fewer, num_entries, num_probes);
            assert!(num_entries < 3 || fewer > rate, "{num_entries} entries: {num_bits} bits are more than enough");
        }
    }
}
