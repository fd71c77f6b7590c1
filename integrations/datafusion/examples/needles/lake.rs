//! The files of the table, with Parquet's own Bloom filters, and two sets of theirs.

use crate::counting::CountingStore;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::object_store::ObjectStoreExt;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Encoding;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::schema::types::ColumnPath;
use filterblock::KeyHasher;
use filterblock_datafusion::SetWriter;
use filterblock_set::Sizing;
use std::error::Error;
use std::sync::Arc;

/// The rows of a file, which are one row group.
pub const ROWS: i64 = 100_000;

/// The sets' rates of false positives.
pub const RATES: [f64; 2] = [0.01, 0.001];

/// Bytes of everything that was written.
#[derive(Default)]
pub struct Sizes {
    /// The files.
    pub files: usize,
    /// Parquet's filters in them.
    pub parquet_filters: i64,
    /// The sets, by `RATES`.
    pub sets: [usize; 2],
}

/// Returns the columns: numbers in order, numbers in no order, and text.
pub fn schema() -> SchemaRef {
    let column = |name, data_type| Field::new(name, data_type, false);
    let columns = [column("id", DataType::Int64), column("user", DataType::Int64), column("name", DataType::Utf8)];
    Arc::new(Schema::new(columns.to_vec()))
}

/// Returns the number in column `user` of the row with this `id`: another one for each.
pub fn user(id: i64) -> i64 {
    let mut z = id.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) as u64;
    z = (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (z ^ (z >> 32)) as i64
}

/// Returns the text in column `name` of the row with this `id`.
pub fn name(id: i64) -> String {
    format!("{:011x}", user(!id) as u64 >> 20)
}

/// Writes the files below `data`, and the sets.
pub async fn write(store: &CountingStore, num_files: i64) -> Result<Sizes, Box<dyn Error>> {
    let (id, mut sizes) = (ColumnPath::from("id"), Sizes::default());
    let properties = WriterProperties::builder()
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_fpp(0.01)
        .set_bloom_filter_max_ndv(ROWS as u64)
        .set_dictionary_enabled(false)
        .set_column_encoding(id, Encoding::DELTA_BINARY_PACKED)
        .build();
    let new_writer = |rate| {
        let sizing = Sizing::new(ROWS as u64, rate).ok_or("too many rows")?;
        Ok::<_, Box<dyn Error>>(SetWriter::new(&KeyHasher::new(7), &schema(), &["id", "user", "name"], sizing)?)
    };
    let mut sets = [new_writer(RATES[0])?, new_writer(RATES[1])?];
    for file in 0..num_files {
        let ids = file * ROWS..(file + 1) * ROWS;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(ids.clone())),
            Arc::new(Int64Array::from_iter_values(ids.clone().map(user))),
            Arc::new(StringArray::from_iter_values(ids.map(name))),
        ];
        let batch = RecordBatch::try_new(schema(), columns)?;
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, schema(), Some(properties.clone()))?;
        writer.write(&batch)?;
        let metadata = writer.close()?;
        let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
        sizes.parquet_filters += chunks.filter_map(|chunk| chunk.bloom_filter_length()).map(i64::from).sum::<i64>();
        sizes.files += bytes.len();
        let path = format!("data/{file:05}.parquet").into();
        store.put(&path, bytes.into()).await?;
        // The entity tag is that of the stored file.
        let object = store.head(&path).await?;
        for set in &mut sets {
            let mut keys = set.keys();
            keys.add(&batch)?;
            set.add_file(&object, keys)?;
        }
    }
    for ((set, rate), len) in sets.iter_mut().zip(RATES).zip(&mut sizes.sets) {
        let mut bytes = Vec::new();
        *len = set.finish(&mut bytes)? as usize;
        store.put(&format!("{rate}.set").into(), bytes.into()).await?;
    }
    Ok(sizes)
}
