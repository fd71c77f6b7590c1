//! The best number of probes of the blocked filter: a table made from the [model](super::model), and tested against it.

use super::{MAX_NUM_PROBES, MAX_SALT_BITS, MIN_MILLIBITS};

/// `[salt_bits][i]`: the fewest millibits, from [`MIN_MILLIBITS`] on, at which i + 2 probes or more are best.
///
/// It is a table and not a computation because it decides the bytes of a filter: it stays when the model is refined,
/// until a release changes it. The test below prints it.
const THRESHOLDS: [[u32; MAX_NUM_PROBES as usize - 1]; MAX_SALT_BITS as usize + 1] = [
    [2093, 3598, 5086, 6601, 8318, 10209, 12230, 13755, 16088, 18646, 21387, 24326, 27840, 31977, 36702],
    [2000, 3407, 4815, 6246, 7858, 9623, 11501, 12893, 15036, 17373, 19866, 22528, 25682, 29363, 33539],
    [2000, 3268, 4618, 5988, 7526, 9203, 10981, 12281, 14296, 16484, 18811, 21289, 24207, 27594, 31417],
    [2000, 3162, 4468, 5793, 7275, 8886, 10592, 11824, 13746, 15828, 18036, 20383, 23134, 26314, 29893],
    [2000, 3079, 4350, 5639, 7078, 8640, 10290, 11470, 13322, 15324, 17443, 19690, 22317, 25345, 28743],
    [2000, 3012, 4255, 5515, 6919, 8442, 10048, 11187, 12984, 14923, 16972, 19142, 21673, 24585, 27845],
    [2000, 2956, 4177, 5413, 6789, 8279, 9849, 10954, 12708, 14596, 16590, 18698, 21153, 23972, 27123],
];

/// The number of probes, 1 ..= 16, with the lowest [`false_positive_rate`](super::false_positive_rate) at `millibits`
/// thousandths of a bit a key; the smaller where two tie.
///
/// Sizes below [`MIN_MILLIBITS`] count as [`MIN_MILLIBITS`], `salt_bits` above 6 as 6.
#[must_use]
pub(crate) fn best_num_probes(millibits: u32, salt_bits: u32) -> u32 {
    let thresholds = &THRESHOLDS[salt_bits.min(MAX_SALT_BITS) as usize];
    let size = millibits.max(MIN_MILLIBITS);
    let mut num_probes = 1;
    for &threshold in thresholds {
        if size >= threshold {
            num_probes += 1;
        }
    }
    num_probes
}

/// `[salt_bits]`: the least and the greatest millibits, inclusive, for which one probe is taken in each word. At the
/// least it has at most 4 % more false positives than the best number, which is 7 there; at the greatest at most 25 %
/// more than the best, which is 10 or 11. The test below prints the table.
const WHOLE_LINE: [[u32; 2]; MAX_SALT_BITS as usize + 1] =
    [[10937, 19472], [10257, 18252], [9769, 17403], [9399, 16780], [9109, 16306], [8875, 15933], [8681, 15633]];

/// The number of probes that a filter of `millibits` thousandths of a bit a key is built with: 8 around 10 to 16 bits,
/// else the best.
///
/// Eight probes are one to each word. That needs no window and no second round, so a query is the fastest there is:
/// measured in the caller's loop, 10 bits and 7 probes took half as long again, 16 bits and 11 probes twice as long.
#[must_use]
pub(crate) fn num_probes(millibits: u32, salt_bits: u32) -> u32 {
    let [from, to] = WHOLE_LINE[salt_bits.min(MAX_SALT_BITS) as usize];
    if (from..=to).contains(&millibits) { NUM_WORDS } else { best_num_probes(millibits, salt_bits) }
}

/// The number of words of a line.
const NUM_WORDS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::super::MAX_MILLIBITS;
    use super::super::model::{WordFill, rate};
    use super::*;
    use crate::math::fewest_millibits;

    /// The best number of probes by the model, the smaller where two tie.
    fn best_by_model(fill: &WordFill, millibits: u32) -> u32 {
        let (mut best, mut lowest) = (0, f64::INFINITY);
        for num_probes in 1..=MAX_NUM_PROBES {
            let rate = rate(fill, millibits, num_probes);
            if rate < lowest {
                (best, lowest) = (num_probes, rate);
            }
        }
        best
    }

    #[test]
    fn the_table_is_what_the_model_says() {
        for salt_bits in 0..=MAX_SALT_BITS {
            let fill = WordFill::new(salt_bits, MIN_MILLIBITS);
            let mut regenerated = [0; MAX_NUM_PROBES as usize - 1];
            for (slot, num_probes) in regenerated.iter_mut().zip(2..) {
                *slot = fewest_millibits(MIN_MILLIBITS, MAX_MILLIBITS, |m| best_by_model(&fill, m) >= num_probes);
            }
            // On failure this prints the new row.
            assert_eq!(regenerated, THRESHOLDS[salt_bits as usize], "salt bits: {salt_bits}");
        }
    }

    #[test]
    fn one_probe_to_each_word_is_taken_where_it_costs_little() {
        let mut regenerated = WHOLE_LINE;
        for (salt_bits, [from, to]) in (0..).zip(&mut regenerated) {
            let fill = WordFill::new(salt_bits, MIN_MILLIBITS);
            let excess = |m| rate(&fill, m, NUM_WORDS) / rate(&fill, m, best_num_probes(m, salt_bits));
            *from = fewest_millibits(8_000, 11_500, |m| excess(m) <= 1.04);
            *to = fewest_millibits(11_500, 24_000, |m| excess(m) > 1.25) - 1;
        }
        // On failure this prints the new table.
        assert_eq!(regenerated, WHOLE_LINE);
    }

    #[test]
    fn the_best_number_never_falls_with_the_size() {
        // The bisection above, and the table of thresholds, rely on this.
        for salt_bits in 0..=MAX_SALT_BITS {
            let fill = WordFill::new(salt_bits, MIN_MILLIBITS);
            for millibits in (MIN_MILLIBITS..=MAX_MILLIBITS).step_by(487) {
                assert_eq!(best_by_model(&fill, millibits), best_num_probes(millibits, salt_bits), "{millibits}");
            }
        }
    }

    #[test]
    fn the_rate_at_the_best_number_falls_with_every_size() {
        for salt_bits in [0, 1, 4, 6] {
            let fill = WordFill::new(salt_bits, MIN_MILLIBITS);
            let at = |millibits| rate(&fill, millibits, best_num_probes(millibits, salt_bits));
            let mut before = 1.0;
            for millibits in (MIN_MILLIBITS..=MAX_MILLIBITS).step_by(37) {
                let now = at(millibits);
                assert!(now < before, "{millibits}, {salt_bits} salt bits: {now:e} after {before:e}");
                before = now;
            }
            for threshold in THRESHOLDS[salt_bits as usize].into_iter().filter(|&t| t > MIN_MILLIBITS) {
                for millibits in threshold - 3..threshold + 3 {
                    assert!(at(millibits) < at(millibits - 1), "{millibits}, {salt_bits} salt bits");
                }
            }
        }
    }
}
