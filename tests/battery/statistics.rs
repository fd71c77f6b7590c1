//! Observed counts against expected ones, in standard deviations.

/// The bound everywhere: a correct figure exceeds it once in 16 000 times.
pub(crate) const MAX_SIGMAS: f64 = 4.0;
/// Share of a normal law beyond [`MAX_SIGMAS`] on one side.
const TAIL: f64 = 3.167e-5;
/// With fewer expected events than this, a count is too coarse for sigmas.
const LEAST_MEAN: f64 = 10.0;
/// Share of a normal law within 1, 2, 3 and 4 σ.
const WITHIN: [f64; 4] = [0.682_689_5, 0.954_499_7, 0.997_300_2, 0.999_936_7];

/// The number of standard deviations between `observed` of `trials` and the mean of a binomial law of `rate`: the root
/// of the deviance, with its sign, plus a sixth of the law's skewness (D. A. Pierce, D. W. Schafer, *Residuals in
/// generalized linear models*, JASA 81, 1986). From ten expected events on this is normal far into the tails, where
/// (observed − mean) / σ is skewed: of ten events, that exceeds 4 five times as often as it should.
pub(crate) fn deviation(observed: f64, trials: f64, rate: f64) -> f64 {
    let (mean, excess) = (trials * rate, observed - trials * rate);
    let part = |seen: f64, change: f64| if seen > 0.0 { -seen * (change / seen).ln_1p() } else { 0.0 };
    // x ln(x / μ) of the keys that passed and of the others, μ = x − excess and x + excess.
    let deviance = 2.0 * (part(observed, -excess) + part(trials - observed, excess));
    let skewness = (1.0 - 2.0 * rate) / (mean * (1.0 - rate)).sqrt();
    deviance.max(0.0).sqrt().copysign(excess) + skewness / 6.0
}

/// Whether a count is too small for [`deviation`].
pub(crate) fn is_rare(trials: f64, rate: f64) -> bool {
    trials * rate < LEAST_MEAN || trials * (1.0 - rate) < LEAST_MEAN
}

/// The equivalent of [`MAX_SIGMAS`] for rare events: neither tail of the Poisson law is less likely.
pub(crate) fn is_likely(observed: u64, mean: f64) -> bool {
    let (mut probability, mut below) = ((-mean).exp(), 0.0);
    for count in 0..observed {
        below += probability;
        probability *= mean / (count + 1) as f64;
    }
    1.0 - below > TAIL && below + probability > TAIL
}

/// Deviations of many independent figures.
#[derive(Debug, Default)]
pub(crate) struct Sigmas {
    within: [u64; 4],
    num: u64,
    sum: f64,
    sum_of_squares: f64,
    worst: f64,
    worst_of: String,
}

impl Sigmas {
    pub(crate) fn add(&mut self, sigmas: f64, what: &str) {
        assert!(sigmas.is_finite(), "{what}: {sigmas} σ");
        for (count, bound) in self.within.iter_mut().zip(1..) {
            *count += u64::from(sigmas.abs() <= f64::from(bound));
        }
        self.num += 1;
        self.sum += sigmas;
        self.sum_of_squares += sigmas * sigmas;
        if sigmas.abs() > self.worst.abs() {
            (self.worst, self.worst_of) = (sigmas, what.to_owned());
        }
    }

    /// One line: how many are within 1, 2, 3 and 4 σ, and the worst.
    pub(crate) fn describe(&self) -> String {
        let (num, mean) = (self.num as f64, self.sum / self.num as f64);
        let share = |count: u64| 100.0 * count as f64 / num;
        let [one, two, three, four] = self.within;
        format!(
            "{} figures, within 1 σ {one} ({:.1} %), 2 σ {two} ({:.1} %), 3 σ {three} ({:.2} %), 4 σ {four}; mean {mean:+.3} σ, \
             root mean square {:.3} σ; worst {:+.2} σ: {}",
            self.num,
            share(one),
            share(two),
            share(three),
            (self.sum_of_squares / num).sqrt(),
            self.worst,
            self.worst_of,
        )
    }

    /// Every figure is within the bound, and all together look like a normal law: their number within 1, 2 and 3 σ,
    /// their mean and their mean square each within 4 σ of its own. This detects a σ that is too large as well as one
    /// that is too small, and a bias that no single figure shows.
    pub(crate) fn assert_normal(&self, what: &str) {
        let fault = self.fault();
        assert!(fault.is_none(), "{what}: {}: {}", fault.unwrap_or_default(), self.describe());
    }

    fn fault(&self) -> Option<&'static str> {
        let num = self.num as f64;
        let is_off = |(&count, share): (&u64, f64)| {
            let slack = MAX_SIGMAS * (num * share * (1.0 - share)).sqrt() + 1.0;
            (count as f64 - num * share).abs() > slack
        };
        // σ is 1/√n for the mean of n figures and √(2/n) for their mean square.
        let (mean, mean_square) = (self.sum / num, self.sum_of_squares / num);
        let faults = [
            (self.worst.abs() > MAX_SIGMAS, "a figure is out of bounds"),
            (self.within.iter().zip(WITHIN).take(3).any(is_off), "not a normal law"),
            (mean.abs() > MAX_SIGMAS / num.sqrt(), "biased"),
            ((mean_square - 1.0).abs() > MAX_SIGMAS * (2.0 / num).sqrt(), "another σ"),
            // Of none all the others are NaN, which exceeds nothing.
            (self.num < 50, "too few figures"),
        ];
        faults.into_iter().find(|(is_fault, _)| *is_fault).map(|(_, fault)| fault)
    }
}

/// Compares with the laws themselves, summed over all their counts.
#[test]
fn deviations_are_normal() {
    for (trials, rate) in [(1e6, 1e-5), (1e6, 2.5e-5), (1e6, 1e-4), (1e4, 0.03), (1_000.0, 0.4), (100.0, 0.9)] {
        // The binomial law from its mode outward, not yet scaled by its sum.
        let ratio = |count: f64| (trials - count) / (count + 1.0) * rate / (1.0 - rate);
        let (mut counts, mut weight) = (vec![], 1.0);
        let mode = (trials * rate).floor();
        for count in mode as u64..=trials as u64 {
            counts.push((count as f64, weight));
            weight *= ratio(count as f64);
        }
        weight = 1.0;
        for count in (0..mode as u64).rev() {
            weight /= ratio(count as f64);
            counts.push((count as f64, weight));
        }
        let total: f64 = counts.iter().map(|(_, weight)| weight).sum();
        let expect = |of: &dyn Fn(f64) -> f64| -> f64 {
            counts.iter().map(|(count, weight)| weight / total * of(deviation(*count, trials, rate))).sum()
        };
        let (mean, square) = (expect(&|z| z), expect(&|z| z * z));
        let beyond = expect(&|z| f64::from(u8::from(z.abs() > MAX_SIGMAS)));
        assert!(mean.abs() < 0.01 && (square - 1.0).abs() < 0.03, "{trials} at {rate}: {mean}, {square}");
        assert!((2e-5..1.2e-4).contains(&beyond), "{trials} at {rate}: {beyond:e} beyond 4 σ");
    }
}

#[test]
fn rare_events_have_their_tails() {
    assert!(is_likely(0, 0.001) && is_likely(1, 0.001) && !is_likely(2, 0.001));
    assert!(is_likely(0, 10.0) && !is_likely(0, 11.0));
    assert!(is_likely(25, 10.0) && !is_likely(27, 10.0));
    assert!(is_rare(1e6, 9e-6) && !is_rare(1e6, 1.1e-5) && is_rare(100.0, 0.95));
}

/// Figures of a normal law pass; scaled or shifted by a tenth they fail.
#[test]
fn a_wrong_sigma_is_noticed() {
    let fault = |scale: f64, shift: f64| {
        let mut sigmas = Sigmas::default();
        // Sums of twelve uniform numbers have variance one.
        let mut uniform = crate::material::numbers(71).map(|number| number as f64 / u64::MAX as f64);
        for _ in 0..4_000 {
            let sum: f64 = uniform.by_ref().take(12).sum();
            sigmas.add(((sum - 6.0) * scale + shift).clamp(-MAX_SIGMAS, MAX_SIGMAS), "a sum");
        }
        sigmas.fault()
    };
    assert_eq!(fault(1.0, 0.0), None);
    assert!(fault(1.1, 0.0).is_some() && fault(0.9, 0.0).is_some());
    assert_eq!((fault(1.0, 0.1), fault(1.0, -0.1)), (Some("biased"), Some("biased")));
    let mut sigmas = Sigmas::default();
    assert_eq!(sigmas.fault(), Some("too few figures"));
    sigmas.add(-4.01, "one");
    assert_eq!(sigmas.fault(), Some("a figure is out of bounds"));
}
