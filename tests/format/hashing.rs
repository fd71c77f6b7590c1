//! Adding and querying entries and their hashes is equivalent.

use filterblock::{FilterBlockBuilder, FilterBlockReader, FilterKind, FilterPolicy, KeyHash};

#[test]
fn a_finished_builder_is_ready_for_the_next_table() {
    let policy = FilterPolicy::with_bits_per_key(FilterKind::Blocked, 10.0).expect("legal");
    let mut builder = FilterBlockBuilder::new(&policy);
    builder.add_key(b"first");
    let mut out = vec![0xaa; 3];
    let first = builder.finish_into(&mut out).expect("a block");
    assert_eq!(builder.num_added(), 0);
    builder.add_key(b"second");
    let second = builder.finish_into(&mut out).expect("a block");
    assert_eq!(out.len(), 3 + first + second);
    assert_eq!(out[..3], [0xaa; 3]);
    // The blocks' addresses have different alignments: any alignment will do.
    let (a, b) = out[3..].split_at(first);
    let (a, b) = (FilterBlockReader::open(a).expect("intact"), FilterBlockReader::open(b).expect("intact"));
    assert!(a.may_contain(b"first") && b.may_contain(b"second"));
    assert!(!a.may_contain(b"second") && !b.may_contain(b"first"));
}

#[test]
fn a_refused_build_keeps_its_entries_and_the_output() {
    let policy = FilterPolicy::with_max_bytes(FilterKind::Golomb, 100).expect("legal");
    let mut builder = FilterBlockBuilder::new(&policy);
    (0..1_000).for_each(|i| builder.add_hash(KeyHash::from_raw(i << 54)));
    let mut out = vec![1, 2, 3];
    let error = builder.finish_into(&mut out).expect_err("1000 entries do not fit into 36 bytes");
    let filterblock::BuildError::ByteCap { cap_bytes: 100, min_bytes, num_entries: 1_000, .. } = error else {
        panic!("{error}");
    };
    assert!(min_bytes > 100);
    assert_eq!((out, builder.num_added()), (vec![1, 2, 3], 1_000));
}
