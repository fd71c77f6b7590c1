//! Seeds of the targets that take filter blocks, from the golden files and the library.

use super::Seeds;
use crate::blocks::HASH_KEY;
use crate::case::{Case, Damage, KEYED, Size};
use crate::oracle::int;
use arbitrary::{Arbitrary, Unstructured};
use filterblock::{FilterBlockBuilder, FilterKind, FilterPolicy, KeyHasher};
use std::error::Error;
use std::fs;
use std::path::Path;

/// Larger golden files add bytes, but no code paths.
const MAX_SEED_BYTES: usize = 2048;

pub(super) fn add(seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    golden(seeds)?;
    partitioned(seeds)?;
    ranges(seeds)?;
    sets(seeds);
    built(seeds)?;
    cases(seeds)
}

/// A block becomes a seed of `open` as it is, and of `repaired` after the mode byte that repairs everything.
fn add_block(seeds: &mut Seeds, name: &str, block: &[u8]) {
    seeds.add("open", name, block);
    seeds.add("repaired", name, &[&[0], block].concat());
}

fn golden(seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/v1"))? {
        let file = file?;
        let name = file.file_name().into_string().map_err(|_| "a file name that is not UTF-8")?;
        let Some(name) = name.strip_suffix(".bin") else { continue };
        let bytes = fs::read(file.path())?;
        match name.strip_suffix("-compact") {
            _ if bytes.len() > MAX_SEED_BYTES => {}
            Some(name) => seeds.add("compact", name, &bytes),
            None => add_block(seeds, name, &bytes),
        }
    }
    Ok(())
}

/// The golden partitioned filters, each with one of its partitions: with checksums to be computed, and as they are.
fn partitioned(seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/v1/partitioned");
    for name in ["cells", "keys-and-prefixes-keyed", "none", "whole"] {
        let index = fs::read(dir.join(format!("{name}.index")))?;
        let partitions = fs::read(dir.join(format!("{name}.partitions")))?;
        let first = index.get(72..76).map_or(0, |len| int(len) as usize);
        let [low, high, ..] = index.len().to_le_bytes();
        for (prefix, mode) in [("sealed", 0), ("plain", 255)] {
            let input = [&[mode, low, high], &index[..], &partitions[..first]].concat();
            seeds.add("partitioned", &format!("{prefix}-{name}"), &input);
        }
    }
    Ok(())
}

/// The golden range filters, and sets of keys: words, runs of one byte that agree in more bits than are kept.
fn ranges(seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/v1/ranges"))? {
        let file = file?;
        let name = file.file_name().into_string().map_err(|_| "a file name that is not UTF-8")?;
        let Some(name) = name.strip_suffix(".bin") else { continue };
        let block = fs::read(file.path())?;
        if block.len() <= MAX_SEED_BYTES {
            seeds.add("range", name, &[&[1], &block[..]].concat());
        }
    }
    let words = ["", "a", "ab", "b", "banana", "band", "bandana", "can", "\0", "\0\0", "zz"];
    for (name, bits, more) in [("words-2bits", 0, 0), ("words-20bits", 23, 0), ("words-200", 12, 100)] {
        let strings = words.iter().map(|word| [&[0, 0, word.len() as u8], word.as_bytes()].concat());
        seeds.add("range", name, &[vec![0, bits, more], strings.collect::<Vec<_>>().concat()].concat());
    }
    let runs = (0..20).map(|i| vec![i * 5, 200, 2 + i / 16 * 128, [0, b'x', 255][usize::from(i % 3)], i]);
    seeds.add("range", "runs-200bits", &[vec![0, 255, 3], runs.collect::<Vec<_>>().concat()].concat());
    Ok(())
}

/// Sets of every kind, with and without slices, as they are, with changes, and after another writer's append.
fn sets(seeds: &mut Seeds) {
    for (name, shape) in ["pages", "anywhere", "line", "most"].into_iter().zip(0u8..) {
        seeds.add("set", &format!("{name}-whole"), &[1, shape]);
        // A byte of a unit, which is then of no use, and bytes of the index, whose checksums are right again.
        seeds.add("set", &format!("{name}-changed"), &[1, shape, 0, 3, 1]);
        seeds.add("set", &format!("{name}-sealed"), &[3, shape, 0, 90, 1, 1, 200, 7]);
        seeds.add("set", &format!("{name}-foreign"), &[1, shape + 20]);
    }
    seeds.add("set", "bytes-short", &[0; 70]);
    seeds.add("set", "bytes-sealed", &[2; 70]);
}

/// Shapes that the golden files lack: a directory with several anchors, a union, every width of the frame's integers,
/// entries under a key without a context, layers.
fn built(seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    for &kind in FilterKind::ALL {
        for (bits, count) in [(2.0, 9_000u32), (3.0, 130), (30.0, 70), (64.0, 129)] {
            let mut builder = FilterBlockBuilder::new(&FilterPolicy::with_bits_per_key(kind, bits)?.with_seed(7));
            let add = |builder: &mut FilterBlockBuilder| (0..count).for_each(|i| builder.add_entry(&i.to_le_bytes()));
            let name = format!("{kind}-{count}-{bits}bits");
            add(&mut builder);
            add_block(seeds, &name, &builder.finish()?);
            add(&mut builder);
            let mut frame = Vec::new();
            builder.finish_compact_into(&mut frame)?;
            seeds.add("compact", &name, &frame);
        }
        let policy = FilterPolicy::with_bits_per_key(kind, 10.0)?.with_hasher(KeyHasher::keyed(HASH_KEY));
        let mut builder = FilterBlockBuilder::new(&policy);
        (0..40u32).for_each(|i| builder.add_entry(&i.to_le_bytes()));
        add_block(seeds, &format!("{kind}-40-10bits-keyed"), &builder.finish()?);
    }
    let mut builder = FilterBlockBuilder::new(&FilterPolicy::with_max_bytes(FilterKind::Bloom, 128)?);
    let mut block = |key: &[u8]| {
        builder.add_entry(key);
        builder.finish()
    };
    let (a, b) = (block(b"a")?, block(b"b")?);
    let options = filterblock::OpenOptions::new();
    add_block(seeds, "bloom-union", &options.open(&a)?.union(&options.open(&b)?, 0)?);
    Ok(())
}

fn cases(seeds: &mut Seeds) -> Result<(), Box<dyn Error>> {
    let sizes = [
        ("10bits", Size::BitsPerKey(10.0)),
        ("2bits", Size::BitsPerKey(2.0)),
        ("64bits", Size::BitsPerKey(64.0)),
        ("rate", Size::FalsePositiveRate(0.25 / 25.0)),
        ("capped", Size::MaxBytes(1500)),
    ];
    // Few slots per key, so that more entries are bumped, and many.
    let slots = [("", 0), ("-few-slots", 1 << 4), ("-many-slots", 15 << 4)];
    let kinds = (0u8..).zip(FilterKind::ALL).flat_map(|(kind, name)| {
        let num_slots = if *name == FilterKind::Ribbon { slots.len() } else { 1 };
        slots.into_iter().take(num_slots).map(move |slots| (kind, slots))
    });
    for (kind, (with_slots, slots)) in kinds {
        for (name, size) in sizes {
            for (num_more, transform, key) in
                [(0, (0, 0), 0), (0, (3, 8), 0), (500, (200, 513), 0), (20, (3, 8), KEYED), (20, (5, 0x0402), 0)]
            {
                let case = Case {
                    kind,
                    size,
                    salt_bits: 4 | key | slots,
                    seed: 0x5eed,
                    context: u64::from(num_more),
                    transform,
                    damage: Damage { at: 62 + u16::from(kind), bits: 16 },
                    num_more,
                    entries: (0..transform.1 % 512).map(|i| vec![i as u8; usize::from(i) * 5]).collect(),
                };
                let bytes = case.encode();
                if Case::arbitrary(&mut Unstructured::new(&bytes))? != case {
                    return Err(format!("read back differently: {case:?}").into());
                }
                let kind = FilterKind::ALL[usize::from(kind)];
                let keyed = if key == 0 { "" } else { "-keyed" };
                seeds.add("built", &format!("{kind}-{name}-{num_more}-{}{keyed}{with_slots}", transform.0), &bytes);
            }
        }
    }
    Ok(())
}
