//! Writers that do not know of each other, and appends that are done again: the set stays readable, no row is lost, and
//! compaction finds the files that the last writer did not know.

use crate::*;

const POLICY: &str = "blocked:10,seed=3";

fn builder(slices: u16) -> SetBuilder {
    SetBuilder::new(&policy(POLICY), &columns(slices)).expect("a builder")
}

/// What a writer appends that has opened `old`.
fn append(old: &[u8], slices: u16, files: &[Table]) -> Vec<u8> {
    let mut builder = builder(slices);
    add(&mut builder, files);
    builder.finish_append(&open(old).expect("a set"), |_| false).expect("more bytes")
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// The files of `all` that the set answers for: those denied a value that no file has.
fn answered(bytes: &[u8], all: &[Table]) -> Vec<bool> {
    let seen = no_row_lost(bytes, all);
    assert!(seen.opened && seen.bad_blocks == 0, "{seen:?}");
    let answers = look_up(&open(bytes).expect("a set"), bytes, all, "id", &[Value::Int(-1)]);
    answers.of_key(0).iter().map(|may_contain| !may_contain).collect()
}

/// A set of all files that are in the object: of the last writer's, and of those that it did not know of.
fn compacted(bytes: &[u8], slices: u16) -> Vec<u8> {
    let (mut builder, mut known, mut len) = (builder(slices), BTreeSet::new(), bytes.len());
    loop {
        let (bytes, opened) = (&bytes[..len], open(&bytes[..len]).expect("a set"));
        let left: Vec<Vec<u8>> = opened.files().map(|(name, _)| name.to_vec()).collect();
        assert_eq!(builder.absorb(bytes, |name| !known.contains(name)), Ok(0));
        known.extend(left);
        match opened.foreign_append() {
            Some(foreign) => len = foreign.end as usize,
            None => return builder.finish().expect("a set"),
        }
    }
}

#[test]
fn two_writers_append_to_one_set() {
    for slices in [1, 3] {
        let all = tables(0, 9, 40);
        let old = set(POLICY, slices, &all[..3]);
        let (first, second) = (append(&old, slices, &all[3..5]), append(&old, slices, &all[5..]));
        let both = joined(&[&old, &first, &second]);
        assert_eq!(answered(&both, &all), [true, true, true, false, false, true, true, true, true]);
        let foreign = open(&both).expect("a set").foreign_append();
        assert_eq!(foreign, Some(old.len() as u64..(old.len() + first.len()) as u64));
        assert_eq!(answered(&compacted(&both, slices), &all), [true; 9]);

        // The next writer continues what the last one has, and nothing is foreign to it.
        let third = append(&both, slices, &all[3..4]);
        let three = joined(&[&both, &third]);
        assert_eq!(answered(&three, &all), [true, true, true, true, false, true, true, true, true]);
        assert_eq!(open(&three).expect("a set").foreign_append(), None);
    }
}

#[test]
fn an_append_is_done_again() {
    let all = tables(0, 6, 30);
    let old = set(POLICY, 2, &all[..4]);
    let more = append(&old, 2, &all[4..]);
    for times in 1..4 {
        let parts: Vec<&[u8]> = [&*old].into_iter().chain(std::iter::repeat_n(&*more, times)).collect();
        assert_eq!(answered(&joined(&parts), &all), [true; 6], "{times} times");
    }
    // It ended early, and was repeated as a whole. Before that, the set does not open.
    for cut in (0..more.len()).step_by(11) {
        assert!(cut == 0 || open(&joined(&[&old, &more[..cut]])).is_none(), "{cut} bytes");
        assert_eq!(answered(&joined(&[&old, &more[..cut], &more]), &all), [true; 6], "{cut} bytes");
    }
    // A set that continues none, behind anything.
    assert_eq!(answered(&joined(&[b"anything", &old]), &all[..4]), [true; 4]);
    assert_eq!(answered(&joined(&[&set(POLICY, 2, &all[4..]), &old]), &all), [true, true, true, true, false, false]);
}

/// Bytes are missing from the continued set, or changed, behind an append: blocks that are not where the index states do
/// not open, and only their files are *maybe*.
#[test]
fn the_continued_set_is_another() {
    let all = tables(0, 6, 30);
    let (old, other) = (set(POLICY, 1, &all[..4]), set(POLICY, 1, &tables(20, 4, 30)));
    let more = append(&old, 1, &all[4..]);
    for before in [&old[..old.len() - 1], &other, &old[100..], b""] {
        let bytes = joined(&[before, &more]);
        if let Some(opened) = open(&bytes) {
            let seen = no_row_lost(&bytes, &all);
            assert_eq!(seen.bad_blocks, 8, "{seen:?}");
            assert_eq!(opened.files().count(), 6);
        } else {
            assert!(before.len() < old.len());
        }
    }
}

/// An object that is put as a whole, by writers of the same old one: the last put decides. A reader of the index before
/// finds other bytes.
#[test]
fn two_writers_put_one_object() {
    let all = tables(0, 6, 30);
    let old = set(POLICY, 1, &all[..2]);
    let [first, second] = [&all[2..4], &all[4..]].map(|files| joined(&[&old, &append(&old, 1, files)]));
    assert_eq!(answered(&second, &all), [true, true, false, false, true, true]);
    let of_first: FilterSet = open(&first).expect("a set");
    let answers = look_up(&of_first, &second, &all, "id", &[Value::Int(-1), Value::Int(2)]);
    assert_eq!(answers.of_key(0), [false, false, true, true, true, true]);
    assert!(answers.of_key(1)[2]);
    assert_eq!(of_first.take_bad_blocks().len(), 2);
}

/// Random histories: each writer continues any state that the object has had, and appends to what it has become.
#[test]
fn random_histories() {
    let (mut numbers, mut foreign, mut unknown) = (Random::new(46), 0, 0);
    for history in 0..200 {
        let slices = 1 + history % 2;
        let all = tables(0, 10, 6);
        let mut bytes = set(POLICY, slices, &all[..2]);
        let mut states = vec![(bytes.len(), vec![true, true])];
        for file in 2..all.len() {
            let (len, known) = states[numbers.index(states.len())].clone();
            let more = append(&bytes[..len], slices, &all[file..=file]);
            let known: Vec<bool> = (0..=file).map(|at| at == file || known.get(at) == Some(&true)).collect();
            for _ in 0..=numbers.index(2) {
                let cut = if numbers.index(4) == 0 { numbers.index(more.len()) } else { 0 };
                bytes.extend_from_slice(&more[..cut]);
                bytes.extend_from_slice(&more);
                states.push((bytes.len(), known.clone()));
            }
            let expected: Vec<bool> = (0..all.len()).map(|at| known.get(at) == Some(&true)).collect();
            assert_eq!(answered(&bytes, &all), expected, "history {history}");
            foreign += usize::from(open(&bytes).expect("a set").foreign_append().is_some());
            unknown += expected[..=file].iter().filter(|known| !**known).count();
        }
    }
    println!(
        "counted: 200 histories of writers, {foreign} states behind foreign bytes, {unknown} files not known, no row lost"
    );
    assert!(foreign > 500 && unknown > 500);
}
