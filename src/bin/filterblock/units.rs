//! Notations of numbers on the command line, and pseudo-random numbers.

/// A 64-bit number, decimal or hexadecimal after `0x`.
pub(crate) fn parse_u64(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // `from_str_radix` would accept a sign after the prefix.
        Some(digits) if digits.starts_with(['+', '-']) => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    parsed.ok_or_else(|| "expected a 64-bit number, decimal or hexadecimal as in 0x2a".to_owned())
}

/// A count, also as `1_000_000` or `1e6`.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    if let Ok(count) = digits.parse() {
        return Ok(count);
    }
    // Up to 2^53 every whole number has its own f64.
    let whole =
        |count: &f64| digits.contains(['e', 'E']) && count.fract() == 0.0 && (0.0..=2f64.powi(53)).contains(count);
    match digits.parse().ok().filter(whole) {
        Some(count) => Ok(count as u64),
        None => Err("expected a whole number, as in 1000000, 1_000_000 or 1e6".to_owned()),
    }
}

/// A number of bytes: a count, or one of KiB, MiB, GiB as in `64KiB`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("", 1)];
    for (unit, unit_bytes) in units {
        if let Some(count) = text.strip_suffix(unit).and_then(|count| parse_count(count.trim_end()).ok()) {
            return count.checked_mul(unit_bytes).ok_or_else(|| "does not fit into 64 bits".to_owned());
        }
    }
    Err("expected a number of bytes, as in 65536, 64KiB, 10MiB or 1GiB".to_owned())
}

/// A rate: `0.01`, `1e-2` or `1%`. Each kind of filter has its own legal range.
pub(crate) fn parse_rate(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(rate) if rate.is_finite() => Ok(rate / unit),
        _ => Err("expected a rate, as in 0.01, 1e-2 or 1%".to_owned()),
    }
}

/// The increment of SplitMix64.
pub(crate) const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output of SplitMix64 (G. Steele, D. Lea, C. Flood, *Fast splittable pseudorandom number generators*, OOPSLA
/// 2014) in this state: a bijection, so that distinct states give distinct numbers.
pub(crate) fn splitmix64(state: u64) -> u64 {
    let mut x = state.wrapping_add(GOLDEN_GAMMA);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
