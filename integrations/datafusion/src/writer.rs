//! Makes the set of a table's files from Arrow's record batches.

use crate::value::{self, Kind};
use crate::{identity, stated_tag};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::object_store::path::Path;
use datafusion::object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use datafusion::parquet::arrow::ProjectionMask;
#[expect(deprecated, reason = "what replaces it is sixty lines of an example")]
use datafusion::parquet::arrow::async_reader::ParquetObjectReader;
use datafusion::parquet::arrow::async_reader::ParquetRecordBatchStreamBuilder;
use datafusion::parquet::basic::Type;
use datafusion::parquet::errors::ParquetError;
use filterblock::{KeyHash, KeyHasher};
use filterblock_set::{EntryBuffer, FilterSet, Opening, SetBuildError, SetBuilder, SetColumn, Sizing};
use futures::TryStreamExt;
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// How often a set is read anew that others change while it is continued.
const ATTEMPTS: usize = 10;

/// The reason why a set, or a file's part of it, was not made.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The table has no such column.
    NoColumn(String),
    /// The values of the table's column have no canonical entries.
    NotIndexable(String, DataType),
    /// A batch does not have the column in a type whose values the table shows as they are. `None`: not at all.
    OtherType(String, Option<DataType>),
    /// The store gave no entity tag with the file.
    NoEntityTag(String),
    /// The file has another length or entity tag now than when it was listed, and may have had it while it was read.
    Replaced(String),
    /// The keys were collected for another set.
    OtherKeys,
    /// The set was not built.
    Set(SetBuildError),
    /// The file was not read.
    Parquet(ParquetError),
    /// The set's object was not read or put, or a file's state not read.
    Store(Error),
    /// Other writers changed the set's object at every attempt to continue it.
    Contended(String),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColumn(column) => write!(f, "the table has no column {column:?}"),
            Self::NotIndexable(column, found) => write!(f, "column {column:?}: values of {found} are not indexable"),
            Self::OtherType(column, Some(found)) => write!(f, "column {column:?}: {found} is converted by the table"),
            Self::OtherType(column, None) => write!(f, "a batch has no column {column:?}"),
            Self::NoEntityTag(file) => write!(f, "file {file:?} has no entity tag"),
            Self::Replaced(file) => write!(f, "file {file:?} was replaced: list it anew"),
            Self::OtherKeys => f.write_str("the keys were collected for another set"),
            Self::Set(error) => error.fmt(f),
            Self::Parquet(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Contended(path) => write!(f, "others changed the set {path} at each of {ATTEMPTS} attempts"),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<SetBuildError> for WriteError {
    fn from(error: SetBuildError) -> Self {
        Self::Set(error)
    }
}

impl From<ParquetError> for WriteError {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// The bytes of strips that a writer keeps in memory, or one for each column if that is more.
const MAX_STRIP_BYTES: usize = 16 << 20;

/// Makes a set.
///
/// Its memory is that of [`SetBuilder::with_scratch`], with strips of at most 16 MiB: rows are in temporary files, one for
/// each column, as large as the column's part of the set.
pub struct SetWriter {
    set: SetBuilder<File>,
    hasher: KeyHasher,
    columns: Arc<[(String, Kind)]>,
    of_set: Vec<SetColumn>,
}

/// The hashes of one file's values, 8 bytes each. A file's entity tag is known when it is stored, so after its rows.
pub struct FileKeys {
    hasher: KeyHasher,
    columns: Arc<[(String, Kind)]>,
    /// For each column; `None`: some value was not indexable.
    hashes: Vec<Option<Vec<KeyHash>>>,
    /// Whether rows were added, or the file was stated to have none: a column without hashes is then one of nulls.
    is_whole: bool,
}

impl SetWriter {
    /// Returns the writer of a set with filters of `columns`, of `sizing` each. `schema` is the table's, as the reader
    /// declares or infers it.
    ///
    /// # Errors
    /// [`WriteError::NoColumn`], [`WriteError::NotIndexable`], [`WriteError::Set`].
    pub fn new(hasher: &KeyHasher, schema: &Schema, columns: &[&str], sizing: Sizing) -> Result<Self, WriteError> {
        let kind = |&column: &&str| {
            let field = schema.field_with_name(column).map_err(|_| WriteError::NoColumn(column.to_owned()))?;
            let kind = Kind::of(field.data_type());
            let not_indexable = || WriteError::NotIndexable(column.to_owned(), field.data_type().clone());
            Ok((column.to_owned(), kind.ok_or_else(not_indexable)?))
        };
        let columns: Arc<[_]> = columns.iter().map(kind).collect::<Result<_, WriteError>>()?;
        let of_set = |(name, kind): &(String, Kind)| SetColumn::new(kind.name_in_set(name), kind.class, sizing);
        let of_set: Vec<_> = columns.iter().map(of_set).collect();
        let set = SetBuilder::with_scratch(hasher, &of_set, MAX_STRIP_BYTES, tempfile::tempfile)?;
        Ok(Self { set, hasher: hasher.clone(), columns, of_set })
    }

    /// Begins a file.
    pub fn keys(&self) -> FileKeys {
        let hashes = vec![Some(Vec::new()); self.columns.len()];
        FileKeys { hasher: self.hasher.clone(), columns: self.columns.clone(), hashes, is_whole: false }
    }

    /// Adds a file of which all rows were added to `keys`, which are those of this file alone. `object` is what the
    /// store reports of it. Returns the number of columns for which the file has no filter; these are all of them if no
    /// row was added, and the file was not stated to have none ([`FileKeys::allow_empty`]).
    ///
    /// # Errors
    /// [`WriteError::NoEntityTag`], [`WriteError::OtherKeys`], [`WriteError::Set`]; the file is not in the set, or *maybe*.
    pub fn add_file(&mut self, object: &ObjectMeta, keys: FileKeys) -> Result<usize, WriteError> {
        if !Arc::ptr_eq(&self.columns, &keys.columns) {
            return Err(WriteError::OtherKeys);
        }
        let identity = identity(object).ok_or_else(|| WriteError::NoEntityTag(object.location.to_string()))?;
        let mut file = self.set.file(object.location.as_ref(), identity)?;
        for (column, hashes) in keys.hashes.into_iter().enumerate() {
            match hashes {
                Some(hashes) => {
                    if keys.is_whole {
                        file.allow_empty(column);
                    }
                    hashes.into_iter().for_each(|hash| file.add_hash(column, hash));
                }
                None => file.give_up(column),
            }
        }
        Ok(file.finish()?.len())
    }

    /// Reads a stored Parquet file, and adds it. Returns the number of columns for which it has no filter. Columns are
    /// found by their names in the file, not by field ids. Timestamps in INT96 get none: the
    /// option `coerce_int96` of a session or a table decides what a query sees of them.
    ///
    /// # Errors
    /// [`WriteError::Parquet`], [`WriteError::Store`], [`WriteError::Replaced`], and those of [`add_file`](Self::add_file).
    pub async fn index_file(&mut self, store: Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<usize, WriteError> {
        #[expect(deprecated, reason = "as above")]
        let reader = ParquetObjectReader::new(store.clone(), object.location.clone()).with_file_size(object.size);
        let stream = ParquetRecordBatchStreamBuilder::new(reader).await?;
        let names = self.columns.iter().map(|(name, _)| name.as_str());
        let columns = ProjectionMask::columns(stream.parquet_schema(), names);
        let mut keys = self.keys();
        if stream.metadata().file_metadata().num_rows() == 0 {
            keys.allow_empty();
        }
        // Before a conversion to the table's type they are cut to the unit of `coerce_int96`, which a reader sets.
        for leaf in stream.parquet_schema().columns().iter().filter(|leaf| leaf.physical_type() == Type::INT96) {
            let column = &leaf.path().parts()[0];
            if let Some(position) = self.columns.iter().position(|(name, _)| name == column) {
                log::warn!("{}: column {column:?}: INT96 is not indexed", object.location);
                keys.hashes[position] = None;
            }
        }
        let mut stream = stream.with_projection(columns).build()?;
        while let Some(batch) = stream.try_next().await? {
            if let Err(error) = keys.add(&batch) {
                log::warn!("{}: {error}", object.location);
            }
        }
        let now = store.head(&object.location).await.map_err(WriteError::Store)?;
        let is_other = |tag| (now.size, stated_tag(&now)) != (object.size, Some(tag));
        if stated_tag(object).is_some_and(is_other) {
            return Err(WriteError::Replaced(object.location.to_string()));
        }
        self.add_file(object, keys)
    }

    /// Returns the set's builder, to take over files of another set ([`SetBuilder::absorb`]).
    pub fn builder(&mut self) -> &mut SetBuilder<File> {
        &mut self.set
    }

    /// Takes the builder, and leaves an empty one.
    fn take(&mut self) -> Result<SetBuilder<File>, SetBuildError> {
        let empty = SetBuilder::with_scratch(&self.hasher, &self.of_set, MAX_STRIP_BYTES, tempfile::tempfile)?;
        Ok(std::mem::replace(&mut self.set, empty))
    }

    /// Writes the set, returns its length, and leaves the writer empty.
    ///
    /// # Errors
    /// [`WriteError::Set`], of [`SetBuildError::Empty`] if no file was added since the last call. The writer is empty after
    /// any error: index the files anew.
    pub fn finish(&mut self, sink: &mut impl Write) -> Result<u64, WriteError> {
        Ok(self.take()?.finish(sink)?)
    }

    /// Continues the set at `path` by the files of this writer, or makes it if there is none. Files of the same names
    /// are replaced, and the files for whose names `drop` returns true are dropped. Leaves the writer empty.
    ///
    /// The object is read and put as a whole, on the condition that nobody has put it meanwhile: then the new one is read
    /// and continued. So writers that do not know of each other lose none of their files. Needs a store with such
    /// puts, as S3 is (`PutMode::Update`), and memory for the object. What is dropped or replaced stays in it, and lookups
    /// read each appended group, until the set is compacted ([`SetBuilder::absorb`]).
    ///
    /// # Errors
    /// [`WriteError::Set`], [`WriteError::Store`], [`WriteError::Contended`]; the writer has its files still. After an error
    /// of the scratch or of making the writer's own set, and where the future is dropped before its end, it has none of
    /// them: index the files anew.
    pub async fn append_to(
        &mut self,
        store: &dyn ObjectStore,
        path: &Path,
        mut drop: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), WriteError> {
        let mut own = Vec::new();
        self.finish(&mut own)?;
        let names: HashSet<Vec<u8>> = opened(&own, &self.hasher)?.files().map(|(name, _)| name.to_vec()).collect();
        let mut result = Err(WriteError::Contended(path.to_string()));
        for _ in 0..ATTEMPTS {
            match self.put_after(store, path, &own, |name| names.contains(name) || drop(name)).await {
                Err(WriteError::Store(Error::Precondition { .. } | Error::AlreadyExists { .. })) => {}
                other => {
                    result = other;
                    break;
                }
            }
        }
        if result.is_err() {
            self.restore(&own)?;
        }
        result
    }

    /// Takes back the files of a set that was finished.
    fn restore(&mut self, own: &[u8]) -> Result<(), WriteError> {
        self.take().map(std::mem::drop)?;
        // The index has checked that all groups are in the set.
        let part = |range: Range<u64>| Ok(&own[range.start as usize..range.end as usize]);
        self.set.absorb(&opened(own, &self.hasher)?, |_| true, part)?;
        Ok(())
    }

    /// Puts the set with the files of the object and of the set `own`, unless it was put meanwhile.
    async fn put_after(
        &mut self,
        store: &dyn ObjectStore,
        path: &Path,
        own: &[u8],
        drop: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), WriteError> {
        let (set, mode) = match store.get(path).await {
            Ok(found) => {
                let (e_tag, version) = (found.meta.e_tag.clone(), found.meta.version.clone());
                let mut set = found.bytes().await?.to_vec();
                let old = opened(&set, &self.hasher)?;
                self.restore(own)?;
                self.take()?.finish_append(&old, drop, &mut set)?;
                (set, PutMode::Update(UpdateVersion { e_tag, version }))
            }
            Err(Error::NotFound { .. }) => (own.to_vec(), PutMode::Create),
            Err(error) => return Err(error.into()),
        };
        store.put_opts(path, set.into(), PutOptions::from(mode)).await?;
        Ok(())
    }
}

/// The index of a set that is in memory.
fn opened(set: &[u8], hasher: &KeyHasher) -> Result<FilterSet, WriteError> {
    let opening = FilterSet::open(set.len() as u64, set, Some(hasher)).map_err(SetBuildError::from)?;
    let Opening::Ready(set) = opening else { unreachable!("all bytes were given") };
    Ok(*set)
}

impl FileKeys {
    /// States that the file has no row: without one, its filters deny every value. Otherwise a file without rows is
    /// *maybe*, as most often they were added to other keys.
    pub fn allow_empty(&mut self) {
        self.is_whole = true;
    }

    /// Adds the rows of a batch, as they are in the file: none of its columns may be stored as INT96 (see
    /// [`SetWriter::index_file`]), or cut to another unit. Seconds have no filter in a table of a finer unit.
    ///
    /// # Errors
    /// [`WriteError::OtherType`] or [`WriteError::NotIndexable`], the first of them; the file then has no filter for the
    /// column, and is *maybe*. The others have been added.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        self.is_whole |= batch.num_rows() > 0;
        let mut result = Ok(());
        // Put back at the end: a panic on the way leaves no column with some of the rows.
        let mut taken = std::mem::replace(&mut self.hashes, vec![None; self.columns.len()]);
        for ((name, kind), column) in self.columns.iter().zip(&mut taken) {
            let Some(hashes) = column else { continue };
            if let Err(error) = add_column(&self.hasher, batch, name, *kind, hashes) {
                (*column, result) = (None, result.and(Err(error)));
            }
        }
        self.hashes = taken;
        result
    }
}

fn add_column(
    hasher: &KeyHasher,
    batch: &RecordBatch,
    name: &str,
    kind: Kind,
    hashes: &mut Vec<KeyHash>,
) -> Result<(), WriteError> {
    let found = batch.column_by_name(name);
    let other = || WriteError::OtherType(name.to_owned(), found.map(|array| array.data_type().clone()));
    let shown = found.filter(|array| Kind::of(array.data_type()).is_some_and(|found| kind.shows(found)));
    let array = shown.and_then(value::plain).ok_or_else(other)?;
    hashes.reserve(array.len() - array.null_count());
    let (mut buffer, mut is_indexable) = (EntryBuffer::default(), true);
    let every = value::each_value(&array, |value| match value.entry(&mut buffer) {
        Some(entry) => hashes.push(hasher.hash(entry)),
        None => is_indexable = false,
    });
    let error = || WriteError::NotIndexable(name.to_owned(), array.data_type().clone());
    (every && is_indexable).then_some(()).ok_or_else(error)
}
