//! Arrow's values as a set's typed values, and by which name a set has a column.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{self as arrow, DataType};
use filterblock_set::{TimeUnit, Value, ValueClass};

/// The values of a type as a filter sees them: types of one kind differ in how they store them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) class: ValueClass,
    /// The number of decimal places; `None` for text, bytes and dates, which no conversion cuts.
    places: Option<i8>,
}

impl Kind {
    /// Returns the kind of a type; `None` if its values are not indexable.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        use DataType::*;
        let (class, places) = match data_type {
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => (ValueClass::Number, Some(0)),
            Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) => (ValueClass::Number, Some(*scale)),
            Utf8 | LargeUtf8 | Utf8View => (ValueClass::Text, None),
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => (ValueClass::Binary, None),
            Date32 => (ValueClass::Date, None),
            Time32(unit) | Time64(unit) => (ValueClass::TimeOfDay, places(*unit)),
            Timestamp(unit, None) => (ValueClass::LocalTimestamp, places(*unit)),
            Timestamp(unit, Some(_)) => (ValueClass::Instant, places(*unit)),
            Dictionary(_, values) => return Self::of(values),
            _ => return None,
        };
        Some(Self { class, places })
    }

    /// Returns whether a table that has a column of this kind shows the values of a file's column of kind `file` as they
    /// are: DataFusion rounds or cuts decimal places that the table's type does not have. Parquet has no unit of seconds:
    /// if a file has no Arrow types beside its own, they are read as counts of the table's unit.
    pub(crate) fn shows(self, file: Self) -> bool {
        let is_of_unit = file.class == ValueClass::Number || file.places != Some(0) || self.places == Some(0);
        self.class == file.class && file.places <= self.places && is_of_unit
    }

    /// Returns the name of the column's filters in a set: the column's, and the number of decimal places, also if it is 0,
    /// as writers that do not know of this rule name columns plainly. The byte between them is none of UTF-8.
    pub(crate) fn name_in_set(self, column: &str) -> Vec<u8> {
        let places = self.places.map(|places| [&[0xff], places.to_string().as_bytes()].concat());
        [column.as_bytes(), &places.unwrap_or_default()].concat()
    }
}

fn places(unit: arrow::TimeUnit) -> Option<i8> {
    Some(3 * unit as i8)
}

/// Decodes a dictionary; other arrays stay.
pub(crate) fn plain(array: &ArrayRef) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, values) => plain(&cast(array, values).ok()?),
        _ => Some(array.clone()),
    }
}

/// Calls `take` with every value of a plain array that is not null. Returns false if the values are not indexable.
pub(crate) fn each_value<'a>(array: &'a dyn Array, mut take: impl FnMut(Value<'a>)) -> bool {
    use DataType::*;
    use arrow::TimeUnit::*;
    macro_rules! each {
        ($values:expr, $value:ident => $typed:expr) => {
            $values.iter().flatten().for_each(|$value| take($typed))
        };
    }
    // Values of a primitive type, by Arrow's name of it.
    macro_rules! primitive {
        ($type:ident, $value:ident => $typed:expr) => {
            each!(array.as_primitive::<arrow::$type>(), $value => $typed)
        };
    }
    match array.data_type() {
        Int8 => primitive!(Int8Type, value => Value::Int(value.into())),
        Int16 => primitive!(Int16Type, value => Value::Int(value.into())),
        Int32 => primitive!(Int32Type, value => Value::Int(value.into())),
        Int64 => primitive!(Int64Type, value => Value::Int(value)),
        UInt8 => primitive!(UInt8Type, value => Value::Int(value.into())),
        UInt16 => primitive!(UInt16Type, value => Value::Int(value.into())),
        UInt32 => primitive!(UInt32Type, value => Value::Int(value.into())),
        UInt64 => primitive!(UInt64Type, value => Value::Wide(value.into())),
        &Decimal32(_, scale) => primitive!(Decimal32Type, value => Value::Decimal { unscaled: value.into(), scale }),
        &Decimal64(_, scale) => primitive!(Decimal64Type, value => Value::Decimal { unscaled: value.into(), scale }),
        &Decimal128(_, scale) => primitive!(Decimal128Type, value => Value::Decimal { unscaled: value, scale }),
        Utf8 => each!(array.as_string::<i32>(), value => Value::Text(value)),
        LargeUtf8 => each!(array.as_string::<i64>(), value => Value::Text(value)),
        Utf8View => each!(array.as_string_view(), value => Value::Text(value)),
        Binary => each!(array.as_binary::<i32>(), value => Value::Binary(value)),
        LargeBinary => each!(array.as_binary::<i64>(), value => Value::Binary(value)),
        BinaryView => each!(array.as_binary_view(), value => Value::Binary(value)),
        FixedSizeBinary(_) => each!(array.as_fixed_size_binary(), value => Value::Binary(value)),
        Date32 => primitive!(Date32Type, value => Value::Date(value)),
        Time32(Second) => primitive!(Time32SecondType, value => Value::TimeOfDay(value.into(), TimeUnit::Second)),
        Time32(Millisecond) => {
            primitive!(Time32MillisecondType, value => Value::TimeOfDay(value.into(), TimeUnit::Millisecond));
        }
        Time64(Microsecond) => {
            primitive!(Time64MicrosecondType, value => Value::TimeOfDay(value, TimeUnit::Microsecond));
        }
        Time64(Nanosecond) => primitive!(Time64NanosecondType, value => Value::TimeOfDay(value, TimeUnit::Nanosecond)),
        Timestamp(unit, zone) => {
            let typed = match zone {
                None => Value::LocalTimestamp,
                Some(_) => Value::Instant,
            };
            match unit {
                Second => primitive!(TimestampSecondType, value => typed(value, TimeUnit::Second)),
                Millisecond => primitive!(TimestampMillisecondType, value => typed(value, TimeUnit::Millisecond)),
                Microsecond => primitive!(TimestampMicrosecondType, value => typed(value, TimeUnit::Microsecond)),
                Nanosecond => primitive!(TimestampNanosecondType, value => typed(value, TimeUnit::Nanosecond)),
            }
        }
        _ => return false,
    }
    true
}
