//! Range filters for iterators.

use crate::ffi::{self, Family, RawRows};
use crate::policy::{c_text, useless};
use crate::{Error, Finding, Verdict};
use filterblock::range::RangePolicy;
use rocksdb::{AsColumnFamilyRef, DB, Direction, IterateBounds, Options};
use std::sync::Arc;

/// Has RocksDB write a range filter into each table, among its properties, and returns what scans with them.
///
/// While a table is written its keys are kept in memory. Filters are not verified at each scan, as RocksDB verifies its
/// checksum of the properties when it opens a table: tables without checksums (`ChecksumType::NoChecksum`) need
/// [`set_verified_range_filters`].
///
/// ```
/// use filterblock_rocksdb::set_range_filters;
/// use rocksdb::{DB, Direction, Options, PrefixRange};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let mut options = Options::default();
/// options.create_if_missing(true);
/// let ranges = set_range_filters(&mut options, &"range:14".parse()?)?;
/// let db = DB::open(&options, directory.path())?;
/// db.put("user0555", "a row")?;
/// db.flush()?;
/// assert_eq!(ranges.scan(&db, PrefixRange("user"), Direction::Forward).count(), 1);
/// assert_eq!(ranges.scan(&db, PrefixRange("team"), Direction::Forward).count(), 0);
/// assert_eq!(ranges.counts().skipped, 1);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The options have something that makes the filters useless ([`Finding`]), or the RocksDB that is linked is not the one
/// that this package was compiled for.
pub fn set_range_filters(options: &mut Options, policy: &RangePolicy) -> Result<RangeFilters, Error> {
    set(options, policy, false)
}

/// As [`set_range_filters`], with each filter's digest verified at each scan, in time proportional to the filter.
///
/// # Errors
/// As for [`set_range_filters`].
pub fn set_verified_range_filters(options: &mut Options, policy: &RangePolicy) -> Result<RangeFilters, Error> {
    set(options, policy, true)
}

fn set(options: &mut Options, policy: &RangePolicy, verify: bool) -> Result<RangeFilters, Error> {
    if !ffi::layout_is_rocksdbs() {
        return Err(Error::Layout);
    }
    let ranges = ffi::Ranges::new(&c_text(policy), verify).map_err(|message| Error::Refused { message })?;
    let filters = RangeFilters { ranges: Arc::new(ranges) };
    let mut tried = options.clone();
    filters.ranges.set(&mut tried);
    filters.check(&tried)?;
    filters.ranges.set(options);
    Ok(filters)
}

/// The range filters of the options that they were set in, and of the databases opened with these. Copies share the counts.
#[derive(Clone, Debug)]
pub struct RangeFilters {
    ranges: Arc<ffi::Ranges>,
}

/// Events of range filters, of all threads so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeCounts {
    /// Filters that were built.
    pub built: u64,
    /// Filters that could not be built: their tables have none.
    pub unfinished: u64,
    /// Tables with a filter that a scan met.
    pub asked: u64,
    /// Of these, tables that the scan left out.
    pub skipped: u64,
    /// Of these, tables whose filter could not be opened: they are read.
    pub unusable: u64,
}

impl RangeFilters {
    /// The rows of a range, `from..to`, `from..`, `..to`, `..` or `PrefixRange(prefix)`, without reading tables that have
    /// nothing in it. A prefix extractor keeps no rows back.
    pub fn scan<'a>(&self, db: &'a DB, range: impl IterateBounds, direction: Direction) -> Scan<'a> {
        self.scan_in(db, &Family::default_one(), range, direction)
    }

    /// The rows of a range of a column family.
    pub fn scan_cf<'a>(
        &self,
        db: &'a DB,
        cf: &impl AsColumnFamilyRef,
        range: impl IterateBounds,
        direction: Direction,
    ) -> Scan<'a> {
        self.scan_in(db, &Family::of(cf), range, direction)
    }

    fn scan_in<'a>(&self, db: &'a DB, family: &Family, range: impl IterateBounds, direction: Direction) -> Scan<'a> {
        let (lower, upper) = range.into_bounds();
        let reverse = matches!(direction, Direction::Reverse);
        Scan { rows: Some(self.ranges.rows(db, family, [lower.as_deref(), upper.as_deref()], reverse)) }
    }

    /// What makes the filters useless in a database with these options. Read it when the options are final.
    pub fn findings(&self, options: &Options) -> Vec<Finding> {
        Finding::of_bits(self.ranges.findings(options))
    }

    /// Fails if there are [`findings`](Self::findings).
    ///
    /// # Errors
    /// [`Error::Useless`] with all of them.
    pub fn check(&self, options: &Options) -> Result<(), Error> {
        useless(self.findings(options))
    }

    /// What makes the filters useless in an open database.
    pub fn in_use(&self, db: &DB) -> Vec<Finding> {
        Finding::of_bits(self.ranges.in_use(db, &Family::default_one()))
    }

    /// What makes the filters useless in a column family.
    pub fn in_use_cf(&self, db: &DB, cf: &impl AsColumnFamilyRef) -> Vec<Finding> {
        Finding::of_bits(self.ranges.in_use(db, &Family::of(cf)))
    }

    /// What has been built and left out.
    pub fn counts(&self) -> RangeCounts {
        let [built, unfinished, asked, skipped, unusable, _] = self.ranges.counts();
        RangeCounts { built, unfinished, asked, skipped, unusable }
    }

    /// Whether the filters are in use and leave tables out.
    pub fn verdict(&self) -> Verdict {
        let (text, is_fine) = self.ranges.verdict();
        Verdict { is_fine, text }
    }
}

/// The key and the value of a row.
pub type Row = (Box<[u8]>, Box<[u8]>);

/// The rows of a scan, in order. It ends after an error.
#[derive(Debug)]
pub struct Scan<'a> {
    rows: Option<RawRows<'a>>,
}

impl Iterator for Scan<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.rows.as_mut()?.next().map_err(|message| Error::Scan { message }).transpose();
        if !matches!(next, Some(Ok(_))) {
            self.rows = None;
        }
        next
    }
}
