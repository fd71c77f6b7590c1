//! Rates, beside the specification's figures, a plain sum of the formula, and what filters let pass.

use crate::Random;
use filterblock_parquet::sizing::{MAX_LEN, expected_false_positive_rate, len_for_rate};
use filterblock_parquet::{SplitBlockFilter, Value};

/// Standard errors that an observed figure may be off its prediction.
const MAX_DEVIATIONS: f64 = 4.0;

/// "Sizing an SBBF": three probabilities, and a table of the bits for each value that rates need. The probabilities are
/// compared in the digits that the text has; the ratios, of three digits at most, set a rate to within 2 %.
#[test]
fn rates_are_those_of_the_specification() {
    const BLOCKS: usize = 1024;
    let per_cent = |num_values: u64| 100.0 * expected_false_positive_rate(32 * BLOCKS, num_values);
    assert_eq!(format!("{:.2}", per_cent(26_214)), "1.26");
    assert_eq!(format!("{:.0}", per_cent(52_428)), "18");
    assert_eq!(format!("{:.2}", per_cent(13_107)), "0.04");
    for (bits, rate) in [(6.0, 0.1), (10.5, 0.01), (16.9, 1e-3), (26.4, 1e-4), (41.0, 1e-5)] {
        let num_blocks = 1 << 20;
        let found = expected_false_positive_rate(32 * num_blocks, (256.0 * num_blocks as f64 / bits) as u64);
        assert!((found / rate - 1.0).abs() < 0.02, "{bits} bits a value: {found}");
    }
}

/// The formula as it stands in the documentation, for numbers whose binomial coefficients a double holds.
#[test]
fn rates_are_the_sum_of_the_formula() {
    for num_blocks in [2u32, 3, 7, 64] {
        for num_values in [1u32, 2, 5, 20, 100, 300] {
            let (n, p) = (f64::from(num_values), 1.0 / f64::from(num_blocks));
            let (mut sum, mut coefficient) = (0.0, 1.0);
            for i in 0..=num_values {
                let block = (1.0 - (31.0_f64 / 32.0).powi(i as i32)).powi(8);
                sum += coefficient * p.powi(i as i32) * (1.0 - p).powi((num_values - i) as i32) * block;
                coefficient *= (n - f64::from(i)) / (f64::from(i) + 1.0);
            }
            let rate = expected_false_positive_rate(32 * num_blocks as usize, num_values.into());
            assert!((rate / sum - 1.0).abs() < 1e-9, "{num_blocks} blocks, {num_values} values: {rate} and {sum}");
        }
    }
    assert_eq!(expected_false_positive_rate(0, 0), 1.0);
    assert_eq!(expected_false_positive_rate(32, 1), 32.0_f64.powi(-8));
    for len in [32, 64, MAX_LEN] {
        let rates = [0, 1 << 40, u64::MAX].map(|num_values| expected_false_positive_rate(len, num_values));
        assert_eq!(rates, [0.0, 1.0, 1.0]);
    }
}

#[test]
fn lengths_are_the_least_that_suffice() {
    for num_values in [0, 1, 2, 10, 100, 1_234, 100_000, 9_999_999] {
        for rate in [0.9, 0.3, 0.05, 0.01, 1e-3, 1e-5, 1e-7] {
            let len = len_for_rate(num_values, rate).expect("a possible filter");
            assert!(len > 0 && len.is_multiple_of(32));
            assert!(expected_false_positive_rate(len, num_values) <= rate);
            assert!(len == 32 || expected_false_positive_rate(len - 32, num_values) > rate);

            let made = SplitBlockFilter::with_rate(num_values, rate).expect("a possible filter").bitset().len();
            assert!(made.is_power_of_two() && made >= len && made < 2 * len);
        }
    }
}

/// The variance of the blocks' rates, by the bits that are set.
fn variance_of_blocks(filter: &SplitBlockFilter) -> f64 {
    let rates: Vec<f64> = filter
        .bitset()
        .chunks(32)
        .map(|block| block.chunks(4).map(|word| word.iter().map(|byte| byte.count_ones()).sum::<u32>()).map(f64::from))
        .map(|set_bits| set_bits.map(|set| set / 32.0).product())
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((mean / filter.false_positive_rate() - 1.0).abs() < 1e-9);
    rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / rates.len() as f64
}

/// Absent values, by the bits and by the formula; and the plain approximation for eight free probes, which the
/// specification's readers use for sizes, must be noticed to be another rate.
#[test]
fn absent_values_pass_at_the_predicted_rate() {
    const NUM_VALUES: u64 = 100_000;
    const NUM_PROBES: u32 = 1_000_000;
    let (mut num_passed, mut num_noticed) = (0u64, 0);
    for (index, bits_per_value) in [4.0, 6.0, 8.0, 10.0, 11.5, 14.0, 17.0, 20.0].into_iter().enumerate() {
        let len = (bits_per_value * NUM_VALUES as f64 / 256.0) as usize * 32;
        let mut filter = SplitBlockFilter::with_len(len).expect("a length");
        let mut random = Random(index as u64);
        (0..NUM_VALUES).for_each(|_| filter.insert(Value::Int64(random.next() as i64)));
        let passed = (0..NUM_PROBES).filter(|_| filter.may_contain(Value::Int64(random.next() as i64))).count() as f64;
        num_passed += passed as u64;

        let probes = f64::from(NUM_PROBES);
        let observed = passed / probes;
        let deviations = |expected: f64, variance: f64| {
            (observed - expected) / (expected * (1.0 - expected) / probes + variance).sqrt()
        };
        let by_bits = deviations(filter.false_positive_rate(), 0.0);
        let of_filters = variance_of_blocks(&filter) / (len / 32) as f64;
        let by_formula = deviations(expected_false_positive_rate(len, NUM_VALUES), of_filters);
        let approximation = (1.0 - (-8.0 * NUM_VALUES as f64 / (8 * len) as f64).exp()).powi(8);
        let by_approximation = deviations(approximation, of_filters);
        println!(
            "{bits_per_value} bits a value: {observed:.6} pass; standard errors off the bits {by_bits:+.2}, the \
             formula {by_formula:+.2}, the plain approximation {by_approximation:+.2}"
        );
        assert!(by_bits.abs() <= MAX_DEVIATIONS && by_formula.abs() <= MAX_DEVIATIONS);
        num_noticed += u32::from(by_approximation.abs() > MAX_DEVIATIONS);
    }
    assert!(num_noticed >= 6, "only {num_noticed} of 8 rates of another formula noticed");
    println!("counted: {num_passed} of 8 000 000 absent values passed, within 4 standard errors of bits and formula");
}
