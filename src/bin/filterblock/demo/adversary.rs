//! A store under attack: rows crafted against its filters, and what a secret seed changes.

use super::ask::{self, Asked, Class, Question};
use super::craft::{self, Crafted, KNOWN_SEED};
use super::data::Dataset;
use super::measure::{NUM_WARM_UP, Plan};
use super::os;
use super::stage::Stage;
use crate::exit::Failure;
use anyhow::Context;
use filterblock::FilterPolicy;
use filterblock::kv::{CacheBypass, RebuildOptions, Stats};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// The seeds that the attacker does not know, one after the other. Fixed, so that a run can be repeated bit for bit;
/// nothing in [`craft`] reads them. A store that strangers read leaves them to chance.
const SECRET_SEEDS: [u64; 2] = [0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b];

/// What the attacked store is asked, in this order. Filters are built again between some of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Absent rows as they come.
    Ordinary,
    /// Each crafted row once.
    Crafted,
    /// The same after the filters were built again with a secret seed.
    CraftedSecret,
    /// Those of them that still cost a read, once more.
    Replay,
    /// The same after the filters were built again with another secret seed.
    ReplayRenewed,
    /// Present cells.
    Present,
}

impl Step {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary_rows",
            Self::Crafted => "crafted_rows",
            Self::CraftedSecret => "crafted_rows_secret_seed",
            Self::Replay => "replay",
            Self::ReplayRenewed => "replay_new_seed",
            Self::Present => "present_cells",
        }
    }

    pub(super) const fn seed(self) -> &'static str {
        match self {
            Self::Ordinary | Self::Crafted => "known",
            Self::CraftedSecret | Self::Replay => "secret",
            Self::ReplayRenewed | Self::Present => "another secret",
        }
    }
}

/// What a series of questions came to in one store.
pub(super) struct Observed {
    pub(super) asked: Asked,
    /// Data blocks read for each question, in order. An attacker sees them as time.
    pub(super) reads: Vec<u64>,
    /// A hash over all answers in order.
    pub(super) answers: u64,
    /// What the system counted, where it does.
    pub(super) os: Option<os::Count>,
}

fn observe<'a>(stage: &Stage, questions: impl Iterator<Item = Question<'a>>) -> anyhow::Result<Observed> {
    let num_reads = || stage.store.storage().read_counts().reads;
    // Each question is fetched after the one before was answered.
    let (mut reads_until, mut answers) = (Vec::new(), 0);
    let questions = questions.inspect(|_| reads_until.push(num_reads()));
    let direct = stage.bypass == CacheBypass::Active;
    let (asked, os) = os::count(direct, || ask::ask(&stage.store, questions, &mut answers));
    reads_until.push(num_reads());
    let reads = reads_until.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Ok(Observed { asked: asked?, reads, answers, os })
}

fn absent(rows: &[Vec<u8>]) -> impl Iterator<Item = Question<'_>> {
    rows.iter().map(|row| Question { row, column: None, expected: None })
}

fn present(data: &Dataset, num: u64) -> impl Iterator<Item = Question<'_>> {
    (0..num).map(|i| Class::PresentCell.question(data, i))
}

/// The store without filters, which the others' answers and reads are compared with.
pub(super) struct Unfiltered {
    stage: Stage,
    num_lookups: u64,
    present: Observed,
}

impl Unfiltered {
    /// Decides, by how fast its disk is, how many questions all stores are asked.
    pub(super) fn set(data: &Dataset, plan: &mut Plan, parent: &Path) -> anyhow::Result<Self> {
        let stage = Stage::set(data, None, parent)?;
        let started = Instant::now();
        warm_up(data, &stage)?;
        let num_lookups = plan.lookups(started.elapsed()) as u64;
        let present = observe(&stage, present(data, num_lookups))?;
        Ok(Self { stage, num_lookups, present })
    }

    pub(super) fn strike(self) -> anyhow::Result<()> {
        self.stage.strike()
    }
}

/// Asked before anything is counted, so that the program's own pages are in memory.
fn warm_up(data: &Dataset, stage: &Stage) -> anyhow::Result<()> {
    for class in Class::ALL {
        ask::ask(&stage.store, (0..NUM_WARM_UP as u64).map(|i| class.question(data, i)), &mut 0)?;
    }
    Ok(())
}

/// What one step came to.
pub(super) struct StepMeasurement {
    pub(super) step: Step,
    pub(super) observed: Observed,
    /// Data-block reads of the store without filters for the same questions.
    pub(super) unfiltered_reads: u64,
    /// Whether the store without filters answered the same.
    pub(super) answers_identical: bool,
}

impl StepMeasurement {
    fn new(step: Step, observed: Observed, unfiltered: &Observed) -> Self {
        let answers_identical = observed.answers == unfiltered.answers;
        let unfiltered_reads = unfiltered.asked.ledger.data_block_reads();
        Self { step, observed, unfiltered_reads, answers_identical }
    }
}

/// What one run came to.
pub(super) struct AdversaryMeasurement {
    pub(super) policy: FilterPolicy,
    pub(super) bypass: CacheBypass,
    pub(super) stats: Stats,
    pub(super) crafted: Crafted,
    /// One for each [`Step`], in that order.
    pub(super) steps: Vec<StepMeasurement>,
    /// The first of two.
    pub(super) rebuild: Rebuild,
    /// Whether the files of the tables are after both as they were before.
    pub(super) tables_untouched: bool,
    /// The whole account, warm-up included, that did not balance.
    pub(super) imbalance: Option<String>,
    pub(super) warnings: Vec<String>,
}

/// What it takes to build all filters again.
pub(super) struct Rebuild {
    /// Length of the files that were written.
    pub(super) bytes: u64,
    pub(super) time: Duration,
}

fn rebuild(stage: &Stage, seed: u64) -> anyhow::Result<Rebuild> {
    let started = Instant::now();
    let report = stage.store.rebuild_filters(&RebuildOptions::new().seed(seed))?;
    let time = started.elapsed();
    let len = |file: &str| Ok(std::fs::metadata(stage.dir.join(file))?.len());
    let bytes = report.tables.iter().map(|table| len(&table.filter_file)).sum::<std::io::Result<u64>>();
    Ok(Rebuild { bytes: bytes.context("cannot look at the new filters")?, time })
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

/// Crafts, loads, attacks, and removes the store again.
pub(super) fn run(
    data: &Dataset,
    unfiltered: &Unfiltered,
    policy: FilterPolicy,
    parent: &Path,
) -> anyhow::Result<AdversaryMeasurement> {
    let crafted = craft::craft(data, policy, unfiltered.num_lookups as usize, parent)?;
    if crafted.rows.is_empty() {
        let tried = crafted.num_tried;
        let message =
            format!("{}: of {tried} absent rows no filter lets one pass; give fewer bits per key", policy.kind());
        return Err(Failure::usage("demo", message).into());
    }
    let stage = Stage::set_as(policy.kind().name(), data, Some(policy), KNOWN_SEED, parent)?;
    warm_up(data, &stage)?;
    let files = || table_files(&stage.dir).context("cannot look at the tables");
    let files_before = files()?;
    let (steps, rebuild) = attack(data, &stage, unfiltered, &crafted)?;
    let store = &stage.store;
    let measurement = AdversaryMeasurement {
        policy,
        bypass: stage.bypass.clone(),
        stats: store.stats(),
        crafted,
        steps,
        rebuild,
        tables_untouched: files()? == files_before,
        imbalance: store.ledger().check().err().map(|imbalance| imbalance.to_string()),
        warnings: store.warnings().iter().map(ToString::to_string).collect(),
    };
    stage.strike()?;
    Ok(measurement)
}

/// All steps, and the first rebuilding of the filters.
fn attack(
    data: &Dataset,
    stage: &Stage,
    unfiltered: &Unfiltered,
    crafted: &Crafted,
) -> anyhow::Result<(Vec<StepMeasurement>, Rebuild)> {
    let of = |rows: &[Vec<u8>]| observe(stage, absent(rows));
    let without = |rows: &[Vec<u8>]| observe(&unfiltered.stage, absent(rows));
    let mut steps = vec![StepMeasurement::new(Step::Ordinary, of(&crafted.ordinary)?, &without(&crafted.ordinary)?)];
    let crafted_without = without(&crafted.rows)?;
    steps.push(StepMeasurement::new(Step::Crafted, of(&crafted.rows)?, &crafted_without));

    let first_rebuild = rebuild(stage, SECRET_SEEDS[0])?;
    let secret = of(&crafted.rows)?;
    let slow = crafted.rows.iter().zip(&secret.reads).filter(|(_, reads)| **reads > 0);
    let slow: Vec<_> = slow.map(|(row, _)| row.clone()).collect();
    steps.push(StepMeasurement::new(Step::CraftedSecret, secret, &crafted_without));
    let slow_without = without(&slow)?;
    steps.push(StepMeasurement::new(Step::Replay, of(&slow)?, &slow_without));

    rebuild(stage, SECRET_SEEDS[1])?;
    steps.push(StepMeasurement::new(Step::ReplayRenewed, of(&slow)?, &slow_without));
    let present = observe(stage, present(data, unfiltered.num_lookups))?;
    steps.push(StepMeasurement::new(Step::Present, present, &unfiltered.present));
    Ok((steps, first_rebuild))
}
