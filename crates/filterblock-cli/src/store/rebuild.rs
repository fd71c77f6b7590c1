//! `filterblock rebuild`: new filters for existing tables.

use super::filters::{KindArgs, NONE};
use super::{NOTHING_READ, failure, of_store, open_quietly, warning_text, with_key};
use crate::exit::{self, Code, Failure};
use crate::open_args::HashKeyArgs;
use crate::output::{self, Output, shell_word};
use crate::policy_args::{AUTO, DEFAULT_BITS_PER_KEY, DEFAULT_RANGE_BITS, Size};
use crate::units::parse_u64;
use filterblock::range::RangePolicy;
use filterblock::{FilterPolicy, HEADER_LEN, KeyHasher, KeyTransform};
use filterblock_kv::{
    Error, FilterStats, Maintenance, Purpose, RebuildOptions, RebuildReport, RebuiltTable, Stats, Store, StoreOptions,
    TableStats,
};
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Filters with fewer entries do not show the bits per key that they were built for: their blocks are rounded up.
const TELLING_ENTRIES: u64 = 1000;
/// Legal bits per key.
const LEGAL_BITS: std::ops::RangeInclusive<f64> = 2.0..=64.0;

/// Rebuild the filters of a store, or those of one table
///
/// Reads the tables and leaves them unchanged; new filters are written to separate files. Without kind and size each
/// filter keeps its own (with less than 1000 entries: 10 bits per key), and an unusable one gets those of the largest
/// filter for the same purpose. One in partitions becomes one block. With --kind all tables get filters for rows and
/// for cells, of 10 bits per key unless a size is given.
#[derive(clap::Args)]
#[command(after_help = include_str!("../help/rebuild.txt"))]
pub(crate) struct Args {
    /// The directory of a store, or one of its tables, as DIR/000123.sst
    #[arg(value_name = "DIR|TABLE")]
    place: PathBuf,
    #[command(flatten)]
    filters: KindArgs,
    /// A new seed of the hash, decimal or 0x…, for these filters and all later ones
    #[arg(long, value_name = "S", value_parser = parse_u64, conflicts_with_all = ["random_seed", "hash_key_file"])]
    seed: Option<u64>,
    /// A new random seed
    #[arg(long, conflicts_with = "hash_key_file")]
    random_seed: bool,
    #[command(flatten)]
    key: HashKeyArgs,
    /// Give the store the key of --hash-key-file in place of its own key or seed, or without it a seed in place of its
    /// key. Filters under another key do not show their kind and size: they are made like unusable ones
    #[arg(long)]
    change_hash_key: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (dir, file) = split(&args.place)?;
    let file = file.as_deref();
    if args.change_hash_key && file.is_some() {
        let message = "--change-hash-key is for all tables of a store: name its directory";
        return Err(Failure::usage("rebuild", message).into());
    }
    let key = args.key.read()?;
    let changing = |options: StoreOptions| options.with_key_change(args.change_hash_key);
    let stats = open_quietly(&dir, changing(StoreOptions::default()), &key, NOTHING_READ)?.stats();
    if file.is_some() && wanted(&stats, file).is_empty() {
        let (table, store) = (args.place.display(), dir.display());
        let list = key.command(format_args!("stats {}", shell_word(&dir)));
        let message = format!("{table} is no table of the store {store}; {list} lists them");
        return Err(Failure::usage("rebuild", message).into());
    }
    let plan = Plan::new(args, &stats)?;
    let seed = if args.random_seed { Some(rand::random()) } else { args.seed };
    let store = Store::open_dir(&dir, with_key(changing(plan.store_options()), &key));
    let store = store.map_err(|error| failure(&dir, &key, &error, "Nothing was changed."))?;
    let num_warnings = store.warnings().len();
    // Opening has written the cells that were in a log only to a table.
    let tables = wanted(&store.stats(), file);
    let mut report = RebuildReport::default();
    let rebuilt = rebuild(&store, &plan, &tables, seed, &mut report);
    for warning in store.warnings().iter().skip(num_warnings) {
        exit::message(warning_text(&dir, &key, warning));
    }
    let mut done =
        format!("{} of {} have new filters.", report.tables.len(), output::count(tables.len() as u64, "table"));
    if args.change_hash_key {
        let needed = if key.hasher.is_some() { "this key" } else { "no key" };
        let rebuild = key.command(format_args!("rebuild {}", shell_word(&dir)));
        done.push_str(&format!(" The store needs {needed} from now on; {rebuild} finishes the change."));
    }
    rebuilt.and_then(|()| store.close()).map_err(|error| failure(&dir, &key, &error, &done))?;
    output::print(|out| print(args, out, &dir, &report, (seed, key.hasher)))?;
    Ok(Code::Ok.into())
}

/// The directory of the store, and the file of a single table.
fn split(place: &Path) -> Result<(PathBuf, Option<String>), Failure> {
    if place.extension().is_none_or(|extension| extension != "sst" && extension != "flt") || place.is_dir() {
        return Ok((place.to_owned(), None));
    }
    let name = place.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Failure::usage("rebuild", format_args!("{}: no table's name", place.display())))?;
    let dir = place.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((dir.to_owned(), Some(name.to_owned())))
}

/// Returns the tables whose filters are rebuilt: all, or the one to which this file, a table or its filters, belongs.
fn wanted(stats: &Stats, file: Option<&str>) -> Vec<TableStats> {
    let is_wanted =
        |table: &&TableStats| file.is_none_or(|file| file == table.file || table.filter_file.as_deref() == Some(file));
    stats.tables.iter().filter(is_wanted).cloned().collect()
}

fn rebuild(
    store: &Store,
    plan: &Plan<'_>,
    tables: &[TableStats],
    seed: Option<u64>,
    report: &mut RebuildReport,
) -> Result<(), Error> {
    if let Some(seed) = seed {
        // Of no table, for the case that there are none.
        store.rebuild_filters(&RebuildOptions::new().with_table(u64::MAX).with_seed(seed))?;
    }
    for table in tables {
        let mut options = RebuildOptions::new().with_table(table.number).with_range_filter(plan.range_policy(table));
        for purpose in Purpose::OF_KEYS {
            options = options.with_filter(purpose, plan.policy(table, purpose));
        }
        report.tables.extend(store.rebuild_filters(&options)?.tables);
    }
    Ok(())
}

fn print(
    args: &Args,
    out: &mut Output,
    dir: &Path,
    report: &RebuildReport,
    (seed, key): (Option<u64>, Option<KeyHasher>),
) -> io::Result<()> {
    if args.json {
        let (seed, key_id) = (seed.map(output::hex), key.map(|key| output::hex(key.seed())));
        return out.json(&of_store(dir, json!({ "seed": seed, "hash_key_id": key_id, "tables": report.tables })));
    }
    for RebuiltTable { file, filter_file, bytes_before, bytes_now, .. } in &report.tables {
        let path = dir.join(file);
        writeln!(out, "{}: filters of {bytes_now} bytes in {filter_file}, {bytes_before} before", path.display())?;
    }
    writeln!(out, "{}: new filters for {}", dir.display(), output::count(report.tables.len() as u64, "table"))?;
    match key {
        Some(key) if args.change_hash_key => {
            writeln!(out, "all hashed under the secret key {}", output::hex(key.seed()))
        }
        None if args.change_hash_key => writeln!(out, "all hashed with a seed, under no secret key"),
        _ => Ok(()),
    }
}

/// The filters that tables get.
struct Plan<'a> {
    args: &'a Args,
    stats: &'a Stats,
    prefixes: Option<KeyTransform>,
    /// The given policies, by [`Purpose::OF_KEYS`]; otherwise filters keep their own.
    given: Option<[Option<FilterPolicy>; Purpose::OF_KEYS.len()]>,
}

impl<'a> Plan<'a> {
    fn new(args: &'a Args, stats: &'a Stats) -> Result<Self, Failure> {
        let asked = args.filters.prefixes();
        let KindArgs { kind, bits_per_key, fpr, .. } = &args.filters;
        if kind.as_deref() == Some(NONE) && (bits_per_key.is_some() || fpr.is_some() || asked.is_some()) {
            return Err(Failure::usage("rebuild", "with --kind none there is no filter that has a size or a prefix"));
        }
        let mut plan = Self { args, stats, prefixes: asked.or_else(|| prefixes(stats)), given: None };
        if kind.is_some() || bits_per_key.is_some() || fpr.is_some() {
            let mut given = [const { None }; Purpose::OF_KEYS.len()];
            for (given, purpose) in given.iter_mut().zip(Purpose::OF_KEYS) {
                let kind = kind.as_deref().unwrap_or_else(|| kind_of(stats, purpose));
                *given = args.filters.policy_of("rebuild", kind)?;
            }
            plan.given = Some(given);
        }
        Ok(plan)
    }

    /// The options of the store during the rebuild: no maintenance of its own. A log that was not closed becomes a
    /// table, with filters like the others.
    fn store_options(&self) -> StoreOptions {
        let options = with_filters(self.prefixes, |purpose| self.usual(purpose));
        options
            .with_range_filter(self.usual_range())
            .with_create(false)
            .with_maintenance(Maintenance::Inline { seed: 0 })
    }

    /// The filter that a table gets for a purpose.
    fn policy(&self, table: &TableStats, purpose: Purpose) -> Option<FilterPolicy> {
        let filter = table.filters.iter().find(|filter| filter.purpose == purpose);
        let has_one = filter.is_some() || table.unusable.contains(&purpose);
        let is_given = match purpose {
            Purpose::Row | Purpose::RowColumn => self.args.filters.kind.is_some(),
            // A prefix filter, or one of a later version.
            _ => self.args.filters.prefixes().is_some(),
        };
        if !has_one && !is_given {
            return None;
        }
        match (&self.given, filter.and_then(as_it_is)) {
            (None, Some(policy)) => Some(policy),
            (Some(_), _) | (None, None) => self.usual(purpose),
        }
    }

    /// The range filter that a table gets: as it is, unless a size is given.
    fn range_policy(&self, table: &TableStats) -> Option<RangePolicy> {
        let has_one = table.range_filter.is_some() || table.unusable.contains(&Purpose::Range);
        self.usual_range().filter(|_| has_one || self.args.filters.range_bits.is_some())
    }

    fn usual_range(&self) -> Option<RangePolicy> {
        self.args.filters.range_bits.or_else(|| largest_range(self.stats))
    }

    /// Returns the given policy, or the policy of the largest filter for this purpose.
    fn usual(&self, purpose: Purpose) -> Option<FilterPolicy> {
        self.given.as_ref().map_or_else(|| like_largest(self.stats, purpose), |given| given[purpose as usize].clone())
    }
}

/// Options with the filters that the store of `stats` has.
pub(super) fn filters_like(stats: &Stats) -> StoreOptions {
    with_filters(prefixes(stats), |purpose| like_largest(stats, purpose)).with_range_filter(largest_range(stats))
}

/// The policy of the largest range filter, as far as its block shows it, or the default one for unusable ones. Rounded
/// up to a bit, so that a rebuilt filter knows no less.
fn largest_range(stats: &Stats) -> Option<RangePolicy> {
    let largest = stats.tables.iter().filter_map(|table| table.range_filter).max_by_key(|filter| filter.num_keys);
    let is_unusable = stats.tables.iter().any(|table| table.unusable.contains(&Purpose::Range));
    let telling = largest.filter(|filter| filter.num_keys >= TELLING_ENTRIES).and_then(|filter| filter.bits_per_key);
    let bits = telling.map_or(DEFAULT_RANGE_BITS, f64::ceil).clamp(2.0, 200.0);
    RangePolicy::with_bits_per_key(bits).ok().filter(|_| largest.is_some() || is_unusable)
}

/// Options with filters of rows and cells, and of these prefixes.
fn with_filters(prefixes: Option<KeyTransform>, policy: impl Fn(Purpose) -> Option<FilterPolicy>) -> StoreOptions {
    let mut options = StoreOptions::without_filters();
    for purpose in [Purpose::Row, Purpose::RowColumn] {
        options = options.with_filter(purpose, policy(purpose));
    }
    match prefixes {
        Some(prefixes) => options.with_prefixes(prefixes, policy(Purpose::Prefix)),
        None => options,
    }
}

fn prefixes(stats: &Stats) -> Option<KeyTransform> {
    stats.tables.iter().find_map(|table| table.prefixes)
}

/// The policy of the largest filter for this purpose, or the default one.
fn like_largest(stats: &Stats, purpose: Purpose) -> Option<FilterPolicy> {
    let default = || Size::BitsPerKey(DEFAULT_BITS_PER_KEY).policy(kind_of(stats, purpose)).ok();
    largest(stats, purpose).and_then(as_it_is).or_else(default)
}

fn kind_of(stats: &Stats, purpose: Purpose) -> &'static str {
    largest(stats, purpose).map_or(AUTO, |filter| filter.kind.name())
}

fn largest(stats: &Stats, purpose: Purpose) -> Option<&FilterStats> {
    let filters = stats.tables.iter().flat_map(|table| &table.filters);
    filters.filter(|filter| filter.purpose == purpose).max_by_key(|filter| filter.num_entries)
}

/// The policy of a filter, as far as its block shows it.
fn as_it_is(filter: &FilterStats) -> Option<FilterPolicy> {
    if filter.num_entries < TELLING_ENTRIES {
        return FilterPolicy::with_bits_per_key(filter.kind, DEFAULT_BITS_PER_KEY).ok();
    }
    if FilterPolicy::len_depends_on_keys(filter.kind) || FilterPolicy::rate_has_steps(filter.kind) {
        // Its size depends on its entries' hashes, or has coarse steps; its rate is exact except for the last digits.
        return FilterPolicy::with_false_positive_rate(filter.kind, filter.predicted_fpr * (1.0 + 1e-9)).ok();
    }
    // The builder takes the header out of the given bits, up to one part in 64 of them.
    let (entries, header_bits) = (filter.num_entries as f64, HEADER_LEN as f64 * 8.0);
    let payload = (filter.bytes as f64 * 8.0 - header_bits) / entries;
    // Rounded to a tenth, so that differences do not add up over repeated rebuilds.
    let bits = ((payload + (payload / 63.0).min(header_bits / entries)) * 10.0).round() / 10.0;
    FilterPolicy::with_bits_per_key(filter.kind, bits.clamp(*LEGAL_BITS.start(), *LEGAL_BITS.end())).ok()
}
