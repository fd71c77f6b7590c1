//! Notations of numbers on the command line.

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

/// A count, also as `1_000_000`, `1e6`, `1M` or `1.5M`; the units are powers of a thousand.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    whole_number(&text.replace('_', ""))
        .ok_or_else(|| "expected a whole number below 2^64, as in 1000000, 1_000_000, 1e6 or 1M".to_owned())
}

/// Exact: up to 2^64, where an `f64` would round.
fn whole_number(text: &str) -> Option<u64> {
    let units = [("k", 3), ("K", 3), ("M", 6), ("G", 9), ("T", 12), ("", 0)];
    let (number, unit) = units.into_iter().find_map(|(unit, power)| Some((text.strip_suffix(unit)?, power)))?;
    let (mantissa, power) = match number.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let power = power.checked_add(unit)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    if whole.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(10u64.checked_pow(u32::try_from(power).ok()?)?)
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

#[cfg(test)]
mod tests {
    use super::{parse_bytes, parse_count};

    #[test]
    fn counts_are_exact_in_every_notation() {
        for (text, count) in [
            ("0", 0),
            ("1_000_000", 1_000_000),
            ("1e6", 1_000_000),
            ("1M", 1_000_000),
            ("10k", 10_000),
            ("10K", 10_000),
            ("2.5M", 2_500_000),
            ("1.50e1", 15),
            ("3G", 3_000_000_000),
            ("1e18", 1_000_000_000_000_000_000),
            ("9007199254740993", (1 << 53) + 1),
            ("9.007199254740993e15", (1 << 53) + 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for text in [
            "",
            "M",
            "1.5",
            "-1",
            "+1",
            "1e-1",
            "1e30",
            "1.5e0",
            "1m",
            "1MM",
            "e6",
            ".5M",
            "1e",
            "0x10",
            "1e99999999999",
        ] {
            assert!(parse_count(text).is_err(), "{text}");
        }
        assert_eq!((parse_bytes("64KiB"), parse_bytes("1M")), (Ok(65_536), Ok(1_000_000)));
    }
}
