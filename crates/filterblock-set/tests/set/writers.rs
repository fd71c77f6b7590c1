//! Writers that do not know of each other, and appends that are done again: the set stays readable, no row is lost, and
//! compaction finds the files that the last writer did not know.

use crate::*;

/// What a writer appends that has opened `old`.
fn append(old: &[u8], files: &[Table]) -> Vec<u8> {
    let (mut builder, mut more) = (builder(), Vec::new());
    add(&mut builder, files);
    let len = builder.finish_append(&open(old).expect("a set"), |_| false, &mut more);
    assert_eq!(len.expect("more bytes"), more.len() as u64);
    more
}

/// The files of `all` that the set answers for: those denied a value that no file has.
fn answered(bytes: &[u8], all: &[Table]) -> Vec<bool> {
    let seen = no_row_lost(bytes, all);
    assert!(seen.opened, "{seen:?}");
    let answers = look_up(&open(bytes).expect("a set"), bytes, all, "id", &[Value::Int(-1)]);
    answers[0].iter().map(|may_contain| !may_contain).collect()
}

/// A set of all files that are in the object: of the last writer's, and of those that it did not know of.
fn compacted(bytes: &[u8]) -> Vec<u8> {
    let (mut builder, mut known, mut len) = (builder(), BTreeSet::new(), bytes.len());
    loop {
        let opened = open(&bytes[..len]).expect("a set");
        let left: Vec<Vec<u8>> = opened.files().map(|(name, _)| name.to_vec()).collect();
        let read = |range: Range<u64>| Ok(&bytes[range.start as usize..range.end as usize]);
        assert!(matches!(builder.absorb(&opened, |name| !known.contains(name), read), Ok(0)));
        known.extend(left);
        match opened.foreign_append() {
            Some(foreign) => len = foreign.end as usize,
            None => return finish(builder),
        }
    }
}

#[test]
fn two_writers_append_to_one_set() {
    let all = tables(0, 9, 40);
    let old = set(&all[..3]);
    let (first, second) = (append(&old, &all[3..5]), append(&old, &all[5..]));
    let both = [&old[..], &first, &second].concat();
    assert_eq!(answered(&both, &all), [true, true, true, false, false, true, true, true, true]);
    let foreign = open(&both).expect("a set").foreign_append();
    assert_eq!(foreign, Some(old.len() as u64..(old.len() + first.len()) as u64));
    assert_eq!(answered(&compacted(&both), &all), [true; 9]);

    // The next writer continues what the last one has, and nothing is foreign to it.
    let third = append(&both, &all[3..4]);
    let three = [both.clone(), third].concat();
    assert_eq!(answered(&three, &all), [true, true, true, true, false, true, true, true, true]);
    assert_eq!(open(&three).expect("a set").foreign_append(), None);
}

/// Random histories: each writer continues any state that the object has had, and appends to what it has become.
#[test]
fn random_histories() {
    let (mut numbers, mut foreign, mut unknown) = (Random::new(46), 0, 0);
    for history in 0..200 {
        let all = tables(0, 10, 6);
        let mut bytes = set(&all[..2]);
        let mut states = vec![(bytes.len(), vec![true, true])];
        for file in 2..all.len() {
            let (len, known) = states[numbers.index(states.len())].clone();
            let more = append(&bytes[..len], &all[file..=file]);
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
