//! The adversary workload: rows crafted against a store's filters, and the effect of a secret seed or key.

use super::ask::{self, Class, Observed, Query};
use super::craft::{self, Crafted, KNOWN_SEED};
use super::data::Dataset;
use super::figures::Format::{Bits, Count, Micros, Rate, Seconds, Share, Text};
use super::figures::{Figure, grouped, rows};
use super::measure::{NUM_WARM_UP, Plan};
use super::page::{Page, Plot};
use super::plot::bars::{Bar, Group, bars};
use super::report::{Account, Report, bits_per_key, merged};
use super::session::Demo;
use super::stage::{Stage, stopped};
use crate::exit::Failure;
use crate::output::{hex, rate};
use filterblock::kv::{RebuildOptions, Stats};
use filterblock::ledger::Tally;
use filterblock::{FilterPolicy, KeyHasher};
use maud::html;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

/// The seeds that the attacker does not know, one after the other. Fixed, so that a run can be repeated bit for bit;
/// nothing in [`craft`] reads them. A store with untrusted readers should draw them at random.
const SECRET_SEEDS: [u64; 2] = [0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b];

/// The secret key of the store that has one; fixed for the same reason. None of its files contains it.
const SECRET_KEY: [u8; 16] = *b"only the store's";

/// The steps of the attack, each with the seed of the filters from the attacker's view: ordinary absent rows;
/// the crafted rows, each once; the same after the filters were rebuilt with a secret seed; those of them that still
/// cost a read, once more; the same after another rebuild; present cells; and the crafted rows in a store whose filters
/// are hashed under a secret key, loaded alike.
const STEPS: [(&str, &str); 7] = [
    ("ordinary_rows", "known"),
    ("crafted_rows", "known"),
    ("crafted_rows_secret_seed", "secret"),
    ("replay", "secret"),
    ("replay_new_seed", "another secret"),
    ("present_cells", "another secret"),
    ("crafted_rows_secret_key", "none: a secret key"),
];

const FIGURES: [Figure<'_>; 29] = [
    ("", "filter", Text),
    ("filter size, bits per key", "bits_per_key", Bits),
    ("absent rows tried on the attacker's copy", "candidates_tried", Count),
    ("  time", "crafting_seconds", Seconds),
    ("  crafted rows: those that a filter passes", "crafted_rows", Count),
    ("  tried for each", "candidates_per_crafted_row", Count),
    ("seed known: reads for ordinary absent rows", "steps/0/data_block_reads", Count),
    ("  reads for as many crafted rows", "steps/1/data_block_reads", Count),
    ("  ordinary rows that cost a read", "steps/0/lookups_with_reads_share", Share),
    ("  crafted rows that cost a read", "steps/1/lookups_with_reads_share", Share),
    ("filters rebuilt, data untouched: time", "rebuild_seconds", Seconds),
    ("  bytes written", "rebuild_bytes", Count),
    ("secret seed: reads for the crafted rows", "steps/2/data_block_reads", Count),
    ("  crafted rows that cost a read", "steps/2/lookups_with_reads_share", Share),
    ("  false-positive rate observed", "steps/2/observed_fpr", Rate),
    ("  rate predicted from the filters' bits", "steps/2/predicted_fpr", Rate),
    ("  four standard errors", "steps/2/observed_fpr_four_sigma", Rate),
    ("replay: rows that cost a read, queried again", "steps/3/lookups", Count),
    ("  that cost a read", "steps/3/lookups_with_reads_share", Share),
    ("  with another secret seed", "steps/4/lookups_with_reads_share", Share),
    ("secret key: reads for the crafted rows", "steps/6/data_block_reads", Count),
    ("  crafted rows that cost a read", "steps/6/lookups_with_reads_share", Share),
    ("  false-positive rate observed", "steps/6/observed_fpr", Rate),
    ("  rate predicted from the filters' bits", "steps/6/predicted_fpr", Rate),
    ("time of a lookup, p50: ordinary absent row", "steps/0/p50_us", Micros),
    ("  crafted row, seed known", "steps/1/p50_us", Micros),
    ("  crafted row, secret seed", "steps/2/p50_us", Micros),
    ("bytes read by the store's ledger", "ledger_read_bytes", Count),
    ("  by the operating system's count", "os_read_bytes", Count),
];

/// The store without filters, which the others' answers and reads are compared with.
struct Unfiltered {
    stage: Stage,
    num_lookups: u64,
    present: Observed,
}

impl Unfiltered {
    fn set(data: &Dataset, plan: &mut Plan, parent: &Path) -> anyhow::Result<Self> {
        let stage = Stage::set(data, None, parent)?;
        let started = Instant::now();
        warm_up(data, &stage)?;
        let num_lookups = plan.decide(started.elapsed());
        let present = present(&stage, data, num_lookups)?;
        Ok(Self { stage, num_lookups, present })
    }
}

fn warm_up(data: &Dataset, stage: &Stage) -> anyhow::Result<()> {
    for class in Class::ALL {
        ask::ask(&stage.store, (0..NUM_WARM_UP).map(|i| class.query(data, i)))?;
    }
    Ok(())
}

fn present(stage: &Stage, data: &Dataset, num: u64) -> anyhow::Result<Observed> {
    Ok(ask::ask(&stage.store, (0..num).map(|i| Class::PresentCell.query(data, i)))?)
}

fn absent(stage: &Stage, rows: &[Vec<u8>]) -> anyhow::Result<Observed> {
    Ok(ask::ask(&stage.store, rows.iter().map(|row| Query::absent_row(row)))?)
}

/// The results of one attack.
struct Attack {
    filter: &'static str,
    stats: Stats,
    crafted: Crafted,
    /// For each of [`STEPS`] the queries on this store, and the same on the store without filters.
    steps: Vec<[Observed; 2]>,
    /// The first of two.
    rebuild: Rebuild,
    /// Whether the files of the tables are the same after both rebuilds.
    tables_untouched: bool,
    /// Whether the whole ledger of both stores, warm-up included, is consistent.
    balanced: bool,
    warnings: Vec<String>,
}

impl Attack {
    /// Crafts rows, loads a store, attacks it, and removes it again.
    fn run(data: &Dataset, unfiltered: &Unfiltered, policy: FilterPolicy, parent: &Path) -> anyhow::Result<Self> {
        let filter = policy.kind_name();
        let crafted = craft::craft(data, policy, unfiltered.num_lookups as usize, parent)?;
        if crafted.rows.is_empty() {
            let message = format!(
                "{filter}: of {} absent rows no filter lets one pass; give fewer bits per key",
                crafted.num_tried
            );
            return Err(Failure::usage("demo", message).into());
        }
        let stage = Stage::set_as(filter, data, Some(policy), KeyHasher::new(KNOWN_SEED), parent)?;
        warm_up(data, &stage)?;
        let files =
            || table_files(&stage.dir).map_err(|error| stopped(&stage.dir, "cannot look at the tables", &error));
        let files_before = files()?;
        let (mut steps, rebuild) = steps(data, &stage, unfiltered, &crafted)?;
        let keyed = Stage::set_as("keyed", data, Some(policy), KeyHasher::keyed(SECRET_KEY), parent)?;
        steps.push([absent(&keyed, &crafted.rows)?, absent(&unfiltered.stage, &crafted.rows)?]);
        let balanced = [&stage, &keyed].iter().all(|stage| stage.store.ledger().check().is_ok());
        keyed.strike()?;
        let attack = Self {
            filter,
            stats: stage.store.stats(),
            crafted,
            steps,
            rebuild,
            tables_untouched: files()? == files_before,
            balanced,
            warnings: stage.store.warnings().iter().map(ToString::to_string).collect(),
        };
        stage.strike()?;
        Ok(attack)
    }

    fn json(&self, accounts: &[Account<'_>]) -> Value {
        let num_crafted = self.crafted.rows.len();
        let sum = Observed::sum(self.steps.iter().map(|[observed, _]| observed));
        json!({
            "filter": self.filter,
            "bits_per_key": bits_per_key(&self.stats),
            "candidates_tried": self.crafted.num_tried,
            "candidates_passed": self.crafted.num_passed,
            "candidates_per_crafted_row": self.crafted.num_tried as f64 / num_crafted as f64,
            "crafting_seconds": self.crafted.time.as_secs_f64(),
            "crafted_rows": num_crafted,
            "rebuild_bytes": self.rebuild.bytes,
            "rebuild_seconds": self.rebuild.time.as_secs_f64(),
            "tables_untouched": self.tables_untouched,
            "ledger_read_bytes": sum.ledger.data_block_bytes(),
            "os_read_bytes": sum.os.map(|os| os.bytes),
            "steps": STEPS.iter().zip(accounts).map(step_json).collect::<Vec<_>>(),
        })
    }

    /// The properties of an attack that do not hold: with the seed known, or once slow rows have been observed, each
    /// of their lookups costs a read; otherwise filters have the rate that they predict.
    fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        if !self.tables_untouched {
            failures.push(format!("{}: rebuilding the filters has changed a table", self.filter));
        }
        for ((step, _), [observed, _]) in STEPS.iter().zip(&self.steps) {
            let (name, lookups, costly) =
                (format!("{}, {step}", self.filter), observed.reads.len(), num_costly(observed));
            let total = observed.ledger.total();
            match *step {
                "crafted_rows" | "replay" if costly < lookups => {
                    failures.push(format!("{name}: only {costly} of {lookups} rows cost a read"));
                }
                "ordinary_rows" | "crafted_rows_secret_seed" | "crafted_rows_secret_key" if !agrees(&total) => {
                    failures.push(format!(
                        "{name}: a false-positive rate of {}, {} predicted: not within four standard errors",
                        rate(total.observed_fpr().unwrap_or_default()),
                        rate(total.predicted_fpr().unwrap_or_default())
                    ));
                }
                // A cell takes one read; the slow rows are too few to compare a rate.
                _ => {}
            }
        }
        failures
    }
}

/// Length and last change of every table's file.
fn table_files(dir: &Path) -> std::io::Result<BTreeMap<OsString, (u64, SystemTime)>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "sst") {
            let metadata = entry.metadata()?;
            files.insert(entry.file_name(), (metadata.len(), metadata.modified()?));
        }
    }
    Ok(files)
}

/// The cost of rebuilding all filters.
struct Rebuild {
    /// Length of the new files.
    bytes: u64,
    time: Duration,
}

fn rebuild(stage: &Stage, seed: u64) -> anyhow::Result<Rebuild> {
    let started = Instant::now();
    let report = stage.store.rebuild_filters(&RebuildOptions::new().seed(seed))?;
    let time = started.elapsed();
    let len = |file: &str| Ok(std::fs::metadata(stage.dir.join(file))?.len());
    let bytes = report.tables.iter().map(|table| len(&table.filter_file)).sum::<std::io::Result<u64>>();
    let bytes = bytes.map_err(|error| stopped(&stage.dir, "cannot look at the new filters", &error))?;
    Ok(Rebuild { bytes, time })
}

/// All steps, and the first rebuild.
fn steps(
    data: &Dataset,
    stage: &Stage,
    unfiltered: &Unfiltered,
    crafted: &Crafted,
) -> anyhow::Result<(Vec<[Observed; 2]>, Rebuild)> {
    let both = |rows: &[Vec<u8>]| Ok::<_, anyhow::Error>([absent(stage, rows)?, absent(&unfiltered.stage, rows)?]);
    let mut steps = vec![both(&crafted.ordinary)?, both(&crafted.rows)?];
    let first_rebuild = rebuild(stage, SECRET_SEEDS[0])?;
    let secret = both(&crafted.rows)?;
    let slow = crafted.rows.iter().zip(&secret[0].reads).filter(|(_, reads)| **reads > 0);
    let slow: Vec<_> = slow.map(|(row, _)| row.clone()).collect();
    steps.extend([secret, both(&slow)?]);
    rebuild(stage, SECRET_SEEDS[1])?;
    let present = present(stage, data, unfiltered.num_lookups)?;
    steps.extend([both(&slow)?, [present, unfiltered.present.clone()]]);
    Ok((steps, first_rebuild))
}

fn num_costly(observed: &Observed) -> usize {
    observed.reads.iter().filter(|reads| **reads > 0).count()
}

/// Four standard errors of a false-positive rate, binomial: each row is looked up once.
fn four_sigma(tally: &Tally) -> Option<f64> {
    let rate = tally.predicted_fpr()?;
    Some(4.0 * (rate * (1.0 - rate) / tally.absent_asked() as f64).sqrt())
}

/// Whether the observed rate is the predicted one, within four standard errors.
fn agrees(tally: &Tally) -> bool {
    match (tally.observed_fpr(), tally.predicted_fpr(), four_sigma(tally)) {
        (Some(observed), Some(predicted), Some(four_sigma)) => (observed - predicted).abs() <= four_sigma,
        _ => false,
    }
}

fn step_json((&(step, seed), account): (&(&str, &str), &Account<'_>)) -> Value {
    let (observed, lookups) = (account.observed, account.observed.reads.len());
    let fields = json!({
        "step": step,
        "seed": seed,
        "lookups_with_reads": num_costly(observed),
        "lookups_with_reads_share": (lookups > 0).then(|| num_costly(observed) as f64 / lookups as f64),
        "observed_fpr_four_sigma": four_sigma(&observed.ledger.total()),
    });
    merged(fields, account.json())
}

pub(super) fn run(demo: &Demo<'_>) -> anyhow::Result<ExitCode> {
    let (data, parent) = (&demo.data, demo.place.path());
    let mut plan = Plan::new(demo.args.lookups);
    let mut unfiltered = None;
    let attacks = demo.each_policy(|policy| {
        let Some(policy) = policy else {
            unfiltered = Some(Unfiltered::set(data, &mut plan, parent)?);
            return Ok(None);
        };
        // The run without filters is the first.
        unfiltered.as_ref().map(|unfiltered| Attack::run(data, unfiltered, policy, parent)).transpose()
    })?;
    unfiltered.map_or(Ok(()), |unfiltered| unfiltered.stage.strike())?;
    let attacks: Vec<Attack> = attacks.into_iter().flatten().collect();
    let mut accounts = Vec::new();
    for attack in &attacks {
        accounts.extend(STEPS.iter().zip(&attack.steps).map(|((step, _), [observed, unfiltered])| Account {
            name: format!("{}, {step}", attack.filter),
            observed,
            unfiltered,
            balanced: attack.balanced,
        }));
    }
    let queries = format!(
        "{} absent rows crafted against each kind of filter, as many ordinary ones, as many present cells",
        grouped(plan.num_lookups() as f64)
    );
    let warnings = attacks.iter().flat_map(|attack| attack.warnings.iter().cloned()).collect();
    let mut report = Report::new(demo.inputs(), &plan, &attacks[0].stats, queries, &accounts, warnings);
    let attacker = [
        format!("knows what is in each table, and the seed of its filters: {KNOWN_SEED}, as a default would be"),
        "tries plausible absent rows on a copy of the store, and keeps those that a filter passes".to_owned(),
    ];
    report.facts.push(("Attacker", attacker.to_vec()));
    report.failures.extend(attacks.iter().flat_map(Attack::failures));
    report.document["crafted_rows_max"] = plan.num_lookups().into();
    report.document["seed_known"] = hex(KNOWN_SEED).into();
    let of_attacks = attacks.iter().zip(accounts.chunks(STEPS.len()));
    report.document["runs"] = of_attacks.map(|(attack, accounts)| attack.json(accounts)).collect();
    report.tables = vec![("All kinds", rows(&report.document, "/runs", &FIGURES))];
    demo.publish(&report, || Ok(page(&report)))
}

fn page(report: &Report) -> Page {
    let group = |(i, title): (usize, &str)| {
        let bar = |run: &Value| Bar {
            name: run["filter"].as_str().unwrap_or_default().to_owned(),
            value: run["steps"][i]["data_block_reads"].as_f64().unwrap_or(0.0),
        };
        Group { title: title.to_owned(), bars: report.elements("/runs").iter().map(bar).collect() }
    };
    let steps = [(0, "ordinary rows, seed known"), (1, "crafted rows, seed known"), (2, "the same, secret seed")];
    let groups: Vec<_> = steps.into_iter().chain([(6, "the same, secret key")]).map(group).collect();
    let title = "Data-block reads for absent rows";
    let plot = Plot {
        id: "reads",
        title,
        legend: Vec::new(),
        drawing: bars(title, "data-block reads", &groups),
        caption:
            "As many ordinary rows as crafted ones, each looked up once. A crafted row costs a read as long as the \
                  filters are those that it was crafted against."
                .to_owned(),
    };
    Page {
        title: "Filters under attack",
        intro: "An attacker who knows the data and the seed of the filters looks up absent rows that the filters pass. \
                Then the filters are rebuilt with a seed that the attacker does not know. The same queries give the \
                same counts on every machine; times are this machine's.",
        headline: html! {},
        plots: vec![plot],
        tables: Vec::new(),
    }
}
