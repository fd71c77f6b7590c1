//! A small table in a store in memory.

use crate::counting::CountingStore;
use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::memory::InMemory;
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use datafusion::parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use datafusion::prelude::{Expr, SessionConfig, SessionContext};
use filterblock::KeyHasher;
use filterblock_datafusion::{FileFilter, FilteredTable, SetWriter};
use filterblock_set::Sizing;
use futures::TryStreamExt;
use std::sync::Arc;

pub struct Lake {
    pub store: Arc<CountingStore>,
    pub schema: SchemaRef,
    /// How the table reads its files.
    pub format: Arc<ParquetFormat>,
    /// Files have no Arrow types beside Parquet's.
    pub is_bare: bool,
}

/// The schema of a table with these columns after the number of the row.
pub fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let columns = columns.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true));
    let row = Field::new("row", DataType::Int64, false);
    Arc::new(Schema::new([row].into_iter().chain(columns).collect::<Vec<_>>()))
}

/// The value of a type that stands for `number`; equal numbers have equal values, unequal ones unequal values.
pub fn scalar(data_type: &DataType, number: Option<i64>) -> ScalarValue {
    let number = ScalarValue::Int64(number);
    let through = |by: &DataType| number.cast_to(by).and_then(|value| value.cast_to(data_type));
    match data_type {
        DataType::Date32 | DataType::Time32(_) => through(&DataType::Int32),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::Dictionary(..) => {
            through(&DataType::Utf8)
        }
        _ => number.cast_to(data_type),
    }
    .expect("a type of the tests")
}

/// A batch whose rows have the numbers from `first_row` on.
pub fn batch(schema: &SchemaRef, first_row: i64, columns: &[Vec<ScalarValue>]) -> RecordBatch {
    let rows = Int64Array::from_iter_values(first_row..first_row + columns[0].len() as i64);
    let columns = columns.iter().map(|values| ScalarValue::iter_to_array(values.clone()).unwrap());
    RecordBatch::try_new(schema.clone(), [Arc::new(rows) as ArrayRef].into_iter().chain(columns).collect()).unwrap()
}

/// What a store would say of a file.
pub fn object(location: &str, e_tag: &str) -> ObjectMeta {
    let (location, last_modified, e_tag) = (location.into(), Default::default(), Some(e_tag.to_owned()));
    ObjectMeta { location, last_modified, size: 1, e_tag, version: None }
}

/// A writer of sets at a rate of .1 %.
pub fn writer(schema: &Schema, columns: &[&str]) -> SetWriter {
    SetWriter::new(&KeyHasher::new(7), schema, columns, Sizing::new(100, 0.001).unwrap()).unwrap()
}

pub fn finished(writer: &mut SetWriter) -> Vec<u8> {
    let mut set = Vec::new();
    let len = writer.finish(&mut set).unwrap();
    assert_eq!(len, set.len() as u64);
    set
}

impl Lake {
    pub fn new(schema: SchemaRef) -> Self {
        Self { store: CountingStore::new(Arc::new(InMemory::new())), schema, format: Arc::default(), is_bare: false }
    }

    /// A table of numbers.
    pub fn numbers() -> Self {
        Self::new(schema(&[("number", DataType::Int64)]))
    }

    /// A batch of a table of numbers.
    pub fn batch(&self, first_row: i64, numbers: impl IntoIterator<Item = Option<i64>>) -> RecordBatch {
        let numbers = numbers.into_iter().map(|number| scalar(&DataType::Int64, number));
        batch(&self.schema, first_row, &[numbers.collect()])
    }

    /// Writes a file, and returns what the store says of it.
    pub async fn put(&self, name: &str, batch: &RecordBatch) -> ObjectMeta {
        let mut bytes = Vec::new();
        let options = ArrowWriterOptions::new().with_skip_arrow_metadata(self.is_bare);
        let mut writer = ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options).unwrap();
        writer.write(batch).unwrap();
        writer.close().unwrap();
        let path = format!("data/{name}.parquet").into();
        self.store.put(&path, bytes.into()).await.unwrap();
        self.store.head(&path).await.unwrap()
    }

    pub async fn files(&self) -> Vec<ObjectMeta> {
        self.store.list(Some(&"data".into())).try_collect().await.unwrap()
    }

    /// Makes the set of all files.
    pub async fn set(&self, columns: &[&str]) -> Vec<u8> {
        let mut writer = writer(&self.schema, columns);
        for file in self.files().await {
            writer.index_file(self.store.clone(), &file).await.unwrap();
        }
        finished(&mut writer)
    }

    /// Stores a set, and returns its filter.
    pub async fn filter(&self, set: Vec<u8>) -> Arc<FileFilter> {
        self.store.put(&"lake.set".into(), set.into()).await.unwrap();
        Arc::new(FileFilter::new(self.store.clone(), "lake.set".into()))
    }

    pub fn table(&self) -> ListingTable {
        ListingTable::try_new(self.config()).unwrap()
    }

    pub fn config(&self) -> ListingTableConfig {
        let options = ListingOptions::new(self.format.clone());
        let config = ListingTableConfig::new(ListingTableUrl::parse("lake://files/data/").unwrap());
        config.with_listing_options(options).with_schema(self.schema.clone())
    }

    pub fn filtered(&self, filter: &Arc<FileFilter>) -> Arc<dyn TableProvider> {
        Arc::new(FilteredTable::new(self.table(), filter.clone()))
    }

    /// The positions of the files that may have rows for which `expr` is true.
    pub async fn may_match(&self, filter: &FileFilter, expr: Expr, files: &[ObjectMeta]) -> Vec<usize> {
        let files: Vec<_> = files.iter().collect();
        filter.may_match(&self.schema, &[expr], &files).await.iter().collect()
    }

    pub fn context(&self, config: SessionConfig) -> SessionContext {
        let context = SessionContext::new_with_config(config);
        context.register_object_store(ObjectStoreUrl::parse("lake://files").unwrap().as_ref(), self.store.clone());
        context
    }

    /// The numbers of the rows for which `filter` is true, in order; an error as text.
    pub async fn rows(&self, table: Arc<dyn TableProvider>, filter: Expr) -> Result<Vec<i64>, String> {
        let context = self.context(SessionConfig::new());
        let found = async { context.read_table(table)?.filter(filter)?.select_columns(&["row"])?.collect().await };
        let found = found.await.map_err(|error| error.strip_backtrace())?;
        let numbers = |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        let mut rows: Vec<i64> = found.iter().flat_map(numbers).collect();
        rows.sort_unstable();
        Ok(rows)
    }
}
