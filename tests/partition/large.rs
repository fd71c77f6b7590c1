//! A table of many keys with a partitioned filter in a file: the memory that building it takes, the bytes that a lookup
//! reads, and the absent keys that pass. `cargo run --release --example partitioned -- 100000000` takes about a minute
//! and 125 MB on the disk. Fails if more than 64 MiB were used, a lookup read more than 64 KiB, or the rate is off by
//! more than four standard deviations.

use filterblock::partition::{PartitionHandle, PartitionLimit, PartitionedFilter, PartitionedFilterBuilder};
use filterblock::{FilterKind, FilterPolicy, OpenOptions, Query};
use std::cell::Cell;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};

/// What binds the filter to its table, say the number of its file.
const CONTEXT: u64 = 7;
const NUM_LOOKUPS: u64 = 1_000_000;

/// The key of a number below `num_keys`, or one that is absent between it and the next. Ordered as the numbers are.
fn key(number: u64, num_keys: u64, absent: bool) -> [u8; 8] {
    let value = number * (u64::MAX / num_keys) + u64::from(absent);
    std::array::from_fn(|i| (value >> (56 - 8 * i)) as u8)
}

/// The most memory that this process has had so far, in bytes; `None` where the system does not tell.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

fn build(policy: FilterPolicy, num_keys: u64, file: &File) -> Result<Vec<u8>, Box<dyn Error>> {
    let (mut file, mut end) = (BufWriter::new(file), 0);
    let mut store = |block: &[u8]| {
        file.write_all(block)?;
        let offset = end;
        end += block.len() as u64;
        Ok::<_, std::io::Error>(offset)
    };
    let mut builder = PartitionedFilterBuilder::new(&policy, PartitionLimit::default())?;
    builder.set_context(CONTEXT);
    for number in 0..num_keys {
        builder.add_key(&key(number, num_keys, false), &mut store)?;
    }
    let index = builder.finish(&mut store)?;
    file.flush()?;
    Ok(index)
}

fn main() -> Result<(), Box<dyn Error>> {
    let num_keys: u64 = std::env::args().nth(1).map_or(Ok(10_000_000), |argument| argument.parse())?;
    let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    let path = std::env::temp_dir().join(format!("filterblock-partitioned-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    let index = build(policy.clone(), num_keys, &file);
    // Without a name, the file goes with this process, however it ends.
    let (index, removed) = (index?, std::fs::remove_file(&path));
    removed?;
    let peak = peak_memory();

    let filter = PartitionedFilter::open(index, OpenOptions::new().with_context(CONTEXT))?;
    let bytes: u64 = filter.partitions().map(|partition| u64::from(partition.len)).sum();
    println!(
        "{num_keys} keys: {} partitions, {bytes} bytes, and an index of {} bytes",
        filter.partitions().len(),
        filter.as_bytes().len()
    );
    match peak {
        Some(bytes) => println!("build: a peak of {bytes} bytes of memory (at most 64 MiB)"),
        None => println!("build: this system does not tell the peak of memory"),
    }

    let (read, most) = (Cell::new(0u64), Cell::new(0u64));
    let load = |partition: PartitionHandle| {
        let mut block = vec![0; partition.len as usize];
        let mut source = &file;
        source.seek(SeekFrom::Start(partition.offset))?;
        source.read_exact(&mut block)?;
        read.set(read.get() + u64::from(partition.len));
        most.set(most.get().max(partition.len.into()));
        Ok::<_, std::io::Error>(block)
    };
    let (mut passed, mut denied) = (0u64, 0u64);
    for i in 0..NUM_LOOKUPS {
        // Spread over all partitions.
        let number = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % num_keys;
        passed += u64::from(filter.may_match(Query::Key(&key(number, num_keys, true)), load)?);
        denied += u64::from(i % 10 == 0 && !filter.may_match(Query::Key(&key(number, num_keys, false)), load)?);
    }
    let expected_rate = policy.expected_false_positive_rate(num_keys / filter.partitions().len() as u64)?;
    let expected = expected_rate * NUM_LOOKUPS as f64;
    let deviations = (passed as f64 - expected) / (expected * (1.0 - expected_rate)).sqrt();
    println!(
        "lookups: {} bytes on average, {} at most (at most 64 KiB); {denied} stored keys denied",
        read.get() * 10 / (NUM_LOOKUPS * 11),
        most.get()
    );
    println!(
        "absent keys: {passed} of {NUM_LOOKUPS} passed, {expected:.0} expected, {deviations:+.1} standard deviations \
         (at most 4)"
    );
    let is_good =
        denied == 0 && peak.is_none_or(|peak| peak <= 64 << 20) && most.get() <= 64 << 10 && deviations.abs() <= 4.0;
    is_good.then_some(()).ok_or_else(|| "not within the bounds".into())
}
