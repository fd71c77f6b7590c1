//! Blocks of exact lengths to be damaged, with their keys.

use crate::material::{hashes, keys};
use crate::*;
use filterblock::{EntryHasher, KeyTransform};

/// The context of every sample.
pub(crate) const CONTEXT: u64 = 0x0bad_c0de_00c0_ffee;
pub(crate) const SEED: u64 = 0x5eed_0000_0000_0003;
/// The whole key of eight bytes. A transform with a parameter, which few have.
pub(crate) const TRANSFORM: KeyTransform = KeyTransform::FixedPrefix { len: 8 };
/// The most stored keys that are probed in each case.
const MAX_ASKED: usize = 48;
/// Absent and extreme hashes.
const STRANGERS: [u64; 8] =
    [0, 1, u64::MAX, 1 << 63, 0x0123_4567_89ab_cdef, 0xffff_ffff, 0xffff_ffff_0000_0000, 0x9e37_79b9_7f4a_7c15];

/// A block or compact frame and some of its keys.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) kind: FilterKind,
    pub(crate) bytes: Vec<u8>,
    /// Some of the stored keys, from the first to the last.
    pub(crate) keys: Vec<[u8; 8]>,
    /// Their hashes, followed by [`STRANGERS`].
    pub(crate) asked: Vec<KeyHash>,
}

fn builder(policy: FilterPolicy, keys: &[[u8; 8]]) -> FilterBlockBuilder {
    let mut builder = FilterBlockBuilder::new(&policy.with_seed(SEED).with_transform(TRANSFORM));
    builder.set_context(CONTEXT);
    keys.iter().for_each(|key| builder.add_entry(key));
    builder
}

impl Sample {
    fn new(kind: FilterKind, bytes: Vec<u8>, stored: &[[u8; 8]]) -> Self {
        let step = stored.len().div_ceil(MAX_ASKED).max(1);
        let keys: Vec<[u8; 8]> = stored.iter().copied().step_by(step).collect();
        // Raw, as they are also asked where damage has changed the seed: a debug build would refuse that.
        let raw = |key| KeyHash::from_raw(KeyHasher::new(SEED).hash(key).get());
        let mut asked: Vec<KeyHash> = keys.iter().map(|key| raw(key)).collect();
        asked.extend(hashes(STRANGERS));
        Self { kind, bytes, keys, asked }
    }

    /// A block of exactly `len` bytes at ten bits a key, or for ribbon and fuse, whose lengths have gaps, of at most
    /// that many; with 64 bytes it has no entries.
    pub(crate) fn of_len(kind: FilterKind, len: usize) -> Self {
        let num_entries = (len - HEADER_LEN) * 8 / 10;
        if kind == FilterKind::Golomb && num_entries > 0 {
            return Self::golomb_of_len(len, num_entries);
        }
        let policy = capped(kind, len as u64);
        let keys = keys(1, num_entries);
        Self::new(kind, builder(policy, &keys).allow_empty().finish().expect("a block"), &keys)
    }

    /// Like [`Sample::of_len`]. The length depends on the keys, so their number is adjusted until it fits.
    fn golomb_of_len(len: usize, num_entries: usize) -> Self {
        let policy = rated(FilterKind::Golomb, 1.0 / 256.0);
        for seed in 0..100 {
            let mut count = num_entries;
            for _ in 0..20 {
                let keys = keys(seed, count);
                let block = builder(policy.clone(), &keys).finish().expect("a block");
                if block.len() == len {
                    return Self::new(FilterKind::Golomb, block, &keys);
                }
                // Ten bits a key, and at least one step.
                let excess_bits = (block.len() as isize - len as isize) * 8;
                count = count.checked_add_signed(-(excess_bits / 10 + excess_bits.signum())).expect("some are left");
            }
        }
        panic!("no keys fit into {len} bytes");
    }

    /// The smallest block with an entry.
    pub(crate) fn of_one_entry(kind: FilterKind) -> Self {
        let policy = sized(kind, 10.0);
        Self::new(kind, builder(policy, &keys(1, 1)).finish().expect("a block"), &keys(1, 1))
    }

    /// A compact frame of `num_entries` entries at ten bits each.
    pub(crate) fn compact(kind: FilterKind, num_entries: usize) -> Self {
        let policy = sized(kind, 10.0);
        let keys = keys(2, num_entries);
        Self::new(kind, frame_of(&mut builder(policy, &keys)), &keys)
    }

    /// A block of half the columns of one of `num_entries` entries, at 20 bits each.
    pub(crate) fn thinned(num_entries: usize) -> Self {
        let policy = sized(FilterKind::Ribbon, 20.0);
        let keys = keys(3, num_entries);
        let block = builder(policy, &keys).allow_empty().finish().expect("a block");
        let thinned = options().open(&block).expect("intact").thin(9, CONTEXT).expect("fewer columns");
        Self::new(FilterKind::Ribbon, thinned, &keys)
    }

    /// A compact frame of the same columns.
    pub(crate) fn compact_thinned(num_entries: usize) -> Self {
        let policy = sized(FilterKind::Ribbon, 20.0);
        let keys = keys(3, num_entries);
        let frame = frame_of(&mut builder(policy, &keys));
        let thinned = open_compact(&frame).expect("a frame").thin(9).expect("fewer columns");
        Self::new(FilterKind::Ribbon, thinned, &keys)
    }

    pub(crate) fn payload_bits(&self) -> usize {
        (self.bytes.len() - HEADER_LEN) * 8
    }
}

/// Lengths of the samples: powers of two.
pub(crate) fn lens() -> Vec<usize> {
    let most = by_extent(512, 16 << 10, 16 << 10);
    std::iter::successors(Some(HEADER_LEN), |len| Some(len * 2)).take_while(|len| *len <= most).collect()
}

/// Every kind at every length, and with one entry.
pub(crate) fn blocks() -> Vec<Sample> {
    let of_kind = |kind| {
        std::iter::once(Sample::of_one_entry(kind)).chain(lens().into_iter().map(move |len| Sample::of_len(kind, len)))
    };
    FilterKind::ALL.iter().copied().flat_map(of_kind).collect()
}

pub(crate) fn options() -> OpenOptions {
    OpenOptions::new().with_context(CONTEXT)
}

pub(crate) fn open_compact(frame: &[u8]) -> Result<CompactFrameReader<'_>, DecodeError> {
    static ENTRIES: EntryHasher = EntryHasher::new(KeyHasher::new(SEED), TRANSFORM);
    CompactFrameReader::open(frame, &ENTRIES)
}

/// A buffer for the answers of one case, so that probing does not allocate.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) single: [bool; MAX_ASKED + STRANGERS.len()],
    batch: [bool; MAX_ASKED + STRANGERS.len()],
}

/// Numbers of stored keys that were denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Denied {
    /// Probed by the hashes that were stored.
    pub(crate) by_hash: u64,
    /// Probed as keys, hashed with the seed in the block.
    pub(crate) by_key: u64,
}

impl Answers {
    pub(crate) fn new() -> Self {
        Self { single: [false; MAX_ASKED + STRANGERS.len()], batch: [false; MAX_ASKED + STRANGERS.len()] }
    }

    /// Probes `reader` as [`Answers::ask`] does, and beside another table. Allocates nothing.
    pub(crate) fn ask_block(&mut self, reader: &FilterBlockReader<'_>, sample: &Sample) -> Denied {
        let denied = self.ask(reader, sample);
        let at_last = sample.asked.len() - 1;
        let mut tables = [!self.single[at_last], !self.single[at_last]];
        probe_tables(&[reader.clone(), reader.clone()], sample.asked[at_last], &mut tables);
        assert!(tables == [self.single[at_last]; 2], "alone and beside another table");
        denied
    }

    /// Probes `reader` for the sample's keys and strangers one by one and in a batch. The answers must agree. Allocates
    /// nothing.
    pub(crate) fn ask(&mut self, reader: &impl Reading, sample: &Sample) -> Denied {
        let asked = &sample.asked;
        let (single, batch) = (&mut self.single[..asked.len()], &mut self.batch[..asked.len()]);
        for (answer, &hash) in single.iter_mut().zip(asked) {
            *answer = reader.may_contain_hash(hash);
        }
        batch.iter_mut().zip(&*single).for_each(|(batched, answer)| *batched = !answer);
        reader.may_contain_hashes(asked, batch);
        assert!(single == batch, "alone and in a batch");
        let hasher = reader.entry_hasher().hasher();
        Denied {
            by_hash: single[..sample.keys.len()].iter().filter(|answer| !**answer).count() as u64,
            by_key: sample.keys.iter().filter(|key| !reader.may_contain_hash(hasher.hash(*key))).count() as u64,
        }
    }
}

/// Calls the methods of `reader` that describe it; some read the whole payload. Allocates nothing.
pub(crate) fn describe(reader: &impl Reading) {
    for share in [reader.false_positive_rate(), reader.fill()] {
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
    assert!(reader.num_probes().is_none_or(|probes| probes > 0));
}

impl Answers {
    /// Compares some of the last answers with the slow oracle's; returns how many.
    pub(crate) fn assert_as_oracle(&self, sample: &Sample, oracle: &Oracle) -> u64 {
        let mut num_compared = 0;
        for (hash, &answer) in sample.asked.iter().zip(&self.single).step_by(5) {
            assert_eq!(oracle.may_contain(hash.get()), answer, "{hash:?}");
            num_compared += 1;
        }
        num_compared
    }
}

/// The samples have the lengths and entries that they should.
#[test]
fn samples_are_intact_and_as_long_as_said() {
    for sample in blocks() {
        let reader = options().open(&sample.bytes).expect("intact");
        assert_eq!(reader.as_bytes().len(), sample.bytes.len());
        assert_eq!(Answers::new().ask_block(&reader, &sample), Denied::default());
        assert!(reader.bits_per_key().is_none_or(|bits| bits > 0.0 && bits.is_finite()));
        assert_eq!((reader.kind(), reader.entry_hasher().hasher().seed()), (sample.kind, SEED));
        assert_eq!(reader.entry_hasher().transform(), TRANSFORM);
        let num_entries = reader.num_entries();
        assert_eq!(num_entries == 0, sample.bytes.len() == HEADER_LEN);
        assert!(num_entries == 0 || sample.keys.len() > 24 || num_entries == sample.keys.len() as u64);
        let is_near = |len: &usize| sample.bytes.len() <= *len && sample.bytes.len() > len * 3 / 4;
        let is_as_said = match sample.kind {
            FilterKind::Ribbon | FilterKind::Fuse => lens().iter().any(is_near),
            _ => lens().contains(&sample.bytes.len()),
        };
        assert!(is_as_said || num_entries == 1, "{} of {} bytes", sample.kind, sample.bytes.len());
    }
    for &kind in FilterKind::ALL {
        let sample = Sample::compact(kind, 150);
        assert_eq!(Answers::new().ask(&open_compact(&sample.bytes).expect("a frame"), &sample), Denied::default());
    }
}
