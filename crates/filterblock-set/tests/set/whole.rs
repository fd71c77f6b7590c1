//! Whole sets: the document's example, continuations, compaction, damage, chosen keys.

use crate::*;
use filterblock_set::{Shape, Sizing};
use std::collections::BTreeMap;

/// The worked example of the document, whose bytes another writer has made.
#[test]
fn the_example_of_the_document() {
    let lines = testkit::specification::vectors("set-example");
    let rows: BTreeMap<&str, Vec<&str>> = lines
        .iter()
        .map(|line| line.split(' '))
        .filter_map(|mut words| Some((words.next()?, words.collect())))
        .collect();
    let hex = ["unit-0", "unit-1", "index", "footer"].map(|part| rows[part].concat()).concat();
    let expected = testkit::material::unhex(&hex);

    let shape = Shape { num_visits: 2, num_bands: 2, row_bits: 3 };
    let mut three_pages = (1..400).filter_map(|usual| Sizing::with_shape(shape, usual, 0.001));
    let sizing = three_pages
        .find(|sizing| [1, 2].map(|size| sizing.table(size).map(|table| table.num_pages)) == [Some(3); 2])
        .expect("a sizing with which both files have three pages");
    let mut builder =
        SetBuilder::new(&KeyHasher::new(0), &[SetColumn::new("id", ValueClass::Number, sizing)]).expect("memory");
    for (name, identity, values) in [("a", 1, &[7, 300][..]), ("b", 2, &[-1])] {
        let mut file = builder.file(name, identity).expect("a new name");
        values.iter().for_each(|&value| assert!(file.add(0, Value::Int(value))));
        file.finish().expect("memory");
    }
    let object = finish(builder);
    assert!(object == expected, "{object:02x?}");
}

/// Ten thousand damaged sets, a third of them with an index whose checksums are right: none panics, and no row is lost.
#[test]
fn damaged_sets_lose_no_row() {
    let tables = tables(0, 5, 12);
    let intact = set(&tables);
    let index_len =
        intact[intact.len() - FOOTER_LEN..][32..40].iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
    let index_at = intact.len() - FOOTER_LEN - index_len;
    let (mut random, mut num_open, mut num_less) = (Random::new(3), 0, 0);
    let denied = no_row_lost(&intact, &tables).denied;
    for round in 0..10_000 {
        let mut object = intact.clone();
        for _ in 0..1 + random.below(3) {
            let at = match round % 3 {
                0 => index_at + random.index(index_len),
                1 => random.index(index_at),
                _ => random.index(object.len()),
            };
            object[at] = if random.one_in(2) { object[at] ^ 1 << random.below(8) } else { random.byte() };
        }
        let seen = no_row_lost(&if round % 3 == 0 { repaired(object) } else { object }, &tables);
        num_open += usize::from(seen.opened);
        num_less += usize::from(seen.opened && seen.denied < denied);
    }
    println!("counted: 10000 damaged filter sets, {num_open} opened, {num_less} denied less, no row lost");
    assert!(num_open > 3000 && num_less > 3000, "{num_open} sets opened, {num_less} denied less");
}

/// Section 4.2 of the document.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

/// A file whose keys all visit one page of the first part: its own rows are found, a lookup reads as many units as any, and
/// what is answered for the other file is what is without it.
#[test]
fn chosen_keys_cost_their_own_file_alone() {
    let sizing = usual(200, 0.01);
    let pages = u128::from(sizing.table(200).expect("a small file").num_pages);
    let visits_first = |value: &i64| {
        let hash = hasher().hash(&little_endian(*value as u64)).get();
        (u128::from(mix(hash.wrapping_add(0x9e37_79b9_7f4a_7c15))) * pages) >> 64 == 0
    };
    let chosen: Vec<i64> = (0..).filter(visits_first).take(200).collect();
    let files = [("other", (-200..0).collect()), ("chosen", chosen.clone())];
    let [alone, both] = [1, 2].map(|num_files| {
        let columns = [SetColumn::new("id", ValueClass::Number, sizing)];
        let mut builder = SetBuilder::new(&hasher(), &columns).expect("a builder");
        for (name, values) in &files[..num_files] {
            let mut file = builder.file(name, 1).expect("a new name");
            values.iter().for_each(|&value: &i64| assert!(file.add(0, Value::Int(value))));
            file.finish().expect("memory");
        }
        finish(builder)
    });
    let answers = |object: &[u8]| {
        let set = open(object).expect("a set");
        let selection = set.select(files.iter().map(|(name, _)| (name, 1)));
        let answer = |value: i64| {
            let query = set.query(b"id", [Value::Int(value)]);
            let mut lookup = set.lookup(&query, &selection);
            let num_read = set.lookup(&query, &selection).plan(0).len();
            lookup.give(0, object);
            (bools(&lookup.any()), num_read)
        };
        chosen.iter().copied().chain(1 << 40..(1 << 40) + 500).map(answer).collect::<Vec<_>>()
    };
    for (number, (alone, both)) in answers(&alone).iter().zip(answers(&both)).enumerate() {
        assert!(both.0[1] || number >= chosen.len(), "a row is lost");
        assert!(alone.0[0] == both.0[0] && both.1 <= 3, "{number}");
    }
}
