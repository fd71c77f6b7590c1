//! The mix of reads and writes of SlateDB's benchmark tool, with that tool's defaults: four tasks, one operation in
//! five a put, values of 1024 bytes, keys of 16 from a fixed set of 100 000, 95 % of the gets for keys that were put.
//!
//! The tool itself is in no package registry and takes no filter policy.

use anyhow::Result;
use filterblock_slatedb::measure::{Database, absent_key};
use slatedb::Db;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TASKS: u64 = 4;
const KEYS: u64 = 100_000;
const PUTS_PERCENT: u64 = 20;
const HITS_PERCENT: u64 = 95;
const VALUE_LEN: usize = 1024;

/// Operations in a second.
#[derive(Clone, Copy)]
pub struct Rates {
    pub puts_per_s: f64,
    pub gets_per_s: f64,
}

pub async fn run(database: &Database, duration: Duration) -> Result<Rates> {
    let db = Arc::new(database.open().await?);
    let begun = Instant::now();
    let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(operate(db.clone(), task, begun + duration))).collect();
    let (mut puts, mut gets) = (0, 0);
    for task in tasks {
        let (more_puts, more_gets) = task.await??;
        (puts, gets) = (puts + more_puts, gets + more_gets);
    }
    let seconds = begun.elapsed().as_secs_f64();
    db.close().await?;
    Ok(Rates { puts_per_s: puts as f64 / seconds, gets_per_s: gets as f64 / seconds })
}

/// Puts and gets of one task until `end`.
async fn operate(db: Arc<Db>, task: u64, end: Instant) -> Result<(u64, u64)> {
    let mut random = Random(task + 1);
    let (mut used, mut gets) = (Vec::new(), 0);
    let mut value = vec![0; VALUE_LEN];
    while Instant::now() < end {
        if random.below(100) < PUTS_PERCENT {
            let key = random.below(KEYS);
            value.fill_with(|| random.next() as u8);
            db.put(absent_key(key), &value).await?;
            used.push(key);
        } else {
            let is_hit = random.below(100) < HITS_PERCENT && !used.is_empty();
            let key = if is_hit { used[random.below(used.len() as u64) as usize] } else { random.below(KEYS) };
            db.get(absent_key(key)).await?;
            gets += 1;
        }
    }
    Ok((used.len() as u64, gets))
}

/// xorshift64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
