//! `bench`: times of loads and lookups, SlateDB's own filter beside filter blocks.

use crate::Shape;
use crate::figures::{grouped, median};
use crate::mix;
use anyhow::Result;
use filterblock_slatedb::measure::{Caching, Database, FilterChoice, Location, Reader};
use std::time::{Duration, Instant};

pub struct Plan {
    pub lookups: u64,
    pub rounds: usize,
    pub seconds: u64,
}

/// One filter in one round.
#[derive(Clone, Copy)]
struct Round {
    load_s: f64,
    present_us: f64,
    absent_us: f64,
    mix: mix::Rates,
}

pub async fn run(location: &Location, shape: Shape, filters: &[FilterChoice], plan: &Plan) -> Result<()> {
    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); filters.len()];
    for round in 0..plan.rounds {
        // Each round begins with another filter: none is always the first after a pause.
        for i in (0..filters.len()).map(|i| (i + round) % filters.len()) {
            let here = location.join(&format!("bench-{round}-{i}"));
            rounds[i].push(measure(&here, &filters[i], shape, plan).await?);
        }
    }
    println!("{} rows in {} tables; medians of {} rounds in turns.", grouped(shape.rows), shape.tables, plan.rounds);
    println!("Lookups: everything cached. Mix: 4 tasks, a fifth of the operations writes.\n");
    println!("filters          load s  present us  absent us  mix: puts/s  gets/s");
    for (filters, rounds) in filters.iter().zip(&rounds) {
        let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure).collect());
        println!(
            "{:<15} {:>7.2}  {:>10.2}  {:>9.2}  {:>11}  {:>6}",
            filters.to_string(),
            of(|round| round.load_s),
            of(|round| round.present_us),
            of(|round| round.absent_us),
            grouped(of(|round| round.mix.puts_per_s) as u64),
            grouped(of(|round| round.mix.gets_per_s) as u64),
        );
    }
    Ok(())
}

async fn measure(location: &Location, filters: &FilterChoice, shape: Shape, plan: &Plan) -> Result<Round> {
    let database = Database::at(&location.join("lookups"), filters.clone())?;
    let begun = Instant::now();
    database.fill(shape.rows, shape.tables).await?;
    let load_s = begun.elapsed().as_secs_f64();

    let reader = Reader::open(&database, Caching::Everything).await?;
    // Fills the caches.
    reader.verify_in_parallel(0..shape.rows).await?;
    let lookups = plan.lookups.min(shape.rows);
    let begun = Instant::now();
    reader.verify(0..lookups).await?;
    let present_us = begun.elapsed().as_secs_f64() * 1e6 / lookups as f64;
    let begun = Instant::now();
    reader.look_up_absent(0..plan.lookups).await?;
    let absent_us = begun.elapsed().as_secs_f64() * 1e6 / plan.lookups as f64;
    reader.close().await?;

    let database = Database::at(&location.join("mix"), filters.clone())?;
    let mix = mix::run(&database, Duration::from_secs(plan.seconds)).await?;
    Ok(Round { load_s, present_us, absent_us, mix })
}
