//! The filter policy.

use crate::ffi::{self, Family};
use crate::{Error, Finding};
use filterblock::FilterPolicy;
use rocksdb::{AsColumnFamilyRef, DB, Options};
use std::ffi::CString;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The policies of a column family: for the upper levels, whose filters are soon replaced, and for the bottommost one, which
/// has most of the keys.
///
/// As text they are `UPPER/BOTTOMMOST`, with `/trusted` or without; a single policy is that of all levels. The default is
/// `blocked:10/ribbon:10`. A policy sizes a filter in bits a key (`blocked:10`), by a rate (`ribbon:fpr=1%`) or in bytes.
///
/// ```
/// use filterblock_rocksdb::Policies;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policies: Policies = "blocked:10/ribbon:fpr=1%".parse()?;
/// assert_eq!(policies.bottommost, "ribbon:fpr=1%".parse()?);
/// assert_eq!(policies.to_string(), "blocked:10/ribbon:fpr=0.01");
/// assert_eq!(Policies::default().to_string(), "blocked:10/ribbon:10");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Policies {
    /// For tables that are flushed, written outside of a database, or compacted into upper levels.
    pub upper: FilterPolicy,
    /// For tables that are compacted into the bottommost level. Filters of at most 512 keys have the upper policy where it at
    /// least halves their false positives.
    pub bottommost: FilterPolicy,
    /// Leaves the payload's digest out where RocksDB has a checksum of the block: for partitioned filters in memory maps,
    /// which are opened for each lookup.
    pub trusted: bool,
    /// States that the comparator, which the options have already, holds no two keys of different bytes to be equal. RocksDB
    /// cannot know it of a comparator in Rust, which is refused without this statement: if it is wrong, stored keys are
    /// denied. For one that does there is [`set_filter_policy_of_equal_keys`].
    pub distinct_keys: bool,
}

impl Policies {
    /// The policies of the upper levels and of the bottommost one.
    pub fn new(upper: FilterPolicy, bottommost: FilterPolicy) -> Self {
        Self { upper, bottommost, trusted: false, distinct_keys: false }
    }
}

impl Default for Policies {
    fn default() -> Self {
        "blocked:10/ribbon:10".parse().expect("two policies")
    }
}

impl fmt::Display for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}{}", self.upper, self.bottommost, if self.trusted { "/trusted" } else { "" })
    }
}

impl FromStr for Policies {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts: Vec<&str> = text.split('/').collect();
        let (upper, bottommost, trusted) = match parts[..] {
            [policy] => (policy, policy, false),
            [upper, bottommost] => (upper, bottommost, false),
            [upper, bottommost, "trusted"] => (upper, bottommost, true),
            _ => return Err(Error::Parts { text: text.to_owned() }),
        };
        let policy = |text: &str| text.parse().map_err(|error| Error::Policy { text: text.to_owned(), error });
        Ok(Self { trusted, ..Self::new(policy(upper)?, policy(bottommost)?) })
    }
}

/// The text for the adapter. No text of the library has a zero.
pub(crate) fn c_text(text: &impl ToString) -> CString {
    CString::new(text.to_string()).unwrap_or_default()
}

/// Gives `options` filters of these policies, in place of the filter policy of their block-based table factory, whose other
/// settings remain. Call it when the table factory and the comparator are set; [`Filters::check`] tells whether a later call
/// has undone it. Each column family has options of its own.
///
/// Copies of `options` that were made before, and databases that they have opened, keep their policy.
///
/// ```
/// use filterblock_rocksdb::{Error, Finding, Policies, set_filter_policy};
/// use rocksdb::{BlockBasedOptions, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut options = Options::default();
/// let filters = set_filter_policy(&mut options, &Policies::default())?;
/// filters.check(&options)?;
/// options.set_block_based_table_factory(&BlockBasedOptions::default());
/// assert_eq!(filters.check(&options), Err(Error::Useless(vec![Finding::NoPolicy])));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The options have something that makes filters useless ([`Finding`]), the policies transform keys, which is RocksDB's to do,
/// or the RocksDB that is linked is not the one that this package was compiled for.
pub fn set_filter_policy(options: &mut Options, policies: &Policies) -> Result<Filters, Error> {
    set(options, policies, "", None)
}

/// As [`set_filter_policy`], for a comparator that holds keys of different bytes to be equal, under which filters of
/// bytes deny stored keys. Set the comparator before. `form` writes bytes that equal keys have in common, to an empty
/// vector; filters are built and asked with these, also with those of extracted prefixes: equal keys must be in a
/// prefix extractor's domain together, and their prefixes must have one form. They are found only under the same
/// `name`, of letters and digits: a form that is changed needs another one, or stored keys are denied. Any thread calls
/// `form`, and a panic in it ends the process. An options file does not have it: RocksDB leaves the policy out.
///
/// ```
/// use filterblock_rocksdb::{Policies, set_filter_policy_of_equal_keys};
/// use rocksdb::{DB, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let directory = tempfile::tempdir()?;
/// let mut options = Options::default();
/// options.create_if_missing(true);
/// options.set_comparator("caseless", Box::new(|a, b| a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())));
/// let lower = |key: &[u8], normal: &mut Vec<u8>| normal.extend(key.to_ascii_lowercase());
/// set_filter_policy_of_equal_keys(&mut options, &Policies::default(), "lower", lower)?;
/// let db = DB::open(&options, directory.path())?;
/// db.put("Apple", "red")?;
/// db.flush()?;
/// assert!(db.get("aPPLE")?.is_some());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`set_filter_policy`], and [`Error::Refused`] for another name.
pub fn set_filter_policy_of_equal_keys(
    options: &mut Options,
    policies: &Policies,
    name: &str,
    form: impl Fn(&[u8], &mut Vec<u8>) + Send + Sync + 'static,
) -> Result<Filters, Error> {
    set(options, policies, name, Some(Box::new(form)))
}

fn set(options: &mut Options, policies: &Policies, name: &str, form: Option<ffi::Form>) -> Result<Filters, Error> {
    if !ffi::layout_is_rocksdbs() {
        return Err(Error::Layout);
    }
    let texts = [c_text(&policies.upper), c_text(&policies.bottommost), c_text(&name)];
    let policy = ffi::Policy::new(options, &texts, policies.trusted, policies.distinct_keys, form)
        .map_err(|message| Error::Refused { message })?;
    let filters = Filters { policy: Arc::new(policy) };
    // In a copy first: if they are refused, the options are as they were.
    let mut tried = options.clone();
    if !filters.policy.set(&mut tried) {
        return Err(Error::Useless(vec![Finding::NotBlockBased]));
    }
    filters.check(&tried)?;
    filters.policy.set(options);
    Ok(filters)
}

/// Registers the adapter with RocksDB, so that an options file that names its policy can be read (`Options::load_latest`).
/// Without it RocksDB leaves the policy out, without an error. [`set_filter_policy`] registers it, too.
///
/// ```
/// use filterblock_rocksdb::{Filters, register, set_filter_policy};
/// use rocksdb::{Cache, DB, Env, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let directory = tempfile::tempdir()?;
/// # let mut options = Options::default();
/// # options.create_if_missing(true);
/// # set_filter_policy(&mut options, &"blocked:12".parse()?)?;
/// # drop(DB::open(&options, directory.path())?);
/// register();
/// let cache = Cache::new_lru_cache(8 << 20);
/// let (options, families) = Options::load_latest(directory.path(), Env::new()?, false, cache)?;
/// let db = DB::open_cf_descriptors(&options, directory.path(), families)?;
/// let filters = Filters::of(&db).ok_or("another policy")?;
/// assert_eq!(filters.in_use(&db).policy.as_deref(), Some("filterblock:blocked:12/blocked:12"));
/// # Ok(())
/// # }
/// ```
pub fn register() {
    ffi::register();
}

/// The filters of the options that they were set in, and of the databases opened with these. Copies share the counts.
///
/// [`check`](Self::check) and [`in_use`](Self::in_use) know a policy by its text, so another call's policy of the same text is
/// taken for this one. [`counts`](Self::counts) and [`verdict`](Self::verdict) are of this call's alone: read those of a
/// database that was opened with another's by [`Filters::of`].
///
/// What [`Policies::distinct_keys`] states, or a normal form, is for a comparator of the name that the options had then: with
/// another one there is [`Finding::EqualKeys`].
#[derive(Clone, Debug)]
pub struct Filters {
    policy: Arc<ffi::Policy>,
}

/// Events of a policy, of all threads so far. A reader that is made for each lookup is counted each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Filters that were built.
    pub built: u64,
    /// Filters that could not be built: the tables or partitions have none.
    pub unfinished: u64,
    /// Filters that were not opened, as the bytes are damaged, or not a filter's.
    pub damaged: u64,
    /// Filters that were not opened, as a newer library wrote them.
    pub newer: u64,
    /// Filters that were not opened, as their keys are hashed under a secret key.
    pub mismatch: u64,
    /// Filters that were not opened, as they could not be built when their table was written.
    pub not_built: u64,
}

/// Whether filters are in use and save reads, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// Whether nothing was found.
    pub is_fine: bool,
    /// A line for each thing that makes the filters useless, and one for what they have saved.
    pub text: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The filters that an open database has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InUse {
    /// The policy as RocksDB names it, `filterblock:blocked:10/ribbon:10` or another one's, if there is one.
    pub policy: Option<String>,
    /// What makes the filters useless.
    pub findings: Vec<Finding>,
    /// The number of tables, and how many of them have no filter of any policy; `None` if RocksDB could not read them.
    pub tables: Option<(u64, u64)>,
}

impl Filters {
    /// The filters of an open database, for instance of one whose options were read from a file; `None` if its policy is not
    /// of this package. It knows the comparator that a normal form or [`Policies::distinct_keys`] is for: there is
    /// [`Finding::EqualKeys`] with another one, after an options file, which has neither, and beside
    /// [`Finding::HashedBytes`].
    pub fn of(db: &DB) -> Option<Self> {
        Self::of_family(db, &Family::default_one())
    }

    /// The filters of a column family.
    pub fn of_cf(db: &DB, cf: &impl AsColumnFamilyRef) -> Option<Self> {
        Self::of_family(db, &Family::of(cf))
    }

    fn of_family(db: &DB, family: &Family) -> Option<Self> {
        let policy = ffi::layout_is_rocksdbs().then(|| ffi::Policy::of(db, family))?;
        policy.map(|policy| Self { policy: Arc::new(policy) })
    }

    /// What makes the filters useless in a database with these options. Read it when the options are final.
    pub fn findings(&self, options: &Options) -> Vec<Finding> {
        Finding::of_bits(self.policy.findings(options))
    }

    /// Fails if there are [`findings`](Self::findings).
    ///
    /// # Errors
    /// [`Error::Useless`] with all of them.
    pub fn check(&self, options: &Options) -> Result<(), Error> {
        useless(self.findings(options))
    }

    /// Whether these filters are those of an open database. It reads the properties of all tables.
    pub fn in_use(&self, db: &DB) -> InUse {
        self.in_use_in(db, &Family::default_one())
    }

    /// Whether these filters are those of a column family.
    pub fn in_use_cf(&self, db: &DB, cf: &impl AsColumnFamilyRef) -> InUse {
        self.in_use_in(db, &Family::of(cf))
    }

    fn in_use_in(&self, db: &DB, family: &Family) -> InUse {
        let (bits, policy, tables) = self.policy.in_use(db, family);
        InUse { policy, findings: Finding::of_bits(bits), tables }
    }

    /// What has been built, and could not be opened.
    pub fn counts(&self) -> Counts {
        let [built, unfinished, damaged, newer, mismatch, not_built] = self.policy.counts();
        Counts { built, unfinished, damaged, newer, mismatch, not_built }
    }

    /// Judges by these counts and by the tickers of `options`, which must be those of the database. Log it now and then, and
    /// assert in a test that it is fine.
    ///
    /// # Errors
    /// [`Error::NoStatistics`].
    pub fn verdict(&self, options: &Options) -> Result<Verdict, Error> {
        let (text, is_fine) = self.policy.verdict(options).ok_or(Error::NoStatistics)?;
        Ok(Verdict { is_fine, text })
    }
}

pub(crate) fn useless(findings: Vec<Finding>) -> Result<(), Error> {
    if findings.is_empty() { Ok(()) } else { Err(Error::Useless(findings)) }
}
