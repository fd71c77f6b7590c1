//! The shares against brute force, the closed form, and blocks that are built.

use super::rates::Rates;
use super::{MAX_MILLIBITS, MIN_MILLIBITS, Run, Share, allocate, allocate_by, rates, unit};
use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyHash, OpenOptions};
use std::sync::OnceLock;

/// A bijection of the 64-bit integers with well-mixed output.
fn splitmix(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Up to `num` runs of 100 to a million entries.
fn random_runs(seed: u64, num: u64) -> Vec<Run> {
    let draw = |index: u64| splitmix(seed * 1_000 + index);
    let run = |index: u64| {
        let kind = FilterKind::ALL[(draw(4 * index) % 3) as usize];
        let entries = 10f64.powf(2.0 + (draw(4 * index + 1) % 4_000) as f64 / 1_000.0) as u64;
        let weight = 1.0 + (draw(4 * index + 2) % 30) as f64 / 10.0;
        Run::new(kind, entries).with_num_blocks(1 + draw(4 * index + 3) % 3).with_weight(weight)
    };
    (1..=1 + draw(0) % num).map(run).collect()
}

fn loss(runs: &[Run], shares: &[Share]) -> f64 {
    runs.iter().zip(shares).map(|(run, share)| run.weight * share.expected_fpr).sum()
}

fn bytes(shares: &[Share]) -> u64 {
    shares.iter().map(|share| share.max_len).sum()
}

/// The cost of `bits` bits for each key of each run.
fn uniform_bytes(runs: &[Run], bits: u64) -> u64 {
    runs.iter().map(|run| run.num_entries * bits / 8).sum()
}

#[test]
fn the_legal_range_is_the_policys() {
    for &kind in FilterKind::ALL {
        let legal = |millibits: u32| FilterPolicy::with_bits_per_key(kind, f64::from(millibits) / 1e3).is_ok();
        assert!(legal(MIN_MILLIBITS) && legal(MAX_MILLIBITS));
        assert!(!legal(MIN_MILLIBITS - 1) && !legal(MAX_MILLIBITS + 1));
    }
    assert_eq!(rates::sizes().last(), Some(MAX_MILLIBITS));
}

/// The least loss over all combinations of sizes on a grid.
fn brute_force(runs: &[Run], budget_bytes: u64) -> f64 {
    let options = |run: &Run| -> Vec<(u64, f64)> {
        let unit = unit(run, Rates::of(run.kind));
        let sizes = (MIN_MILLIBITS..=24_000).step_by(500);
        let filters = sizes.map(|size| (run.max_len(size), run.weight * unit.rate(size)));
        core::iter::once((0, run.weight)).chain(filters).collect()
    };
    let mut sums = vec![(0, 0.0)];
    for run in runs {
        let options = options(run);
        let add = |(bytes, loss): (u64, f64)| options.iter().map(move |(more, lost)| (bytes + more, loss + lost));
        sums = sums.into_iter().flat_map(add).filter(|(bytes, _)| *bytes <= budget_bytes).collect();
        // What another one undercuts in bytes and in loss leads to nothing better.
        sums.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut least = f64::INFINITY;
        sums.retain(|(_, loss)| {
            *loss < least && {
                least = *loss;
                true
            }
        });
    }
    sums.into_iter().map(|(_, loss)| loss).fold(f64::INFINITY, f64::min)
}

/// With 3.5 bits a key or more, nothing is better. With fewer, where not all runs get a filter, another choice of those
/// that do may be: in 2 of these 540 cases, by 4.3 % at most. (Among 900 cases of up to seven runs, in 10, by 25 % at
/// most.)
#[test]
fn nothing_on_a_grid_is_better_unless_bits_are_scarce() {
    let (mut cases, mut num_scarce, mut num_worse) = (0, 0, 0);
    let (mut gain, mut without, mut worst, mut worst_scarce) = (0.0f64, 0, 0.0f64, 0.0f64);
    for seed in 0..180 {
        let runs = random_runs(seed, if seed < 150 { 3 } else { 5 });
        // Where the budget ends in a dent of a curve, so does the walk.
        let dents = runs.iter().map(|run| run.weight * unit(run, Rates::of(run.kind)).deepest_dent());
        let dent = dents.fold(0.0, f64::max);
        for quarter_bits in [1, 3, 8, 14, 24, 40] {
            let budget = uniform_bytes(&runs, quarter_bits) / 4;
            let shares = allocate(&runs, budget);
            // Ours reserves up to a byte a run for rounding up.
            let theirs = brute_force(&runs, budget.saturating_sub(runs.len() as u64));
            let ours = loss(&runs, &shares);
            assert!(bytes(&shares) <= budget);
            if quarter_bits < 14 {
                num_scarce += 1;
                num_worse += u32::from(ours > theirs + dent);
                worst_scarce = worst_scarce.max(ours / theirs - 1.0);
            } else {
                assert!(ours <= theirs + dent, "{ours} against {theirs}: {runs:?}, {budget} bytes, {shares:?}");
                worst = worst.max(ours - theirs);
            }
            cases += 1;
            gain = gain.max(1.0 - ours / theirs);
            without += shares.iter().filter(|share| share.millibits_per_key == 0).count();
        }
    }
    println!("{cases} cases, {without} runs without a filter; at most {:.1} % below half bits", gain * 100.0);
    println!("at most {worst:.1e} above it, where the budget ends in a dent");
    println!("of {num_scarce} scarce budgets {num_worse} are spent worse, by {:.1} % at most", worst_scarce * 100.0);
    assert!(worst < 1e-4);
    assert!(worst_scarce < 0.051 && num_worse * 250 <= num_scarce, "{worst_scarce}, {num_worse} of {num_scarce}");
    assert!(without > 100);
}

/// ε = 0.6185^b, the limit of Bloom filters whose number of probes need not be whole.
fn ideal(_: FilterKind) -> &'static Rates {
    static IDEAL: OnceLock<Rates> = OnceLock::new();
    IDEAL.get_or_init(|| Rates::new(|millibits| 0.618_503_f64.powf(f64::from(millibits) / 1e3)))
}

#[test]
fn ideal_filters_err_in_proportion_to_their_entries() {
    let entries = [1_000_000u64, 3_000_000, 20_000_000, 100_000_000];
    let runs = entries.map(|entries| Run::new(FilterKind::Bloom, entries));
    let all: u64 = entries.iter().sum();
    for bits in [6, 8, 10, 16] {
        let shares = allocate_by(&runs, uniform_bytes(&runs, bits), ideal);
        // ε_i = c · n_i with Σ n_i · ln ε_i = Σ n_i · b · ln 0.6185.
        let mean_log: f64 = entries.iter().map(|&n| n as f64 / all as f64 * (n as f64).ln()).sum();
        let factor = (bits as f64 * 0.618_503_f64.ln() - mean_log).exp();
        for (share, n) in shares.iter().zip(entries) {
            // Sizes are an eighth of a bit apart: a step is 6 %.
            let off = share.expected_fpr / (factor * n as f64);
            assert!((0.94..1.0 / 0.94).contains(&off), "{bits} bits, {n} entries: {off}");
        }
        let off = loss(&runs, &shares) / (factor * all as f64) - 1.0;
        println!("{bits} bits: {:.4} % above the closed form", off * 100.0);
        assert!((-1e-9..2e-3).contains(&off), "{off}");
    }
}

#[test]
fn more_bytes_never_do_harm() {
    let mut cases = 0;
    for seed in 1_000..1_040 {
        let runs = random_runs(seed, 6);
        let most = uniform_bytes(&runs, 70) + 10_000;
        let mut before = f64::INFINITY;
        for step in 0..=60u32 {
            // From nothing, in steps that grow, to more than can be spent.
            let budget = (most as f64 * (f64::from(step) / 60.0).powi(3)) as u64;
            let shares = allocate(&runs, budget);
            let now = loss(&runs, &shares);
            assert!(bytes(&shares) <= budget, "{} of {budget}", bytes(&shares));
            assert!(now <= before * (1.0 + 1e-12), "{now} after {before} at {budget} bytes: {runs:?}");
            assert_eq!(shares, allocate(&runs, budget), "the same again");
            for share in &shares {
                let legal = (MIN_MILLIBITS..=MAX_MILLIBITS).contains(&share.millibits_per_key);
                assert!(legal || *share == Share::NONE, "{share:?}");
            }
            before = now;
            cases += 1;
        }
    }
    println!("{cases} budgets");
}

#[test]
fn sizes_that_do_not_pay_are_not_chosen() {
    for &kind in FilterKind::ALL {
        // Enough for everyone, in steps of an eighth of a bit from two bits on.
        let runs = [1_000, 10_000, 100_000].map(|entries| Run::new(kind, entries));
        for eighths in 16..80 {
            let shares = allocate(&runs, uniform_bytes(&runs, eighths) / 8);
            for (share, run) in shares.iter().zip(&runs).filter(|(share, _)| share.millibits_per_key > 0) {
                // A line from no filter to this one must not pass above a smaller one.
                let unit = unit(run, Rates::of(kind));
                let pay = |size: u32| (1.0 - unit.rate(size)) / run.max_len(size) as f64;
                let smaller = rates::sizes().take_while(|&size| size <= share.millibits_per_key).map(pay);
                let ends_here = bytes(&shares) + run.num_entries / 8 + 2 > uniform_bytes(&runs, eighths) / 8;
                assert!(smaller.fold(0.0, f64::max) >= pay(share.millibits_per_key) * (1.0 - 1e-12));
                let larger = rates::sizes().skip_while(|&size| size <= share.millibits_per_key).map(pay);
                let best_larger = larger.fold(0.0, f64::max);
                assert!(ends_here || best_larger <= pay(share.millibits_per_key), "{kind} {share:?}");
            }
        }
    }
    let weights = [0.0, -1.0, f64::NAN, f64::INFINITY, 1.0];
    let runs = weights.map(|weight| Run::new(FilterKind::Golomb, 1_000).with_weight(weight));
    let sizes = allocate(&runs, 10_000).into_iter().map(|share| share.millibits_per_key > 0);
    assert_eq!(sizes.collect::<Vec<_>>(), [false, false, false, false, true]);
}

#[test]
fn extremes_are_borne() {
    assert_eq!(allocate(&[], 1 << 20), []);
    let runs = [0, 1, 1 << 40, u64::MAX].map(|entries| Run::new(FilterKind::Bloom, entries).with_num_blocks(0));
    assert!(allocate(&runs, 0).iter().all(|share| *share == Share::NONE));
    for budget in [1, 100, 1 << 30, 1 << 45, u64::MAX] {
        let shares = allocate(&runs, budget);
        assert_eq!(shares[0], Share::NONE, "nothing to be asked for");
        assert!(shares.iter().map(|share| u128::from(share.max_len)).sum::<u128>() <= u128::from(budget));
        assert_eq!(shares[1].millibits_per_key > 0, budget >= 100);
    }
    // Runs that are alike share what does not do for all, in order.
    let runs = [Run::new(FilterKind::Blocked, 10_000); 100];
    let shares = allocate(&runs, 51 * 10_000 * 3 / 8);
    let num_filters = shares.iter().filter(|share| share.millibits_per_key > 0).count();
    assert!((40..=76).contains(&num_filters), "{num_filters}");
    assert!(shares[..num_filters].iter().all(|share| share.millibits_per_key > 0));
}

/// Total bytes and the mean rate of the run's blocks: of about the same number of entries, or all but the last of an
/// eighth of that.
fn build(run: &Run, share: &Share, seed: u64, evenly: bool) -> (u64, f64) {
    let Some(policy) = share.policy(run.kind) else { return (0, 1.0) };
    let (mut bytes, mut rate, mut next) = (0, 0.0, 0);
    for block in 1..=run.num_blocks {
        // The last takes what is left.
        let parts = run.num_blocks * if evenly { 1 } else { 8 };
        let end = if block == run.num_blocks { run.num_entries } else { next + run.num_entries / parts };
        let mut builder = FilterBlockBuilder::new(&policy.clone().with_self_check(false));
        (next..end).for_each(|number| builder.add_hash(KeyHash::from_raw(splitmix((seed << 32) + number))));
        let built = builder.finish().unwrap();
        let reader = OpenOptions::new().open(&built).unwrap();
        bytes += built.len() as u64;
        rate += reader.false_positive_rate() * (end - next) as f64 / run.num_entries as f64;
        next = end;
    }
    (bytes, rate)
}

#[test]
fn built_blocks_keep_to_the_budget() {
    for &kind in FilterKind::ALL {
        let runs = [(800, 1), (9_000, 3), (100_000, 5)].map(|(n, blocks)| Run::new(kind, n).with_num_blocks(blocks));
        for bits in [1, 2, 4, 7, 10, 20] {
            let budget = uniform_bytes(&runs, bits);
            let shares = allocate(&runs, budget);
            let of_runs = |evenly| -> Vec<(u64, f64)> {
                runs.iter().zip(&shares).map(|(run, share)| build(run, share, bits, evenly)).collect()
            };
            let built = of_runs(false);
            let total: u64 = built.iter().map(|(bytes, _)| bytes).sum();
            // Steps of a rate are elsewhere in smaller blocks.
            let of_rates = if FilterPolicy::rate_has_steps(kind) { of_runs(true) } else { built.clone() };
            let rate: f64 = of_rates.iter().map(|(_, rate)| rate).sum();
            println!(
                "{kind}, {bits} bits: {:?}, {:.2} % of the budget, rates {rate:.5} for {:.5}",
                shares.iter().map(|share| share.millibits_per_key).collect::<Vec<_>>(),
                total as f64 / budget as f64 * 100.0,
                loss(&runs, &shares),
            );
            assert!(total <= budget, "{kind}, {bits} bits: {total} bytes of {budget}");
            for ((bytes, _), share) in built.iter().zip(&shares) {
                assert!(*bytes <= share.max_len, "{bytes} bytes, {share:?}");
            }
            let expected = loss(&runs, &shares);
            assert!((rate / expected - 1.0).abs() < 0.1, "{kind}, {bits} bits: {rate} for {expected}");
        }
    }
}

#[test]
fn no_block_is_longer_than_stated() {
    let (mut blocks, mut nearest) = (0, u64::MAX);
    for &kind in FilterKind::ALL {
        for entries in [1, 2, 3, 10, 63, 64, 65, 100, 129, 500, 1_000, 4_096, 10_000] {
            for millibits in [2_000, 2_500, 3_000, 5_000, 8_000, 10_000, 16_000, 30_000, 64_000] {
                let run = Run::new(kind, entries);
                let max_len = run.max_len(millibits);
                let share = Share { millibits_per_key: millibits, max_len, expected_fpr: 0.0 };
                for seed in 0..20_000u64.div_ceil(entries).min(30) {
                    let (bytes, _) = build(&run, &share, seed, true);
                    assert!(bytes <= max_len, "{kind}, {entries} of {millibits}: {bytes} > {max_len}");
                    nearest = nearest.min(max_len - bytes);
                    blocks += 1;
                }
            }
        }
    }
    println!("{blocks} blocks, the nearest {nearest} bytes below the most");
}

#[test]
fn five_levels_err_at_most_three_quarters_as_often_as_with_uniform_bits() {
    let entries = [1_000u64, 10_000, 100_000, 1_000_000, 10_000_000];
    for &kind in FilterKind::ALL {
        let runs = entries.map(|entries| Run::new(kind, entries));
        for bits in [5, 8, 10] {
            let uniform: f64 = runs.iter().map(|run| unit(run, Rates::of(kind)).rate(bits as u32 * 1_000)).sum();
            let shares = allocate(&runs, uniform_bytes(&runs, bits));
            let ratio = loss(&runs, &shares) / uniform;
            let sizes: Vec<f64> = shares.iter().map(|share| f64::from(share.millibits_per_key) / 1e3).collect();
            println!("{kind}, {bits} bits: {ratio:.3} of the uniform sum {uniform:.5}, with {sizes:?} bits");
            assert!(ratio <= 0.75, "{kind}, {bits} bits: {ratio}");
        }
    }
}
