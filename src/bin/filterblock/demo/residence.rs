//! The residence workload: the same filters in memory, in partitions, and on the disk, and what each costs to read.

use super::ask::{self, Class, Observed};
use super::data::{Dataset, random};
use super::figures::Format::{Count, Micros, Text};
use super::figures::{Figure, grouped, rows};
use super::measure::{NUM_WARM_UP, Plan};
use super::page::{Page, Plot};
use super::plot::bars::{Bar, Group, bars};
use super::prefixes::Prefixes;
use super::report::{Account, Report, merged};
use super::session::Demo;
use super::stage::{self, Stage};
use super::zipfian::{Ranks, THETA};
use crate::exit::Failure;
use filterblock::kv::{FilterResidence, Stats, Store};
use maud::html;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Instant;

/// A page of the file, as in RocksDB and fjall.
const PARTITION_BYTES: u64 = 4096;

/// The size of the cache, as a share of the filters' bytes, unless it is given.
const CACHE_SHARE: f64 = 0.5;

/// Where the filters are in each run. Reads that filters avoid are counted against the first run, which has none.
const RUNS: [&str; 4] = ["none", "in memory", "partitioned", "on the disk"];

/// Loading three stores, and the runs.
pub(super) const NUM_STEPS: u64 = 3 + RUNS.len() as u64;

/// The figures below the row that names the popularity.
const FIGURES: [Figure<'_>; 17] = [
    ("memory for filters and cache, bytes", "memory_bytes", Count),
    ("data-block reads", "data_block_reads", Count),
    ("  for absent rows", "classes/0/data_block_reads", Count),
    ("  for absent columns of present rows", "classes/1/data_block_reads", Count),
    ("  for present cells", "classes/2/data_block_reads", Count),
    ("  for absent prefixes", "classes/3/data_block_reads", Count),
    ("  for present prefixes", "classes/4/data_block_reads", Count),
    ("filter-block reads", "filter_block_reads", Count),
    ("reads avoided by the filters", "reads_avoided", Count),
    ("false positives (wasted reads)", "false_positives", Count),
    ("bytes read by the store's ledger", "ledger_read_bytes", Count),
    ("  of filter blocks", "filter_block_bytes", Count),
    ("  by the operating system's count", "os_read_bytes", Count),
    ("time of a lookup, mean, absent rows", "classes/0/mean_us", Micros),
    ("  present cells", "classes/2/mean_us", Micros),
    ("  absent prefixes", "classes/3/mean_us", Micros),
    ("  present prefixes", "classes/4/mean_us", Micros),
];

/// The names of the classes, in the order of their queries.
const CLASSES: [&str; 5] = ["absent_row", "absent_column", "present_cell", "absent_prefix", "present_prefix"];

/// How often each key is queried.
#[derive(Clone, Copy)]
enum Popularity {
    Uniform,
    Zipfian,
}

impl Popularity {
    const ALL: [Self; 2] = [Self::Uniform, Self::Zipfian];

    const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipfian => "zipfian",
        }
    }
}

/// The queries of all runs.
struct Queries<'a> {
    data: &'a Dataset,
    prefixes: Prefixes<'a>,
    ranks: Ranks,
}

impl Queries<'_> {
    /// The number that decides query `i`. Popular keys are scattered, as in the zipfian workload.
    fn random(&self, popularity: Popularity, i: u64) -> u64 {
        match popularity {
            Popularity::Uniform => random(b"question", i),
            Popularity::Zipfian => random(b"residence place", self.ranks.draw(b"residence rank", i)),
        }
    }

    /// The first `num` queries of each class.
    fn ask(&self, store: &Store, popularity: Popularity, num: u64) -> anyhow::Result<Vec<Observed>> {
        let numbers = || (0..num).map(|i| self.random(popularity, i));
        let mut series = Vec::new();
        for class in Class::ALL {
            series.push(ask::ask(store, numbers().map(|r| class.query_of(self.data, r)))?);
        }
        for is_present in [false, true] {
            series.push(ask::ask(store, numbers().map(|r| self.prefixes.scan(is_present, r)))?);
        }
        Ok(series)
    }
}

/// The queries of all classes on one store.
struct Run {
    stats: Stats,
    /// By popularity and class.
    series: Vec<Vec<Observed>>,
    balanced: bool,
    warnings: Vec<String>,
}

fn run_on(demo: &Demo<'_>, stage: &Stage, name: &str, queries: &Queries<'_>, plan: &mut Plan) -> anyhow::Result<Run> {
    demo.note(format!("filters: {name}"));
    let (store, started) = (&stage.store, Instant::now());
    for popularity in Popularity::ALL {
        queries.ask(store, popularity, NUM_WARM_UP)?;
    }
    let lookups = plan.decide(started.elapsed());
    let series = Popularity::ALL.map(|popularity| queries.ask(store, popularity, lookups));
    Ok(Run {
        series: series.into_iter().collect::<Result<_, _>>()?,
        stats: store.stats(),
        balanced: store.ledger_report().check().is_ok(),
        warnings: store.warnings().iter().map(ToString::to_string).collect(),
    })
}

pub(super) fn run(demo: &Demo<'_>) -> anyhow::Result<ExitCode> {
    let (data, parent) = (&demo.data, demo.place.path());
    let Some(prefixes) = Prefixes::of(data) else {
        return Err(Failure::usage("demo", "all absent rows are beginnings of rows: no prefix is absent").into());
    };
    let policies = demo.args.policies()?;
    let policy = policies.into_iter().flatten().next();
    let Some((policy, prefix_len)) = policy.zip(u16::try_from(prefixes.len).ok()) else {
        return Err(Failure::usage("demo", "--workload residence needs a kind of filter").into());
    };
    let queries = Queries { data, prefixes, ranks: Ranks::new(data)? };
    let options = stage::options(Some(policy)).prefix_filter(prefix_len, policy);
    // Without a filter, scans of prefixes are counted as such if the store knows their length.
    let unfiltered = stage::options(None).prefix_filter(prefix_len, None);

    demo.note("loading filters in one block each".to_owned());
    let whole = Stage::set_with("whole", data, options, parent)?;
    let filter_bytes: u64 = whole.store.stats().tables.iter().map(|table| table.filter_bytes).sum();
    let cache_bytes = demo.args.filter_memory_bytes.unwrap_or((filter_bytes as f64 * CACHE_SHARE) as u64);
    demo.note("loading without filters".to_owned());
    let none = Stage::set_with("none", data, unfiltered.cache_bytes(cache_bytes), parent)?;
    let mut plan = Plan::new(demo.args.lookups);
    let mut runs = vec![run_on(demo, &none, RUNS[0], &queries, &mut plan)?];
    none.strike()?;
    runs.push(run_on(demo, &whole, RUNS[1], &queries, &mut plan)?);
    let cached = options.cache_bytes(cache_bytes).filter_residence(FilterResidence::Cached);
    let whole = whole.reopen(cached)?;
    let on_disk = run_on(demo, &whole, RUNS[3], &queries, &mut plan)?;
    whole.strike()?;
    demo.note("loading partitioned filters".to_owned());
    // Filters smaller than a partition come through the cache, too.
    let partitioned = Stage::set_with("partitioned", data, cached.partition_filters(PARTITION_BYTES), parent)?;
    runs.push(run_on(demo, &partitioned, RUNS[2], &queries, &mut plan)?);
    partitioned.strike()?;
    runs.push(on_disk);
    demo.finish_progress();

    let all: Vec<Vec<Observed>> = runs.iter().map(|run| run.series.iter().map(Observed::sum).collect()).collect();
    let report = report(demo, &plan, &queries.prefixes, &runs, &all);
    demo.publish(&report, || Ok(page(&report)))
}

fn report(demo: &Demo<'_>, plan: &Plan, prefixes: &Prefixes<'_>, runs: &[Run], all: &[Vec<Observed>]) -> Report {
    let account = |(name, run, place): (&str, &Run, usize), observed| Account {
        name: format!("{name}, {}", Popularity::ALL[place].name()),
        observed,
        unfiltered: &all[0][place],
        balanced: run.balanced,
    };
    // By popularity, then by run.
    let mut accounts = Vec::new();
    for place in 0..Popularity::ALL.len() {
        let of_runs = RUNS.iter().zip(runs).zip(all);
        accounts.extend(of_runs.map(|((name, run), all)| account((name, run, place), &all[place])));
    }
    let lookups = grouped(plan.num_lookups() as f64);
    let text = format!(
        "{lookups} each: absent rows, absent columns of present rows, present cells, absent and present prefixes of {} \
         bytes; uniform, then zipfian (θ = {THETA})",
        prefixes.len
    );
    let warnings = runs.iter().flat_map(|run| run.warnings.iter().cloned()).collect();
    let mut report = Report::new(demo.inputs(), plan, &runs[0].stats, text, &accounts, warnings);
    let of_popularity = |(place, accounts): (usize, &[Account<'_>])| {
        let fields = |index: usize| {
            merged(accounts[index].json(), run_json(RUNS[index], &runs[index], &runs[index].series[place]))
        };
        json!({ "popularity": Popularity::ALL[place].name(), "runs": (0..RUNS.len()).map(fields).collect::<Vec<_>>() })
    };
    let kind = runs[1].stats.tables.iter().flat_map(|table| &table.filters).map(|filter| filter.kind.name()).next();
    report.facts.push(("Filters", facts(kind.unwrap_or_default(), runs)));
    let document = json!({
        "theta": THETA,
        "kind": kind,
        "prefix_len": prefixes.len,
        "partition_bytes": PARTITION_BYTES,
        "lookups_per_class": plan.num_lookups(),
        "popularities": accounts.chunks(RUNS.len()).enumerate().map(of_popularity).collect::<Vec<_>>(),
    });
    report.document = merged(std::mem::take(&mut report.document), document);
    let table = |place: usize| {
        let figures = [&[(Popularity::ALL[place].name(), "filter", Text)], &FIGURES[..]].concat();
        ("", rows(&report.document, &format!("/popularities/{place}/runs"), &figures))
    };
    report.tables = (0..Popularity::ALL.len()).map(table).collect();
    report
}

fn facts(kind: &str, runs: &[Run]) -> Vec<String> {
    let bytes = |run: &Run| grouped(run.stats.filter_memory_bytes as f64);
    let mut facts = vec![format!("{kind}, {} bytes", bytes(&runs[1]))];
    if runs[3].stats.filter_memory_bytes > 0 {
        facts.push(format!(
            "the cache is too small to hold every one: {} bytes of those on the disk stay in memory",
            bytes(&runs[3])
        ));
    }
    facts
}

fn run_json(name: &str, run: &Run, series: &[Observed]) -> Value {
    let class = |(name, observed): (&&str, &Observed)| {
        let mean_us = observed.nanos.iter().sum::<u64>() as f64 / observed.nanos.len().max(1) as f64 / 1e3;
        merged(observed.json(), json!({ "class": name, "mean_us": mean_us }))
    };
    json!({
        "filter": name,
        // Filters that stay in memory count towards the cache's limit, and may exceed it.
        "memory_bytes": run.stats.cache.limit_bytes.max(run.stats.filter_memory_bytes),
        "filter_memory_bytes": run.stats.filter_memory_bytes,
        "classes": CLASSES.iter().zip(series).map(class).collect::<Vec<_>>(),
    })
}

fn page(report: &Report) -> Page {
    let bar = |run: &Value| Bar {
        name: run["filter"].as_str().unwrap_or_default().to_owned(),
        value: run["ledger_read_bytes"].as_f64().unwrap_or(0.0) / 1024.0,
    };
    let group = |popularity: &Value| Group {
        title: popularity["popularity"].as_str().unwrap_or_default().to_owned(),
        bars: popularity["runs"].as_array().into_iter().flatten().map(bar).collect(),
    };
    let groups: Vec<_> = report.elements("/popularities").iter().map(group).collect();
    let title = "Bytes read, by where the filters are";
    Page {
        title,
        intro: "The same filters in memory; in partitions of one page, read when they are probed; and on the disk, read \
                as a whole. What is read stays in a cache that is smaller than the filters.",
        headline: html! {},
        plots: vec![Plot {
            id: "bytes",
            title,
            legend: Vec::new(),
            drawing: bars(title, "KiB read", &groups),
            caption: "Data blocks and filter blocks, for all classes of queries together.".to_owned(),
        }],
        tables: Vec::new(),
    }
}
