//! The values of a column chunk, in each physical type that has filters.

use bytes::Bytes;
use filterblock_parquet::Value;
use parquet::bloom_filter::Sbbf;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

#[derive(Debug, PartialEq)]
pub enum Column {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<Int96>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    ByteArray(Vec<ByteArray>),
    FixedLenByteArray(Vec<FixedLenByteArray>),
}

/// The columns of the files that are written here. DuckDB neither writes nor reads filters of `int96`.
pub const SCHEMA: &str = "message values {
    required int32 int32; required int64 int64; required float float; required double double;
    required binary text (UTF8); required fixed_len_byte_array(16) uuid (UUID);
}";
pub const NAMES: [&str; 6] = ["int32", "int64", "float", "double", "text", "uuid"];

fn uuid(number: u32) -> [u8; 16] {
    (u128::from(number) * 0x0123_4567_89ab_cdef_0011_2233).to_be_bytes()
}

/// One match over the types, for what is the same of each.
macro_rules! each {
    ($column:expr, $values:ident => $result:expr) => {
        match $column {
            Column::Int32($values) => $result,
            Column::Int64($values) => $result,
            Column::Int96($values) => $result,
            Column::Float($values) => $result,
            Column::Double($values) => $result,
            Column::ByteArray($values) => $result,
            Column::FixedLenByteArray($values) => $result,
        }
    };
}

impl Column {
    /// The values of `numbers` in the column of this name, or of `int96`. Distinct, in the order of the numbers, of
    /// both signs, and none a zero of a floating-point type.
    pub fn of_numbers(name: &str, numbers: impl Iterator<Item = u32>) -> Self {
        match name {
            "int32" => Self::Int32(numbers.map(|n| n as i32 - 1000).collect()),
            "int64" => Self::Int64(numbers.map(|n| (i64::from(n) - 1000) * 1_000_000_007).collect()),
            "int96" => Self::Int96(numbers.map(|n| vec![n, 7, 2_440_000].into()).collect()),
            "float" => Self::Float(numbers.map(|n| (n as f32 - 1000.0) * 0.25 + 0.125).collect()),
            "double" => Self::Double(numbers.map(|n| (f64::from(n) - 1000.0) * 1.1 + 0.05).collect()),
            "text" => Self::ByteArray(numbers.map(|n| format!("schlüssel {n:06}").into_bytes().into()).collect()),
            "uuid" => Self::FixedLenByteArray(numbers.map(|n| uuid(n).to_vec().into()).collect()),
            other => panic!("no column {other}"),
        }
    }

    /// The value of `number` in the column of this name, in SQL.
    pub fn sql(name: &str, number: u32) -> String {
        match Self::of_numbers(name, std::iter::once(number)) {
            Self::Int32(values) => format!("({})::INTEGER", values[0]),
            Self::Int64(values) => format!("({})::BIGINT", values[0]),
            Self::Float(values) => format!("'{:?}'::FLOAT", values[0]),
            Self::Double(values) => format!("'{:?}'::DOUBLE", values[0]),
            Self::ByteArray(values) => format!("'{}'", values[0].as_utf8().expect("text")),
            Self::FixedLenByteArray(values) => {
                let digits: String = values[0].data().iter().map(|byte| format!("{byte:02x}")).collect();
                format!("'{digits}'::UUID")
            }
            Self::Int96(_) => panic!("DuckDB has no such type"),
        }
    }

    pub fn values(&self) -> Vec<Value<'_>> {
        match self {
            Self::Int32(values) => values.iter().map(|value| Value::Int32(*value)).collect(),
            Self::Int64(values) => values.iter().map(|value| Value::Int64(*value)).collect(),
            Self::Int96(values) => {
                values.iter().map(|value| Value::Int96(value.data().try_into().expect("three words"))).collect()
            }
            Self::Float(values) => values.iter().map(|value| Value::Float(*value)).collect(),
            Self::Double(values) => values.iter().map(|value| Value::Double(*value)).collect(),
            Self::ByteArray(values) => values.iter().map(|value| Value::ByteArray(value.data())).collect(),
            Self::FixedLenByteArray(values) => {
                values.iter().map(|value| Value::FixedLenByteArray(value.data())).collect()
            }
        }
    }

    /// Inserts the values into a filter of arrow-rs.
    pub fn insert_into(&self, filter: &mut Sbbf) {
        each!(self, values => values.iter().for_each(|value| filter.insert(value)));
    }

    /// What a filter of arrow-rs answers for each value.
    pub fn answers_of(&self, filter: &Sbbf) -> Vec<bool> {
        each!(self, values => values.iter().map(|value| filter.check(value)).collect())
    }

    /// The pages of a column chunk with these values, and what its writer returns.
    pub fn encode(&self, descriptor: &ColumnDescPtr, properties: &WriterPropertiesPtr) -> (Bytes, ColumnCloseResult) {
        match self {
            Self::Int32(values) => encode::<Int32Type>(values, descriptor, properties),
            Self::Int64(values) => encode::<Int64Type>(values, descriptor, properties),
            Self::Int96(values) => encode::<Int96Type>(values, descriptor, properties),
            Self::Float(values) => encode::<FloatType>(values, descriptor, properties),
            Self::Double(values) => encode::<DoubleType>(values, descriptor, properties),
            Self::ByteArray(values) => encode::<ByteArrayType>(values, descriptor, properties),
            Self::FixedLenByteArray(values) => encode::<FixedLenByteArrayType>(values, descriptor, properties),
        }
    }

    /// The values of a column chunk without its nulls.
    pub fn read(reader: ColumnReader) -> Self {
        match reader {
            ColumnReader::Int32ColumnReader(reader) => Self::Int32(read(reader)),
            ColumnReader::Int64ColumnReader(reader) => Self::Int64(read(reader)),
            ColumnReader::Int96ColumnReader(reader) => Self::Int96(read(reader)),
            ColumnReader::FloatColumnReader(reader) => Self::Float(read(reader)),
            ColumnReader::DoubleColumnReader(reader) => Self::Double(read(reader)),
            ColumnReader::ByteArrayColumnReader(reader) => Self::ByteArray(read(reader)),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => Self::FixedLenByteArray(read(reader)),
            ColumnReader::BoolColumnReader(_) => panic!("no filter has booleans"),
        }
    }
}

fn encode<T: DataType>(
    values: &[T::T],
    descriptor: &ColumnDescPtr,
    properties: &WriterPropertiesPtr,
) -> (Bytes, ColumnCloseResult) {
    let mut chunk = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut chunk));
    let mut writer = get_typed_column_writer::<T>(get_column_writer(descriptor.clone(), properties.clone(), pages));
    writer.write_batch(values, None, None).expect("values are written");
    let closed = writer.close().expect("the chunk is closed");
    (chunk.into_inner().expect("its bytes").into(), closed)
}

fn read<T: DataType>(mut reader: ColumnReaderImpl<T>) -> Vec<T::T> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    while reader.read_records(4096, Some(&mut levels), None, &mut values).expect("readable pages").0 > 0 {}
    values
}
