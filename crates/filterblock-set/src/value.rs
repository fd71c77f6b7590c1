//! Canonical entries of typed values: equal values have equal entries, whatever the width, the scale or the unit of the
//! column and of the literal.
//!
//! A filter must not deny the number 5 of an `int32` column to a query that has the literal as an `int64`, a
//! `decimal(10, 2)` or an unsigned integer. So numbers are reduced to what they are: an integer without trailing decimal
//! zeros, and the number of its decimal places. Times are numbers of seconds; milliseconds and nanoseconds then agree
//! without a rule of their own. `format/set.md` states the bytes.
//!
//! What has no such form is *not indexable*, and so *maybe*: floating-point numbers (engines differ in what equals -0.0
//! and NaN), booleans (a filter of two values answers nothing), nested values, numbers beyond 128 bits, counts that are
//! not a time of day (engines differ in whether they wrap them), and text whose equality is not that of its bytes
//! (padded or collated). Null equals nothing, so it has no entry either.

use crate::bytes;

/// The class of a column's values. Values of different classes are never compared by a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueClass {
    /// Entries that the engine makes itself.
    Opaque,
    /// Integers of all widths, and decimals.
    Number,
    /// Text that is compared byte by byte, in UTF-8.
    Text,
    /// Byte strings, of fixed or variable length; also UUIDs, as 16 bytes.
    Binary,
    /// Date and time of day without a time zone.
    LocalTimestamp,
    /// An instant: a timestamp with a time zone.
    Instant,
    /// Days.
    Date,
    /// Times of day.
    TimeOfDay,
}

impl ValueClass {
    /// All classes; the position of each is its number in the format.
    pub const ALL: [Self; 8] = [
        Self::Opaque,
        Self::Number,
        Self::Text,
        Self::Binary,
        Self::LocalTimestamp,
        Self::Instant,
        Self::Date,
        Self::TimeOfDay,
    ];

    /// Returns the number in the format.
    pub const fn to_wire(self) -> u8 {
        self as u8
    }

    /// Returns the class of a number in the format; `None` for those that a later version may define.
    pub fn from_wire(class: u8) -> Option<Self> {
        Self::ALL.get(usize::from(class)).copied()
    }
}

/// The unit of a count of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// Seconds.
    Second,
    /// 10^-3 seconds.
    Millisecond,
    /// 10^-6 seconds.
    Microsecond,
    /// 10^-9 seconds.
    Nanosecond,
}

impl TimeUnit {
    /// Returns the number of decimal places of a count in seconds.
    const fn scale(self) -> i8 {
        3 * self as i8
    }

    /// Returns the counts that are times of a day.
    const fn of_day(self) -> std::ops::Range<i64> {
        0..86_400 * 1000_i64.pow(self as u32)
    }
}

/// A value of a column, or a literal that is compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// An integer of any width, signed or not.
    Int(i64),
    /// An integer that 64 bits with a sign may not hold.
    Wide(i128),
    /// The number `unscaled` · 10^(-`scale`).
    Decimal {
        /// The digits.
        unscaled: i128,
        /// The number of decimal places; below 0, of zeros before the point.
        scale: i8,
    },
    /// Text.
    Text(&'a str),
    /// A byte string.
    Binary(&'a [u8]),
    /// A count from 1970-01-01 00:00:00 of the calendar, without a zone.
    LocalTimestamp(i64, TimeUnit),
    /// A count from 1970-01-01 00:00:00 UTC.
    Instant(i64, TimeUnit),
    /// A count of days from 1970-01-01.
    Date(i32),
    /// A count from midnight. One below 0, or of 24 hours and more, is not indexable.
    TimeOfDay(i64, TimeUnit),
    /// An entry of the engine's own.
    Opaque(&'a [u8]),
    /// A value that has no canonical entry, such as a floating-point number: *maybe*.
    NotIndexable,
}

/// Room for the longest entry that is not a part of the value.
pub type EntryBuffer = [u8; 17];

impl Value<'_> {
    /// Returns the class; `None` if the value is not indexable.
    pub fn class(&self) -> Option<ValueClass> {
        Some(match self {
            Self::Int(_) | Self::Wide(_) | Self::Decimal { .. } => ValueClass::Number,
            Self::Text(_) => ValueClass::Text,
            Self::Binary(_) => ValueClass::Binary,
            Self::LocalTimestamp(..) => ValueClass::LocalTimestamp,
            Self::Instant(..) => ValueClass::Instant,
            Self::Date(_) => ValueClass::Date,
            Self::TimeOfDay(..) => ValueClass::TimeOfDay,
            Self::Opaque(_) => ValueClass::Opaque,
            Self::NotIndexable => return None,
        })
    }

    /// Returns the canonical entry; `None` if the value is not indexable.
    ///
    /// ```
    /// use filterblock_set::{EntryBuffer, TimeUnit, Value};
    /// let (mut one, mut other) = (EntryBuffer::default(), EntryBuffer::default());
    /// let cents = Value::Decimal { unscaled: 500, scale: 2 };
    /// assert_eq!(cents.entry(&mut one), Value::Int(5).entry(&mut other));
    /// let (millis, nanos) =
    ///     (Value::Instant(1_500, TimeUnit::Millisecond), Value::Instant(1_500_000_000, TimeUnit::Nanosecond));
    /// assert_eq!(millis.entry(&mut one), nanos.entry(&mut other));
    /// assert_eq!(Value::NotIndexable.entry(&mut one), None);
    /// ```
    #[inline]
    pub fn entry<'b>(&'b self, buffer: &'b mut EntryBuffer) -> Option<&'b [u8]> {
        match *self {
            Self::Int(value) => Some(short(value, buffer)),
            Self::Text(text) => Some(text.as_bytes()),
            Self::Binary(bytes) | Self::Opaque(bytes) => Some(bytes),
            Self::Wide(value) => number(value, 0, buffer),
            Self::Decimal { unscaled, scale } => number(unscaled, scale, buffer),
            Self::TimeOfDay(count, unit) if !unit.of_day().contains(&count) => None,
            Self::LocalTimestamp(count, unit) | Self::Instant(count, unit) | Self::TimeOfDay(count, unit) => {
                number(count.into(), unit.scale(), buffer)
            }
            Self::Date(days) => Some(short(days.into(), buffer)),
            Self::NotIndexable => None,
        }
    }
}

/// Returns the entry of an integer of 64 bits.
#[inline]
fn short(value: i64, buffer: &mut EntryBuffer) -> &[u8] {
    bytes::put_i64(buffer, value);
    &buffer[..8]
}

/// Returns the entry of `unscaled` · 10^(-`scale`): the integer without trailing decimal zeros, and the number of
/// decimal places if there are any. `None` beyond 128 bits.
fn number(mut unscaled: i128, scale: i8, buffer: &mut EntryBuffer) -> Option<&[u8]> {
    let mut places = scale;
    while places > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        // Zero has no places.
        places = if unscaled == 0 { 0 } else { places - 1 };
    }
    while places < 0 && unscaled != 0 {
        unscaled = unscaled.checked_mul(10)?;
        places += 1;
    }
    let len = match i64::try_from(unscaled) {
        Ok(value) => short(value, buffer).len(),
        Err(_) => {
            bytes::put_i128(buffer, unscaled);
            16
        }
    };
    if places <= 0 {
        return Some(&buffer[..len]);
    }
    buffer[len] = places.unsigned_abs();
    Some(&buffer[..=len])
}
