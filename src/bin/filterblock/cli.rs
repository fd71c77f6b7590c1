//! The command line as a whole.

use crate::store::{fill, get, rebuild, repair, scan, stats};
use crate::{build, calc, completions, demo, inspect, query, thin, verify};
use clap::{Parser, Subcommand};
use filterblock::FORMAT_VERSION;
use std::sync::LazyLock;

/// What `--version` prints after the name.
static VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{} (format version {FORMAT_VERSION})", env!("CARGO_PKG_VERSION")));

const EXAMPLES: &str = "\
Examples:
  filterblock build --kind blocked --bits-per-key 10 --output table.fb keys.txt
  filterblock query table.fb some-key
  filterblock inspect table.fb
  filterblock verify table.fb --keys keys.txt
  filterblock calc --entries 1e6 --fpr 1%
  filterblock fill db --rows-only keys.txt
  filterblock get db some-key
  filterblock scan db --prefix some
  filterblock stats db
  filterblock verify db
  filterblock rebuild db --kind golomb --fpr 0.1%
  filterblock repair db
  filterblock demo";

const EXIT_CODES: &str = "\
Exit codes:
  0  done; a single key may be present; a cell or row exists
  1  a single key is certainly absent; a cell or row does not exist
  2  wrong usage
  3  a filter block or store is damaged, of a newer format, or does not match the keys
  4  input or output failed; a store does not exist, or is open in another process";

/// Builds, queries, shows and checks filter blocks: small files that rule out keys which a table does not hold
///
/// fill, get, scan, stats, rebuild and repair work on a small row/column store that embeds filter blocks.
#[derive(Parser)]
#[command(name = "filterblock", version = VERSION.as_str(), before_help = EXAMPLES, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Build(build::Args),
    Query(query::Args),
    Inspect(inspect::Args),
    Verify(verify::Args),
    Thin(thin::Args),
    Calc(calc::Args),
    Fill(fill::Args),
    Get(get::Args),
    Scan(scan::Args),
    Stats(stats::Args),
    Rebuild(rebuild::Args),
    Repair(repair::Args),
    Demo(demo::Args),
    Completions(completions::Args),
}
