//! Elementary functions from the IEEE-754 basic operations alone.
//!
//! Build parameters are derived from rates, so a rate must be the same number on every machine. `f64::ln`,
//! `exp` and their relatives come from the platform's mathematics library, which may differ in the last bit
//! (and `core` has none of them). `+ − × ÷`, comparisons and the bit pattern of a float are exact by standard.
//!
//! The reductions are the classical ones (Muller, *Elementary Functions*, ch. 11): `exp` to |r| ≤ ln 2 / 2, `ln` to a
//! mantissa in [√½, √2) and the series of artanh. Errors are a few units in the last place: below 1e-15 relative,
//! tested against `std` to 1e-13.

pub(crate) const LN_2: f64 = core::f64::consts::LN_2;

/// ln 2 in two parts: the first has 32 trailing zero bits, so its product with an exponent is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

const MANTISSA_BITS: u32 = 52;
const EXPONENT_BIAS: i32 = 1023;

/// Terms of the series of e^r − 1: 0.35^16 / 16! < 1e-20.
const EXP_TERMS: u32 = 16;
/// Terms of the series of artanh: 0.1716^(2·12) / 25 < 1e-19.
const ARTANH_TERMS: u32 = 12;

/// 2^`exponent` for −1022 ≤ `exponent` ≤ 1023; 0 below and infinity above.
pub(crate) fn pow2(exponent: i32) -> f64 {
    if exponent < 1 - EXPONENT_BIAS {
        return 0.0;
    }
    if exponent > EXPONENT_BIAS {
        return f64::INFINITY;
    }
    f64::from_bits(((exponent + EXPONENT_BIAS) as u64) << MANTISSA_BITS)
}

/// e^r − 1 for |r| ≤ 0.35, by its Taylor series.
fn exp_m1_reduced(r: f64) -> f64 {
    let mut nested = 1.0;
    let mut term = EXP_TERMS;
    while term > 1 {
        nested = 1.0 + nested * r / f64::from(term);
        term -= 1;
    }
    nested * r
}

/// e^x: 0 below −745.2, infinity above 709.79.
pub(crate) fn exp(x: f64) -> f64 {
    if x > 709.79 {
        return f64::INFINITY;
    }
    if x < -745.2 {
        return 0.0;
    }
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let exponent = (x / LN_2 + half) as i32;
    let r = x - f64::from(exponent) * LN_2_HIGH - f64::from(exponent) * LN_2_LOW;
    // Two factors, because 2^1024 and the subnormal powers are no normal floats.
    let first = exponent / 2;
    (1.0 + exp_m1_reduced(r)) * pow2(first) * pow2(exponent - first)
}

/// e^x − 1, accurate also where x is tiny.
pub(crate) fn exp_m1(x: f64) -> f64 {
    if x > -0.35 && x < 0.35 { exp_m1_reduced(x) } else { exp(x) - 1.0 }
}

/// ln((1 + s) / (1 − s)) for |s| ≤ 0.1716, by the series of artanh.
fn twice_artanh(s: f64) -> f64 {
    let square = s * s;
    let mut sum = 0.0;
    let mut term = ARTANH_TERMS;
    while term > 0 {
        sum = (sum + 1.0 / f64::from(2 * term + 1)) * square;
        term -= 1;
    }
    2.0 * s * (1.0 + sum)
}

/// `x` = mantissa · 2^exponent with a mantissa in [√½, √2); `x` positive and finite.
fn split(x: f64) -> (f64, i32) {
    let (x, shift) = if x < f64::MIN_POSITIVE { (x * pow2(54), 54) } else { (x, 0) };
    let bits = x.to_bits();
    let exponent = (bits >> MANTISSA_BITS) as i32 - EXPONENT_BIAS;
    let mantissa_mask = (1u64 << MANTISSA_BITS) - 1;
    let one = (EXPONENT_BIAS as u64) << MANTISSA_BITS;
    let mantissa = f64::from_bits((bits & mantissa_mask) | one);
    if mantissa > core::f64::consts::SQRT_2 {
        (mantissa / 2.0, exponent + 1 - shift)
    } else {
        (mantissa, exponent - shift)
    }
}

/// The natural logarithm: minus infinity at or below 0 (callers pass no negative number), infinity at infinity.
pub(crate) fn ln(x: f64) -> f64 {
    if x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    let (mantissa, exponent) = split(x);
    let e = f64::from(exponent);
    e * LN_2_HIGH + (twice_artanh((mantissa - 1.0) / (mantissa + 1.0)) + e * LN_2_LOW)
}

/// ln(1 + x), accurate also where x is tiny; minus infinity at or below −1.
pub(crate) fn ln_1p(x: f64) -> f64 {
    if x > -0.29 && x < 0.41 { twice_artanh(x / (2.0 + x)) } else { ln(1.0 + x) }
}

/// The binary logarithm, exact at powers of two; the ends as in [`ln`].
pub(crate) fn log2(x: f64) -> f64 {
    if x <= 0.0 || x == f64::INFINITY {
        return ln(x);
    }
    let (mantissa, exponent) = split(x);
    f64::from(exponent) + twice_artanh((mantissa - 1.0) / (mantissa + 1.0)) / LN_2
}

/// `base` to an integer power by repeated squaring; the relative error grows as `exponent` · 2^-53.
pub(crate) fn powi(base: f64, exponent: u32) -> f64 {
    let (mut square, mut rest, mut product) = (base, exponent, 1.0);
    while rest > 0 {
        if rest & 1 == 1 {
            product *= square;
        }
        square *= square;
        rest >>= 1;
    }
    product
}

/// The square root of x ≥ 0 by Newton's iteration, started within a factor √2 of it; 0 for 0.
///
/// IEEE-754 defines the root exactly, but `core` has none.
pub(crate) fn sqrt(x: f64) -> f64 {
    if x <= 0.0 || x == f64::INFINITY {
        return x;
    }
    let (mantissa, exponent) = split(x);
    let half = exponent.div_euclid(2);
    let scaled = if exponent.rem_euclid(2) == 1 { 2.0 * mantissa } else { mantissa };
    let mut root = 1.2;
    for _ in 0..6 {
        root = 0.5 * (root + scaled / root);
    }
    root * pow2(half)
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::format;

    fn assert_close(ours: f64, reference: f64, what: &str) {
        let scale = if reference == 0.0 { 1.0 } else { reference.abs() };
        assert!((ours - reference).abs() <= 1e-13 * scale, "{what}: {ours:e} against {reference:e}");
    }

    #[test]
    fn exponentials_agree_with_std() {
        for step in -70_800..=70_900 {
            let x = f64::from(step) * 0.01 + 0.000_123;
            if x <= -708.0 {
                continue; // subnormal results: below
            }
            assert_close(exp(x), x.exp(), &format!("exp({x})"));
            assert_close(exp_m1(x), x.exp_m1(), &format!("exp_m1({x})"));
        }
        for power in 0..300 {
            let x = 10f64.powi(-power);
            assert_close(exp_m1(x), x.exp_m1(), &format!("exp_m1({x:e})"));
            assert_close(exp_m1(-x), (-x).exp_m1(), &format!("exp_m1(-{x:e})"));
        }
        for step in -100_000..=100_000 {
            let x = f64::from(step) * 1e-5;
            assert_close(exp_m1(x), x.exp_m1(), &format!("exp_m1({x})"));
        }
    }

    #[test]
    fn exponentials_at_the_ends() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert_eq!(exp(710.0), f64::INFINITY);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(-746.0), 0.0);
        assert!(exp(-745.0) > 0.0 && exp(-745.0) < 1e-320);
        assert!(exp(709.7) > 1.6e308 && exp(709.7) < f64::INFINITY);
        assert_eq!(exp_m1(f64::NEG_INFINITY), -1.0);
        assert_eq!(exp_m1(0.0), 0.0);
    }

    #[test]
    fn logarithms_agree_with_std() {
        for exponent in -1070..1023 {
            for fraction in 0..64 {
                let x =
                    2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2) * (1.0 + f64::from(fraction) / 64.0);
                assert_close(ln(x), x.ln(), &format!("ln({x:e})"));
                assert_close(log2(x), x.log2(), &format!("log2({x:e})"));
            }
        }
        // Near 1, where the logarithm itself is tiny.
        for power in 1..16 {
            for sign in [-1.0, 1.0] {
                let x = 1.0 + sign * 10f64.powi(-power);
                assert_close(ln(x), x.ln(), &format!("ln({x})"));
            }
        }
        for step in -99_999..400_000 {
            let x = f64::from(step) * 1e-5;
            assert_close(ln_1p(x), x.ln_1p(), &format!("ln_1p({x})"));
        }
        for power in 0..300 {
            let x = 10f64.powi(-power);
            assert_close(ln_1p(x), x.ln_1p(), &format!("ln_1p({x:e})"));
            let below = -0.999 * x;
            assert_close(ln_1p(below), below.ln_1p(), &format!("ln_1p({below:e})"));
        }
    }

    #[test]
    fn logarithms_at_the_ends() {
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert_eq!(ln_1p(-1.0), f64::NEG_INFINITY);
        assert_eq!(ln(f64::INFINITY), f64::INFINITY);
        assert_eq!(log2(f64::INFINITY), f64::INFINITY);
        assert_eq!(ln(1.0), 0.0);
        for exponent in -1022..=1023 {
            assert_eq!(log2(pow2(exponent)), f64::from(exponent));
        }
    }

    #[test]
    fn roots_agree_with_std() {
        for exponent in -1070..1023 {
            for fraction in 0..64 {
                let x =
                    2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2) * (1.0 + f64::from(fraction) / 64.0);
                assert_close(sqrt(x), x.sqrt(), &format!("sqrt({x:e})"));
            }
        }
        assert_eq!(sqrt(0.0), 0.0);
        assert_eq!(sqrt(4.0), 2.0);
    }

    #[test]
    fn powers_agree_with_std() {
        assert_eq!(pow2(10), 1024.0);
        assert_eq!(pow2(-1), 0.5);
        assert_eq!(pow2(1024), f64::INFINITY);
        assert_eq!(pow2(-1023), 0.0);
        for exponent in 0..=64 {
            for step in 1..100 {
                let base = f64::from(step) * 0.01;
                assert_close(powi(base, exponent), base.powf(f64::from(exponent)), &format!("{base}^{exponent}"));
            }
        }
        assert_eq!(powi(0.0, 0), 1.0);
        assert_eq!(powi(1.0, u32::MAX), 1.0);
        assert_eq!(powi(0.5, u32::MAX), 0.0);
    }
}
