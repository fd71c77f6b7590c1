//! Files of two row groups with a chunk of each column in both.

use crate::column::{Column, NAMES, SCHEMA};
use bytes::Bytes;
use filterblock_parquet::SplitBlockFilter;
use parquet::bloom_filter::Sbbf;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

pub const NUM_ROW_GROUPS: u32 = 2;
pub const ROWS: u32 = 2000;

/// The numbers of a row group's values. The ranges of both overlap, so that no statistics exclude a value.
pub fn numbers(row_group: u32) -> impl Iterator<Item = u32> {
    (0..ROWS).map(move |row| 4 * row + row_group)
}

/// Numbers in the range of both row groups and in neither.
pub fn absent_numbers() -> impl Iterator<Item = u32> {
    (0..ROWS).map(|row| 4 * row + 2)
}

/// A filter of 1 % over the values.
pub fn filter_of(column: &Column) -> SplitBlockFilter {
    let values = column.values();
    let mut filter = SplitBlockFilter::with_rate(values.len() as u64, 0.01).expect("a possible filter");
    values.into_iter().for_each(|value| filter.insert(value));
    filter
}

/// A file of arrow-rs with the columns of each row group. The filter of each chunk is what `bitset` returns, or
/// arrow-rs's own where that is `None`.
pub fn write_columns(
    schema: &str,
    properties: WriterPropertiesBuilder,
    row_groups: &[Vec<Column>],
    bitset: impl Fn(&Column) -> Option<Vec<u8>>,
) -> Bytes {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = Arc::new(properties.build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties.clone()).expect("a file");
    let descriptors = file.schema_descr().columns().to_vec();
    for columns in row_groups {
        let mut writer = file.next_row_group().expect("a row group");
        for (column, descriptor) in columns.iter().zip(&descriptors) {
            let (pages, mut closed) = column.encode(descriptor, &properties);
            if let Some(bitset) = bitset(column) {
                closed.bloom_filter = Some(Sbbf::new(&bitset));
            }
            writer.append_column(&pages, closed).expect("a column chunk");
        }
        writer.close().expect("a whole row group");
    }
    file.into_inner().expect("a whole file").into()
}

/// A file with the columns of [`NAMES`], as [`write_columns`] writes it.
pub fn write(properties: WriterPropertiesBuilder, bitset: impl Fn(&Column) -> Option<Vec<u8>>) -> Bytes {
    let columns = |row_group| NAMES.iter().map(|name| Column::of_numbers(name, numbers(row_group))).collect();
    let row_groups: Vec<Vec<Column>> = (0..NUM_ROW_GROUPS).map(columns).collect();
    write_columns(SCHEMA, properties, &row_groups, bitset)
}

/// A file whose filters are made here.
pub fn write_with_filters() -> Bytes {
    write(WriterProperties::builder(), |column| Some(filter_of(column).into_bitset()))
}

/// A column chunk as read by arrow-rs.
pub struct Chunk {
    pub row_group: usize,
    pub name: String,
    pub column: Column,
    pub filter: Option<Sbbf>,
    /// Of header and bitset, as the metadata states it.
    pub bloom_filter_length: Option<i32>,
}

impl Chunk {
    pub fn bitset(&self) -> Option<Vec<u8>> {
        self.filter.as_ref().map(bitset)
    }

    /// The filter, opened here.
    pub fn opened(&self) -> SplitBlockFilter {
        let bitset = self.bitset().unwrap_or_else(|| panic!("{} has no filter", self.name));
        SplitBlockFilter::from_bitset(bitset.len() as i32, self.bloom_filter_length, bitset).expect("a whole filter")
    }

    /// Checks that the filter denies none of the chunk's values, and is ours bit for bit. Returns the number of values.
    pub fn check(&self) -> usize {
        let (theirs, values) = (self.opened(), self.column.values());
        let denied: Vec<_> = values.iter().filter(|value| !theirs.may_contain(**value)).collect();
        assert!(denied.is_empty(), "{}: {denied:?}", self.name);
        let mut ours = SplitBlockFilter::with_len(theirs.bitset().len()).expect("a length");
        // Of zeros, other writers insert the one that is stored.
        values.iter().for_each(|value| ours.insert_hash(value.hash()));
        assert_eq!(ours, theirs, "{}", self.name);
        values.len()
    }
}

pub fn bitset(filter: &Sbbf) -> Vec<u8> {
    let mut bitset = Vec::new();
    filter.write_bitset(&mut bitset).expect("memory");
    bitset
}

/// The column chunks of a file, row group by row group.
pub fn read(file: &Bytes) -> Vec<Chunk> {
    let reader = SerializedFileReader::new(file.clone()).expect("a file");
    let mut chunks = Vec::new();
    for (row_group, metadata) in reader.metadata().row_groups().iter().enumerate() {
        let values = reader.get_row_group(row_group).expect("a row group");
        for (index, chunk) in metadata.columns().iter().enumerate() {
            let name = chunk.column_descr().name().to_owned();
            let column = Column::read(values.get_column_reader(index).expect("a column chunk"));
            let filter = Sbbf::read_from_column_chunk(chunk, file).expect("no or a whole filter");
            let bloom_filter_length = chunk.bloom_filter_length();
            chunks.push(Chunk { row_group, name, column, filter, bloom_filter_length });
        }
    }
    chunks
}
