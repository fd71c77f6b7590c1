//! Values of a column as text, by the column's class.

use filterblock_set::TimeUnit::{Nanosecond, Second};
use filterblock_set::{TimeUnit, Value, ValueClass};

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const FRACTION_DIGITS: usize = 9;

/// The name of a class; `None` is one that this version does not know.
pub(super) fn class_name(class: Option<ValueClass>) -> &'static str {
    match class {
        Some(ValueClass::Opaque) => "opaque",
        Some(ValueClass::Number) => "number",
        Some(ValueClass::Text) => "text",
        Some(ValueClass::Binary) => "binary",
        Some(ValueClass::LocalTimestamp) => "local-timestamp",
        Some(ValueClass::Instant) => "instant",
        Some(ValueClass::Date) => "date",
        Some(ValueClass::TimeOfDay) => "time-of-day",
        _ => "unknown",
    }
}

/// The value of a column of this class, or what its text must be. What has no entry, as a number of too many digits, is
/// not indexable.
pub(super) fn parse(class: Option<ValueClass>, text: &[u8]) -> Result<Value<'_>, &'static str> {
    let utf8 = std::str::from_utf8(text);
    let of_text = |expected, parse: fn(&str) -> Option<Value<'static>>| utf8.ok().and_then(parse).ok_or(expected);
    match class {
        Some(ValueClass::Opaque) => Ok(Value::Opaque(text)),
        Some(ValueClass::Binary) => Ok(Value::Binary(text)),
        Some(ValueClass::Text) => utf8.map(Value::Text).map_err(|_| "text in UTF-8"),
        Some(ValueClass::Number) => of_text("a number, as in -7 or 3.50", number),
        Some(ValueClass::Date) => of_text("a date, as in 2026-01-31", |text| days(text).map(Value::Date)),
        Some(ValueClass::TimeOfDay) => of_text("a time of day, as in 23:59:59.125", |text| {
            let (seconds, nanos) = time_of_day(text)?;
            Some(count(seconds, nanos, Value::TimeOfDay))
        }),
        Some(ValueClass::LocalTimestamp) => of_text("a timestamp, as in 2026-01-31T23:59:59.125", |text| {
            let (seconds, nanos) = timestamp(text)?;
            Some(count(seconds, nanos, Value::LocalTimestamp))
        }),
        Some(ValueClass::Instant) => of_text("an instant, as in 2026-01-31T23:59:59Z or …+01:00", instant),
        _ => Ok(Value::NotIndexable),
    }
}

/// The bytes of a value of a column of bytes, if it may be written in hexadecimal digits, as UUIDs and hashes are shown.
pub(super) fn bytes_of_digits(class: Option<ValueClass>, text: &[u8]) -> Option<Vec<u8>> {
    let is_bytes = matches!(class, Some(ValueClass::Binary | ValueClass::Opaque));
    let text = std::str::from_utf8(text).ok().filter(|_| is_bytes)?;
    let digits = text.strip_prefix("0x").unwrap_or(text).replace('-', "");
    let digits: Vec<u8> = digits.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let is_whole = !digits.is_empty() && digits.len() % 2 == 0;
    is_whole.then(|| digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Returns whether `text` is digits and nothing else.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Option<Value<'static>> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let unscaled = format!("{whole}{fraction}").parse::<i128>().ok();
    let signed = unscaled.map(|unscaled| if text.starts_with('-') { -unscaled } else { unscaled });
    let scale = i8::try_from(fraction.len()).ok();
    Some(signed.zip(scale).map_or(Value::NotIndexable, |(unscaled, scale)| Value::Decimal { unscaled, scale }))
}

/// The number before the first `separator`, of `len` digits, and what follows.
fn field(text: &str, len: usize, separator: char) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_once(separator)?;
    let number = (digits.len() == len && is_digits(digits)).then(|| digits.parse().ok());
    Some((number??, rest))
}

/// Days from 1970-01-01, of the years 0000 to 9999.
fn days(text: &str) -> Option<i32> {
    let text = format!("{text}-");
    let (year, rest) = field(&text, 4, '-')?;
    let (month, rest) = field(rest, 2, '-')?;
    let (day, rest) = field(rest, 2, '-')?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let month_days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        _ => return None,
    };
    if !rest.is_empty() || !(1..=month_days).contains(&day) {
        return None;
    }
    // Of years that begin in March, so that leap days are the last; 719 468 days from 0000-03-01 to 1970-01-01.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before_year = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    i32::try_from(before_year + (153 * month + 2) / 5 + day - 1 - 719_468).ok()
}

/// Seconds from midnight, and nanoseconds if the text has a fraction.
fn time_of_day(text: &str) -> Option<(i64, Option<i64>)> {
    let (time, fraction) = text.split_once('.').map_or((text, None), |(time, fraction)| (time, Some(fraction)));
    let time = format!("{time}:");
    let (hour, rest) = field(&time, 2, ':')?;
    let (minute, rest) = field(rest, 2, ':')?;
    let (second, rest) = field(rest, 2, ':')?;
    let nanos = match fraction {
        Some(digits) if is_digits(digits) && digits.len() <= FRACTION_DIGITS => {
            Some(format!("{digits:0<FRACTION_DIGITS$}").parse().ok()?)
        }
        Some(_) => return None,
        None => None,
    };
    let is_time = rest.is_empty() && hour < 24 && minute < 60 && second < 60;
    is_time.then_some((hour * 3600 + minute * 60 + second, nanos))
}

/// Seconds from 1970-01-01 00:00:00, and nanoseconds if the text has a fraction.
fn timestamp(text: &str) -> Option<(i64, Option<i64>)> {
    let (date, time) = text.split_once(['T', ' '])?;
    let (seconds, nanos) = time_of_day(time)?;
    Some((i64::from(days(date)?) * 86_400 + seconds, nanos))
}

/// A timestamp with an offset from UTC.
fn instant(text: &str) -> Option<Value<'static>> {
    let (local, offset) = match text.strip_suffix('Z') {
        Some(local) => (local, 0),
        None => {
            let (local, offset) = text.split_at_checked(text.len().checked_sub("+00:00".len())?)?;
            let sign = if offset.starts_with('-') { -1 } else { 1 };
            let (hours, minutes) = field(offset.strip_prefix(['-', '+'])?, 2, ':')?;
            let minutes = (minutes.len() == 2 && is_digits(minutes)).then(|| minutes.parse::<i64>().ok())??;
            (local, sign * (hours * 3600 + minutes * 60))
        }
    };
    let (seconds, nanos) = timestamp(local)?;
    Some(count(seconds - offset, nanos, Value::Instant))
}

/// A count of nanoseconds where there are some, of seconds otherwise; not indexable beyond 64 bits.
fn count(seconds: i64, nanos: Option<i64>, value: fn(i64, TimeUnit) -> Value<'static>) -> Value<'static> {
    let Some(nanos) = nanos else { return value(seconds, Second) };
    let all = seconds.checked_mul(NANOS_PER_SECOND).and_then(|count| count.checked_add(nanos));
    all.map_or(Value::NotIndexable, |count| value(count, Nanosecond))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn parsed(class: ValueClass, text: &str) -> Option<Value<'static>> {
        parse(Some(class), text.to_owned().leak().as_bytes()).ok()
    }

    /// Every day of four centuries, by counting.
    #[test]
    fn dates_count_days() {
        let mut expected = days("1899-12-31").unwrap();
        assert_eq!(days("1970-01-01"), Some(0));
        for year in 1900..2301 {
            for (month, len) in (1..).zip([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
                let is_leap = year % 400 == 0 || year % 4 == 0 && year % 100 != 0;
                let len = len + i32::from(month == 2 && is_leap);
                for day in 1..=len {
                    expected += 1;
                    assert_eq!(days(&format!("{year}-{month:02}-{day:02}")), Some(expected));
                }
                assert_eq!(days(&format!("{year}-{month:02}-{:02}", len + 1)), None);
            }
        }
        for wrong in ["", "2026", "2026-1-01", "2026-00-01", "2026-13-01", "2026-01-00", "2026-01-01-", "-026-01-01"] {
            assert_eq!(days(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_are_what_they_are() {
        let of = |text: &str| parsed(ValueClass::Number, text);
        let decimal = |unscaled, scale| Some(Value::Decimal { unscaled, scale });
        assert_eq!((of("7"), of("-7"), of("+07")), (decimal(7, 0), decimal(-7, 0), decimal(7, 0)));
        assert_eq!((of("3.50"), of("-0.125")), (decimal(35, 1), decimal(-125, 3)));
        assert_eq!(of(&"9".repeat(39)), Some(Value::NotIndexable));
        for wrong in ["", "-", "1e6", "1.", ".5", "0x10", "1_000", "--1", "NaN", "1.2.3", " 1"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn bytes_may_be_written_in_digits() {
        let of = |text: &str| bytes_of_digits(Some(ValueClass::Binary), text.as_bytes());
        for text in ["0x00ff10", "00ff10", "00FF10", "00ff-10"] {
            assert_eq!(of(text), Some(vec![0, 255, 16]), "{text}");
        }
        for text in ["", "0x", "f", "0xfff", "0xfg", "ulm", "-", "\u{fc}\u{fc}"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(bytes_of_digits(Some(ValueClass::Text), b"00ff10"), None);
    }

    /// A value of an unknown class is never denied.
    #[test]
    fn what_is_unknown_is_not_indexable() {
        assert_eq!(parse(None, b"7"), Ok(Value::NotIndexable));
        assert_eq!(class_name(None), "unknown");
        let names: std::collections::BTreeSet<_> = ValueClass::ALL.map(|class| class_name(Some(class))).into();
        assert!(names.len() == ValueClass::ALL.len() && !names.contains("unknown"), "{names:?}");
    }

    #[test]
    fn times_count_seconds() {
        let of = |text: &str| parsed(ValueClass::Instant, text);
        assert_eq!(of("1970-01-02T00:00:01Z"), Some(Value::Instant(86_401, Second)));
        assert_eq!(of("1970-01-01T01:30:00+01:30"), Some(Value::Instant(0, Second)));
        assert_eq!(of("1969-12-31 23:00:00.5-01:00"), Some(Value::Instant(500_000_000, Nanosecond)));
        assert_eq!(of("9999-01-01T00:00:00.5Z"), Some(Value::NotIndexable));
        let local = |text: &str| parsed(ValueClass::LocalTimestamp, text);
        assert_eq!(local("1970-01-01T00:01:00"), Some(Value::LocalTimestamp(60, Second)));
        assert_eq!(local("1970-01-01T00:01:00Z"), None);
        assert_eq!(of("1970-01-01T00:01:00"), None);
        let time = |text: &str| parsed(ValueClass::TimeOfDay, text);
        assert_eq!(time("23:59:59.000000001"), Some(Value::TimeOfDay(86_399_000_000_001, Nanosecond)));
        for wrong in ["", "24:00:00", "23:60:00", "23:59:60", "1:00:00", "01:00", "01:00:00.", "01:00:00.0000000001"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }
}
