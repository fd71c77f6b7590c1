//! How a storage engine embeds filter blocks: a table writer that hands its keys over, tables that hold their opened
//! filter, and a lookup that skips the tables which cannot have the key.
//!
//! ```sh
//! cargo run --example table_writer
//! ```

use filterblock::{AlignedBytes, BuildError, FilterBlock, FilterBlockBuilder, FilterPolicy, OpenOptions, probe_tables};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A table of an engine: here its keys lie in memory, and each search of them stands for a read of the disk.
struct Table {
    keys: BTreeSet<Vec<u8>>,
    /// None where the filter cannot be used: every answer is then *maybe*.
    filter: Option<FilterBlock<AlignedBytes>>,
}

/// Writes tables, each with its filter at the end of the file.
struct TableWriter {
    builder: FilterBlockBuilder,
    keys: BTreeSet<Vec<u8>>,
}

impl TableWriter {
    fn add(&mut self, key: &[u8]) {
        self.builder.add_key(key);
        self.keys.insert(key.to_vec());
    }

    /// `file` stands for what was written of the table; the filter is bound to its place in it.
    fn finish(&mut self, policy: &FilterPolicy, file: &mut Vec<u8>) -> Result<Table, BuildError> {
        let offset = file.len();
        let len = self.builder.context(offset as u64).finish_into(file)?;
        let block = AlignedBytes::copy_of(&file[offset..][..len]);
        let options = OpenOptions::new().context(offset as u64).expect_hasher(policy.hasher());
        let filter = options.open_owned(block).map_err(|error| eprintln!("filter ignored: {error}")).ok();
        Ok(Table { keys: std::mem::take(&mut self.keys), filter })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy: FilterPolicy = "blocked:10,seed=7".parse()?;
    let mut writer = TableWriter { builder: FilterBlockBuilder::new(policy), keys: BTreeSet::new() };
    let (mut file, mut tables) = (Vec::new(), Vec::new());
    for table in 0..10u32 {
        (0..1_000).for_each(|i| writer.add(format!("key {i} of table {table}").as_bytes()));
        tables.push(Arc::new(writer.finish(&policy, &mut file)?));
    }

    let (mut num_reads, mut num_avoided) = (0, 0);
    for i in 0..1_000 {
        let key = format!("key {i} of table 3");
        let hash = policy.hasher().hash(key.as_bytes());
        let mut answers = vec![true; tables.len()];
        // Where a filter is missing, all are asked one by one.
        match tables.iter().map(|table| table.filter.as_ref()).collect::<Option<Vec<_>>>() {
            Some(filters) => probe_tables(filters, hash, &mut answers),
            None => tables.iter().zip(&mut answers).for_each(|(table, answer)| {
                *answer = table.filter.as_ref().is_none_or(|filter| filter.may_contain_hash(hash));
            }),
        }
        let mut found = false;
        for (table, may_contain) in tables.iter().zip(answers) {
            if may_contain {
                num_reads += 1;
                found |= table.keys.contains(key.as_bytes());
            } else {
                num_avoided += 1;
            }
        }
        assert!(found, "{key} is stored");
    }
    println!("{num_reads} tables read, {num_avoided} reads avoided");
    Ok(())
}
