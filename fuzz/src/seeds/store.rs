//! Seeds of the targets that take a store's files, from stores that the library has written.

use super::Seeds;
use crate::pages::{PAGE_LEN, deflate};
use crate::records::{Edit, batch, disassemble, edits, payloads};
use crate::sample::{files, open, options, sample};
use crate::sim::SimStorage;
use crate::targets::LOG_NUMBER;
use filterblock::range::RangePolicy;
use filterblock::{FilterKind, FilterPolicy};
use filterblock_kv::{Purpose, RebuildOptions, Store, StoreOptions};
use std::error::Error;
use std::sync::Arc;

type Result = std::result::Result<(), Box<dyn Error>>;

/// The bit of `table`'s modes by which a store is used further.
const AND_ON: u8 = 128;

pub(super) fn add(seeds: &mut Seeds) -> Result {
    tables(seeds)?;
    filters(seeds)?;
    logs(seeds)?;
    manifests(seeds);
    Ok(())
}

/// The pages of a file whose checksums will be repaired: without that at the end of the footer, which keeps the seed
/// small.
fn unsealed(file: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let crc_at = file.len() - 4;
    file[crc_at..].fill(0);
    deflate(&file)
}

fn tables(seeds: &mut Seeds) -> Result {
    let sample = sample();
    let deep = &sample.files[&sample.deep.file];
    let shallow = &sample.files[&format!("{:06}.sst", sample.shallow.number)];
    seeds.add("table", "whole-deep", &[&[0], &deflate(deep)[..]].concat());
    seeds.add("table", "whole-shallow", &[&[2], &deflate(shallow)[..]].concat());
    for (name, mode, file) in [("deep", 0u8, deep), ("shallow", 2, shallow)] {
        seeds.add("table", &format!("whole-{name}-and-on"), &[&[AND_ON | mode], &deflate(file)[..]].concat());
        seeds.add("table", &format!("forged-{name}"), &[&[1], &unsealed(file)[..]].concat());
    }
    let cut = &shallow[..shallow.len() - PAGE_LEN / 2];
    seeds.add("table", "whole-cut", &[&[2], &deflate(cut)[..]].concat());
    for (name, options, write) in small_tables()? {
        let file = one_table(options, write)?;
        for (repair, mode) in [("all", 1), ("no-filters", 1 | 2), ("no-data", 1 | 4), ("and-on", 1 | AND_ON | 1 << 5)] {
            seeds.add("table", &format!("{name}-{repair}"), &[&[mode], &unsealed(&file)[..]].concat());
        }
    }
    Ok(())
}

type Write = fn(&Store) -> std::result::Result<(), filterblock_kv::Error>;
type Shape = (&'static str, StoreOptions, Write);

/// Tables of different shapes.
fn small_tables() -> std::result::Result<Vec<Shape>, Box<dyn Error>> {
    let blocked = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0)?;
    let golomb = FilterPolicy::with_false_positive_rate(FilterKind::Golomb, 0.01)?;
    let bare = options()
        .with_filter(Purpose::Row, None)
        .with_filter(Purpose::RowColumn, None)
        .with_filter(Purpose::Prefix, None)
        .with_range_filter(None);
    let one: Write = |store| store.put(b"row", b"column", b"value");
    let tombstones: Write = |store| (0..5u8).try_for_each(|i| store.delete(&[i], b"column"));
    let columns: Write = |store| (0..9u8).try_for_each(|i| store.put(b"the same row", &[i], &[i; 9]));
    // Rows of every length up to the prefixes' and beyond; the empty row and column.
    let lengths: Write = |store| (0..6usize).try_for_each(|len| store.put(&b"prefix"[..len], b"", b""));
    // Three blocks.
    let blocks: Write = |store| (0..9u8).try_for_each(|i| store.put(&[b'r', i], b"", &[0x80 | i; 1200][..1150]));
    let near: Write = |store| (0..3u8).try_for_each(|i| store.put(&[b'r', i], b"", &[i; 8]));
    // Filters of several partitions each, of entries of several lengths.
    let many: Write = |store| (0..400u32).try_for_each(|i| store.put(&i.to_string().into_bytes(), b"", b""));
    Ok(vec![
        ("one", options(), one),
        ("bare", bare.clone(), near),
        ("tombstones", options(), tombstones),
        ("columns", bare.clone().with_filter(Purpose::RowColumn, golomb), columns),
        ("lengths", bare.clone().with_prefix_filter(3, blocked.clone()), lengths),
        ("blocks", bare.clone().with_filter(Purpose::Row, blocked), blocks),
        ("ranges", bare.clone().with_range_filter(RangePolicy::with_bits_per_key(12.0)?), blocks),
        ("integers", bare.with_range_filter(RangePolicy::with_false_positive_rate(0.01, 16)?), near),
        ("partitions", options().with_partition_bytes(256), many),
    ])
}

/// The table of a store of one.
fn one_table(options: StoreOptions, write: Write) -> std::result::Result<Vec<u8>, Box<dyn Error>> {
    let storage = SimStorage::new();
    let store = Store::open(Arc::new(storage.clone()), options)?;
    write(&store)?;
    store.flush()?;
    store.close()?;
    let mut tables = files(&storage).into_iter().filter(|(name, _)| name.ends_with(".sst"));
    Ok(tables.next().ok_or("no table")?.1)
}

fn filters(seeds: &mut Seeds) -> Result {
    let sample = sample();
    let file = &sample.files[&sample.shallow.file];
    for (name, mode) in [("asked", 0u8), ("crowded", 4), ("rebuilt", 8), ("verified", 0xe0)] {
        seeds.add("filters", &format!("whole-{name}"), &[&[mode], &deflate(file)[..]].concat());
        seeds.add("filters", &format!("forged-{name}"), &[&[mode | 1], &unsealed(file)[..]].concat());
    }
    seeds.add("filters", "footer-only", &[&[3], &unsealed(&file[file.len() - PAGE_LEN..])[..]].concat());
    seeds.add("filters", "none-at-all", &[0]);
    for &kind in FilterKind::ALL {
        for purpose in Purpose::OF_KEYS {
            let file = rebuilt(kind, purpose)?;
            let name = format!("{kind}-{}", purpose.name().replace('+', "-"));
            seeds.add("filters", &name, &[&[1], &unsealed(&file)[..]].concat());
        }
    }
    let (cut, integers) = (RangePolicy::with_bits_per_key(9.0)?, RangePolicy::with_false_positive_rate(0.01, 16)?);
    for (name, policy) in [("cut", cut), ("integers", integers)] {
        let file = rebuilt_with(|bare| bare.with_range_filter(policy))?;
        seeds.add("filters", &format!("range-{name}"), &[&[1], &unsealed(&file)[..]].concat());
    }
    Ok(())
}

/// A file with a filter of one purpose, as if it were the sample's.
fn rebuilt(kind: FilterKind, purpose: Purpose) -> std::result::Result<Vec<u8>, Box<dyn Error>> {
    let policy = FilterPolicy::with_bits_per_key(kind, 9.0)?;
    rebuilt_with(|bare| bare.with_filter(purpose, policy))
}

/// A file of the filters that `add` adds to none.
fn rebuilt_with(add: impl FnOnce(RebuildOptions) -> RebuildOptions) -> std::result::Result<Vec<u8>, Box<dyn Error>> {
    let sample = sample();
    let storage = crate::sample::storage(&sample.files);
    let store = open(&storage);
    let mut options = RebuildOptions::new().with_table(sample.shallow.number).with_range_filter(None);
    for other in Purpose::OF_KEYS {
        options = options.with_filter(other, None);
    }
    let name = store.rebuild_filters(&add(options))?.tables.remove(0).filter_file;
    let mut file = storage.contents(&name).ok_or("no file of filters")?;
    // The number, which the contexts follow when they are repaired.
    let number_at = file.len() - PAGE_LEN + 16;
    let own = &sample.files[&sample.shallow.file];
    file[number_at..number_at + 8].copy_from_slice(&own[own.len() - PAGE_LEN + 16..][..8]);
    Ok(file)
}

fn logs(seeds: &mut Seeds) -> Result {
    let written = several_batches()?;
    let records: Vec<&[u8]> = payloads(LOG_NUMBER, &written).into_iter().map(|place| &written[place]).collect();
    assert!(records.len() > 5, "{}", records.len());
    let modes = [("begun", 0u8), ("sealed", 1 << 2), ("sealed-half", 2 << 2), ("stranger", 3 << 2)];
    for (name, mode) in modes {
        seeds.add("log", &format!("whole-{name}"), &[&[mode], &written[..]].concat());
        let batches = disassemble(records[1..].iter().map(|&record| (0, record)));
        seeds.add("log", &format!("forged-{name}"), &[&[mode | 3], &batches[..]].concat());
        seeds.add("log", &format!("forged-{name}-and-on"), &[&[mode | 3 | 16], &batches[..]].concat());
        seeds.add("log", &format!("first-only-{name}"), &[mode | 2]);
    }
    seeds.add("log", "all-forged", &[&[1], &disassemble(records.iter().map(|&record| (0, record)))[..]].concat());
    seeds.add("log", "cut-off", &[&[0], &written[..written.len() - 3]].concat());
    // A fault in the middle: after it nothing, or something, states that it was durable.
    for (name, behind) in [("promised", 0u8), ("not-promised", 1)] {
        for fault in 1..=5u8 {
            let with_fault = records[1..].iter().enumerate().map(|(i, &record)| match i {
                2 => (fault << 2, record),
                i => (if i > 2 { behind } else { 0 }, record),
            });
            seeds.add("log", &format!("fault-{fault}-{name}"), &[&[3], &disassemble(with_fault)[..]].concat());
        }
    }
    let odd: [(&str, Vec<u8>); 5] = [
        ("last-seq", batch((1 << 56) - 2, &[(b"row", b"", Some(b"value"))])),
        ("too-high-seq", batch(1 << 57, &[(b"row", b"", None)])),
        ("wrapping-seq", batch(u64::MAX, &[(b"row", b"", None)])),
        ("no-writes", batch(1, &[])),
        ("no-batch", b"not a batch".to_vec()),
    ];
    for (name, record) in odd {
        let batches = [(0, records[1]), (0, &record[..]), (0, records[2])];
        seeds.add("log", name, &[&[3], &disassemble(batches)[..]].concat());
    }
    Ok(())
}

/// The log of a store that was written to and not closed.
fn several_batches() -> std::result::Result<Vec<u8>, Box<dyn Error>> {
    use filterblock_kv::WriteBatch;
    let storage = SimStorage::new();
    let store = open(&storage);
    store.put(b"a", b"column", b"first")?;
    store.put(b"a", b"column", b"second")?;
    store.sync()?;
    let mut batch = WriteBatch::new();
    batch.put(b"b", b"column", b"value")?.delete(b"a", b"column")?.put(b"", b"", b"")?.put(b"c", b"", &[7; 40])?;
    store.write(batch)?;
    store.sync()?;
    store.delete(b"never there", b"column")?;
    store.put(b"b", b"another", b"value")?;
    let name = format!("{LOG_NUMBER:06}.wal");
    Ok(storage.contents(&name).ok_or_else(|| format!("no {name}: {:?}", storage.names()))?)
}

fn manifests(seeds: &mut Seeds) {
    let sample = sample();
    let written = &sample.files["MANIFEST"];
    seeds.add("manifest", "whole-closed", &[&[0], &written[..]].concat());
    seeds.add("manifest", "whole-and-on", &[&[4], &written[..]].concat());
    let records: Vec<&[u8]> = payloads(0, written).into_iter().map(|place| &written[place]).collect();
    let base: Vec<(u8, &[u8])> = records[1..].iter().map(|&record| (0, record)).collect();
    seeds.add("manifest", "forged-closed", &[&[3], &disassemble(base.iter().copied())[..]].concat());
    seeds.add("manifest", "all-forged", &[&[1], &disassemble(records.iter().map(|&record| (0, record)))[..]].concat());
    let (deep, shallow) = (sample.deep.number, sample.shallow.number);
    let own = number_of(&sample.shallow.file);
    let log = sample.files.keys().find(|name| name.ends_with(".wal")).map_or(0, |name| number_of(name));
    let added = |number: u64, level, filter_file| {
        let file = &sample.files[&format!("{number:06}.sst")];
        crate::sstable::added(number, level, file, filter_file)
    };
    let changes: [(&str, Vec<Edit>); 17] = [
        ("seed", vec![Edit::Seed(77)]),
        ("next-number", vec![Edit::NextNumber(1000)]),
        ("last-number", vec![Edit::NextNumber((1 << 53) - 16)]),
        ("last-seq", vec![Edit::LastSeq((1 << 56) - 64)]),
        ("log-begun", vec![Edit::LogBegun(log + 1)]),
        ("log-ended", vec![Edit::LogEnded(log)]),
        ("log-begun-again", vec![Edit::LogEnded(log), Edit::LogBegun(log)]),
        ("log-sealed", vec![Edit::LogEnded(log), Edit::LogBegun(log), Edit::LogSealed { number: log, len: 48 }]),
        ("table-removed", vec![Edit::TableRemoved(shallow)]),
        ("table-moved", vec![Edit::TableMoved { number: deep, level: 6 }]),
        (
            "both-moved",
            vec![Edit::TableMoved { number: deep, level: 0 }, Edit::TableMoved { number: shallow, level: 3 }],
        ),
        ("overlapping", vec![Edit::TableMoved { number: shallow, level: 1 }]),
        ("filters-rebuilt", vec![Edit::FiltersRebuilt { table: shallow, file: own }]),
        ("filters-of-another", vec![Edit::FiltersRebuilt { table: deep, file: own }]),
        ("own-filters", vec![Edit::TableRemoved(shallow), added(shallow, 0, 0)]),
        ("deepest-level", vec![Edit::TableRemoved(deep), added(deep, 6, own)]),
        ("key", vec![Edit::Key(77)]),
    ];
    for (name, change) in &changes {
        let edits = edits(change);
        let changed = base.iter().copied().chain([(0, &edits[..])]);
        seeds.add("manifest", &format!("edit-{name}"), &[&[3 | 4], &disassemble(changed)[..]].concat());
    }
    let all: Vec<Vec<u8>> = changes[..6].iter().map(|(_, change)| edits(change)).collect();
    let changed = base.iter().copied().chain(all.iter().map(|edits| (0, &edits[..])));
    seeds.add("manifest", "edit-several", &[&[3], &disassemble(changed)[..]].concat());
}

fn number_of(name: &str) -> u64 {
    name.split('.').next().and_then(|digits| digits.parse().ok()).expect("a file with a number")
}

#[cfg(test)]
mod tests {
    use super::sample;
    use crate::sample::Files;

    /// One of everything, or the seeds are poorer than they seem.
    #[test]
    fn the_sample_has_every_kind_of_file() {
        let of = |extension: &str| sample().files.keys().filter(|name| name.ends_with(extension)).count();
        let files: &Files = &sample().files;
        assert_eq!((of("MANIFEST"), of(".sst"), of(".flt"), of(".wal")), (1, 2, 1, 1), "{:?}", files.keys());
    }
}
