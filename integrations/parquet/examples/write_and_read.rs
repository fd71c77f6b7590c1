//! A Parquet file with two row groups whose filters are made here, written and read by arrow-rs.
//!
//! ```sh
//! cargo run -p filterblock-parquet --example write_and_read [FILE]
//! ```

use bytes::Bytes;
use filterblock_parquet::{SplitBlockFilter, Value};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::{get_column_writer, get_typed_column_writer};
use parquet::data_type::Int64Type;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;

/// The values of a row group: each range has those of both, so that the least and the greatest value exclude none.
fn values(row_group: i64) -> Vec<i64> {
    (0..10_000).map(|i| (2 * i + row_group) * 1_000_003).collect()
}

fn write() -> Result<Vec<u8>, Box<dyn Error>> {
    let schema = Arc::new(parse_message_type("message measurements { required int64 sensor; }")?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties.clone())?;
    let column = file.schema_descr().column(0);
    for row_group in 0..2 {
        let values = values(row_group);

        // The column chunk is encoded first, and the filter added to what its writer returns.
        let mut chunk = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut chunk));
        let mut writer =
            get_typed_column_writer::<Int64Type>(get_column_writer(column.clone(), properties.clone(), pages));
        writer.write_batch(&values, None, None)?;
        let mut closed = writer.close()?;

        let distinct: HashSet<_> = values.iter().map(|value| Value::Int64(*value).hash()).collect();
        let mut filter = SplitBlockFilter::with_rate(distinct.len() as u64, 0.01)?;
        distinct.into_iter().for_each(|hash| filter.insert_hash(hash));
        closed.bloom_filter = Some(Sbbf::new(filter.bitset()));

        let mut writer = file.next_row_group()?;
        writer.append_column(&Bytes::from(chunk.into_inner()?), closed)?;
        writer.close()?;
    }
    Ok(file.into_inner()?)
}

/// The filter of a column chunk; `None` where there is none, or it cannot be used.
fn filter_of(chunk: &ColumnChunkMetaData, file: &Bytes) -> Result<Option<SplitBlockFilter>, Box<dyn Error>> {
    let Some(filter) = Sbbf::read_from_column_chunk(chunk, file)? else { return Ok(None) };
    let mut bitset = Vec::new();
    filter.write_bitset(&mut bitset)?;
    let filter = SplitBlockFilter::from_bitset(i32::try_from(bitset.len())?, chunk.bloom_filter_length(), bitset);
    Ok(filter.map_err(|error| eprintln!("filter ignored: {error}")).ok())
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = write()?;
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, &file)?;
    }

    let file = Bytes::from(file);
    let reader = SerializedFileReader::new(file.clone())?;
    let (mut num_reads, mut num_avoided) = (0, 0);
    for row_group in reader.metadata().row_groups() {
        let filter = filter_of(row_group.column(0), &file)?;
        for value in values(0) {
            match filter.as_ref().is_none_or(|filter| filter.may_contain(Value::Int64(value))) {
                true => num_reads += 1,
                false => num_avoided += 1,
            }
        }
    }
    println!("10000 values, each in one of 2 row groups: {num_reads} row groups to read, {num_avoided} excluded");
    Ok(())
}
