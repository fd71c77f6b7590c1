//! `filterblock demo`: the same store with and without filters, given the same queries, with its reads counted by the
//! operating system.

mod adversary;
mod args;
mod ask;
mod craft;
mod data;
mod elastic;
mod figures;
mod machine;
mod measure;
mod os;
mod page;
mod place;
mod plot;
mod prefixes;
mod report;
mod residence;
mod session;
mod stage;
mod uniform;
mod webtable;
mod zipfian;

pub(crate) use args::Args;

use args::Workload;
use filterblock::kv;
use session::Demo;
use std::process::ExitCode;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let demo = Demo::new(args)?;
    let result = match args.workload {
        Workload::Uniform => uniform::run(&demo),
        Workload::Zipfian => zipfian::run(&demo),
        Workload::Adversary => adversary::run(&demo),
        Workload::Elastic => elastic::run(&demo),
        Workload::Residence => residence::run(&demo),
    };
    result.map_err(|error| match error.downcast_ref::<kv::Error>() {
        Some(error) => stage::failure(demo.place.path(), error).into(),
        None => error,
    })
}
