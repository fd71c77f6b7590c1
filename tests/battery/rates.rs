//! False positives, observed against predicted, for keys of every shape.
//!
//! Three figures are compared for each kind, size and shape of keys, each pair within 4 σ:
//!
//! - *observed*: how many absent keys passed;
//! - *by the bits*: the rate that the reader computes from the block, and that is computed here independently
//!   ([`by_bits`](crate::by_bits));
//! - *by the formula*: the rate that the policy expects for the number of entries, before there is a block.
//!
//! Given the block, absent keys pass independently with the probability p by its bits, so their number is binomial,
//! with variance N·p·(1 − p). The formula does not know the bits: it gives the mean ε of p over all sets of keys, and
//! the observed number has the variance N·ε·(1 − ε) + N²·Var(p) about it. All configurations together must look like a
//! normal law, so that neither a σ that is too large nor a small bias stays hidden ([`statistics`](crate::statistics)).

use crate::by_bits::Rates;
use crate::shapes::Shape;
use crate::statistics::{Sigmas, deviation, is_likely, is_rare};
use crate::*;
use filterblock::FilterSize;

/// Hashes in a batch.
const BATCH: usize = 1_024;
/// With fewer expected entries that share a value than this, sharing is a rare event.
const LEAST_SHARING: f64 = 25.0;

/// Sizes and rates of one kind, each with a name; for blocked, the sizes with no, some and many salts.
fn settings(kind: FilterKind) -> Vec<(FilterPolicy, String)> {
    let of_blocked = sized(FilterKind::Blocked, 10.0);
    let default = of_blocked.salt_bits().expect("a kind with salts");
    let all_salts: &[u32] = if kind == FilterKind::Blocked { &[0, default, 6] } else { &[default] };
    let mut settings = Vec::new();
    for &salt_bits in all_salts {
        // At 16 bits ribbon already passes one absent key in 60 000, and fuse one in 16 000.
        let all_bits = match kind {
            FilterKind::Ribbon | FilterKind::Fuse => [2.0, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 12.0, 16.0, 30.0],
            _ => [2.0, 3.0, 5.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 30.0],
        };
        for bits in all_bits {
            let policy = sized(kind, bits);
            let policy = policy.with_salt_bits(salt_bits).expect("legal");
            settings.push((policy, format!("{bits} bits a key, {salt_bits} salt bits")));
        }
    }
    for rate in [0.1, 0.03, 0.01, 0.003, 0.001, 0.000_3, 0.000_1] {
        let policy = rated(kind, rate);
        settings.push((policy, format!("a rate of {rate}")));
    }
    settings
}

/// The number of keys stored in a block, and of absent keys probed.
struct Extent {
    num_stored: u64,
    num_absent: u64,
}

/// Results of one setting and shape, over all its blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Observed {
    num_blocks: f64,
    num_stored: f64,
    num_absent: f64,
    num_passed: f64,
    /// Sums over the blocks.
    rates: f64,
    formulas: f64,
    formulas_of_bits: f64,
    variances: f64,
    sharing: Option<(f64, f64)>,
}

impl Observed {
    /// Stores keys of `shape` in a block and probes it for others of that shape, which lie between them. Shapes of few
    /// keys are tried with many seeds.
    fn new(policy: FilterPolicy, shape: Shape, seed: u64, extent: &Extent) -> Self {
        let mut observed = Self::default();
        let num_keys = shape.num_keys().unwrap_or(extent.num_stored + extent.num_absent);
        let stride = if shape.num_keys().is_some() { 3 } else { num_keys / extent.num_stored };
        for round in 0u64.. {
            observed.add(policy.clone().with_seed(seed ^ round << 48), shape, num_keys, stride);
            if observed.num_absent >= extent.num_absent as f64 {
                break;
            }
        }
        observed
    }

    /// One block, of every `stride`-th key.
    fn add(&mut self, policy: FilterPolicy, shape: Shape, num_keys: u64, stride: u64) {
        let (hasher, mut key) = (policy.hasher().clone(), Vec::new());
        let mut hash_of = |number: u64| {
            shape.write(number, &mut key);
            hasher.hash(&key)
        };
        let stored: Vec<KeyHash> = (0..num_keys).step_by(stride as usize).map(&mut hash_of).collect();
        let mut builder = FilterBlockBuilder::new(&policy.clone().with_self_check(false));
        stored.iter().for_each(|&hash| builder.add_hash(hash));
        let block = builder.finish().expect("a block");
        let reader = OpenOptions::new().open(&block).expect("intact");
        let rates = Rates::new(policy.clone(), &stored, &block);
        let stated = reader.false_positive_rate();
        assert!((stated / rates.rate - 1.0).abs() < 1e-9, "{policy:?}: {stated} stated, {} by the bits", rates.rate);
        assert!(num_passed(&reader, &stored) == stored.len(), "false negatives: {policy:?} {shape:?}");

        let mut asked = Vec::with_capacity(BATCH);
        let mut absent = (0..num_keys).filter(|number| number % stride != 0).map(&mut hash_of);
        loop {
            asked.clear();
            asked.extend(absent.by_ref().take(BATCH));
            if asked.is_empty() {
                break;
            }
            self.num_absent += asked.len() as f64;
            self.num_passed += num_passed(&reader, &asked) as f64;
        }
        self.num_blocks += 1.0;
        self.num_stored += stored.len() as f64;
        self.rates += rates.rate;
        self.formulas += rates.formula;
        self.formulas_of_bits += rates.formula_of_bits;
        self.variances += rates.variance;
        let (shared, expected) = self.sharing.unwrap_or_default();
        self.sharing = rates.sharing.map(|(more, more_expected)| (shared + more, expected + more_expected));
    }

    /// A block's variance times its entries: the same for all shapes, up to chance.
    fn variance_of_entry(&self) -> f64 {
        self.variances / self.num_blocks * (self.num_stored / self.num_blocks)
    }

    /// Observed against a mean rate; the expected number has the further variance `more`. `None` for few expected
    /// passes, whose number is then checked to be likely.
    fn beside(&self, rate: f64, more: f64, what: &str) -> Option<f64> {
        let expected = self.num_absent * rate;
        if is_rare(self.num_absent, rate) {
            assert!(is_likely(self.num_passed as u64, expected), "{what}: {} passed of {expected}", self.num_passed);
            return None;
        }
        let binomial = expected * (1.0 - rate);
        Some(deviation(self.num_passed, self.num_absent, rate) * (binomial / (binomial + more)).sqrt())
    }

    fn beside_bits(&self, what: &str) -> Option<f64> {
        self.beside(self.rates / self.num_blocks, 0.0, what)
    }

    /// `variance` is that of the mean rate of the blocks, which are probed for equally many keys.
    fn beside_formula(&self, variance: f64, what: &str) -> Option<f64> {
        self.beside(self.formulas / self.num_blocks, self.num_absent.powi(2) * variance, what)
    }

    /// The bits against the formula. `None` where the only difference, entries that share a value, is rare; their
    /// number is then checked to be likely. `None` for ribbon and
    /// fuse.
    fn bits_beside_formula(&self, variance: f64, what: &str) -> Option<f64> {
        if let Some((shared, expected)) = self.sharing.filter(|(_, expected)| *expected < LEAST_SHARING) {
            assert!(is_likely(shared as u64, expected), "{what}: {shared} entries share a value, of {expected}");
            return None;
        }
        // Without variance, the difference is compared with its bound for each block: see `Rates`.
        (variance > 0.0).then(|| (self.rates - self.formulas_of_bits) / self.num_blocks / variance.sqrt())
    }
}

fn num_passed(reader: &FilterBlockReader<'_>, hashes: &[KeyHash]) -> usize {
    let mut answers = [false; BATCH];
    let passed = hashes.chunks(BATCH).map(|hashes| {
        let answers = &mut answers[..hashes.len()];
        reader.may_contain_hashes(hashes, answers);
        answers.iter().filter(|&&answer| answer).count()
    });
    passed.sum()
}

#[derive(Debug, Default)]
struct Tally {
    by_bits: Sigmas,
    by_formula: Sigmas,
    bits_by_formula: Sigmas,
    num_configurations: u64,
    num_rare: u64,
    num_stored: u64,
    num_absent: u64,
    num_passed: u64,
}

impl Tally {
    /// One setting, and keys of every shape.
    fn add(&mut self, policy: FilterPolicy, name: &str, all: &[(Shape, Observed)]) {
        // The variance of one block is itself random, and correlated with its rate; the mean of ten hardly is.
        let of_entry: f64 = all.iter().map(|(_, one)| one.variance_of_entry()).sum::<f64>() / all.len() as f64;
        for (shape, one) in all {
            let what = format!("{}, {name}, {shape:?}", policy.kind_name());
            let variance = of_entry / one.num_stored;
            self.num_configurations += 1;
            self.num_stored += one.num_stored as u64;
            self.num_absent += one.num_absent as u64;
            self.num_passed += one.num_passed as u64;
            match one.beside_bits(&what) {
                Some(sigmas) => self.by_bits.add(sigmas, &what),
                None => self.num_rare += 1,
            }
            one.beside_formula(variance, &what).into_iter().for_each(|sigmas| self.by_formula.add(sigmas, &what));
            let bits = one.bits_beside_formula(variance, &what);
            bits.into_iter().for_each(|sigmas| self.bits_by_formula.add(sigmas, &what));
            if let FilterSize::FalsePositiveRate(asked) = policy.size() {
                // Lines are whole, golomb's range is 1/rate where −1/ln(1 − rate) suffices, a twentieth at 10 %, and
                // fuse's rates are powers of two.
                let least = by_extent(0.85, 0.94, 0.94);
                let least = if policy.kind() == Some(FilterKind::Fuse) { 0.5 } else { least };
                let share = one.formulas / one.num_blocks / asked;
                assert!((least..=1.0 + 1e-9).contains(&share), "{what}: {share} of it is expected");
            }
        }
    }

    fn report(&self, kind: FilterKind) {
        let figures = [
            ("observed beside the rate by the bits", &self.by_bits),
            ("observed beside the formula", &self.by_formula),
            ("the rate by the bits beside the formula", &self.bits_by_formula),
        ];
        counted(&[
            (self.num_configurations, &format!("configurations of {kind}")),
            (self.num_rare, "of them with fewer than ten passes expected"),
            (self.num_stored, "keys stored and found"),
            (self.num_absent, "absent keys probed"),
            (self.num_passed, "passed"),
        ]);
        // Ribbon and fuse have none of the last.
        let figures = &figures[..if [FilterKind::Ribbon, FilterKind::Fuse].contains(&kind) { 2 } else { 3 }];
        figures.iter().for_each(|(what, sigmas)| println!("counted: {kind}, {what}: {}", sigmas.describe()));
        figures.iter().for_each(|(what, sigmas)| sigmas.assert_normal(&format!("{kind}, {what}")));
    }
}

fn check(kind: FilterKind) {
    let extent = by_extent(
        Extent { num_stored: 2_000, num_absent: 10_000 },
        Extent { num_stored: 40_000, num_absent: 200_000 },
        Extent { num_stored: 1_000_000, num_absent: 10_000_000 },
    );
    let mut tally = Tally::default();
    let settings = settings(kind);
    for (i, (policy, name)) in (1u64..).zip(&settings) {
        // Each configuration has a seed of its own, so that no two share a hash.
        let seeded = (1..).zip(Shape::ALL).map(|(j, shape)| (shape, i << 8 | j));
        let observe = |(shape, seed)| (shape, Observed::new(policy.clone(), shape, seed, &extent));
        tally.add(policy.clone(), name, &seeded.map(observe).collect::<Vec<_>>());
    }
    tally.report(kind);
    assert_eq!(tally.num_configurations, if kind == FilterKind::Blocked { 370 } else { 170 });
    assert!(tally.num_absent >= tally.num_configurations * extent.num_absent);
    assert!(tally.num_rare * by_extent(2, 5, 8) <= tally.num_configurations);
}

macro_rules! of_kinds {
    ($($test:ident: $Kind:ident,)+) => {$(
        #[test]
        fn $test() {
            check(FilterKind::$Kind);
        }
    )+};
}

of_kinds! {
    absent_keys_pass_bloom_filters_at_the_predicted_rate: Bloom,
    absent_keys_pass_blocked_filters_at_the_predicted_rate: Blocked,
    absent_keys_pass_golomb_filters_at_the_predicted_rate: Golomb,
    absent_keys_pass_ribbon_filters_at_the_predicted_rate: Ribbon,
    absent_keys_pass_fuse_filters_at_the_predicted_rate: Fuse,
}
