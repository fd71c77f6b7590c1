//! Keys as an engine's user has them: whatever the transform, no stored key is denied, and a key that has no entry is
//! maybe.

use crate::material::upto;
use crate::*;
use std::collections::HashSet;

/// The key without its last `param` bytes.
fn without_suffix(key: &[u8], param: u16) -> Option<&[u8]> {
    key.get(..key.len().checked_sub(param.into())?)
}

/// A constant, not a part of the key.
fn first_letter_class(key: &[u8]) -> Option<&[u8]> {
    key.first().map(|byte| if byte % 2 == 0 { &b"even"[..] } else { &b"odd"[..] })
}

pub fn transforms() -> Vec<KeyTransform> {
    let custom = |id, param| CustomTransform::new(id, param).expect("legal");
    let lens = [0, 1, 3, 8, u16::MAX];
    let fixed = lens.map(|len| KeyTransform::FixedPrefix { len });
    let both = lens.map(|len| KeyTransform::WholeKeyAndPrefix { len });
    let mut all = vec![
        KeyTransform::WholeKey,
        KeyTransform::Row,
        KeyTransform::RowColumn,
        KeyTransform::Custom(custom(128, 7)),
        KeyTransform::Custom(custom(200, 2)),
        KeyTransform::Custom(custom(255, 0)),
    ];
    all.extend(fixed.into_iter().chain(both));
    all.extend([1, 2, 255].map(|levels| KeyTransform::DelimitedPrefix { delimiter: b'b', levels }));
    all
}

/// The policy with the transform, and with its code where a test has some.
pub fn under(policy: &FilterPolicy, transform: KeyTransform) -> FilterPolicy {
    let policy = policy.clone();
    match transform {
        KeyTransform::Custom(custom) if wire(transform).0 == 200 => {
            let len = wire(transform).1;
            policy.with_custom_transform(custom, move |key, take| without_suffix(key, len).into_iter().for_each(take))
        }
        KeyTransform::Custom(custom) if wire(transform).0 == 255 => {
            policy.with_custom_transform(custom, |key, take| first_letter_class(key).into_iter().for_each(take))
        }
        _ => policy.with_transform(transform),
    }
}

/// Whether no test has the transform's code.
pub fn lacks_code(transform: KeyTransform) -> bool {
    wire(transform).0 == 128
}

/// Id and parameter.
fn wire(transform: KeyTransform) -> (u8, u16) {
    let TransformId { id, param } = transform.to_wire();
    (id, param)
}

pub fn sizes(kind: FilterKind) -> [FilterPolicy; 3] {
    [
        FilterPolicy::with_bits_per_key(kind, 10.0),
        FilterPolicy::with_false_positive_rate(kind, 0.02),
        FilterPolicy::with_max_bytes(kind, 1 << 14),
    ]
    .map(|policy| policy.expect("legal"))
}

/// A key in one of its forms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Added {
    Key(Vec<u8>),
    Row(Vec<u8>),
    Cell(Vec<u8>, Vec<u8>),
}

/// Odd keys: empty, short, exactly as long as a prefix, long; few letters, so that parts agree.
pub fn drawn(random: &mut impl FnMut() -> u64) -> Added {
    let mut part = || {
        let len = match random() % 8 {
            0 => 0,
            1 => 3,
            2 => 8,
            3 => 300,
            _ => random() % 12,
        };
        (0..len).map(|_| b'a' + (random() % 3) as u8).collect::<Vec<u8>>()
    };
    match (part(), part()) {
        (first, second) if (first.len() + second.len()) % 3 == 0 => Added::Cell(first, second),
        (first, second) if second.len() % 2 == 0 => Added::Row(first),
        (first, _) => Added::Key(first),
    }
}

impl Added {
    /// Whether the transform makes entries of keys of this form; others are refused.
    pub fn fits(&self, transform: KeyTransform) -> bool {
        match self {
            Self::Key(_) => !matches!(transform, KeyTransform::Row | KeyTransform::RowColumn),
            Self::Row(_) => transform == KeyTransform::Row,
            Self::Cell(..) => matches!(transform, KeyTransform::Row | KeyTransform::RowColumn),
        }
    }

    pub fn add_to(&self, builder: &mut FilterBlockBuilder) {
        match self {
            Self::Key(key) => builder.add_key(key),
            Self::Row(row) => builder.add_row(row),
            Self::Cell(row, column) => builder.add_row_column(row, column),
        }
    }

    /// For a table with this key: no such query is denied.
    pub fn prefix_asked(&self, reader: &dyn Reading) -> bool {
        match self {
            Self::Key(key) => reader.may_contain_prefix(key),
            // What a transform for byte strings makes of these is not in the table.
            Self::Row(_) | Self::Cell(..) => true,
        }
    }

    /// By the table of the specification alone; `None` if prefixes are no entries, or the key is shorter.
    pub fn prefix(&self, transform: KeyTransform) -> Option<&[u8]> {
        match (self, wire(transform)) {
            (Self::Key(key), (3 | 4, len)) => key.get(..len.into()),
            (Self::Key(key), (5, param)) => upto(key, param),
            _ => None,
        }
    }

    pub fn asked(&self, reader: &dyn Reading) -> bool {
        match self {
            Self::Key(key) => reader.may_contain(key),
            Self::Row(row) => reader.may_match(Query::Row(row)),
            Self::Cell(row, column) => reader.may_match(Query::Cell(row, column)),
        }
    }

    /// By the table of the specification alone; `None` without an entry.
    pub fn entry(&self, transform: KeyTransform) -> Option<Vec<u8>> {
        match (self, wire(transform)) {
            (Self::Key(key), (0 | 4, _)) => Some(key.clone()),
            (Self::Key(_), (3 | 5, _)) => self.prefix(transform).map(<[u8]>::to_vec),
            (Self::Key(key), (200, param)) => without_suffix(key, param).map(<[u8]>::to_vec),
            (Self::Key(key), (255, _)) => first_letter_class(key).map(<[u8]>::to_vec),
            (Self::Row(row) | Self::Cell(row, _), (1, _)) => Some(row.clone()),
            (Self::Cell(row, column), (2, _)) => {
                let mut entry = Vec::new();
                KeyTransform::row_column_entry(row, column, &mut entry);
                Some(entry)
            }
            _ => None,
        }
    }
}

/// One for each key, and one more for the prefix of a byte string.
fn queries(keys: &[Added]) -> u64 {
    (keys.len() + keys.iter().filter(|key| matches!(key, Added::Key(_))).count()) as u64
}

#[test]
fn no_stored_key_is_denied_under_any_transform() {
    let (mut asked, mut denied) = (0u64, 0u64);
    let mut random_numbers = numbers(7);
    let mut random = || random_numbers.next().expect("endless");
    for round in 0..8 {
        for transform in transforms() {
            for &kind in FilterKind::ALL {
                let hasher = match round % 3 {
                    0 => KeyHasher::default(),
                    1 => KeyHasher::new(random()),
                    _ => KeyHasher::keyed([round as u8; 16]),
                };
                let policy = under(&sizes(kind)[round % 3], transform).with_hasher(hasher);
                let drawn_keys = (0..1 << (2 * round).min(13)).map(|_| drawn(&mut random));
                let (added, others): (Vec<Added>, Vec<Added>) = drawn_keys.partition(|key| key.fits(transform));
                let mut builder = FilterBlockBuilder::new(&policy);
                builder.allow_empty();
                added.iter().for_each(|key| key.add_to(&mut builder));
                let num_without_entry = added.iter().filter(|key| key.entry(transform).is_none()).count() as u64;
                let has_code = !lacks_code(transform);
                assert_eq!(builder.num_without_entry(), if has_code { num_without_entry } else { 0 }, "{transform}");
                for other in others.iter().take(3) {
                    let mut builder = FilterBlockBuilder::new(&policy);
                    other.add_to(&mut builder);
                    assert_eq!(builder.finish(), Err(BuildError::WrongForm { transform: transform.to_wire() }));
                }
                let mut again = builder.clone();
                let block = match builder.set_context(round as u64).finish() {
                    Ok(block) => block,
                    Err(BuildError::ByteCap { .. }) => continue,
                    // A reader with the code would deny keys whose entries are not known here.
                    Err(BuildError::NoCode { transform: TransformId { id: 128, param: 7 } })
                        if num_without_entry > 0 =>
                    {
                        continue;
                    }
                    Err(error) => panic!("{policy:?}: {error}"),
                };
                let compact = frame_of(&mut again);
                let options = OpenOptions::new().with_context(round as u64).expect(&policy);
                let owned = options.open_owned(AlignedBytes::copy_of(&block)).expect("intact");
                let compact = CompactFrameReader::open(&compact, &policy).expect("intact");
                let forms: [&dyn Reading; 3] = [&options.open(&block).expect("intact"), &owned, &compact];
                for reader in forms {
                    for key in &added {
                        assert!(key.asked(reader), "{policy:?} denies {key:?}");
                        assert!(key.prefix_asked(reader), "{policy:?} denies the prefix of {key:?}");
                    }
                    asked += queries(&added);
                }
                let asked_else: Vec<Added> = (0..300).map(|_| drawn(&mut random)).collect();
                let asked_hash = |entry: &[u8]| owned.may_contain_hash(policy.hasher().hash(entry));
                for key in &asked_else {
                    let answer = key.asked(&owned);
                    let expected = key.entry(transform).is_none_or(|entry| asked_hash(&entry));
                    assert_eq!(answer, expected, "{policy:?} {key:?}");
                    let by_prefix = key.prefix_asked(&owned);
                    let expected = key.prefix(transform).is_none_or(asked_hash);
                    assert_eq!(by_prefix, expected, "{policy:?} {key:?}");
                    denied += u64::from(!answer) + u64::from(!by_prefix);
                }
                asked += queries(&asked_else);
            }
        }
    }
    println!("counted: {asked} keys of every form asked for under every transform");
    assert!(asked > 1_000_000 && denied > 10_000, "{asked} asked, {denied} denied");
}

/// A prefix is never denied where a stored key has it, and a filter of whole keys and prefixes denies both others.
#[test]
fn prefixes_of_stored_keys_are_not_denied() {
    let keys: Vec<Vec<u8>> = (0..2_000u32).map(|i| format!("{:04}/{i}", i / 20).into_bytes()).collect();
    for &kind in FilterKind::ALL {
        for transform in [KeyTransform::FixedPrefix { len: 4 }, KeyTransform::WholeKeyAndPrefix { len: 4 }] {
            let policy = sized(kind, 16.0).with_transform(transform);
            let mut builder = builder_of(&policy, &keys);
            // Keys come in order, so equal prefixes are neighbours.
            let num_whole = if transform == (KeyTransform::WholeKeyAndPrefix { len: 4 }) { 2_000 } else { 0 };
            assert_eq!(builder.num_added(), 100 + num_whole);
            let filter = OpenOptions::new().open_owned(builder.finish().expect("a block")).expect("intact");
            assert_eq!(filter.num_entries(), 100 + num_whole);
            assert!(keys.iter().all(|key| filter.may_contain_prefix(key) && filter.may_contain_prefix(&key[..4])));
            assert!(filter.may_contain_prefix(b"00"), "shorter than a prefix");
            let others: HashSet<Vec<u8>> = (0..2_000u32).map(|i| format!("x{i:04}").into_bytes()).collect();
            let passed = others.iter().filter(|key| filter.may_contain_prefix(key)).count();
            assert!(passed < 300, "{passed} of 2000 absent prefixes passed, few of them distinct");
            let passed = others.iter().filter(|key| filter.may_contain(key)).count();
            assert!(passed < 300, "{passed} of 2000 absent keys passed");
        }
    }
}

/// Every key, and every pair of keys, of up to six bytes that are a letter or the delimiter. Whatever a scan begins with,
/// it is denied only if no key begins so, and at the directory exactly: all that begin with it are denied together.
#[test]
fn directories_are_denied_as_a_plain_search_denies_them() {
    let (all, mut counts) = (crate::harness::strings(b"/a", 6), [0u64; 2]);
    for levels in [0, 1, 2, 3, 255] {
        let transform = KeyTransform::DelimitedPrefix { delimiter: b'/', levels };
        let policy = crate::harness::exact(transform);
        for (first, second) in (0..all.len()).flat_map(|a| (a..all.len()).step_by(1 + a % 7).map(move |b| (a, b))) {
            let keys = [&all[first], &all[second]];
            let block = builder_of(&policy, keys).finish().expect("a block");
            let filter = OpenOptions::new().expect(&policy).open(&block).expect("intact");
            for query in &all {
                let entry = upto(query, wire(transform).1);
                let expected = entry.is_none_or(|entry| keys.iter().any(|key| key.starts_with(entry)));
                assert!(expected || !keys.iter().any(|key| key.starts_with(query)), "the rule itself");
                let answers = [filter.may_contain(query), filter.may_contain_prefix(query)];
                assert_eq!(answers, [expected; 2], "{keys:?} {query:?} {transform}");
                counts[usize::from(expected)] += 1;
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 500_000), "{counts:?}");
}

/// Where prefixes are no entries, no answer about a prefix is certain.
#[test]
fn prefixes_are_maybe_where_they_are_no_entries() {
    for transform in [KeyTransform::WholeKey, KeyTransform::Row, KeyTransform::RowColumn] {
        let policy = sized(FilterKind::Blocked, 16.0).with_transform(transform);
        let mut builder = FilterBlockBuilder::new(&policy);
        builder.add_entry(b"stored");
        let filter = OpenOptions::new().open_owned(builder.finish().expect("a block")).expect("intact");
        assert!(filter.may_contain_prefix(b"sto") && filter.may_contain_prefix(b"absent"));
    }
}

/// A block stores no code: without it the answer to a key is maybe, to an entry it is the filter's.
#[test]
fn a_transform_without_its_code_knows_no_entries() {
    let custom = CustomTransform::new(200, 2).expect("legal");
    let policy = sized(FilterKind::Blocked, 16.0);
    let policy = under(&policy, KeyTransform::Custom(custom));
    let mut builder = builder_of(&policy, (0..1_000u32).map(|i| format!("{i:04}v1")));
    let block = builder.finish().expect("a block");
    let known = OpenOptions::new().expect(&policy).open(&block).expect("intact");
    assert!(known.may_contain(b"0007v2") && !known.may_contain(b"absent"));
    for options in [OpenOptions::new(), OpenOptions::new().expect_transform(KeyTransform::Custom(custom))] {
        let unknown = options.open(&block).expect("intact");
        let hash = unknown.entry_hasher().hasher().hash(b"abse");
        assert!(unknown.may_contain(b"absent") && !unknown.may_contain_hash(hash));
    }
}
