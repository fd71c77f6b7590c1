//! The values of an array, read where they are.

use crate::batch::{ANY_HASH, Batch};
use crate::buffer::Bytes;
use crate::scalar::Scalar;
use filterblock::{KeyHash, KeyHasher};
use filterblock_set::{EntryBuffer, TimeUnit, Value};
use std::ops::Range;

/// The kind of an array's fixed-size values.
#[derive(Clone, Copy)]
pub enum Fixed {
    Signed,
    Unsigned,
    Decimal(i8),
    Binary,
    Date,
    /// Milliseconds of days.
    DateMillis,
    LocalTimestamp(TimeUnit),
    Instant(TimeUnit),
    TimeOfDay(TimeUnit),
}

/// The values of an array, or of one chunk of it.
pub enum Data {
    Fixed {
        values: Bytes,
        width: usize,
        what: Fixed,
    },
    /// Offsets of 4 or 8 bytes into the data.
    Variable {
        offsets: Bytes,
        width: usize,
        data: Option<Bytes>,
        is_text: bool,
    },
    Scalars(Vec<Option<Scalar>>),
    Nulls,
    NotIndexable,
}

/// One array, or one chunk of it: `len` values from number `offset` on.
pub struct Column {
    pub data: Data,
    pub offset: usize,
    pub len: usize,
    pub validity: Option<Bytes>,
}

/// Returns the integer in up to 16 bytes of this machine's order.
#[inline]
fn integer(bytes: &[u8], is_signed: bool) -> i128 {
    match *bytes {
        [a] if is_signed => (a as i8).into(),
        [a] => a.into(),
        [a, b] if is_signed => i16::from_ne_bytes([a, b]).into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] if is_signed => i32::from_ne_bytes([a, b, c, d]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => match (bytes.try_into(), <[u8; 16]>::try_from(bytes)) {
            (Ok(eight), _) if is_signed => i64::from_ne_bytes(eight).into(),
            (Ok(eight), _) => u64::from_ne_bytes(eight).into(),
            (_, Ok(sixteen)) => i128::from_ne_bytes(sixteen),
            _ => 0, // no other width is made
        },
    }
}

impl Column {
    /// Returns whether the buffers are as long as the values need them to be.
    pub fn is_whole(&self) -> bool {
        let end = self.offset + self.len;
        let has = |bytes: &Bytes, len: usize| bytes.as_slice().len() >= len;
        self.validity.as_ref().is_none_or(|bits| has(bits, end.div_ceil(8)))
            && match &self.data {
                Data::Fixed { values, width, .. } => has(values, end * width),
                Data::Variable { offsets, width, .. } => has(offsets, (end + 1) * width),
                _ => true,
            }
    }

    /// Returns whether value number `at` is null.
    fn is_null(&self, at: usize) -> bool {
        let bit = self.offset + at;
        self.validity.as_ref().is_some_and(|bits| bits.as_slice()[bit / 8] >> (bit % 8) & 1 == 0)
    }

    /// Calls `take` for each value of a range, with `None` for nulls.
    #[inline]
    pub fn for_each(&self, range: Range<usize>, mut take: impl FnMut(Option<Value<'_>>)) {
        let unless_null = |at, value| (!self.is_null(at)).then_some(value);
        match &self.data {
            Data::Nulls => range.for_each(|_| take(None)),
            Data::NotIndexable => range.for_each(|at| take(unless_null(at, Value::NotIndexable))),
            Data::Scalars(values) => {
                values[range].iter().for_each(|value| take(value.as_ref().map(Scalar::value)));
            }
            Data::Fixed { values, width, what } => {
                let values = values.as_slice()[(self.offset + range.start) * width..].chunks_exact(*width);
                for (at, bytes) in range.zip(values) {
                    take(unless_null(at, fixed(bytes, *what)));
                }
            }
            Data::Variable { offsets, width, data, is_text } => {
                let offsets = offsets.as_slice()[(self.offset + range.start) * width..].chunks_exact(*width);
                let mut offsets = offsets.map(|bytes| integer(bytes, true) as usize);
                let data = data.as_ref().map_or(&[][..], Bytes::as_slice);
                let mut start = offsets.next().unwrap_or(0);
                for (at, end) in range.zip(offsets) {
                    // A sound array has no descending offsets, and no text that is not UTF-8.
                    let value = data.get(start..end).map_or(Value::NotIndexable, |bytes| match is_text {
                        true => simdutf8::basic::from_utf8(bytes).map_or(Value::NotIndexable, Value::Text),
                        false => Value::Binary(bytes),
                    });
                    take(unless_null(at, value));
                    start = end;
                }
            }
        }
    }

    /// Adds the hashes of a range of values to an empty batch.
    pub fn hash(&self, range: Range<usize>, hasher: &KeyHasher, batch: &mut Batch) {
        // The commonest columns have loops of their own, in which the class of a value is known.
        let is_hashed = match &self.data {
            Data::Fixed { values, width: 8, what: Fixed::Signed } => {
                let values = &values.as_slice()[self.offset * 8..][range.start * 8..range.end * 8];
                let mut buffer = EntryBuffer::default();
                batch.hashes.extend(values.chunks_exact(8).map(|bytes| {
                    let value = Value::Int(i64::from_ne_bytes(bytes.try_into().unwrap_or_default()));
                    value.entry(&mut buffer).map_or(ANY_HASH, |entry| hasher.hash(entry))
                }));
                true
            }
            Data::Variable { offsets, width, data, is_text } => {
                let offsets = &offsets.as_slice()[self.offset * width..][range.start * width..(range.end + 1) * width];
                let hash = if *width == 4 { hash_slices::<4> } else { hash_slices::<8> };
                let data = data.as_ref().map_or(&[][..], Bytes::as_slice);
                hash(offsets, data, *is_text, hasher, &mut batch.hashes).is_some()
            }
            _ => false,
        };
        if !is_hashed {
            batch.hashes.clear();
            self.for_each(range, |value| batch.add(value, hasher));
        } else if self.validity.is_some() {
            batch.without.extend(range.clone().filter(|&at| self.is_null(at)).map(|at| at - range.start));
        }
    }
}

/// Adds the hashes of the data between each offset and the next. Returns `None`, and leaves hashes that must not be
/// used, if some offsets have no data, or text is not UTF-8.
fn hash_slices<const WIDTH: usize>(
    offsets: &[u8],
    data: &[u8],
    is_text: bool,
    hasher: &KeyHasher,
    hashes: &mut Vec<KeyHash>,
) -> Option<()> {
    let mut offsets = offsets.chunks_exact(WIDTH).map(|bytes| integer(bytes, true) as usize);
    let first = offsets.next()?;
    let data = data.get(first..offsets.clone().next_back().unwrap_or(first))?;
    let (mut start, mut is_whole) = (0, true);
    let ranges = offsets.map(|offset| {
        let end = offset.wrapping_sub(first);
        std::mem::replace(&mut start, end)..end
    });
    let mut hash = |slice: Option<&[u8]>| {
        is_whole &= slice.is_some();
        slice.map_or(ANY_HASH, |slice| hasher.hash(slice))
    };
    if is_text {
        // Texts end to end are a text, which takes one check.
        let texts = simdutf8::basic::from_utf8(data).ok()?;
        hashes.extend(ranges.map(|range| hash(texts.get(range).map(str::as_bytes))));
    } else {
        hashes.extend(ranges.map(|range| hash(data.get(range))));
    }
    is_whole.then_some(())
}

const MILLIS_OF_DAY: i64 = 86_400_000;

/// Returns a date, not indexable if its number of days has no entry.
fn date(days: i64) -> Value<'static> {
    i32::try_from(days).map_or(Value::NotIndexable, Value::Date)
}

/// Returns the value in the bytes of a fixed size.
#[inline]
fn fixed(bytes: &[u8], what: Fixed) -> Value<'_> {
    let count = |bytes| integer(bytes, true) as i64;
    match what {
        Fixed::Signed => Value::Int(count(bytes)),
        Fixed::Unsigned => Value::Wide(integer(bytes, false)),
        Fixed::Decimal(scale) => Value::Decimal { unscaled: integer(bytes, true), scale },
        Fixed::Binary => Value::Binary(bytes),
        Fixed::Date => date(count(bytes)),
        Fixed::DateMillis if count(bytes) % MILLIS_OF_DAY == 0 => date(count(bytes) / MILLIS_OF_DAY),
        Fixed::DateMillis => Value::NotIndexable,
        Fixed::LocalTimestamp(unit) => Value::LocalTimestamp(count(bytes), unit),
        Fixed::Instant(unit) => Value::Instant(count(bytes), unit),
        Fixed::TimeOfDay(unit) => Value::TimeOfDay(count(bytes), unit),
    }
}
