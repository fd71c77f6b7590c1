//! One value has one entry, in whatever type of Arrow it is stored.

use crate::lake;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::object_store::ObjectMeta;
use filterblock::KeyHasher;
use filterblock_datafusion::{SetWriter, WriteError, identity};
use filterblock_set::Sizing;
use std::sync::Arc;

fn schema_of(data_type: &DataType) -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("column", data_type.clone(), true)]))
}

fn writer(data_type: &DataType) -> Result<SetWriter, WriteError> {
    let sizing = Sizing::new(100, 0.01).unwrap();
    SetWriter::new(&KeyHasher::new(7), &schema_of(data_type), &["column"], sizing)
}

/// The set of a table of type `table`, of a file with the same values in type `file`.
fn set(table: &DataType, first: &DataType, file: &DataType) -> Result<Vec<u8>, WriteError> {
    let values = [Some(7), None, Some(120), Some(7), Some(0)].map(|number| lake::scalar(first, number));
    let values = cast(&ScalarValue::iter_to_array(values).unwrap(), file).unwrap();
    let batch = RecordBatch::try_new(schema_of(file), vec![values]).unwrap();
    let mut writer = writer(table)?;
    let mut keys = writer.keys();
    keys.add(&batch)?;
    writer.add_file(&lake::object("data/a.parquet", "1"), keys)?;
    Ok(lake::finished(&mut writer))
}

#[test]
fn equal_values_have_equal_filters() {
    use DataType::*;
    let dictionary = |values: DataType| Dictionary(Box::new(UInt16), Box::new(values));
    let timestamp = |unit, zone: &str| Timestamp(unit, Some(zone.into()));
    // The first is the table's type; the values are made in the last, which has the fewest.
    let types = [
        vec![Int64, Int16, Int32, UInt8, UInt16, UInt32, UInt64, dictionary(Int32), Int8],
        vec![Decimal128(12, 2), Decimal32(9, 2), Decimal64(15, 2), Decimal128(20, 1), Int64],
        vec![LargeUtf8, Utf8View, dictionary(Utf8), dictionary(LargeUtf8), Utf8],
        vec![dictionary(Binary), LargeBinary, BinaryView, Binary],
        vec![Time64(TimeUnit::Nanosecond), Time64(TimeUnit::Microsecond), Time32(TimeUnit::Millisecond)],
        vec![timestamp(TimeUnit::Nanosecond, "UTC"), timestamp(TimeUnit::Millisecond, "+02:00")],
        vec![Timestamp(TimeUnit::Microsecond, None), Timestamp(TimeUnit::Millisecond, None)],
        vec![dictionary(Date32), Date32],
    ];
    for types in types {
        let (table, fewest) = (&types[0], &types[types.len() - 1]);
        let expected = set(table, fewest, table).unwrap();
        for file in &types {
            assert_eq!(set(table, fewest, file).unwrap(), expected, "{file} in a table of {table}");
        }
    }
}

#[test]
fn what_is_not_indexable_is_an_error() {
    use DataType::*;
    let list = List(Arc::new(Field::new("item", Int64, true)));
    for data_type in [Float32, Float64, Boolean, Date64, Decimal256(40, 2), Duration(TimeUnit::Second), list] {
        let error = writer(&data_type).err();
        assert!(matches!(&error, Some(WriteError::NotIndexable(_, found)) if *found == data_type), "{error:?}");
    }
    let none = SetWriter::new(&KeyHasher::new(7), &schema_of(&Int64), &["other"], Sizing::new(1, 0.1).unwrap()).err();
    assert!(matches!(none, Some(WriteError::NoColumn(_))), "{none:?}");

    // A file's own type must be one that the table shows as it is.
    let seconds = Timestamp(TimeUnit::Second, None);
    for (table, file) in [
        (seconds.clone(), Timestamp(TimeUnit::Millisecond, None)),
        (Int64, Decimal128(10, 2)),
        (Timestamp(TimeUnit::Millisecond, None), seconds),
        (Time64(TimeUnit::Nanosecond), Time32(TimeUnit::Second)),
        (Int64, Float64),
        (Utf8, Binary),
    ] {
        let error = set(&table, &file, &file).unwrap_err();
        assert!(matches!(&error, WriteError::OtherType(_, Some(found)) if *found == file), "{error}");
    }

    let mut one = writer(&Int64).unwrap();
    let other = writer(&Int64).unwrap();
    assert!(matches!(one.add_file(&lake::object("data/a.parquet", "1"), other.keys()), Err(WriteError::OtherKeys)));
    for e_tag in [
        None,
        Some(""),
        Some("\"\""),
        Some("\"00000000000000000000000000000000-1\""),
        Some("W/\"\""),
        Some("W/"),
        Some(" "),
    ] {
        let untagged = ObjectMeta { e_tag: e_tag.map(str::to_owned), ..lake::object("data/a.parquet", "1") };
        let keys = one.keys();
        assert!(matches!(one.add_file(&untagged, keys), Err(WriteError::NoEntityTag(_))), "{e_tag:?}");
    }
    assert!(["0", "W/\"1\"", "\"W/\""].iter().all(|tag| identity(&lake::object("a", tag)).is_some()));
}
