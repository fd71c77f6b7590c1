//! The vectors of format/ribbon.md against the oracle and the library, and the library's ribbon filters against
//! the oracle's where layers and columns are rare.

use crate::oracle::ribbon::Row;
use crate::spec::compare;
use crate::*;

#[test]
fn ribbon_vectors() {
    let mut lines = Vec::new();
    for ((hash, last_seed), num_blocks) in numbers(8).zip([0, 0, 1, 31]).zip([2, 3, 1_000, u64::from(u32::MAX)]) {
        let num_blocks_of_both = vec![2, num_blocks];
        let ribbon = Ribbon { columns: 1, last_seed, thinned_from: 0, wide_share: 0, num_blocks: num_blocks_of_both };
        let x = ribbon.entered(1, hash);
        let Row { start, coefficients, fingerprint } = Row::new(x, 64 * (num_blocks - 1));
        let row = format!("{start} {coefficients:#018x} {fingerprint:#010x}");
        lines.push(format!("{hash:#018x} {last_seed} {num_blocks} {x:#018x} {row}"));
    }
    compare("ribbon", &lines);
}

/// The block of "a", "b" and "c" of the document's section 8.
fn three_entries() -> Vec<u8> {
    let shape = Shape::Ribbon { columns: 2, wide_share: 1 << 31, millislots: 995 };
    let hashes = [b"a", b"b", b"c"].map(|entry| KeyHasher::new(0).hash(entry).get());
    shape.block(&Header::default(), &hashes.into())
}

#[test]
fn ribbon_example() {
    let block = three_entries();
    let payload = &block[64..];
    let mut lines = Vec::new();
    for entry in ["a", "b", "c"] {
        let hash = KeyHasher::new(0).hash(entry.as_bytes()).get();
        let Row { start, coefficients, fingerprint } = Row::new(hash, 64);
        lines.push(format!("{} {start} {coefficients:#018x} {}", hex(entry.as_bytes()), fingerprint % 8));
        let reader = OpenOptions::new().open(&block).expect("a block");
        assert!(reader.may_contain_hash(KeyHash::from_raw(hash)));
    }
    let bits = |slot: usize| -> u8 {
        (0..3).map(|k| (payload[slot / 64 * 24 + 8 * k + slot % 64 / 8] >> (slot % 8) & 1) << k).sum()
    };
    lines.extend((0..128).filter(|&slot| bits(slot) > 0).map(|slot| format!("{slot} {}", bits(slot))));
    lines.push(hex(payload));
    compare("ribbon-example", &lines);
}

#[test]
fn ribbon_layers() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1");
    let block = std::fs::read(format!("{directory}/ribbon-many-10bits.bin")).expect("a golden file");
    let entries = std::fs::read_to_string(format!("{directory}/many.entries")).expect("entries");
    let hasher = KeyHasher::new(0);
    let hashes: BTreeSet<u64> = entries.lines().map(|line| hasher.hash(&crate::material::unhex(line)).get()).collect();
    let (Oracle::Ribbon { ribbon, .. }, payload) = (Oracle::open(&block), &block[64..]) else { panic!("ribbon") };
    let mut num_of_layer = vec![0; ribbon.layers().len()];
    hashes.iter().for_each(|&hash| num_of_layer[ribbon.locate(payload, hash).0] += 1);
    let mut entering = hashes.len();
    let mut lines = Vec::new();
    for (index, layer) in ribbon.layers().iter().enumerate() {
        let is_last = index + 1 == num_of_layer.len();
        let thresholds = if is_last { "-".to_owned() } else { layer.thresholds_at.to_string() };
        let bumped = entering - num_of_layer[index];
        let (num, wide, word) = (layer.num_blocks, layer.num_wide, layer.first_word);
        lines.push(format!("{index} {num} {wide} {word} {thresholds} {entering} {bumped}"));
        entering = bumped;
    }
    assert_eq!(entering, 0);
    compare("ribbon-layers", &lines);
}

/// Every number of columns, few and many slots: equal bytes, layers and seeds, by the oracle's own choice of them.
#[test]
fn the_writers_layers_are_those_of_the_document() {
    let (mut most_layers, mut num_remapped) = (0, 0);
    // Of the sets of 9 000, one is crowded in a third of the first layer, and so remapped. The largest has a third layer.
    for (count, round) in [(1, 0), (60, 1), (128, 2), (129, 3), (700, 4), (9_000, 5), (9_000, 6), (90_000, 7)] {
        let is_used = |hash: &u64| round != 5 || range(*hash, 3) == 1;
        let hashes: BTreeSet<u64> = numbers(500 + round).filter(is_used).take(count).collect();
        for columns in (1..=32u8).step_by(if count > 10_000 {
            32
        } else if count > 1_000 {
            15
        } else {
            1
        }) {
            for (wide_share, millislots) in [(0, 950), (1 << 31, 950), (0, 995), (u32::MAX, 1_200)] {
                if wide_share > 0 && columns == 32 || count > 10_000 && (wide_share, millislots) != (0, 950) {
                    continue;
                }
                let rate = 0.5f64.powi(columns.into()) * (1.0 - f64::from(wide_share) / 2f64.powi(33));
                let policy = rated(FilterKind::Ribbon, rate);
                let policy = policy.with_slots_per_key(f64::from(millislots) / 1e3).expect("legal");
                let block = builder_of_hashes(&policy, hashes.iter().copied()).finish().expect("a block");
                assert_eq!(int(&block[44..48]), u64::from(wide_share), "the rate's own share");
                let shape = Shape::Ribbon { columns, wide_share, millislots };
                let expected = shape.block_of_writer(&Header::default(), &hashes);
                assert!(block == expected, "{count} hashes, {shape:?}");
                most_layers = most_layers.max(block[41]);
                num_remapped += u32::from(block[13]);
            }
        }
    }
    assert!(most_layers >= 3 && num_remapped >= 12, "{most_layers} layers, {num_remapped} remapped");
}

/// A first layer with a cut, at which entries are bumped: equal bytes, with one core and with all.
#[test]
fn equations_that_cross_a_cut_are_bumped() {
    let hashes: BTreeSet<u64> = numbers(520).take(140_000).collect();
    let policy = rated(FilterKind::Ribbon, 0.2);
    let policy = policy.with_slots_per_key(0.965).expect("legal");
    for parallel in [false, true] {
        let mut builder = builder_of_hashes(&policy, hashes.iter().copied());
        let block = builder.set_parallel(parallel).finish().expect("a block");
        let Oracle::Ribbon { ribbon, .. } = Oracle::open(&block) else { panic!("ribbon") };
        let layer = ribbon.layers()[0];
        assert!(layer.num_starts() > 1 << 17);
        // The bucket before the cut bumps everything.
        assert_eq!(Ribbon::limit(&block[64..], &layer, (1 << 17) / 128 - 1), 0);
        assert!(Oracle::open(&block).rebuild(&hashes) == block[64..], "another payload than the oracle's");
    }
}
