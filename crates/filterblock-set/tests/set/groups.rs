//! Rates, joins, damage, memory, hostile numbers.

use crate::{FOOTER_LEN, hasher, open, repaired, usual};
use filterblock::{DecodeError, KeyHasher};
use filterblock_set::{
    FileMask, FilterSet, Record, SetBuildError, SetBuilder, SetColumn, SetLookup, Shape, Sizing, Table, Value,
    ValueClass,
};
use std::collections::BTreeSet;
use std::io::{Error, Read, Seek, SeekFrom, Write};

/// Value number `key` of file number `file`, which no other file has.
fn value_of(file: u64, key: u64) -> i64 {
    (file << 32 | key) as i64
}

/// A value that no file has.
fn absent(number: u64) -> i64 {
    -1 - number as i64
}

fn name_of(file: u64) -> String {
    format!("f{file:04}")
}

/// A set of one column, and the numbers of its files.
struct Built {
    object: Vec<u8>,
    set: FilterSet,
    files: Vec<u64>,
}

impl Built {
    fn new(builder: SetBuilder<impl Read + Write + Seek>, files: Vec<u64>) -> Self {
        let mut object = Vec::new();
        builder.finish(&mut object).expect("a set in memory");
        Self { set: open(&object).expect("a set"), object, files }
    }

    /// The files that are denied each of the values.
    fn denied_by(&self, set: &FilterSet, values: &[i64], max_gap: u64) -> Vec<BTreeSet<u64>> {
        let selection = set.select(self.files.iter().map(|&file| (name_of(file), file)));
        let query = set.query(b"user", values.iter().map(|&value| Value::Int(value)));
        let mut lookup = set.lookup(&query, &selection);
        lookup.load(max_gap, |range| self.read(range)).expect("a set in memory");
        let denied = |mask: &FileMask| {
            (0..).zip(&self.files).filter(|(at, _)| !mask.contains(*at)).map(|(_, &file)| file).collect()
        };
        lookup.each().iter().map(denied).collect()
    }

    fn read(&self, range: std::ops::Range<u64>) -> Result<&[u8], Error> {
        self.object.get(range.start as usize..range.end as usize).ok_or(Error::other("beyond the end"))
    }
}

fn columns(sizing: Sizing) -> [SetColumn; 1] {
    [SetColumn::new("user", ValueClass::Number, sizing)]
}

fn builder(sizing: Sizing) -> SetBuilder {
    SetBuilder::new(&hasher(), &columns(sizing)).expect("a builder")
}

/// A set of the files `first..`, which have these numbers of keys.
fn build(sizing: Sizing, first: u64, sizes: &[u64]) -> Built {
    let mut builder = builder(sizing);
    add(&mut builder, first, sizes);
    Built::new(builder, (first..first + sizes.len() as u64).collect())
}

fn add(builder: &mut SetBuilder<impl Read + Write + Seek>, first: u64, sizes: &[u64]) {
    for (file, &size) in (first..).zip(sizes) {
        let mut writer = builder.file(name_of(file), file).expect("a new name");
        // Duplicates do not count.
        (0..size).chain(0..size / 2).for_each(|key| assert!(writer.add(0, Value::Int(value_of(file, key)))));
        writer.allow_empty(0);
        writer.finish().expect("a file in memory");
    }
}

/// The rate that files of each size show is that of the formula: the mean over files within four standard errors.
#[test]
fn rates_are_those_of_the_formula() {
    let (num_files, num_absent) = (400_u32, 150_u64);
    for (rate, sizes) in [(0.01, &[160, 250, 400, 500, 900][..]), (0.05, &[200, 500][..])] {
        let sizing = usual(500, rate);
        for &size in sizes {
            let built = build(sizing, 0, &vec![size; num_files as usize]);
            let [group] = built.set.groups() else { panic!("one table for one size") };
            let expected = group.record().table.rate(size);
            assert!(expected <= rate);
            let values: Vec<_> = (0..num_absent).map(absent).collect();
            let mut passes = vec![num_absent as f64; num_files as usize];
            built.denied_by(&built.set, &values, 0).iter().flatten().for_each(|&file| passes[file as usize] -= 1.0);
            let observed: Vec<f64> = passes.iter().map(|passes| passes / num_absent as f64).collect();
            let mean = observed.iter().sum::<f64>() / f64::from(num_files);
            let variance = observed.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / f64::from(num_files - 1);
            let sigmas = (mean - expected) / (variance / f64::from(num_files)).sqrt();
            assert!(sigmas.abs() < 4.0, "{size} keys, {rate}: {mean} for {expected}, {sigmas} standard errors");
        }
    }
}

/// The formula, beside the sum over all numbers of keys that a page may have.
#[test]
fn the_formula_is_the_sum_over_loads() {
    for (num_visits, num_bands, row_bits, num_pages, num_keys) in
        [(1, 1, 0, 10, 7), (3, 2, 3, 20, 90), (2, 3, 4, 7, 60), (1, 8, 4, 3, 40), (1, 2, 3, 1, 5)]
    {
        let table = Table { shape: Shape { num_visits, num_bands, row_bits }, num_pages };
        let (p, mut sum, mut choose) = (1.0 / f64::from(num_pages), 0.0, 1.0);
        for load in 0..=num_keys {
            let chance = choose * p.powi(load) * (1.0 - p).powi(num_keys - load);
            let set = 1.0 - (1.0 - 0.5_f64.powi(row_bits.into())).powi(load);
            sum += chance * set.powi(num_bands.into());
            choose *= f64::from(num_keys - load) / f64::from(load + 1);
        }
        let (naive, rate) = (sum.powi(num_visits.into()), table.rate(num_keys as u64));
        assert!((naive - rate).abs() < 1e-9 * (naive + rate) + 1e-15, "{table:?}: {rate} for {naive}");
        assert_eq!(table.rate(0), 0.0);
    }
}

#[test]
fn tables_are_few_and_never_too_small() {
    let sizing = usual(10_000, 0.01);
    let table = |size| sizing.table(size).filter(|table| table.rate(size) <= 0.01).expect("a small file");
    let tables: BTreeSet<u32> = (0..40_000).step_by(97).map(|size| table(size).num_pages).collect();
    assert_eq!(tables.len(), 6);
    assert_eq!(sizing.table(10_000).map(|table| table.num_pages), tables.iter().nth(3).copied());
    assert_eq!(sizing.table(u64::MAX), None);
    assert_eq!(Sizing::new(u64::MAX, 0.01), None);
    assert_eq!(Sizing::new(1, f64::NAN), None);
    let invalid = Shape { num_visits: 1, num_bands: 8, row_bits: 5 };
    assert_eq!(Sizing::with_shape(invalid, 1, 0.01), None);
    // As few visits as take about a tenth more bits than a Bloom filter of the rate.
    for rate in [0.1, 0.01, 0.002, 0.0002, 0.00001] {
        let is_small = |&num_visits: &u8| {
            let sizing = Sizing::with_shape(Shape { num_visits, num_bands: 2, row_bits: 3 }, 10_000, rate);
            let table = sizing.and_then(|sizing| sizing.table(10_000)).expect("a small file");
            table.num_rows() as f64 <= 1.14 * -10_000.0 * f64::ln(rate) / std::f64::consts::LN_2.powi(2)
        };
        assert_eq!([2, 3, 4, 6, 8].into_iter().find(is_small), Some(Shape::for_rate(rate).num_visits));
    }
}

/// A limit to memory, which columns share, and files of other sizes between, change no byte. Strips are kept until they
/// are full, if all tables' fit into it.
#[test]
fn bytes_do_not_depend_on_memory() {
    let (sizing, sizes) = (usual(400, 0.01), (0..70).map(|file| [100, 800, 20][file % 3]).collect::<Vec<u64>>());
    let rows = |size| sizing.table(size).map_or(0, |table| table.num_rows());
    let held = 2 * [100, 800, 20].map(rows).iter().sum::<u64>();
    let columns = [columns(sizing), [SetColumn::new("other", ValueClass::Text, sizing)]].concat();
    let built = |limit: u64| {
        let (file, mut object) = (tempfile::tempfile().expect("a file"), Vec::new());
        let scratch = || file.try_clone();
        let mut builder = SetBuilder::with_scratch(&hasher(), &columns, limit as usize, scratch).expect("a builder");
        add(&mut builder, 0, &sizes);
        builder.finish(&mut object).expect("a set in memory");
        (object, file.metadata().expect("a file").len())
    };
    let [(none, each), (less, more), (all, least)] = [0, held - 2, held].map(built);
    assert!(none == all && less == all);
    let ranges: Vec<_> = open(&all).expect("a set").groups().iter().map(|group| *group.record()).collect();
    assert!(ranges.len() == 3 && ranges.windows(2).all(|two| two[0].offset + two[0].group_len() == two[1].offset));
    // A third of 70 files take three strips of eight.
    assert_eq!((each, least), (sizes.iter().map(|&size| rows(size)).sum(), 3 * held / 2));
    assert!((least + 1..=each).contains(&more));
}

/// Groups of more bytes than are made, or read, at once.
#[test]
fn groups_of_several_batches() {
    let built = build(usual(400_000, 0.01), 0, &[3; 300]);
    let mut joined = builder(usual(400_000, 0.01));
    joined.absorb(&built.set, |_| true, |range| built.read(range)).expect("in memory");
    assert!(Built::new(joined, built.files.clone()).object == built.object);
    for (file, denied) in (0..).zip(built.denied_by(&built.set, &[0, 150, 299].map(|file| value_of(file, 2)), 0)) {
        assert!(!denied.contains(&[0, 150, 299][file]) && denied.len() > 290);
    }
}

/// Groups that are joined without keys are, byte for byte, the group that is built of all keys.
#[test]
fn joined_groups_are_those_of_all_keys() {
    let sizing = usual(400, 0.01);
    let sizes: Vec<u64> = (0..60).map(|file| 210 + file).collect();
    let parts = [build(sizing, 0, &sizes[..13]), build(sizing, 13, &sizes[13..21]), build(sizing, 21, &sizes[21..])];
    let is_dropped = |file: u64| file % 16 == 11 || (30..40).contains(&file);
    let dropped: BTreeSet<Vec<u8>> =
        (0..60).filter(|&file| is_dropped(file)).map(|file| name_of(file).into()).collect();
    let (mut joined, mut expected) = (builder(sizing), builder(sizing));
    for part in &parts {
        let num_bad = joined.absorb(&part.set, |name| !dropped.contains(name), |range| part.read(range));
        assert_eq!(num_bad.expect("in memory"), 0);
    }
    for (file, size) in (0..).zip(&sizes).filter(|&(file, _)| !is_dropped(file)) {
        add(&mut expected, file, &[*size]);
    }
    let kept: Vec<u64> = (0..60).filter(|&file| !is_dropped(file)).collect();
    assert!(Built::new(joined, kept.clone()).object == Built::new(expected, kept).object);
}

/// Ranges are joined by their gaps; one request a group and visit is enough; what is held stays below its limit, and a
/// lookup keeps what it was given.
#[test]
fn requests_are_planned_and_memory_is_bounded() {
    let built = build(usual(2000, 0.01), 0, &[1900; 30]);
    let values: Vec<_> = (0..50).map(absent).collect();
    let files = |set: &FilterSet| set.select((0..30).map(|file| (name_of(file), file)));
    let query = |set: &FilterSet, values: &[i64]| set.query(b"user", values.iter().map(|&value| Value::Int(value)));
    let none = open(&built.object).expect("a set").with_max_held_bytes(0);
    let (selection, one, all) = (files(&none), query(&none, &values[..1]), query(&none, &values));
    let plan = none.lookup(&one, &selection).plan(0);
    assert!(plan.len() == 3 && plan.iter().all(|range| range.end - range.start <= 1024 + 64 + 8));
    assert_eq!(none.lookup(&one, &selection).plan(u64::MAX).len(), 1);
    assert!(none.lookup(&all, &selection).plan(0).windows(2).all(|pair| pair[0].end < pair[1].start));

    let some = open(&built.object).expect("a set").with_max_held_bytes(20_000);
    for pair in values.chunks(2) {
        assert_eq!(built.denied_by(&some, pair, 512), built.denied_by(&built.set, pair, 0));
        assert!((1..=20_000).contains(&some.held_bytes()));
        let held = files(&some);
        assert!(some.lookup(&query(&some, pair), &held).plan(0).is_empty(), "held from the last lookup");
    }
    assert!(!some.lookup(&query(&some, &values), &files(&some)).plan(0).is_empty(), "evicted since");

    let mut half = none.lookup(&one, &selection);
    half.give(plan[1].start, built.read(plan[1].clone()).expect("a unit"));
    half.give(plan[0].start, &built.read(plan[0].clone()).expect("a unit")[1..]);
    assert_eq!(half.plan(0), [plan[0].clone(), plan[2].clone()], "what is missing is planned again");
    let denied = |lookup: &SetLookup<'_>| 30 - lookup.any().count();
    let with_one = denied(&half);
    half.load(0, |range| built.read(range)).expect("a set in memory");
    assert!(with_one > 0 && with_one <= denied(&half));
    assert_eq!(none.held_bytes(), 0);
}

#[test]
fn groups_are_bounded() {
    // A group of 2^24 files has units of a page each; those of a hundred pages are too long, and so are 32 · 2^16 of them.
    let large = |num_visits, num_pages, unit_pages| {
        let table = Table { shape: Shape { num_visits, num_bands: 8, row_bits: 4 }, num_pages };
        let record = Record { offset: 0, table, unit_pages, num_lanes: Record::MAX_LANES, column: 0 };
        Record::decode(&record.encode().try_into().expect("28 bytes"))
    };
    let first = large(1, 1 << 19, 1).expect("units of 256 MiB");
    assert_eq!(Record::new(0, 0, first.table, Record::MAX_LANES), Some(first));
    assert!(matches!(large(1, 100, 100), Err(DecodeError::Parameter { name: "payload_len", .. })));
    assert!(matches!(large(32, 1 << 16, 1), Err(DecodeError::Parameter { name: "group_len", .. })));
    assert!(matches!(large(33, 1, 1), Err(DecodeError::Parameter { name: "shape", value: 0x04_0821, .. })));
}

/// Bits that the scratch loses end in an error, not in a set without them.
#[test]
fn a_faulty_scratch_is_noticed() {
    for at in [None, Some(3), Some(700), Some(5000), Some(90_001), Some(123_457)] {
        let (mut file, columns) = (tempfile::tempfile().expect("a file"), columns(usual(200, 0.01)));
        let scratch = || file.try_clone();
        let mut builder = SetBuilder::with_scratch(&hasher(), &columns, usize::MAX, scratch).expect("a builder");
        add(&mut builder, 0, &[190; 20]);
        if let Some(at) = at {
            let (at, mut byte) = (SeekFrom::Start(at % file.metadata().expect("a file").len()), [0]);
            file.seek(at).and_then(|_| file.read_exact(&mut byte)).expect("a byte");
            file.seek(at).and_then(|_| file.write_all(&[byte[0] ^ 0x10])).expect("another byte");
        }
        match builder.finish(&mut Vec::new()) {
            Ok(_) => assert_eq!(at, None),
            Err(error) => assert!(at.is_some() && matches!(error, SetBuildError::Check), "{error}"),
        }
    }
}

/// What cannot be read, or taken over, is an error; fewer bytes than were asked for are damage.
#[test]
fn errors_are_reported() {
    let sizing = usual(200, 0.01);
    let built = build(sizing, 0, &[100; 5]);
    let fetch = |_| Err::<Vec<u8>, _>(Error::other("no connection"));
    let failed = builder(sizing).absorb(&built.set, |_| true, fetch);
    assert!(failed.is_err_and(|error| matches!(error, SetBuildError::Io(_)) && error.to_string() == "no connection"));
    let read = |range| built.read(range);
    let other_shape = builder(usual(200, 0.0001)).absorb(&built.set, |_| true, read);
    assert!(matches!(other_shape, Err(SetBuildError::ColumnName(name)) if name == b"user"));
    let other_seed =
        SetBuilder::new(&KeyHasher::new(8), &columns(sizing)).expect("a builder").absorb(&built.set, |_| true, read);
    assert!(matches!(other_seed, Err(SetBuildError::Decode(DecodeError::WrongSeed { .. }))));
    let fewer = |range: std::ops::Range<u64>| built.read(range.start..range.end - 1);
    assert!(matches!(builder(sizing).absorb(&built.set, |_| true, fewer), Ok(3)));
    let [group] = built.set.groups() else { panic!("one table for one size") };
    let (part, unit, place) = group.units().next().expect("a unit");
    let error = DecodeError::PayloadLength { declared_bytes: place.end - place.start, actual_bytes: 5 };
    assert_eq!(group.check_unit(part, unit, &[0; 5]), Err(error));
    assert!(group.files().iter().all(|&file| built.set.file_name(file) == Some(name_of(file.into()).as_bytes())));
    assert_eq!((group.files().len(), built.set.file_name(5)), (5, None));
    // The last but one of five names becomes that before it.
    let (mut twice, at) = (built.object.clone(), built.object.len() - FOOTER_LEN - 6);
    assert_eq!(std::mem::replace(&mut twice[at], b'2'), b'3');
    let error = FilterSet::open(twice.len() as u64, &repaired(twice), None).err();
    assert_eq!(error, Some(DecodeError::Parameter { name: "file_name", value: 3, min: 4, max: 4 }));
}
