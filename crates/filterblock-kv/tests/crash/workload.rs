//! Workloads made from a seed, and the options of the store that they run on.

use filterblock::{FilterKind, FilterPolicy};
use filterblock_kv::{Durability, FilterResidence, Maintenance, Purpose, RebuildOptions, StoreOptions};
use testkit::random::Random;

/// A number below `end`.
fn less_than(random: &mut Random, end: u64) -> u64 {
    random.next() % end
}

/// Rows that are prefixes of others, the empty one, and bytes above 0x80.
pub(crate) const ROWS: [&[u8]; 8] = [b"", b"a", b"a\0", b"aa", b"ab", b"b", b"b\xff\xfe", b"\xff"];
pub(crate) const COLUMNS: [&[u8]; 3] = [b"", b"\0", b"contents:"];
/// Length of the prefixes in filters of rows' prefixes.
pub(crate) const PREFIX_LEN: u16 = 1;

/// A write of a cell, or its deletion.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) row: &'static [u8],
    pub(crate) column: &'static [u8],
    pub(crate) value: Option<Vec<u8>>,
}

/// A batch of writes.
pub(crate) type Batch = Vec<Write>;

/// A step of a workload.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Write(Batch),
    Sync,
    Flush,
    Compact,
    Settle,
    RebuildFilters(Box<RebuildOptions>),
    /// Asks for everything.
    Read,
    /// Takes a snapshot and keeps it.
    Hold,
    /// Reads the snapshot and drops it.
    Release,
    /// Closes the store, or drops it, and opens it again.
    Reopen {
        close: bool,
    },
}

impl Step {
    /// For messages: without the values.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Write(batch) => format!("write of {} cells", batch.len()),
            Self::RebuildFilters(_) => "rebuild filters".to_owned(),
            other => format!("{other:?}"),
        }
    }
}

fn write(random: &mut Random) -> Write {
    let row = ROWS[less_than(random, ROWS.len() as u64) as usize];
    let column = COLUMNS[less_than(random, COLUMNS.len() as u64) as usize];
    // Small ones, around a page, and of several pages. Random bytes, so that no two long ones are the same.
    let len = match less_than(random, 20) {
        0..12 => less_than(random, 50),
        12..17 => 300 + less_than(random, 900),
        17..19 => 3900 + less_than(random, 400),
        _ => 8000 + less_than(random, 1500),
    };
    let value = (less_than(random, 4) > 0).then(|| random.bytes(len));
    Write { row, column, value }
}

fn policy(random: &mut Random) -> FilterPolicy {
    let kind = FilterKind::ALL[less_than(random, FilterKind::ALL.len() as u64) as usize];
    FilterPolicy::with_bits_per_key(kind, 8.0 + less_than(random, 5) as f64).expect("a policy")
}

fn step(random: &mut Random) -> Step {
    match less_than(random, 100) {
        0..62 => Step::Write(vec![write(random)]),
        62..74 => Step::Write((0..2 + less_than(random, 5)).map(|_| write(random)).collect()),
        74..80 => Step::Sync,
        80..85 => Step::Flush,
        85..87 => Step::Compact,
        87..89 => Step::Settle,
        89..91 => Step::RebuildFilters(Box::new(rebuild_options(random))),
        91..93 => Step::Hold,
        93..95 => Step::Release,
        _ => Step::Reopen { close: less_than(random, 2) == 0 },
    }
}

/// A workload of `num_steps` steps.
pub(crate) fn steps(seed: u64, num_steps: usize) -> Vec<Step> {
    let mut random = Random::new(seed);
    (0..num_steps).map(|_| step(&mut random)).collect()
}

/// A short workload with one step of every kind, in an order that the seed decides, and writes between.
pub(crate) fn steps_of_every_kind(seed: u64) -> Vec<Step> {
    let random = &mut Random::new(seed);
    let rebuild = Step::RebuildFilters(Box::new(rebuild_options(random)));
    let reopen = Step::Reopen { close: less_than(random, 2) == 0 };
    let mut rare = vec![Step::Sync, Step::Flush, Step::Compact, Step::Read, rebuild, reopen];
    let mut steps = Vec::new();
    while !rare.is_empty() {
        for _ in 0..less_than(random, 3) {
            steps.push(Step::Write((0..1 + less_than(random, 3)).map(|_| write(random)).collect()));
        }
        steps.push(rare.swap_remove(less_than(random, rare.len() as u64) as usize));
    }
    steps.push(Step::Write(vec![write(random)]));
    steps
}

fn rebuild_options(random: &mut Random) -> RebuildOptions {
    let policy = policy(random);
    RebuildOptions::new().with_filter(Purpose::Row, policy.clone()).with_filter(Purpose::RowColumn, policy)
}

/// Options of a store so small that a few writes fill it, so that it is flushed and compacted through several levels
/// all the time.
pub(crate) fn options(seed: u64, durability: Durability) -> StoreOptions {
    let random = &mut Random::new(seed ^ 0x6f70_7469_6f6e_7321);
    let residence = [FilterResidence::Pinned, FilterResidence::Cached][less_than(random, 2) as usize];
    let mut options = StoreOptions::without_filters()
        .with_filter(Purpose::Row, policy(random))
        .with_filter(Purpose::RowColumn, policy(random))
        .with_seed(random.next())
        .with_durability(durability)
        .with_maintenance(Maintenance::Inline { seed: random.next() })
        .with_max_memtable_bytes(3000 + less_than(random, 5000) as usize)
        .with_max_level0_tables(2)
        .with_level_bytes(30_000, 2)
        .with_max_table_bytes(6000 + less_than(random, 8000))
        .with_filter_residence(residence)
        .with_cache_bytes(less_than(random, 2) * 40_000);
    if less_than(random, 2) == 0 {
        options = options.with_prefix_filter(PREFIX_LEN, policy(random));
    }
    if less_than(random, 3) == 0 {
        options = options.with_filter_budget_bytes(2000);
    }
    options
}
