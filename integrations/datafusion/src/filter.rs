//! Asks a set in an object store which files may have rows that a query looks for.

use crate::doubt::{Counts, Doubt, Outcomes, Tally};
use crate::identity;
use crate::predicate::Predicate;
use crate::value::{self, Kind};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::object_store::path::Path;
use datafusion::object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use datafusion::physical_expr::PhysicalExpr;
use filterblock::{DecodeError, KeyHasher};
use filterblock_set::{FileMask, FilterSet, Opening, Query, Selection, SetLookup};
use futures::StreamExt;
use futures::stream;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Ranges of a lookup with at most this number of bytes between them are fetched as one.
const MAX_GAP: u64 = 64 << 10;

/// The requests of a query that are made at once. A lookup of one value makes a few, one of thousands as many as the set
/// has pages.
const MAX_AT_ONCE: usize = 64;

/// A longer list is not looked up: it would have to be answered for every file.
const MAX_VALUES: usize = 10_000;

/// The part of a query that a set answers.
#[derive(Debug)]
pub(crate) struct Question(Predicate<Query>);

/// A set in an object store. Its index is read by the first query, and stays in memory. Each unit of rows is read by the
/// first query that needs it, and stays as long as there is space for it
/// ([`with_max_held_bytes`](Self::with_max_held_bytes), [`FilterSet::MAX_HELD_BYTES`] if not set). A set that was written
/// anew needs a new `FileFilter`.
///
/// No query waits for what another reads: those that miss the same part at once read it each for itself.
pub struct FileFilter {
    store: Arc<dyn ObjectStore>,
    path: Path,
    hasher: Option<KeyHasher>,
    max_held_bytes: usize,
    /// Once the index was read. `None`: it is none, for good, since only another object could be read otherwise.
    set: OnceLock<Option<Box<FilterSet>>>,
    tally: Tally,
}

impl fmt::Debug for FileFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileFilter({}, {:?})", self.path, self.outcomes())
    }
}

impl FileFilter {
    /// Returns the filter of the set at `path`. Nothing is read yet.
    pub fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        let max_held_bytes = FilterSet::MAX_HELD_BYTES;
        Self { store, path, hasher: None, max_held_bytes, set: OnceLock::new(), tally: Tally::default() }
    }

    /// Opens only a set that was hashed so; needed for a set under a secret key.
    #[must_use]
    pub fn with_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// Keeps at most `max_held_bytes` of the set's rows in memory.
    #[must_use]
    pub fn with_max_held_bytes(mut self, max_held_bytes: usize) -> Self {
        self.max_held_bytes = max_held_bytes;
        self
    }

    /// Returns what the lookups so far have found.
    pub fn outcomes(&self) -> Outcomes {
        self.tally.outcomes()
    }

    /// Returns what the first `doubt` was about, as it was logged.
    pub fn first(&self, doubt: Doubt) -> Option<&str> {
        self.tally.first(doubt)
    }

    /// Returns the files that, as they are now, may have a row for which all filters are true; for providers that list
    /// their files themselves. `schema` has the table's columns that are stored in the files, under the files' names: not
    /// for columns that are found by field ids and were renamed, nor for those with a default in place of null.
    pub async fn may_match(&self, schema: &Schema, filters: &[Expr], files: &[&ObjectMeta]) -> FileMask {
        let counts = &mut Counts::default();
        match self.ask(schema, filters, counts).await {
            Some(question) => self.answer(&question, files, counts).await,
            None => FileMask::all(files.len()),
        }
    }

    /// Returns what the set can answer; reads its index if there may be something. Counts in `counts`, from zero, what it
    /// took.
    pub(crate) async fn ask(&self, schema: &Schema, filters: &[Expr], counts: &mut Counts) -> Option<Question> {
        let question = self.question(schema, filters, counts).await;
        self.tally.add(counts);
        question
    }

    async fn question(&self, schema: &Schema, filters: &[Expr], counts: &mut Counts) -> Option<Question> {
        let doubt = |filter: &&Expr| self.tally.doubt(Doubt::Filter, format_args!("no lookup answers `{filter}`"));
        let compares = |filter: &Expr| Predicate::of(filter, &mut |_, _| Some(())).is_some();
        let (filters, others): (Vec<_>, Vec<_>) = filters.iter().partition(|filter| compares(filter));
        others.iter().for_each(doubt);
        counts.unanswered = others.len() as u64;
        if filters.is_empty() {
            return None;
        }
        let set = self.open(counts).await?;
        let lookup = &mut |column: &str, values: &[&ScalarValue]| query(set, schema, column, values);
        let mut parts = Vec::new();
        for filter in filters {
            match Predicate::of(filter, lookup) {
                Some(part) => parts.push(part),
                None => {
                    doubt(&filter);
                    counts.unanswered += 1;
                }
            }
        }
        (!parts.is_empty()).then_some(Question(Predicate::All(parts)))
    }

    /// Returns what the set can answer of a filter that a plan has made while it ran.
    pub(crate) async fn ask_late(
        &self,
        schema: &Schema,
        filter: &Arc<dyn PhysicalExpr>,
        counts: &mut Counts,
    ) -> Option<Question> {
        Predicate::of_late(filter, &mut |_, _| Some(()))?;
        let set = self.open(counts).await;
        self.tally.add(counts);
        Predicate::of_late(filter, &mut |column, values| query(set?, schema, column, values)).map(Question)
    }

    /// Returns the files that may have the values; reads the rows that are not in memory. Adds to `counts`
    /// what it took, and found.
    pub(crate) async fn answer(&self, question: &Question, files: &[&ObjectMeta], counts: &mut Counts) -> FileMask {
        let Some(Some(set)) = self.set.get() else {
            return FileMask::all(files.len());
        };
        // No file of a set has an empty name.
        let named =
            |file: &&ObjectMeta| identity(file).map_or((String::new(), 0), |id| (file.location.to_string(), id));
        let selection = set.select(files.iter().map(named));
        self.doubt_files(set, &selection, files);
        let mut taken = Counts { known: selection.num_known() as u64, files: files.len() as u64, ..Counts::default() };
        let mut lookups: Vec<_> = question.0.lookups().into_iter().map(|query| set.lookup(query, &selection)).collect();
        self.load(&mut lookups, &mut taken).await;
        for (column, error) in lookups.iter().flat_map(SetLookup::bad_units) {
            taken.errors += 1;
            let column =
                set.columns().nth((*column).into()).map_or(Cow::default(), |(name, _)| String::from_utf8_lossy(name));
            self.tally
                .doubt(Doubt::Unit, format_args!("rows of column `{column}` in {} are not used: {error}", self.path));
        }
        let mut answers = lookups.iter().map(SetLookup::any);
        let keep = question.0.answer(&mut answers).unwrap_or_else(|| FileMask::all(files.len()));
        taken.skipped = (files.len() - keep.count()) as u64;
        self.tally.looked_up();
        self.tally.add(&taken);
        *counts = counts.and(&taken);
        keep
    }

    /// Counts that the table's adapter keeps the set from being used.
    pub(crate) fn doubt_adapter(&self) {
        let what = "the table reads its files through an adapter of its own, whose values the set does not have";
        self.tally.doubt(Doubt::Adapter, what);
    }

    /// Counts the files that the set does not know, and names that no file of the table has.
    fn doubt_files(&self, set: &FilterSet, selection: &Selection, files: &[&ObjectMeta]) {
        for _ in selection.num_known()..selection.num_files() {
            self.tally.doubt(Doubt::File, "a file is not in the set, or has changed since");
        }
        let tagged = files.iter().find(|file| identity(file).is_some());
        let (Some(file), Some((name, _))) = (tagged, set.files().next()) else { return };
        if selection.num_unknown() == files.len() {
            let (path, name, location) = (&self.path, String::from_utf8_lossy(name), &file.location);
            self.tally.doubt(
                Doubt::Names,
                format_args!(
                    "{path} knows no file of the table: it names its files as `{name}`, the table `{location}`"
                ),
            );
        }
    }

    async fn open(&self, counts: &mut Counts) -> Option<&FilterSet> {
        if let Some(set) = self.set.get() {
            return set.as_deref();
        }
        let set = match self.read_index(counts).await {
            Ok(set) => Some(set),
            Err(error) => {
                let is_read = error.is::<DecodeError>();
                let fails = if is_read { "is not used" } else { "was not read" };
                counts.errors += 1;
                self.tally.doubt(Doubt::Set, format_args!("the set {} {fails}: {error}", self.path));
                if !is_read {
                    // The next query tries again.
                    return None;
                }
                None
            }
        };
        if let Some(foreign) = set.as_ref().and_then(|set| set.foreign_append()) {
            let len = foreign.end - foreign.start;
            self.tally.doubt(
                Doubt::Set,
                format_args!("{} has {len} bytes of another writer, whose files its last one did not know", self.path),
            );
        }
        // Another query may have been first.
        self.set.get_or_init(|| set).as_deref()
    }

    /// The error is a [`DecodeError`], or the store's.
    async fn read_index(&self, counts: &mut Counts) -> Result<Box<FilterSet>, Box<dyn Error + Send + Sync>> {
        let tail = GetOptions { range: Some(GetRange::Suffix(FilterSet::TAIL_LEN)), ..GetOptions::default() };
        counts.requests += 1;
        let read = self.store.get_opts(&self.path, tail).await?;
        let set_len = read.meta.size;
        let mut tail = read.bytes().await?;
        for _ in 0..2 {
            counts.bytes += tail.len() as u64;
            match FilterSet::open(set_len, &tail, self.hasher.as_ref())? {
                Opening::Ready(set) => return Ok(Box::new(set.with_max_held_bytes(self.max_held_bytes))),
                Opening::Needs(range) => {
                    counts.requests += 1;
                    tail = self.store.get_range(&self.path, range).await?;
                }
            }
        }
        Err("it changed meanwhile".into())
    }

    /// Reads what the lookups need: all at once, and what several need once.
    async fn load(&self, lookups: &mut [SetLookup<'_>], counts: &mut Counts) {
        let planned = lookups.iter().flat_map(|lookup| lookup.plan(MAX_GAP));
        let ranges: std::collections::BTreeSet<_> = planned.map(|range| (range.start, range.end)).collect();
        let fetch = |(start, end)| async move { (start, self.store.get_range(&self.path, start..end).await) };
        let mut reads = stream::iter(ranges).map(fetch).buffer_unordered(MAX_AT_ONCE);
        while let Some((offset, read)) = reads.next().await {
            counts.requests += 1;
            match read {
                Ok(bytes) => {
                    counts.bytes += bytes.len() as u64;
                    lookups.iter_mut().for_each(|lookup| lookup.give(offset, &bytes));
                }
                Err(error) => {
                    counts.errors += 1;
                    self.tally.doubt(Doubt::Set, format_args!("a part of {} was not read: {error}", self.path));
                }
            }
        }
    }
}

/// The query for rows with one of `values` in a column; `None` if the set cannot answer it.
fn query(set: &FilterSet, schema: &Schema, column: &str, values: &[&ScalarValue]) -> Option<Query> {
    let kind = Kind::of(schema.field_with_name(column).ok()?.data_type())?;
    let name = kind.name_in_set(column);
    let is_answerable =
        |value: &&ScalarValue| !value.is_null() && Kind::of(&value.data_type()).is_some_and(|of| of == kind);
    let is_known = set.columns().any(|found| found == (&*name, Some(kind.class)));
    if !is_known || values.len() > MAX_VALUES || !values.iter().all(is_answerable) {
        return None;
    }
    let array = ScalarValue::iter_to_array(values.iter().map(|value| (*value).clone())).ok()?;
    let array = value::plain(&array)?;
    let mut keys = Vec::with_capacity(values.len());
    let is_indexable = value::each_value(&array, |value| keys.push(value));
    let query = set.query(&name, keys.iter().copied());
    // A query without keys would deny every file.
    let is_complete = is_indexable && !values.is_empty() && keys.len() == values.len();
    (is_complete && query.unanswerable().next().is_none()).then_some(query)
}
