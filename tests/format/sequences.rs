//! Sequences of calls of a builder, drawn at random: adds in every form, finishes of every kind, short memory, clears,
//! refusals and permissions between them. Whatever the sequence, a filter that comes out denies nothing that was added
//! and not cleared, and a builder that cannot keep that promise refuses to finish.

use crate::oracle::index::order_key_of_pair;
use crate::safe_keys::{Added, drawn, lacks_code, sizes, transforms, under};
use crate::*;

/// Every transform with every kind and three hashers.
fn policies() -> Vec<FilterPolicy> {
    let hashers = [KeyHasher::default(), KeyHasher::new(0x5eed), KeyHasher::keyed(*b"16 secret bytes.")];
    let mut policies = Vec::new();
    for transform in transforms() {
        for &kind in FilterKind::ALL {
            for policy in sizes(kind) {
                let hasher = hashers[policies.len() % hashers.len()].clone();
                policies.push(under(&policy, transform).with_hasher(hasher));
            }
        }
        // So that each size meets each hasher.
        policies.push(policies[policies.len() - 1].clone());
    }
    policies
}

/// Counts of what happened, all of which must have.
#[derive(Debug, Default)]
struct Counts {
    sequences: u64,
    filters: u64,
    without_entries: u64,
    answers: u64,
    refusals: u64,
    empty: u64,
    too_short: u64,
    clears: u64,
}

impl Counts {
    fn all_happened(&self) -> bool {
        let Self { sequences, filters, without_entries, answers, refusals, empty, too_short, clears } = *self;
        [sequences, filters, without_entries, answers, refusals, empty, too_short, clears]
            .iter()
            .all(|&count| count > 0)
    }
}

/// Whether the filter denies an added key: in its own form, by its prefix, by its row alone, or by its hash.
fn denies(reader: &dyn Reading, policy: &FilterPolicy, key: &Added) -> bool {
    let entries = policy.entry_hasher();
    let (hash, by_row) = match key {
        Added::Key(key) => (entries.hash_key(key), true),
        Added::Row(row) => (entries.hash_query(Query::Row(row)), true),
        Added::Cell(row, column) => (entries.hash_query(Query::Cell(row, column)), reader.may_match(Query::Row(row))),
    };
    let by_hash = hash.is_none_or(|hash| reader.may_contain_hash(hash));
    !(key.asked(reader) && key.prefix_asked(reader) && by_row && by_hash)
}

/// A builder, and what is known of it.
struct Model<'a> {
    policy: &'a FilterPolicy,
    builder: FilterBlockBuilder,
    /// The keys since the last block or clear.
    added: Vec<Added>,
    /// The key added last, be it before a block or a clear: the next table's first entry has no neighbour.
    last: Option<Added>,
    /// Something was added that the builder cannot make an entry of.
    is_refused: bool,
    allows_empty: bool,
    context: u64,
}

impl<'a> Model<'a> {
    fn new(policy: &'a FilterPolicy) -> Self {
        let builder = FilterBlockBuilder::new(policy);
        Self { policy, builder, added: Vec::new(), last: None, is_refused: false, allows_empty: false, context: 0 }
    }

    fn reset(&mut self) {
        self.added.clear();
        (self.is_refused, self.allows_empty, self.context) = (false, false, 0);
    }

    /// Adds a key by a call of its form, or the entries or hashes that it has.
    fn add(&mut self, key: Added, way: u64) {
        let (transform, entries) = (self.policy.transform(), self.policy.entry_hasher().clone());
        let fits = key.fits(transform);
        match (way % 4, &key) {
            (0, Added::Key(bytes)) if fits && !lacks_code(transform) => {
                entries.hash_entries(bytes).for_each(|hash| self.builder.add_hash(hash));
            }
            (0, Added::Row(row)) if fits => {
                entries.hash_query(Query::Row(row)).into_iter().for_each(|hash| self.builder.add_hash(hash))
            }
            (1, _) if fits && key.entry(transform).is_some() => {
                self.builder.add_entry(&key.entry(transform).expect("an entry"));
                key.prefix(transform).into_iter().for_each(|prefix| self.builder.add_entry(prefix));
            }
            _ => {
                key.add_to(&mut self.builder);
                self.is_refused |= !fits || (lacks_code(transform) && matches!(key, Added::Key(_)));
            }
        }
        assert_eq!(self.builder.refusal().is_some(), self.is_refused, "{} {key:?}", self.policy);
        self.last = Some(key.clone());
        self.added.push(key);
    }

    /// Whether nothing reached the builder: a key without an entry that was added by its hashes leaves no trace.
    fn is_empty(&self) -> bool {
        self.builder.num_added() == 0 && self.builder.num_without_entry() == 0
    }

    /// Finishes in one of five ways, and queries what comes out.
    fn finish(&mut self, way: u64, room: usize, counts: &mut Counts) {
        let (mut out, mut memory) = (vec![0xee; 3], vec![0xee; room]);
        let is_empty = self.is_empty();
        let built = match way % 5 {
            0 => self.builder.finish().map(|block| out.extend(block)),
            1 => self.builder.finish_into(&mut out).map(drop),
            2 => self.builder.finish_into_slice(&mut memory).map(|len| out.extend(&memory[..len])),
            3 => self.builder.finish_compact_into(&mut out).map(drop),
            _ => self.builder.finish_compact_into_slice(&mut memory).map(|len| out.extend(&memory[..len])),
        };
        assert!(out[..3] == [0xee; 3] && (built.is_ok() || out.len() == 3), "what is in the output stays");
        match built {
            Ok(()) => {
                assert!(!self.is_refused && (!is_empty || self.allows_empty), "{}: {:?}", self.policy, self.added);
                self.check(&out[3..], way % 5 < 3, counts);
                assert!(self.is_empty() && self.builder.refusal().is_none());
                self.reset();
            }
            Err(BuildError::Empty) => {
                assert!(is_empty && !self.allows_empty && !self.is_refused);
                counts.empty += 1;
            }
            Err(BuildError::OutputTooShort { .. }) => {
                assert!(matches!(way % 5, 2 | 4));
                counts.too_short += 1;
            }
            Err(error) => {
                let expected = [
                    BuildError::WrongForm { transform: self.policy.transform().to_wire() },
                    BuildError::NoCode { transform: self.policy.transform().to_wire() },
                ];
                assert!(self.is_refused && expected.contains(&error), "{}: {error}", self.policy);
                counts.refusals += 1;
            }
        }
    }

    /// What a new builder makes of the same keys: nothing of one table is left in the next.
    fn built_anew(&self, is_block: bool) -> Vec<u8> {
        let (mut new, mut frame) = (FilterBlockBuilder::new(self.policy), Vec::new());
        self.added.iter().for_each(|key| key.add_to(&mut new));
        new.set_context(self.context).allow_empty();
        let built = if is_block { new.finish_into(&mut frame) } else { new.finish_compact_into(&mut frame) };
        built.expect("a filter");
        frame
    }

    fn check(&self, frame: &[u8], is_block: bool, counts: &mut Counts) {
        let options = OpenOptions::new().with_context(self.context).expect(self.policy);
        let block;
        let compact;
        let reader: &dyn Reading = if is_block {
            block = options.open(frame).expect("intact");
            counts.without_entries += u64::from(block.num_entries() == 0 && !self.added.is_empty());
            &block
        } else {
            compact = CompactFrameReader::open(frame, self.policy).expect("intact");
            &compact
        };
        assert_eq!(frame, self.built_anew(is_block), "{}: {:?}", self.policy, self.added);
        for key in &self.added {
            assert!(!denies(reader, self.policy, key), "{} denies {key:?} of {:?}", self.policy, self.added);
        }
        counts.filters += 1;
        counts.answers += self.added.len() as u64;
    }
}

/// One sequence; at its end the builder is finished, and cleared if it refuses.
fn one_sequence(policy: &FilterPolicy, random: &mut impl FnMut() -> u64, counts: &mut Counts) {
    let mut model = Model::new(policy);
    let misfits = random() % 3 == 0;
    for _ in 0..random() % 32 {
        match random() % 16 {
            0 => {
                model.context = random() % 3;
                model.builder.set_context(model.context);
            }
            1 if random() % 4 == 0 => {
                model.allows_empty = true;
                model.builder.allow_empty();
            }
            2 => {
                model.builder.clear();
                model.reset();
                counts.clears += 1;
            }
            3 | 4 => model.finish(random(), (random() % 200) as usize, counts),
            5 => model.builder.try_reserve((random() % 40) as usize).expect("memory"),
            6 => {
                let last = model.last.clone().filter(|key| key.fits(policy.transform()));
                last.into_iter().for_each(|key| model.add(key, random()));
            }
            _ => {
                // Keys of another form are rare, as they spoil what comes after them.
                let any_form = misfits && random() % 16 == 0;
                let key = std::iter::repeat_with(|| drawn(random)).find(|key| any_form || key.fits(policy.transform()));
                model.add(key.expect("endless"), random());
            }
        }
    }
    model.finish(random(), 4096, counts);
    if model.is_refused {
        model.builder.clear();
        model.reset();
        counts.clears += 1;
    }
    // Nothing is left of a filter that came out.
    if model.added.is_empty() {
        model.allows_empty = false;
        model.builder.clear();
        model.finish(random(), 4096, counts);
    }
    counts.sequences += 1;
}

#[test]
fn no_sequence_of_calls_denies_what_was_added() {
    let (policies, mut counts, mut drawn_numbers) = (policies(), Counts::default(), numbers(30));
    let mut random = || drawn_numbers.next().expect("endless");
    for _ in 0..by_extent(20_000, 1_000_000, 1_000_000) {
        let policy = &policies[random() as usize % policies.len()];
        one_sequence(policy, &mut random, &mut counts);
    }
    println!("counted: {counts:?}: none denied that was added and not cleared");
    assert!(counts.all_happened(), "{counts:?}");
}

/// The order key of a key in its own form, if it has one.
fn order_key(key: &Added, transform: KeyTransform) -> Option<Vec<u8>> {
    match (key, transform) {
        (Added::Key(key), KeyTransform::FixedPrefix { len }) => key.get(..len.into()).map(<[u8]>::to_vec),
        (Added::Key(key), _) => Some(key.clone()),
        (Added::Cell(row, column), KeyTransform::RowColumn) => Some(order_key_of_pair(row, column)),
        (Added::Row(row) | Added::Cell(row, _), _) => Some(row.clone()),
    }
}

/// The partitions of a filter, and a disk that may be full.
#[derive(Default)]
struct Disk {
    stored: Vec<u8>,
    is_full: bool,
}

impl Disk {
    fn store(&mut self, block: &[u8]) -> Result<u64, &'static str> {
        if self.is_full {
            return Err("disk full");
        }
        self.stored.extend_from_slice(block);
        Ok((self.stored.len() - block.len()) as u64)
    }

    fn load(&self, partition: PartitionHandle) -> Result<&[u8], Infallible> {
        Ok(&self.stored[partition.offset as usize..][..partition.len as usize])
    }
}

fn add_to(
    builder: &mut PartitionedFilterBuilder,
    key: &Added,
    disk: &mut Disk,
) -> Result<(), PartitionBuildError<&'static str>> {
    let transform = builder.policy().transform();
    match (key, transform) {
        (Added::Key(bytes), KeyTransform::Custom(_)) => match key.entry(transform) {
            Some(entry) => builder.add_entry(bytes, &entry, |block| disk.store(block)),
            None => Ok(()),
        },
        (Added::Key(key), _) => builder.add_key(key, |block| disk.store(block)),
        (Added::Row(row), _) => builder.add_row(row, |block| disk.store(block)),
        (Added::Cell(row, column), _) => builder.add_row_column(row, column, |block| disk.store(block)),
    }
}

/// Whether a partitioned filter denies an added key in any of its forms.
fn partitions_deny(filter: &PartitionedFilter<Vec<u8>>, disk: &Disk, key: &Added) -> bool {
    let load = |partition| disk.load(partition);
    let answers = match key {
        Added::Key(bytes) => {
            let by_entry = |entry: Vec<u8>| filter.may_match(Query::Entry { order_key: bytes, entry: &entry }, load);
            let entry = key.entry(filter.entry_hasher().transform()).map_or(Ok(true), by_entry);
            [filter.may_match(Query::Key(bytes), load), filter.may_match(Query::Prefix(bytes), load), entry]
        }
        Added::Row(row) => [filter.may_match(Query::Row(row), load), filter.may_match(Query::Row(row), load), Ok(true)],
        Added::Cell(row, column) => {
            let cell = filter.may_match(Query::Cell(row, column), load);
            [cell, filter.may_match(Query::Row(row), load), Ok(true)]
        }
    };
    answers.iter().any(|answer| !answer.as_ref().expect("sound partitions"))
}

/// One table; `None` if it has no filter.
fn one_table(policy: &FilterPolicy, random: &mut impl FnMut() -> u64) -> Option<u64> {
    let transform = policy.transform();
    let (misfits, disorder) = (random() % 8 == 0, random() % 8 == 0);
    let mut keys: Vec<Added> = (0..random() % 48).map(|_| drawn(random)).collect();
    keys.retain(|key| misfits || key.fits(transform));
    if !disorder {
        keys.sort_by_key(|key| order_key(key, transform));
    }
    let limit = PartitionLimit::Entries(1 + random() % 4);
    let (mut builder, mut disk) = (PartitionedFilterBuilder::new(policy, limit).expect("legal"), Disk::default());
    let (context, allows_empty) = (random() % 3, random() % 4 == 0);
    builder.set_context(context);
    if allows_empty {
        builder.allow_empty();
    }
    let mut has_failed = false;
    for key in &keys {
        disk.is_full = random() % 256 == 0;
        has_failed |= add_to(&mut builder, key, &mut disk).is_err();
    }
    disk.is_full = random() % 64 == 0;
    let is_empty = builder.num_added() == 0 && builder.num_without_entry() == 0;
    let index = match builder.finish(|block| disk.store(block)) {
        Ok(index) => index,
        Err(PartitionBuildError::Empty) => {
            assert!(is_empty && !allows_empty && !has_failed);
            return None;
        }
        Err(error) => {
            assert!(has_failed || disk.is_full, "{policy}: {error}");
            return None;
        }
    };
    assert!(!has_failed && (!is_empty || allows_empty), "{policy}: {keys:?}");
    let options = OpenOptions::new().with_context(context).expect(policy);
    let filter = PartitionedFilter::open(index, options).expect("an intact index");
    for key in &keys {
        assert!(!partitions_deny(&filter, &disk, key), "{policy} denies {key:?} of {keys:?}");
    }
    Some(keys.len() as u64)
}

#[test]
fn no_sequence_of_calls_makes_partitions_that_deny_what_was_added() {
    let policies: Vec<_> =
        policies().into_iter().filter(|policy| !matches!(policy.size(), FilterSize::MaxBytes(_))).collect();
    let (mut answers, mut refused, mut drawn_numbers) = (0, 0u64, numbers(31));
    let mut random = || drawn_numbers.next().expect("endless");
    let num_tables = by_extent(4_000, 200_000, 200_000);
    for _ in 0..num_tables {
        let policy = &policies[random() as usize % policies.len()];
        match one_table(policy, &mut random) {
            Some(num_keys) => answers += num_keys,
            None => refused += 1,
        }
    }
    println!("counted: {num_tables} tables in partitions, {refused} refused, {answers} keys, none denied");
    assert!(refused > num_tables / 20 && answers > num_tables, "{refused} refused, {answers} keys");
}
