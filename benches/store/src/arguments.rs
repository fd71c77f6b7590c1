//! The command line.

use crate::cells::{CELL_LEN, Order};
use crate::engine::Settings;
use crate::engines::Kind;
use crate::filters::{Filter, Filters, Residence};
use crate::phases::{Phase, Popularity, Subject, num_entries};
use anyhow::{Result, ensure};
use bytesize::ByteSize;
use clap::{Parser, value_parser};
use std::path::PathBuf;

/// Measures filterblock's store beside RocksDB and fjall, each in a process of its own.
#[derive(Parser)]
pub struct Arguments {
    /// Number of cells to write
    #[arg(long = "n", value_name = "N", default_value_t = 10_000_000,
          value_parser = value_parser!(u64).range(1..=1 << 40))]
    pub num_cells: u64,
    /// Rounds; each visits every engine
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u64).range(1..))]
    pub rounds: u64,
    /// Engines to measure [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub engines: Vec<Kind>,
    /// Phases to measure: the first three compare stores, the others filters. A phase that reads comes after a load
    #[arg(long, value_enum, value_delimiter = ',', default_value = "load,read-cached,read-small")]
    pub phases: Vec<Phase>,
    /// Orders of writing, where stores are compared
    #[arg(long, value_enum, value_delimiter = ',', default_value = "random,sequential")]
    pub orders: Vec<Order>,
    /// Threads that get present cells while one thread writes
    #[arg(long, default_value_t = 1)]
    pub readers: usize,
    /// Queries of each kind in a phase that reads; each is made three times where stores are compared
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = value_parser!(u64).range(1..))]
    pub gets: u64,
    /// Filters to compare, as far as an engine has them
    #[arg(long, value_enum, value_delimiter = ',', default_value = "none,bloom,blocked,ribbon,fuse")]
    pub filters: Vec<Filter>,
    /// Where the filters are kept
    #[arg(long, value_enum, value_delimiter = ',', default_value = "memory,half,partitioned,disk")]
    pub residence: Vec<Residence>,
    /// How often each key is queried, where filters are compared
    #[arg(long, value_enum, value_delimiter = ',', default_value = "uniform,zipfian")]
    pub keys: Vec<Popularity>,
    /// Memory for block cache and filters, as 256MiB, where filters are compared; the page cache is emptied again and
    /// again [default: all data is cached]
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<ByteSize>,
    /// Size of a memtable, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = value_parser!(u64).range(1..=1 << 20))]
    pub memtable: u64,
    /// Size of a table, in MiB; level 1 holds four
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = value_parser!(u64).range(1..=1 << 20))]
    pub table: u64,
    /// Size of the block cache during the load, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = value_parser!(u64).range(1..=1 << 20))]
    pub cache: u64,
    /// Directory for the stores; one exists at a time
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
    /// Write the tables to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write the figures to this file as JSON, with those of each round
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Runs one task in this process and prints its figures as JSON
    #[arg(long, value_name = "TASK", hide = true)]
    pub task: Option<String>,
}

impl Arguments {
    pub fn data_bytes(&self) -> u64 {
        self.num_cells * CELL_LEN as u64
    }

    fn engines(&self) -> &[Kind] {
        if self.engines.is_empty() { Kind::ALL } else { &self.engines }
    }

    /// The subjects that are measured of each store; the first one fills it.
    pub fn visits(&self) -> Vec<Vec<Subject>> {
        let mut visits = self.visits_of_stores();
        visits.extend(self.visits_of_filters());
        visits
    }

    fn visits_of_stores(&self) -> Vec<Vec<Subject>> {
        let read = [Phase::ReadCached, Phase::ReadSmall].into_iter().filter(|phase| self.phases.contains(phase));
        let phases: Vec<Phase> = std::iter::once(Phase::Load).chain(read).collect();
        if phases.len() == 1 && !self.phases.contains(&Phase::Load) {
            return Vec::new();
        }
        let stores = self.orders.iter().flat_map(|&order| self.engines().iter().map(move |&kind| (order, kind)));
        let visit = |(order, kind)| {
            let filters = Filters::usual(kind);
            phases.iter().map(|&phase| Subject { phase, kind, order, filters, popularity: None }).collect()
        };
        stores.map(visit).collect()
    }

    fn visits_of_filters(&self) -> Vec<Vec<Subject>> {
        let phases: Vec<Phase> = self.phases.iter().copied().filter(|phase| !phase.compares_stores()).collect();
        let mut visits: Vec<Vec<Subject>> = Vec::new();
        for &kind in self.engines() {
            for filters in self.all_filters().into_iter().filter(|filters| filters.is_offered_by(kind)) {
                let subject =
                    |phase, filters, popularity| Subject { phase, kind, order: Order::Grouped, filters, popularity };
                let fill = subject(Phase::Fill, filters.as_written(), None);
                let at = visits.iter().position(|visit| visit[0] == fill).unwrap_or_else(|| {
                    visits.push(vec![fill]);
                    visits.len() - 1
                });
                for &phase in phases.iter().filter(|phase| filters.matter_to(kind, **phase)) {
                    visits[at].extend(self.keys.iter().map(|&keys| subject(phase, filters, Some(keys))));
                }
            }
        }
        visits.retain(|visit| visit.len() > 1);
        visits
    }

    /// Each filter in each residence; without a filter there is no residence to choose.
    fn all_filters(&self) -> Vec<Filters> {
        let filters = |&filter: &Filter| match filter {
            Filter::None => vec![Filters { filter, residence: Residence::Memory }],
            _ => self.residence.iter().map(|&residence| Filters { filter, residence }).collect(),
        };
        self.filters.iter().flat_map(filters).collect()
    }

    /// # Errors
    /// If the filters leave no memory for data blocks.
    pub fn settings(&self, subject: &Subject) -> Result<Settings> {
        let compares_stores = subject.phase.compares_stores();
        let num_entries = if compares_stores { self.num_cells } else { num_entries(subject.kind, self.num_cells) };
        let filter_bytes = num_entries * u64::from(Settings::BITS_PER_KEY) / 8;
        // Tables and cache entries take more than the data; nothing is ever evicted.
        let all_bytes = 2 * self.data_bytes() + (256 << 20);
        let settings = Settings {
            // Memtables of fixed runs are flushed by calls alone.
            memtable_bytes: if compares_stores { self.memtable << 20 } else { all_bytes },
            cache_bytes: all_bytes,
            table_bytes: self.table << 20,
            level0_tables: if compares_stores { Settings::LEVEL0_TABLES } else { Settings::LEVEL0_TABLES_MAX },
            filter_bytes,
            filters: subject.filters,
            has_prefixes: !compares_stores,
            counts: !compares_stores && subject.phase != Phase::Fill,
        };
        let cache_bytes = match (subject.phase, self.memory) {
            (Phase::Load, _) => self.cache << 20,
            (Phase::ReadSmall, _) => self.data_bytes() / 16,
            (Phase::ReadCached | Phase::Fill, _) | (_, None) => all_bytes,
            (_, Some(memory)) => memory.as_u64().saturating_sub(settings.held_filter_bytes()),
        };
        let held = ByteSize(settings.held_filter_bytes());
        ensure!(
            cache_bytes > 0,
            "filters in memory take {held}: give more --memory, write fewer cells (--n), or leave out --residence memory"
        );
        Ok(Settings { cache_bytes, ..settings })
    }
}
